"""Bets against a claim: gross bugs in few draws, true claims refuted as rarely as stated, stopped at any time."""

import math
from dataclasses import replace

import numpy as np
import pytest

from mechanisms.numerics.printed_numbers import at_most
from verify.betting.anytime_result import Opening, Outlook
from verify.betting.anytime_test import SCHEDULE, Pace, anytime_test
from verify.conduct.interrupts import Stop
from verify.conduct.time_limit import TimeLimitReached
from verify.events.event import Event
from verify.events.view_sample import Column, ViewSample
from verify.events.worlds import NeighbouringWorlds
from verify.sampling.draws import ClaimTest
from verify.sampling.tester import Candidates, CandidateSource

EPSILON = 0.1


class Finds(CandidateSource):
    """A search that spends so many draws and finds these pairs; by default bets may spend all that is left."""

    def __init__(self, worlds, searched, costs=None, samples=10**9):
        self.found, self.costs = Candidates(worlds, samples, searched=searched), costs or searched
        self.asked = []

    @property
    def search_samples(self):
        return self.costs

    def best_candidates(self):
        raise NotImplementedError

    def known_candidates(self, earlier):
        raise NotImplementedError

    def further_candidates(self, left):
        self.asked.append(left)
        return self.found


def candidate(draw, data, other, columns=1, kind="real", label="pair"):
    names = tuple(Column(f"o{i}", f"output {i}", kind) for i in range(1, columns + 1))

    def sample(other_world, n, seed):
        values = draw(other if other_world else data, np.random.default_rng(seed), n)
        return ViewSample(np.asarray(values, dtype=float).reshape(n, columns), names)

    return NeighbouringWorlds((f"{label}: D", "D′"), sample)


def laplace(scale):
    return lambda data, rng, n: data + rng.laplace(scale=scale, size=n)


def histogram(data, rng, n):
    return data + rng.laplace(scale=EPSILON, size=(n, 5))


def noiseless_replies(data, rng, n):
    return data >= rng.laplace(scale=2 / EPSILON, size=(n, 1))


NOISY_HISTOGRAM_2 = candidate(histogram, np.ones(5), np.array([2.0, 1, 1, 1, 1]), 5)
SVT_5 = candidate(noiseless_replies, np.ones(10), np.array([2.0] * 5 + [0.0] * 5), 10, "category")
HALF_NOISE = candidate(laplace(0.5 / EPSILON), 0.0, 1.0)
CORRECT = candidate(laplace(1.0 / EPSILON), 0.0, 1.0)


def bet(*candidates, epsilon=EPSILON, seed=0, samples=100_000, significance=0.05, **more):
    return anytime_test(
        candidates,
        ClaimTest(
            epsilon=epsilon, delta=0.0, samples=samples, confidence=0.9, significance=significance, seed=seed
        ),
        **more,
    )


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("subject", "runs", "most"),
    [(NOISY_HISTOGRAM_2, 8, 69), (SVT_5, 4, 1_000), (HALF_NOISE, 4, 20_000)],
    ids=["NoisyHist2", "SVT5", "half the noise"],
)
def test_gross_bugs_need_few_draws(subject, runs, most):
    """Means of 25, 400 and 9,000 draws a side (6 runs); the bounds are loose because a few runs vary."""
    results = [bet(subject, seed=seed) for seed in range(runs)]
    assert all(result.refuted for result in results)
    assert np.mean([sum(one.draws for one in result.bets) for result in results]) <= most
    assert all(result.epsilon_lower > EPSILON for result in results)
    assert all(result.p_value <= 0.05 for result in results)


def at_the_boundary(runs, samples, significance):
    """Runs on a tight claim; in every other one a search finds a second tight pair."""
    tight = candidate(laplace(1.0), 0.0, 1.0)
    source = Finds([replace(tight, name="another")], 128)
    return [
        anytime_test(
            [tight],
            ClaimTest(
                epsilon=1.0, delta=0.0, samples=samples, confidence=0.7, significance=significance, seed=seed
            ),
            source=source if seed % 2 else None,
        )
        for seed in range(runs)
    ]


