"""The candidates of a bandit's test: the reward tables with the largest predicted bounds, or an adversary's worlds."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

from algorithms.claim import Claim, View
from mechanisms.arrays import FloatArray
from verify.bandits.bandit_view import BanditView
from verify.bandits.call_cost import cost_of, run_cost
from verify.bandits.calling.plain_bandit import PlainBandit
from verify.bandits.coin_screen import CoinScreen, screen_rounds
from verify.bandits.message_search import MessageScan, distinguishing_messages
from verify.bandits.neighbouring_tables import row_in_words
from verify.bandits.paired_runs import UNITS_OF_ROUND, PairedPlayer
from verify.bandits.table_search import RUNS_OF_ANY_PAIR, is_far_beyond, plainest_pair, telling_tables
from verify.conduct.effort import Effort
from verify.conduct.spawn_keys import SpawnKey
from verify.events.worlds import NeighbouringWorlds
from verify.sampling.tester import Candidates
from verify.transcripts.adversary import Adversary
from verify.transcripts.adversary_view import adversary_worlds
from verify.transcripts.view_pair import ViewPair


@dataclass(frozen=True, kw_only=True)
class _TestSize:
    """Settings of the numbers of draws of a test.

    The values were chosen by hand; the verdicts on the plain bandits of the zoo and of the held-out set rest on them.

    Attributes
    ----------
    pairs
        The most pairs that are tested.
    of_every_pair
        Draws for each pair beside the best.
    near, times_if_near
        Share of the claim from which a prediction is near it, and the factor on the draws of a near one.
    fewer_if_far_beyond
        The divisor of the draws if a multiple of the claim is predicted.
    times_of_second
        Draws of a second test for each draw of a near one's first.
    fewest_of_pair, least
        The fewest draws; and the fewest that a test can use, if more would cost over `most_units`.
    most_units
        Units of cost beyond which there are fewer draws.
    units_with_adversary
        Units of cost for each lane-round of the effort, if an adversary is played.
    clear
        Multiple of the claim from which on a prediction by messages makes a test of actions needless.
    world_draws
        Draws of each world of an adversary in which actions are compared.
    probed
        Runs in which the cost of playing an adversary is measured.
    """

    pairs: int = 2
    of_every_pair: int = 12_000
    near: float = 0.4
    times_if_near: int = 2
    fewer_if_far_beyond: int = 4
    times_of_second: int = 8
    fewest_of_pair: int = 2_688
    least: int = 1_792
    most_units: float = 5e8
    units_with_adversary: int = 8
    clear: float = 1.25
    world_draws: int = 256
    probed: int = 8


_SIZE = _TestSize()
_SHOWN = 64  # rewards of a table that is printed
_MOST_ENTRIES = 10_000  # of a table that a report holds


@dataclass(frozen=True, eq=False)
class FoundPairs:
    """The pairs of data sets on which a bandit is tested.

    Attributes
    ----------
    candidates
        The candidates of the test.
    second
        Number of draws of a second test; 0: there is none.
    scan
        The scan of the messages of all rounds, if the bandit sends messages.
    screen
        The screen of the actions after all rounds; None if messages suffice.
    """

    candidates: Candidates
    second: int
    scan: MessageScan | None = None
    screen: CoinScreen | None = None


def find_candidates(bandit: PlainBandit, claim: Claim, effort: Effort, seed: int) -> FoundPairs | None:
    """Find the pairs of data sets on which to test a bandit.

    Parameters
    ----------
    bandit, claim
        The bandit, and its claim.
    effort, seed
        The effort preset, and the seed of all random draws.

    Returns
    -------
    FoundPairs or None
        None if the actions (and messages) never vary.
    """
    if bandit.adversary is not None:
        return _worlds(bandit, bandit.adversary, effort, seed)
    if bandit.message is not None:
        return _messages(bandit, claim, effort, seed)
    return _tables(bandit, claim, effort, seed)


def constant_runs(bandit: PlainBandit) -> int:
    """Return the number of runs in which actions are compared before they count as constant."""
    return RUNS_OF_ANY_PAIR if bandit.adversary is None else 2 * _SIZE.world_draws


def _worlds(bandit: PlainBandit, adversary: Adversary, effort: Effort, seed: int) -> FoundPairs | None:
    """Return the two worlds of the bandit's adversary; None if actions never vary."""
    seeds = SpawnKey.TRANSCRIPT_SCAN.sequence(seed, 2).spawn(3)
    both = [bandit.actions_against(world, _SIZE.world_draws, seeds[world]) for world in (False, True)]
    if all((actions == both[0][0]).all() for actions in both):
        return None
    worlds = adversary_worlds(adversary, bandit.actions_against, bandit.action_space, seeds[2])
    cost = cost_of(lambda: bandit.actions_against(False, _SIZE.probed, seeds[0])) / _SIZE.probed
    samples = min(int(_SIZE.units_with_adversary * effort.lane_rounds / cost), effort.single_samples)
    first = max(samples, _SIZE.fewest_of_pair)
    return FoundPairs(Candidates([worlds], first), _second(samples, first, effort))


