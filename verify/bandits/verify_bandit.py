"""Verify a bandit that knows nothing of gates: telling reward tables, or an adversary, and a black-box test."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import numpy as np

from algorithms.claim import Claim, View
from mechanisms.arrays import FloatArray
from verify.bandits.call_cost import cost_of, run_cost
from verify.bandits.calling.bandit_calls import BanditError, WrongArm
from verify.bandits.calling.bandit_construction import MissingArguments
from verify.bandits.calling.bandit_crash import place_in_bandit, while_it_played
from verify.bandits.calling.bandit_state import changed, state_of
from verify.bandits.calling.plain_bandit import PlainBandit
from verify.bandits.neighbouring_tables import row_in_words
from verify.bandits.paired_runs import SCAN_ROUNDS, UNITS_OF_ROUND
from verify.bandits.second_test import FIRST, SECOND, hold_test, in_doubt, second_seed
from verify.bandits.table_search import is_gross, telling_tables
from verify.conduct.conduct import Conduct
from verify.conduct.effort import Effort
from verify.conduct.progress import stretch
from verify.conduct.spawn_keys import SpawnKey
from verify.conduct.time_limit import TimeLimitReached, time_limit
from verify.events.view_sample import ViewSample
from verify.findings import FindingKind, Statement, UpperBound
from verify.sampling.counted_event import CountedEvent
from verify.sampling.tester import Candidates, Tester
from verify.sampling.worlds import NeighbouringWorlds
from verify.transcripts.action_features import read, with_paths_spelled
from verify.transcripts.adversary_view import adversary_worlds
from verify.transcripts.transcript import Transcript
from verify.transcripts.view_pair import ViewPair
from verify.verdict.evidence import Evidence
from verify.verdict.stopping import stopped_by_hand, stopped_in_time

_WORLD_DRAWS = 256  # of each world of an adversary, that tell whether actions vary
_TESTED = 2  # pairs that the test takes
_UNITS_WITH_ADVERSARY = 8  # units of cost for each lane-round of the effort, where an adversary is played
_SHARE_OF_GROSS = 4  # so many times fewer draws where a scan predicts a multiple of the claim
_NEAR, _TIMES_OF_NEAR = 0.4, 2  # and so many times more where it predicts about the claim
_TIMES_OF_SECOND = 8  # draws of a second test, for each of a near thing's first
_FEWEST_SAMPLES, _FEWEST_OF_PAIR = 12_000, 2_688
_MOST_UNITS, _LEAST = (
    500_000_000,
    1_792,
)  # units beyond which fewer draws must do; the fewest that a test can use
_PROBED, _PROBE_SECONDS = 8, 10.0  # the first runs, and the time they may take
_SHOWN = 64  # rewards of a table that is printed


def verify_bandit(
    bandit: PlainBandit,
    claim: Claim,
    conduct: Conduct,
    tester: Tester,
) -> Evidence:
    """Collect findings and a lower bound for a bandit's claim; nothing gives an upper bound.

    The number of draws follows from the effort and the rounds of the tested transcripts, not from the clock.

    Parameters
    ----------
    bandit, claim
        The bandit, and what it is held to.
    conduct
        How the verification is carried out.
    tester
        Who tests what is found.

    Raises
    ------
    BanditError
        If its class cannot be called as it was said.
    """
    evidence = Evidence(upper=UpperBound(math.inf, 1.0, "none: nothing is known of a black box"))
    with stopped_in_time(evidence, conduct.seconds), stopped_by_hand(evidence):
        try:
            if _look(evidence, bandit, conduct):
                _test(evidence, bandit, claim, conduct, tester)
        except WrongArm as error:
            evidence.findings.append(Statement.WRONG_ARM.finding(error=str(error)))
        except MissingArguments as error:
            raise error.with_claim(claim.epsilon, claim.delta) from None
        except BanditError:
            raise
        except (Exception, SystemExit) as error:  # whatever a user's bandit raises
            if not while_it_played(error):
                raise
            evidence.findings.append(Statement.BANDIT_RAISED.finding(place_in_bandit(error), error=error))
    return evidence


def _look(evidence: Evidence, bandit: PlainBandit, conduct: Conduct) -> bool:
    """Play a few runs twice; whether they end, and are independent of each other.

    Says so if they differ: then a generator of its own is drawn from.
    """
    rounds = min(bandit.rounds, SCAN_ROUNDS)
    table = np.tile(bandit.records.points()[0], (rounds + 1, 1))
    limit = min(conduct.seconds / 2.0, _PROBE_SECONDS)
    try:
        with time_limit(limit):
            made, same = bandit.fresh(), bandit.fresh()
            before = state_of(made)
            first, again = (
                bandit.actions(table, _PROBED, np.random.SeedSequence(conduct.seed)) for _ in range(2)
            )
    except TimeLimitReached:
        found = Statement.RUNS_TOO_LONG.finding(runs=2 * _PROBED, rounds=rounds, seconds=limit)
        evidence.findings.append(found)
        return False
    kept = ["the bandit itself"] if made is same else changed(before, state_of(made))
    if kept:
        what = ", ".join([*kept[:3], *(["..."] if len(kept) > 3 else [])])
        evidence.findings.append(Statement.REMEMBERS_RUNS.finding(what=what))
        return False
    if not np.array_equal(first, again):
        evidence.findings.append(Statement.OWN_GENERATOR.finding())
    return True


def _test(
    evidence: Evidence,
    bandit: PlainBandit,
    claim: Claim,
    conduct: Conduct,
    tester: Tester,
) -> None:
    """Look for telling tables (an adversary brings its own), and test the most telling ones."""
    effort, seed = conduct.effort, conduct.seed
    conduct.progress(0.05, "looking for telling transcripts")
    find = _tables(bandit, claim, effort, seed) if bandit.adversary is None else _worlds(bandit, effort, seed)
    if find is None:
        evidence.findings.append(Statement.CONSTANT_ACTIONS.finding(rounds=bandit.rounds))
        return
    candidates, second = find
    if any(found.kind == FindingKind.UNREPEATABLE for found in evidence.findings):
        # Processes would start with the same state of a generator that nobody seeds, and draw the same numbers.
        conduct = replace(conduct, effort=replace(effort, workers=1))
    first = hold_test(
        tester,
        candidates,
        claim,
        replace(conduct, progress=stretch(conduct.progress, 0.2, 0.4 if second else 1.0)),
        share=FIRST if second else 1.0,
    )
    _keep(evidence, bandit, first, conduct.reproduce)
    if second and in_doubt(first):
        again = hold_test(
            tester,
            replace(candidates, samples=second),
            claim,
            replace(conduct, seed=second_seed(seed), progress=stretch(conduct.progress, 0.4, 1.0)),
            share=SECOND,
            looks=2,
        )
        evidence.details["first_test"] = first.to_dict()
        if not again.interrupted:  # else the better of the two bounds stays
            evidence.lower = evidence.witness = None
        _keep(evidence, bandit, again, conduct.reproduce)
    conduct.progress(1.0, "done")


def _keep(evidence: Evidence, bandit: PlainBandit, result: CountedEvent, reproduce: str) -> None:
    """Keep what a test showed, with its event and its data in words."""
    spelled = with_paths_spelled(result.event, bandit.action_space)
    evidence.keep(replace(result, event=spelled), reproduce)


def _worlds(bandit: PlainBandit, effort: Effort, seed: int) -> tuple[Candidates, int] | None:
    """Return the two worlds of the bandit's adversary, and the draws of a second test; None if actions never vary."""
    assert bandit.adversary is not None
    seeds = SpawnKey.TRANSCRIPT_SCAN.sequence(seed, 2).spawn(3)
    both = [bandit.actions_against(world, _WORLD_DRAWS, seeds[world]) for world in (False, True)]
    if all((actions == both[0][0]).all() for actions in both):
        return None
    worlds = adversary_worlds(bandit.adversary, bandit.actions_against, bandit.action_space, seeds[2])
    cost = cost_of(lambda: bandit.actions_against(False, _PROBED, seeds[0])) / _PROBED
    samples = min(int(_UNITS_WITH_ADVERSARY * effort.lane_rounds / cost), effort.single_samples)
    first = max(samples, _FEWEST_OF_PAIR)
    return Candidates([worlds], first), _second(samples, first, effort)