@pytest.mark.slow
def test_a_true_claim_at_its_boundary_is_refuted_as_rarely_as_stated():
    """At 0.2 more than 14 of 24 refutations, at 0.3 more than 16 wrong bounds have probability below 1e-4."""
    results = at_the_boundary(24, 3_000, 0.2)
    assert sum(result.refuted for result in results) <= 14
    assert sum(result.epsilon_lower > 1.0 for result in results) <= 16


@pytest.mark.slow
def test_a_true_claim_is_refuted_at_most_at_the_stated_rate_in_many_runs():
    """At 0.05 more than 32 of 300 refutations have probability below 1e-4."""
    results = at_the_boundary(300, 10_000, 0.05)
    assert sum(result.refuted for result in results) <= 32
    assert sum(result.epsilon_lower > 1.0 for result in results) <= 120


@pytest.mark.slow
def test_wealth_under_the_claim_does_not_grow_on_average():
    """Ville: a supermartingale from 1 has mean at most 1 when stopped; 20 runs, wealth cut at e³."""
    wealths = [math.exp(min(bet(CORRECT, seed=seed, samples=1_500).log_wealth, 3.0)) for seed in range(20)]
    assert np.mean(wealths) <= 1.0 + 4 * np.std(wealths) / math.sqrt(20)


def test_the_right_one_of_several_pairs_is_bet_on():
    equal = [candidate(laplace(1.0), 0.0, 0.0, label=f"equal {i}") for i in range(3)]
    found = bet(*equal, candidate(laplace(1.0), 0.0, 1.0, label="the pair"), seed=1)
    assert found.refuted
    assert found.worlds.words[0] == "the pair: D"
    assert sum(one.draws for one in found.bets) < 2_000
    swapped = bet(*equal, candidate(laplace(1.0), 1.0, 0.0, label="the pair"), seed=1)
    assert swapped.refuted


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bets_and_they_multiply_to_the_wealth():
    first, second = bet(SVT_5, seed=3), bet(SVT_5, seed=3)
    assert first.to_dict() == second.to_dict()
    assert first.log_wealth == pytest.approx(sum(one.gain for one in first.bets))
    assert [one.start for one in first.bets] == sorted(one.start for one in first.bets)
    assert bet(SVT_5, seed=4).to_dict() != first.to_dict()


def test_every_bet_is_on_draws_that_came_later_and_can_be_counted_again():
    result = bet(HALF_NOISE, seed=2, samples=4_000)
    draws = [
        np.concatenate(
            [
                HALF_NOISE.draw(world, 64, np.random.SeedSequence(2, spawn_key=(14, 0, int(world), n))).values
                for n in range(8)
            ]
        )
        for world in (False, True)
    ]
    columns = HALF_NOISE.draw(False, 64, np.random.SeedSequence(0)).columns
    assert [one.start for one in result.bets[:3]] == [16, 32, 64]
    for one in result.bets:
        if one.start + one.draws > 512:
            break
        rows = slice(one.start, one.start + one.draws)
        again = Event.rebuild(one.to_dict()["event"], columns)
        counts = [int(again.holds(ViewSample(world[rows], columns)).sum()) for world in draws]
        assert counts == ([one.hits_prime, one.hits] if one.swapped else [one.hits, one.hits_prime])


def test_more_time_promises_only_more_than_there_is():
    result = replace(bet(HALF_NOISE, seed=2, samples=4_000), epsilon_lower=2.0)
    for promised, words in ((1.0, None), (2.0, None), (2.5, "show ε ≥ 2.5")):
        said = replace(result, outlook=Outlook(1.0, promised, 50)).more_time(bits=False).message
        assert (words is None and "four times" not in said) or words in said
        assert "; a refutation needs about 50 more, 50 s" in said


