"""The black-box test refutes what is false, never what is true, and repeats itself bit by bit."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from algorithms.blocks import Processes
from verify.conduct.interrupts import Stop
from verify.conduct.spawn_keys import SpawnKey
from verify.events.event import Event
from verify.events.search import Found, search_events
from verify.events.view_sample import Column, ViewSample, WorldSamples
from verify.events.worlds import NeighbouringWorlds
from verify.findings.sentences import Basis
from verify.sampling.binomial_bounds import Union
from verify.sampling.black_box import black_box_test
from verify.sampling.black_box_result import BlackBoxResult
from verify.sampling.draws import WorldStream
from verify.sampling.stouffer import Stouffer

Mechanism = Callable[[float, int, np.random.Generator], npt.NDArray[np.float64]]


def candidate(mechanism: Mechanism, kind: str = "real", label: str = "0 or 1") -> NeighbouringWorlds:
    """Neighbours 0 and 1 of a mechanism whose output of n runs is an array (n,) or (n, p)."""

    def draw(other_world: bool, n: int, seed: np.random.SeedSequence) -> ViewSample:
        values = np.asarray(mechanism(float(other_world), n, np.random.default_rng(seed)), dtype=np.float64)
        values = values.reshape(n, -1)
        columns = tuple(Column(f"x[{i}]", f"value {i + 1}", kind) for i in range(values.shape[1]))  # type: ignore[arg-type]
        return ViewSample(values, columns)

    return NeighbouringWorlds((f"{label}: zero", "one"), draw)


def laplace(scale: float, size: int = 1) -> Mechanism:
    return lambda x, n, rng: x + rng.laplace(0.0, scale, (n, size))


def randomized_response(epsilon: float) -> Mechanism:
    truth = math.exp(epsilon) / (1.0 + math.exp(epsilon))
    return lambda x, n, rng: np.where(rng.random(n) < truth, x, 1.0 - x)


def run(mechanism: Mechanism, kind: str = "real", **options: Any) -> BlackBoxResult:
    settings: dict[str, Any] = {
        "claim_epsilon": 1.0,
        "claim_delta": 0.0,
        "samples": 200_000,
        "seed": 5,
        **options,
    }
    return black_box_test([candidate(mechanism, kind)], **settings)


def test_laplace_of_half_the_scale_is_refuted_sharply() -> None:
    result = run(laplace(0.5), samples=1_000_000)
    assert result.refuted
    assert 1.9 <= result.epsilon_lower <= 2.0
    assert result.strict_epsilon_lower < result.epsilon_lower
    assert result.delta_lower > 0.2
    assert result.samples <= 1_000_000


def test_randomized_response_of_twice_the_epsilon_is_refuted() -> None:
    result = run(randomized_response(2.0), "category")
    assert result.refuted
    assert 1.9 <= result.epsilon_lower <= 2.0
    assert result.event.description in {"value 1 = 0", "value 1 = 1"}


def test_a_number_of_reports_that_tells_the_input_is_refuted() -> None:
    """As in sparse vector: what is sent is noise, but how much of it is sent is not."""

    def mechanism(x: float, n: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        values = rng.integers(0, 2, (n, 5)).astype(float)
        values[:, 1 + 2 * int(x) :] = np.nan
        return values

    result = run(mechanism, "category")
    assert result.refuted
    assert (result.probability, result.probability_prime) == (1.0, 0.0)
    assert result.delta_lower > 0.999
    assert "number of entries present" in result.event.description


def test_one_noise_draw_shared_by_all_coordinates_is_refuted_massively() -> None:
    result = run(lambda x, n, rng: np.array([x, 0.0, 0.0]) + rng.laplace(0.0, 1.0, (n, 1)))
    assert result.refuted
    assert result.epsilon_lower > 8.0
    assert "(value 2 − value 1)" in result.event.description


def test_a_gaussian_is_judged_at_its_delta() -> None:
    """σ = 1 has δ(1) = 0.1269 (Balle and Wang 2018, theorem 8): 0.05 is false, 0.127 is true."""
    mechanism: Mechanism = lambda x, n, rng: x + rng.normal(size=n)  # noqa: E731
    wrong = run(mechanism, claim_delta=0.05)
    assert wrong.refuted
    assert 0.05 < wrong.delta_lower < 0.127
    assert not run(mechanism, claim_delta=0.127).refuted


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(100))
def test_a_correct_laplace_in_two_dimensions_is_never_refuted(seed: int) -> None:
    """Exactly at the claim, where a refutation has probability at most 1e-4 by construction.

    It is less in fact, because both bounds must err together: with p near 1/4 or 1/2 and q = p/e their sum is
    5.2 standard errors of ln(p/q) away, which is 1e-7 a run and 1e-5 for the 100 runs.
    """
    result = run(laplace(2.0, 2), samples=20_000, seed=seed)
    assert not result.refuted
    assert result.strict_epsilon_lower <= 1.0


@pytest.mark.slow
def test_the_bound_covers_at_the_boundary() -> None:
    """30 runs on Laplace with ratio exactly e, at 95 %: at most 1.5 misses on average.

    More than 7 have probability below 9e-5, and less because the bound is conservative.
    """
    misses = [run(laplace(1.0), samples=8_000, seed=seed).epsilon_lower > 1.0 for seed in range(30)]
    assert sum(misses) <= 7


@pytest.mark.slow
def test_no_choice_made_on_the_final_draws() -> None:
    """Noise offers thousands of events; were one chosen on the final draws, the bound would be positive.

    20 runs at 90 %: on average at most 2 positive bounds; more than 8 has probability below 6.1e-5.
    """
    noise: Mechanism = lambda x, n, rng: rng.random((n, 3))  # noqa: E731
    bounds = [run(noise, samples=4_000, confidence=0.9, seed=seed).epsilon_lower for seed in range(20)]
    assert sum(bound > 0 for bound in bounds) <= 8


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits() -> None:
    pairs = [candidate(laplace(scale, 3), label=f"pair {scale}") for scale in (1.0, 0.7, 0.4, 2.0)]
    results = [
        black_box_test(pairs, claim_epsilon=1.0, claim_delta=0.0, samples=20_000, seed=seed)
        for seed in (3, 3, 4)
    ]
    first, second, third = (json.dumps(result.to_dict(), allow_nan=False) for result in results)
    assert first == second
    assert first != third


def test_the_scan_finds_the_pair_that_leaks() -> None:
    pairs = [candidate(laplace(1.0), label=f"harmless {i}") for i in range(9)]
    pairs.insert(6, candidate(laplace(0.4), label="leaky"))
    heard: list[tuple[float, str]] = []
    result = black_box_test(
        pairs,
        claim_epsilon=1.0,
        claim_delta=0.0,
        samples=200_000,
        seed=1,
        progress=lambda done, doing: heard.append((done, doing)),
    )
    assert result.refuted
    assert (result.candidate, result.worlds.words[0]) == (6, "leaky: zero")
    assert result.looks == 1
    assert result.samples <= 200_000
    done = [fraction for fraction, _ in heard]
    assert done == sorted(done)
    assert done[-1] == 1.0
    assert {doing.split()[0] for _, doing in heard} == {"scanning", "choosing", "comparing", "final", "done"}


def test_both_orders_are_tried() -> None:
    """P(1) is 0.02 in one world, 0 in the other: only one order shows an event the other never has."""
    for leaky in (0.0, 1.0):

        def mechanism(x: float, n: int, rng: np.random.Generator, leaky: float = leaky) -> npt.NDArray[Any]:
            return rng.random(n) < 0.02 * (x == leaky)

        result = run(mechanism, "category")
        assert result.refuted
        assert result.swapped == bool(leaky)
        assert result.event.description == "value 1 = 1"


@pytest.mark.slow
def test_the_final_test_can_be_repeated_from_its_record() -> None:
    result = run(laplace(0.5, 2), samples=1_000_000)
    assert len(result.final_batches) > 1
    record = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    pair = candidate(laplace(0.5, 2))
    columns = pair.draw(False, 64, np.random.SeedSequence(0)).columns
    event = Event.rebuild(record["event"], columns)
    index, seed = record["candidate"], record["seed"]
    hits, hits_prime = (
        sum(
            np.count_nonzero(
                event.holds(WorldStream(pair, index, SpawnKey.FINAL, world, seed).batch(batch, size))
            )
            for batch, size in enumerate(record["final_batches"])
        )
        for world in ((True, False) if record["swapped"] else (False, True))
    )
    assert (hits, hits_prime) == (record["hits"], record["hits_prime"])
    assert sum(record["final_batches"]) == record["trials"]
    error = (1 - record["confidence"]) * record["share_of_error"]
    inverted_by = dict(record["inversion"])
    kind = {"union": Union, "stouffer": Stouffer}[inverted_by.pop("name")]
    bound = kind(**inverted_by).epsilon_lower(
        hits, record["trials"], hits_prime, record["trials"], 0.0, error
    )
    assert bound == record["epsilon_lower"]
    assert record["share_of_error"] == 0.8


def test_stages_share_no_draws_and_worlds_share_random_numbers_only_to_be_compared() -> None:
    keys: list[tuple[tuple[int, ...], bool]] = []

    def draw(other_world: bool, n: int, seed: np.random.SeedSequence) -> ViewSample:
        assert n % 64 == 0
        keys.append((seed.spawn_key, other_world))
        return ViewSample(
            np.random.default_rng(seed).random((n, 2)), (Column("a", "a", "real"), Column("b", "b", "real"))
        )

    pairs = [NeighbouringWorlds((str(i), "D′"), draw) for i in range(4)]
    black_box_test(pairs, claim_epsilon=1.0, claim_delta=0.0, samples=100_000, seed=0)
    assert len(set(keys)) == len(keys) >= 2 * (4 + 3 + 3 + 1)
    assert {key[0] for key, _ in keys} == {SpawnKey.SCAN, SpawnKey.CHOOSE, SpawnKey.CONFIRM, SpawnKey.FINAL}
    worlds = {key: {world for other, world in keys if other == key} for key, _ in keys}
    assert all(len(both) == (1 if key[0] == SpawnKey.FINAL else 2) for key, both in worlds.items())


def test_the_reported_confidence_does_not_refute() -> None:
    """The claim lies between the two bounds; it changes neither the draws nor the event."""
    bounds = run(laplace(0.5))
    between = (bounds.strict_epsilon_lower + bounds.epsilon_lower) / 2.0
    result = run(laplace(0.5), claim_epsilon=between)
    assert result.hits == bounds.hits
    assert result.epsilon_lower > between
    assert not result.refuted


def test_events_are_laid_out_and_compared_on_different_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def spy(fit: WorldSamples, choose: WorldSamples, **options: Any) -> Found:
        seen.append(not any(np.shares_memory(a.values, b.values) for a in fit for b in choose))
        return search_events(fit, choose, **options)

    monkeypatch.setattr("verify.sampling.event_choice.search_events", spy)
    run(laplace(0.5))
    assert seen == [True]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_what_was_lucky_when_it_was_chosen_is_not_tested(seed: int) -> None:
    """Eight columns of noise have many tails; the half-line that tells the worlds apart is tested all the same."""
    columns = tuple(Column(f"x{i}", f"value {i}", "real") for i in range(8))

    def draw(other: bool, n: int, sequence: np.random.SeedSequence) -> ViewSample:
        noise = np.random.default_rng(sequence).laplace(size=(n, 8))
        noise[:, 3] += 0.3 * other
        return ViewSample(noise, columns)

    result = black_box_test(
        [NeighbouringWorlds(("D", "D′"), draw)],
        claim_epsilon=0.3,
        claim_delta=0.0,
        samples=400_000,
        seed=seed,
    )
    assert 0.24 < result.epsilon_lower < 0.32


def test_the_result_speaks_of_what_it_could_not_see() -> None:
    floor = run(laplace(1.0)).floor_sentence
    assert floor.basis is Basis.EXACT
    assert floor.text.startswith("On the tested data sets: an event of probability below 0.")
    assert "cannot reject ε = 30 by any event" in run(laplace(1.0), claim_epsilon=30.0).floor_sentence.text


def test_a_floor_speaks_of_the_rounds_that_were_played() -> None:
    """A leak in a later round is not too rare: nobody looked there."""
    result = run(laplace(1.0))
    played = replace(result, worlds=replace(result.worlds, rounds=3)).floor_sentence.text
    assert played.startswith("On the tested data sets, rounds 1 to 3: an event of probability below 0.")
    assert "Untested: other data sets, later rounds, and events that the search did not find." in played


def test_what_more_draws_do_not_change_is_not_said() -> None:
    """ "below 0.1 (0.1 with 10 times the draws)" before, where δ alone is larger than what draws add."""
    result = replace(run(laplace(1.0), claim_epsilon=1.0), claim_delta=0.3, detection_floor=0.301)
    assert "with 10 times the draws" not in result.floor_sentence.text
    assert "with 10 times the draws" in run(laplace(1.0)).floor_sentence.text


@pytest.mark.slow
def test_the_result_says_how_likely_another_seed_would_refute_a_claim_that_is_near() -> None:
    """The true loss is 1: a claim of .98 needs more draws."""
    held, doubtful = (run(laplace(1.0), claim_epsilon=claim) for claim in (1.0, 0.98))
    assert "power with a new seed: less than 1 %; with 10 times" in str(held.near_claim)
    words = r"power with a new seed: (\d+) %; with 10 times the draws: (\d+) %"
    now, more = map(int, re.findall(words, str(doubtful.near_claim))[0])
    assert now < 30 < more
    assert [run(laplace(1.0), claim_epsilon=claim).near_claim for claim in (2.0, 0.5)] == [None, None]


def test_the_result_turns_into_bound_and_witness() -> None:
    result = run(laplace(0.5))
    bound = result.lower_bound()
    assert (bound.epsilon, bound.delta, bound.confidence) == (result.epsilon_lower, 0.0, 0.95)
    assert bound.decisive
    assert bound.in_view
    witness = result.witness("again")
    assert witness.neighbours["data"] == ("one" if result.swapped else "0 or 1: zero")
    assert witness.hits == result.hits
    assert witness.probability == result.probability > result.probability_prime == witness.probability_prime


def test_the_band_agrees_with_the_bounds() -> None:
    result = run(laplace(0.5), samples=1_000_000)
    band = result.band
    assert band.confidence == result.confidence
    assert 1.9 < float(band.epsilon(0.0)) <= 2.0
    assert float(band.delta(0.0)) == pytest.approx(1.0 - math.exp(-1.0), abs=0.02)  # the total variation
    assert {one.swapped for one in band.events} == {False, True}
    assert (band.events[0].hits, band.events[0].hits_prime) == (result.hits, result.hits_prime)
    assert result.inverted_by.name in {"union", "stouffer"}


@pytest.mark.slow
def test_the_result_does_not_depend_on_the_number_of_workers() -> None:
    pairs = [candidate(laplace(scale, 3), label=f"pair {scale}") for scale in (1.0, 0.7, 0.4, 2.0)]
    results = [
        black_box_test(
            pairs, claim_epsilon=1.0, claim_delta=0.0, samples=60_000, seed=2, executor=Processes(workers)
        )
        for workers in (1, 2)
    ]
    first, second = ({**result.to_dict(), "band": result.band.to_dict()} for result in results)
    assert json.dumps(first) == json.dumps(second)


calls = 0


def interrupted(after: int, samples: int = 2_000_000) -> BlackBoxResult:
    """A test that is stopped by Ctrl-C in its `after`-th call of the mechanism; `calls` says how many there were."""
    global calls
    calls = 0

    def mechanism(x: float, n: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        global calls
        calls += 1
        if calls == after:
            raise Stop
        return x + rng.laplace(0.0, 0.5, n)

    return run(mechanism, samples=samples)


@pytest.mark.slow
def test_an_interrupted_test_keeps_what_it_has_with_wider_bounds() -> None:
    whole = interrupted(10**9)
    assert not whole.interrupted
    partial = interrupted(calls - 3)
    assert partial.interrupted
    assert partial.event == whole.event, "the choice was made before"
    assert 0 < partial.trials < whole.trials
    assert partial.final_batches == whole.final_batches[: len(partial.final_batches)]
    assert partial.refuted
    assert 1.5 < partial.epsilon_lower < whole.epsilon_lower
    assert partial.samples == whole.samples - 2 * (whole.trials - partial.trials)
    assert "stopped" in partial.lower_bound().method
    assert float(partial.band.epsilon(0.0)) < float(whole.band.epsilon(0.0))
    json.dumps(partial.to_dict(), allow_nan=False)


def test_nothing_is_said_if_nothing_final_was_drawn() -> None:
    with pytest.raises(Stop):
        interrupted(1)


@pytest.mark.slow
def test_outputs_with_nan_and_infinity_are_handled() -> None:
    def mechanism(x: float, n: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        values = rng.choice([np.nan, np.inf, -np.inf, 0.0], (n, 3), p=[0.25, 0.25, 0.25, 0.25])
        values[:, 1] += x
        return values

    result = run(mechanism)
    assert result.refuted
    json.dumps(result.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"claim_epsilon": -1.0}, "claim_epsilon"),
        ({"claim_epsilon": math.nan}, "claim_epsilon"),
        ({"claim_delta": 1.0}, "claim_delta"),
        ({"claim_delta": math.nan}, "claim_delta"),
        ({"confidence": 1.0}, "confidence"),
        ({"significance": 0.0}, "significance"),
        ({"samples": 100}, "samples = 100: must be at least 1,024"),
    ],
)
def test_bad_parameters_are_refused(options: dict[str, Any], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        run(laplace(1.0), **options)


@pytest.mark.few(2)
@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 12])
def test_the_least_number_of_samples_is_the_one_that_is_said(number: int) -> None:
    pairs = [candidate(laplace(1.0))] * number

    def tested(samples: int) -> BlackBoxResult:
        return black_box_test(pairs, claim_epsilon=1.0, claim_delta=0.0, samples=samples, seed=0)

    with pytest.raises(ValueError, match="samples = 100: must be at least") as refused:
        tested(100)
    least = int(str(refused.value).split()[7].replace(",", ""))
    assert tested(least).trials >= 192
    with pytest.raises(ValueError, match=f"at least {least:,} for {number} pair"):
        tested(least - 1)


def test_bad_draws_are_refused() -> None:
    one = (Column("a", "a", "real"),)
    short = NeighbouringWorlds(("short", "D′"), lambda other, n, seed: ViewSample(np.zeros((n - 1, 1)), one))
    odd = NeighbouringWorlds(
        "odd", lambda other, n, seed: ViewSample(np.zeros((n, 1)), (Column(f"{other}", "a", "real"),))
    )
    for bad, message in ((short, "draw returned"), (odd, "same columns")):
        with pytest.raises(ValueError, match=message):
            black_box_test([bad], claim_epsilon=1.0, claim_delta=0.0, samples=10_000, seed=0)
    with pytest.raises(ValueError, match="candidates"):
        black_box_test([], claim_epsilon=1.0, claim_delta=0.0, samples=10_000, seed=0)