def _tables(bandit: PlainBandit, claim: Claim, effort: Effort, seed: int) -> FoundPairs | None:
    """Return the most distinguishing reward tables; None if the actions never vary."""
    player = PairedPlayer(bandit, claim, effort, SpawnKey.TRANSCRIPT_SCAN.sequence(seed, 6))
    screen = screen_rounds(bandit, player, SpawnKey.TRANSCRIPT_SCAN.sequence(seed, 7))
    searched = telling_tables(bandit, claim, effort, SpawnKey.TRANSCRIPT_SCAN.sequence(seed))
    pairs = sorted([*screen.pairs, *searched], key=lambda pair: -pair.predicted)
    if not pairs:
        return None
    best, plain = pairs[0], None
    if not is_far_beyond(best.predicted, claim):
        plain = plainest_pair(bandit, claim, effort, SpawnKey.TRANSCRIPT_SCAN.sequence(seed, 3))
    # Draws are planned for the longer of the two.
    longest = max(best.rounds, 0 if plain is None else plain.rounds)
    affordable, samples, second = _draws(bandit, claim, effort, best.predicted, longest)
    short = [pair for pair in pairs if pair.rounds <= best.rounds]  # others would cost draws
    places = min(_SIZE.pairs, max(affordable // _SIZE.of_every_pair, 1))
    pairs = short[:places]
    if plain is not None and samples >= 2 * _SIZE.fewest_of_pair:
        pairs = [*pairs[: max(places - 1, 1)], plain]
    elif plain is not None and plain.predicted > best.predicted:
        pairs = [plain]
    candidates = [_worlds_of_view(bandit, claim, BanditView(pair)) for pair in pairs]
    return FoundPairs(Candidates(candidates, samples), second, screen=screen)


def _messages(bandit: PlainBandit, claim: Claim, effort: Effort, seed: int) -> FoundPairs | None:
    """Return the best tables by messages, and by actions unless messages predict far more; None if nothing varies."""
    scan, views = distinguishing_messages(bandit, claim, effort, SpawnKey.TRANSCRIPT_SCAN.sequence(seed, 4))
    best = max((view.pair.predicted for view in views), default=-math.inf)
    actions = _tables(bandit, claim, effort, seed) if best < _SIZE.clear * claim.epsilon else None
    if not views:
        return actions
    candidates = [_worlds_of_view(bandit, claim, view) for view in views]
    longest = max(view.pair.rounds for view in views)
    _, samples, second = _draws(bandit, claim, effort, best, longest)
    if actions is not None:
        candidates += actions.candidates.worlds[:1]
        samples, second = max(samples, actions.candidates.samples), max(second, actions.second)
    return FoundPairs(
        Candidates(candidates, samples), second, scan, None if actions is None else actions.screen
    )


def _draws(
    bandit: PlainBandit, claim: Claim, effort: Effort, predicted: float, rounds: int
) -> tuple[int, int, int]:
    """Return the affordable draws of `rounds` rounds each, those of the test, and those of a second one."""
    cost = run_cost(bandit, rounds)
    affordable = int(UNITS_OF_ROUND * effort.lane_rounds / cost)
    near = min(_SIZE.times_if_near * affordable, effort.single_samples)
    if is_far_beyond(predicted, claim):
        affordable //= _SIZE.fewer_if_far_beyond
    elif predicted > _SIZE.near * claim.epsilon:
        affordable *= _SIZE.times_if_near
    fewest = min(_SIZE.fewest_of_pair, max(int(_SIZE.most_units / cost), _SIZE.least))
    samples = max(min(affordable, effort.single_samples), fewest)
    return affordable, samples, _second(near, samples, effort)


def _second(near: int, first: int, effort: Effort) -> int:
    """Return the number of draws of a second test.

    That is a multiple of those that are affordable for a near claim; 0 if the first test has about as many, or if the
    caller gave the number of draws.
    """
    second = _SIZE.times_of_second * near
    return 0 if effort.given or second < 2 * first else second


def _worlds_of_view(bandit: PlainBandit, claim: Claim, view: BanditView) -> NeighbouringWorlds:
    """Return the worlds of a view: its two tables, with its draws on either."""
    draw = functools.partial(view.draw, bandit, View(claim.view).hides_own_action)
    pair = view.pair
    tables = {
        "data": pair.data[1:].tolist(),
        "data_prime": pair.data_prime[1:].tolist(),
        "record": pair.record,
    }
    return NeighbouringWorlds(
        _table_words(bandit, pair),
        draw,
        rounds=pair.rounds,
        name="messages" if view.rounds else "",
        data=tables if pair.data.size <= _MOST_ENTRIES else None,
    )


def _table_words(bandit: PlainBandit, pair: ViewPair) -> tuple[str, str]:
    """Return both tables of a pair in words, small ones in full, with the number of rounds that are played."""
    played = ""
    if pair.rounds < bandit.rounds:
        played = f"; the first {pair.rounds} of {bandit.rounds} rounds are played"
    if bandit.stops:
        played += f"; arm {bandit.arms} is no arm: the bandit has stopped, and the arm before is its answer"
    elif bandit.errors:
        ends = enumerate(bandit.ends, start=bandit.arms)
        played += f"; {', '.join(f'arm {number} is {words}' for number, words in ends)}"
    said = []
    for table in (pair.data, pair.data_prime):
        rows = table[1:]
        words = f"the user of round {pair.record} has {row_in_words(table[pair.record], bandit.arms)}"
        words += f"; {pair.others}" if pair.others else ""
        what = "records" if bandit.private_context else "rewards"
        shown = f"; the {what} of all rounds: {_rows(rows)}" if rows.size <= _SHOWN else ""
        said.append(words + shown + played)
    return said[0], said[1]


def _rows(rewards: FloatArray) -> str:
    """Return a table in words, row by row."""
    return "[" + ", ".join("[" + ", ".join(f"{value:g}" for value in row) + "]" for row in rewards) + "]"