def test_what_is_withheld_limits_the_loss_and_carries_wealth_on():
    strict = {"seed": 5, "samples": 20_000, "significance": 1e-6}
    kept = bet(CORRECT, **strict, opening=Opening(log_wealth=2.0, log_peak=2.5, withheld=0.5))
    assert kept.log_wealth >= 2.0 + math.log(0.5) - 1e-9
    all_staked = bet(CORRECT, **strict)
    assert kept.log_wealth == pytest.approx(2.0 + math.log(0.5 + 0.5 * math.exp(all_staked.log_wealth)))
    assert kept.log_peak >= 2.5
    rich = bet(CORRECT, seed=5, opening=Opening(log_peak=3.1))
    assert rich.refuted  # it was, before
    assert sum(one.draws for one in rich.bets) <= 64


def test_events_of_an_earlier_run_are_bet_on_from_the_first_draw():
    first = bet(NOISY_HISTOGRAM_2, seed=1)
    later = bet(NOISY_HISTOGRAM_2, seed=2, opening=Opening(bets=first.closing.bets))
    assert later.bets[0].start == 0
    assert later.bets[0].event == first.bets[-1].event


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"samples": 100}, "samples = 100: must be at least 128"),
        ({"epsilon": -1.0}, "epsilon = -1.0: must not be negative"),
        ({"epsilon": 700.0}, "epsilon = 700.0: must lie in"),
        ({"significance": 0.0}, "must lie in"),
    ],
)
def test_parameters_are_checked(options, words):
    with pytest.raises(ValueError, match=words):
        bet(CORRECT, **options)
    with pytest.raises(ValueError, match="candidates must not be empty"):
        bet()


# --- stopped early, searches, and what the next run begins with --------------------------------------


class Stops:
    """A candidate whose draws are interrupted after so many calls."""

    def __init__(self, calls, error):
        self.calls, self.error = calls, error

    def draw(self, other, n, seed):
        self.calls -= 1
        if self.calls < 0:
            raise self.error
        return CORRECT.draw(other, n, seed)


@pytest.mark.few(1)
@pytest.mark.parametrize(("error", "stopped"), [(Stop, "interrupt"), (TimeLimitReached, "time-limit")])
def test_a_stopped_run_says_what_it_has_seen(error, stopped):
    whole = bet(CORRECT, seed=3, samples=10_000)
    part = bet(NeighbouringWorlds(("pair: D", "D′"), Stops(20, error("now")).draw), seed=3, samples=10_000)
    assert (whole.to_dict()["stopped"], part.to_dict()["stopped"]) == ("", stopped)
    assert 0 < part.draws < whole.draws
    assert part.samples < whole.samples
    bets = len(part.bets)
    assert part.bets[:-1] == whole.bets[: bets - 1]  # those that were finished
    assert part.bets[-1].start == whole.bets[bets - 1].start
    assert part.bets[-1].draws < whole.bets[bets - 1].draws
    assert part.log_wealth == pytest.approx(sum(one.gain for one in part.bets))
    assert f"p ≤ {at_most(part.p_value, 2)}" in part.sentence.text


def test_a_run_that_is_stopped_before_it_bets_has_no_result():
    with pytest.raises(Stop):
        bet(NeighbouringWorlds(("D", "D′"), Stops(1, Stop()).draw))


def test_pairs_that_a_search_finds_catch_up_and_are_bet_on():
    source = Finds([candidate(laplace(1.0), 0.0, 1.0, label="found")], 5_000)
    equal = candidate(laplace(1.0), 0.0, 0.0, label="equal")
    found = bet(equal, seed=1, samples=60_000, source=source)
    assert found.refuted
    assert (found.candidate, found.worlds.words[0], found.search_samples) == (1, "found: D", 5_000)
    assert source.asked == [60_000 - 2 * SCHEDULE.search_after]
    assert found.samples <= 60_000
    assert all(one.start < SCHEDULE.search_after for one in found.bets if one.candidate == 1)
    alone = bet(equal, seed=1, samples=60_000)
    assert not alone.refuted