def _tables(bandit: PlainBandit, claim: Claim, effort: Effort, seed: int) -> tuple[Candidates, int] | None:
    """Return the most telling reward tables, and the draws of a second test; None if the actions never vary."""
    pairs = telling_tables(bandit, claim, effort, SpawnKey.TRANSCRIPT_SCAN.sequence(seed))
    if not pairs:
        return None
    best = pairs[0]
    cost = run_cost(bandit, best.rounds)
    affordable = int(UNITS_OF_ROUND * effort.lane_rounds / cost)
    near = min(_TIMES_OF_NEAR * affordable, effort.single_samples)
    if is_gross(best.predicted, claim):
        affordable //= _SHARE_OF_GROSS
    elif best.predicted > _NEAR * claim.epsilon:
        affordable *= _TIMES_OF_NEAR
    short = [pair for pair in pairs if pair.rounds <= best.rounds]  # others would cost draws
    pairs = short[: min(_TESTED, max(affordable // _FEWEST_SAMPLES, 1))]
    fewest = min(_FEWEST_OF_PAIR, max(int(_MOST_UNITS / cost), _LEAST))
    samples = max(min(affordable, effort.single_samples), fewest)
    hidden = claim.view == View.OTHER_ACTIONS.value
    candidates = [
        NeighbouringWorlds(_words(bandit, pair), functools.partial(_draw_table, bandit, pair, hidden))
        for pair in pairs
    ]
    return Candidates(candidates, samples), _second(near, samples, effort)


def _second(near: int, first: int, effort: Effort) -> int:
    """Return how many draws a second test has.

    That is a multiple of those that a near thing can afford; none if the first test's are about as many, or if the
    caller said how many there are.
    """
    second = _TIMES_OF_SECOND * near
    return 0 if effort.given or second < 2 * first else second


def _words(bandit: PlainBandit, pair: ViewPair) -> tuple[str, str]:
    """Say both tables of a pair: small ones in full; and how many of the bandit's rounds are played on them."""
    played = ""
    if pair.rounds < bandit.rounds:
        played = f"; the first {pair.rounds} of {bandit.rounds} rounds are played"
    if bandit.stops:
        played += (
            f"; arm {bandit.arms} stands for none: the bandit has stopped, and the arm before is its answer"
        )
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
    """Say a table row by row."""
    return "[" + ", ".join("[" + ", ".join(f"{value:g}" for value in row) + "]" for row in rewards) + "]"


def _draw_table(
    bandit: PlainBandit, pair: ViewPair, hidden: bool, other: bool, n: int, seed: np.random.SeedSequence
) -> ViewSample:
    """Draw views of a pair's features on one of its tables; without the changed round's own action, if hidden."""
    table = pair.data_prime if other else pair.data
    transcript = Transcript(bandit.actions(table, n, seed))
    if hidden:
        transcript.hide(pair.record)
    return read(pair.features, transcript)