@pytest.mark.slow
def test_a_search_may_leave_fewer_draws_and_is_not_made_for_a_gross_bug():
    short = bet(CORRECT, samples=60_000, source=Finds((), 10_000, costs=5_000, samples=2_000))
    assert 2 * SCHEDULE.search_after + 10_000 < short.samples <= 2 * SCHEDULE.search_after + 12_000
    unasked = Finds((), 5_000)
    gross = bet(SVT_5, source=unasked)
    assert gross.refuted
    assert not unasked.asked


def test_what_is_lost_before_the_bug_is_found_need_not_be_won_back():
    """Stakes for all draws lose little in few: tight pairs take but a part of what is bet on them."""
    tight = [candidate(laplace(1 / EPSILON), 0.0, 1.0, label=f"tight {i}") for i in range(6)]
    gross = Finds([candidate(laplace(1.0), 0.0, 1.0, label="gross")], 0, costs=1)
    result = bet(*tight, seed=2, samples=400_000, significance=1e-4, source=gross)
    lost = sum(one.gain for one in result.bets if one.candidate < 6)
    assert abs(lost) < 2.5
    assert result.refuted


def test_the_bound_grows_over_runs():
    first = bet(HALF_NOISE, seed=1, samples=6_000, significance=1e-12)
    assert not first.refuted
    later, alone = (
        bet(HALF_NOISE, seed=2, samples=6_000, significance=1e-12, opening=opening)
        for opening in (first.closing, Opening(bets=first.closing.bets))
    )
    assert later.epsilon_lower >= first.epsilon_lower
    assert later.log_wealth == pytest.approx(first.log_wealth + alone.log_wealth, abs=1e-6)
    wealths = (np.array(run.closing.grid_log_wealth) for run in (first, alone, later))
    assert next(wealths) + next(wealths) == pytest.approx(next(wealths))
    assert max(np.array(later.closing.grid_log_peak) - first.closing.grid_log_peak) > 0.0


def test_a_reserve_is_taken_from_the_wealth_and_from_every_bound():
    opening = Opening(
        log_wealth=1.0, log_peak=2.0, grid_log_wealth=(1.0, 3.0), grid_log_peak=(1.5, 3.5)
    ).with_share(0.25)
    assert opening.log_wealth == pytest.approx(1.0 + math.log(0.25))
    assert opening.grid_log_wealth == pytest.approx((1.0 + math.log(0.25), 3.0 + math.log(0.25)))
    assert opening.log_peak == 2.0


# --- dear draws -------------------------------------------------------------------------------------


def truthful(epsilon):
    """A bit that is told truly with probability e^ε / (1 + e^ε); the same numbers are used for both."""
    lie = 1.0 / (1.0 + math.exp(epsilon))
    return lambda data, rng, n: (rng.random(n) < lie) != bool(data)


def dear(draw, label="dear"):
    return replace(candidate(draw, 0.0, 1.0, label=label), one_by_one=True)


@pytest.mark.parametrize("calls", [8, 9, 15, 30, 61])
def test_whenever_dear_draws_are_stopped_there_is_a_bound(calls):
    """Four calls a side are enough: the first of them chooses an event, the next one is bet on."""
    gross = dear(lambda data, rng, n: np.full(n, data))

    class Ends:
        def __init__(self):
            self.left = calls

        def draw(self, other, n, seed):
            if self.left == 0:
                raise Stop
            self.left -= 1
            return gross.draw(other, n, seed)

    result = bet(replace(gross, draw=Ends().draw), epsilon=1.0, samples=10_000, pace=Pace(to_the_end=True))
    assert result.interrupted
    assert result.draws == calls // 2, "no pair of draws that is complete is left out"
    assert sum(one.draws for one in result.bets) == result.draws - 1
    assert result.epsilon_lower >= (0.5 if calls > 40 else 0.0)


def test_draws_that_are_made_one_by_one_have_seeds_of_their_own_and_are_alike():
    asked = []

    def draw(other, n, seed):
        asked.append((other, n, seed.spawn_key))
        return CORRECT.draw(other, n, seed)

    bet(replace(CORRECT, draw=draw, one_by_one=True), samples=400)
    pairs = [asked[i : i + 2] for i in range(0, len(asked), 2)]
    assert all(n == 1 for _, n, _ in asked)
    assert all({first[0], second[0]} == {False, True} for first, second in pairs)
    assert all(first[2] == second[2] for first, second in pairs)
    assert len({first[2] for first, _ in pairs}) == len(pairs)
    leads = sum(first[0] for first, _ in pairs)
    assert 60 <= leads <= 140, "a fair coin says which comes first: four standard errors"


def test_a_drift_that_is_the_same_in_both_worlds_is_no_difference():
    """A counter's last bit tells calls with odd numbers apart: it did tell worlds that were drawn in turn."""
    calls = iter(range(10**6))
    odd = NeighbouringWorlds(
        ("D", "D′"),
        lambda other, n, seed: ViewSample(
            np.array([[next(calls) % 2.0] for _ in range(n)]), CORRECT.draw(False, 1, seed).columns
        ),
        one_by_one=True,
    )
    result = bet(odd, epsilon=0.0, samples=2_000, significance=1e-4)
    assert not result.refuted
    assert result.epsilon_lower < 0.5


@pytest.mark.slow
def test_bounds_of_tight_claims_that_are_stopped_by_what_they_return_are_wrong_as_rarely_as_stated():
    """A stop that waits for a good moment: at 0.3 more than 63 of 120 wrong bounds have probability below 1e-5."""
    wrong = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        told = {"left": int(rng.integers(8, 90))}

        def draw(data, generator, n, told=told):
            values = truthful(1.0)(data, generator, n)
            told["left"] -= int(values[0]) + 1
            if told["left"] < 0:
                raise Stop
            return values

        result = anytime_test(
            [dear(draw)],
            ClaimTest(epsilon=1.0, delta=0.0, samples=400, confidence=0.7, significance=0.01, seed=seed),
            pace=Pace(to_the_end=True),
        )  # fmt: skip
        wrong += result.epsilon_lower > 1.0
    assert wrong <= 63


class StopsWhenItLooksFalse:
    """A pair of a tight claim; draws end, by Ctrl-C, when those that were made contradict it by a standard error."""

    def __init__(self, epsilon, seed):
        noisy, alike = seed % 2 == 0, seed % 20 == 19
        self.draw_values = laplace(1.0 / epsilon) if noisy else truthful(epsilon)
        self.chance = 0.5 * math.exp(-epsilon / 2.0) if noisy else 1.0 / (1.0 + math.exp(epsilon))
        self.waits = 16 if alike else 128
        self.draws, self.over = [0, 0], 0.0
        self.worlds = replace(candidate(lambda *_: None, 0.0, 1.0), draw=self.draw, one_by_one=alike)

    def draw(self, other, n, seed):
        if min(self.draws) >= self.waits and self.over > math.sqrt(
            sum(self.draws) * self.chance * (1.0 - self.chance)
        ):
            raise Stop
        values = self.draw_values(float(other), np.random.default_rng(seed), n)
        self.draws[other] += n
        self.over += self.chance * n - np.sum((values > 0.5) != other)
        return ViewSample(np.asarray(values, dtype=float).reshape(n, 1), CORRECT.draw(False, 1, seed).columns)


@pytest.mark.slow
def test_of_two_thousand_tight_claims_that_are_stopped_when_they_look_false_few_bounds_are_above_the_truth():
    """At most 5 %, as stated (19 were seen); at exactly 5 % more than 139 would have probability below 1e-4."""
    wrong = stopped = 0
    for seed in range(2_000):
        epsilon = (0.1, 0.5, 1.0, 2.0, 4.0)[seed % 5]
        subject = StopsWhenItLooksFalse(epsilon, seed)
        result = anytime_test(
            [subject.worlds],
            ClaimTest(epsilon=epsilon, delta=0.0, samples=160 if seed % 20 == 19 else 640, seed=seed),
            pace=Pace(to_the_end=True),
        )  # fmt: skip
        wrong, stopped = wrong + (result.epsilon_lower > epsilon), stopped + result.interrupted
    assert stopped > 100
    assert wrong <= 100
