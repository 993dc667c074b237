"""Faults in a play of coupled runs, and results that may not count as one."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import beta, norm

from accountant import Coupled, Private
from algorithms.claim import ClaimForm, View
from mechanisms import Categories, Gaussian, Interval, Laplace, RandomizedResponse, Sensitivity
from verify.conduct.conduct import Conduct
from verify.conduct.effort import EFFORTS
from verify.findings.finding import UpperBound
from verify.learners import played_pairs
from verify.learners.played_pairs import PlayedNeighbours, PlayedPairs
from verify.sampling.evidence import Evidence


def plays(*, raising: bool) -> PlayedPairs:
    def play(learner: object, gate: object, numbers: object) -> Iterator[None]:
        yield
        if raising:
            raise ZeroDivisionError("a learner's own")

    form = ClaimForm(model="local", view=View.MESSAGE, unit="one report", source="a test")
    pairs = PlayedNeighbours([("D", "D′")], [1], play)
    conduct = Conduct(EFFORTS["quick"], 0, "")
    return PlayedPairs(
        lambda gate: None,
        pairs,
        form.with_parameters(1.0, 0.0),
        conduct,
        draws_from_gate=True,
        sees_draws=True,
    )


def test_what_a_learner_raises_ends_its_plays() -> None:
    assert plays(raising=True).add(Evidence(), np.random.SeedSequence(0)) is None
    assert plays(raising=False).add(Evidence(), np.random.SeedSequence(0)) is False


def test_a_fault_of_the_bounds_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was taken for a learner's, and the verdict went on without lower bounds."""

    def fails(*_: object) -> None:
        raise ZeroDivisionError("our own")

    monkeypatch.setattr(PlayedPairs, "_pure_bounds", fails)
    monkeypatch.setattr(played_pairs, "compose", fails)
    with pytest.raises(ZeroDivisionError, match="our own"):
        plays(raising=False).add(Evidence(), np.random.SeedSequence(0))


# --- bounds of scripted learners, against their formulas ---------------------------------------------

Step = Callable[[Coupled], object]
ONE, DELTA = Interval(0.0, 1.0), 0.01
ERROR = EFFORTS["quick"].significance / 4.0


def moved(gate: Coupled) -> Private:
    return gate.private(np.array([[1.0], [0.0]]), ONE, "one")


def laplace(gate: Coupled) -> None:
    gate.release(Laplace(scale=1.0), moved(gate))


def gaussian(gate: Coupled) -> None:
    gate.release(Gaussian(sigma=2.0, sensitivity=Sensitivity(1.0, 1.0, 1.0)), moved(gate))


def response(gate: Coupled) -> None:
    gate.release(
        RandomizedResponse(size=2, epsilon=1.5), gate.private(np.array([[0.0], [1.0]]), Categories(2), "one")
    )


def shown(gate: Coupled) -> None:
    gate.declassify(moved(gate), "a test")


def unshown(gate: Coupled) -> None:
    gate.declassify(moved(gate), "a test", shown=False)


def unmoved(gate: Coupled) -> None:
    gate.release(Laplace(scale=1.0), gate.private(np.array([[1.0]]), ONE, "one"))


def by_coin(step: Step) -> Step:
    return lambda gate: step(gate) if gate.random.random() < 0.5 else None


def bounded(steps: Sequence[Step], delta: float, **knows: bool) -> Evidence:
    """Return the evidence against 0.5 of a learner that takes these steps."""

    def play(learner: object, gate: Coupled, numbers: object) -> Iterator[None]:
        for step in steps:
            step(gate)
            yield

    evidence, subject = Evidence(), plays(raising=False)
    subject = replace(
        subject,
        pairs=PlayedNeighbours([("D", "D′")], ["one"], play),
        claim=replace(subject.claim, epsilon=0.5, delta=delta),
        **knows,
    )
    assert subject.add(evidence, np.random.SeedSequence(0))
    return evidence


def laplace_epsilon(delta: float) -> float:
    """Invert δ(ε) = 1 - e^((ε - 1) / 2)."""
    return 1.0 + 2.0 * math.log1p(-delta)


def gaussian_epsilon(delta: float, mu: float = 0.5) -> float:
    """Invert δ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ)."""

    def curve(epsilon: float) -> float:
        return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))

    return brentq(lambda epsilon: curve(epsilon) - delta, 0.0, 50.0)


UNSEEN = {"sees_draws": False}


@pytest.mark.parametrize(
    ("steps", "delta", "knows", "epsilon", "in_view"),
    [
        ([laplace], 0.0, {}, 1.0, True),
        ([laplace, laplace, laplace], 0.0, {}, 3.0, True),
        ([response], 0.0, {}, 1.5, True),
        ([gaussian], 0.0, {}, math.inf, True),
        ([shown], 0.0, {}, math.inf, True),
        ([laplace, unshown], 0.0, {}, math.inf, False),
        ([unshown, laplace], 0.0, {}, math.inf, False),
        ([by_coin(laplace)], 0.0, {}, 1.0, True),
        ([by_coin(laplace)], 0.0, UNSEEN, 1.0, False),
        ([laplace, by_coin(laplace)], 0.0, UNSEEN, 1.0, True),
        ([laplace], DELTA, {}, laplace_epsilon(DELTA), True),
        ([gaussian], DELTA, {}, gaussian_epsilon(DELTA), True),
        ([shown], DELTA, {}, math.inf, True),
        ([laplace, unshown], DELTA, {}, laplace_epsilon(DELTA), True),
        ([unshown, laplace], DELTA, {}, laplace_epsilon(DELTA), False),
        ([gaussian, laplace], DELTA, {}, gaussian_epsilon(DELTA), True),
    ],
)
def test_bounds_without_error_are_the_formulas(
    steps: list[Step], delta: float, knows: dict[str, bool], epsilon: float, in_view: bool
) -> None:
    lower = bounded(steps, delta, **knows).lower
    assert lower is not None
    assert (lower.delta, lower.confidence, lower.samples) == (delta, 1.0, 0)
    assert lower.epsilon == pytest.approx(epsilon, rel=1e-8)
    assert lower.epsilon <= epsilon
    assert lower.in_view is in_view


@pytest.mark.parametrize(
    ("steps", "knows", "in_view", "plays", "between"),
    [
        ([by_coin(laplace)], {}, True, 200, (0.3, 0.7)),
        ([by_coin(laplace)], UNSEEN, False, 200, (0.3, 0.7)),
        ([laplace], {"draws_from_gate": False}, True, 200, (1.0, 1.0)),
        ([unmoved, laplace], {}, True, 40, (1.0, 1.0)),
    ],
)
def test_a_release_that_may_come_first_counts_as_often_as_it_did(
    steps: list[Step], knows: dict[str, bool], in_view: bool, plays: int, between: tuple[float, float]
) -> None:
    """ε is that at δ over the share of plays that begin with it, by Clopper and Pearson's lower bound."""
    evidence = bounded(steps, DELTA, **knows)
    lower, witness = evidence.lower, evidence.witness
    assert lower is not None
    assert witness is not None
    least, most = (
        laplace_epsilon(
            DELTA / float(beta.ppf(ERROR, round(share * plays), plays - round(share * plays) + 1))
        )
        for share in between
    )
    assert least * (1 - 1e-8) <= lower.epsilon <= most
    assert (lower.confidence, lower.samples, lower.in_view) == (1.0 - ERROR, plays, in_view)
    share = DELTA / -math.expm1((lower.epsilon - 1.0) / 2.0)
    on_d, on_d_prime = (
        1.0 - math.exp((lower.epsilon - 1.0) / 2.0) / 2.0,
        math.exp(-(lower.epsilon + 1.0) / 2.0) / 2.0,
    )
    assert witness.probability == pytest.approx(share * on_d, rel=1e-6)
    assert witness.probability_prime == pytest.approx(share * on_d_prime, rel=1e-6)


def test_all_gaussian_releases_together_tell_more_than_the_first() -> None:
    """At δ over the share of 48 plays that reached μ √3: the bound is that of a Gaussian release, at most."""
    lower = bounded([gaussian, gaussian, gaussian], DELTA).lower
    assert lower is not None
    needed = DELTA / float(beta.ppf(ERROR, 48, 1))
    assert lower.epsilon == pytest.approx(gaussian_epsilon(needed, 0.5 * math.sqrt(3.0)), rel=1e-6)
    assert (lower.confidence, lower.samples, lower.in_view) == (1.0 - ERROR, 48, True)


def pairs_at(distances: Sequence[float], *, in_lanes: bool = True) -> PlayedPairs:
    """Return pairs on which a value that is 0 on D is one of these; Laplace noise of scale 1 is added twice."""

    def play(learner: object, gate: Coupled, numbers: Sequence[int]) -> Iterator[None]:
        worlds = np.zeros((1 + len(numbers), gate.lanes))
        worlds[1:] = [[distances[number]] for number in numbers]
        for _ in range(2):
            gate.release(Laplace(scale=1.0), gate.private(worlds, ONE, "one"))
            if gate.lanes > 1 and not in_lanes:
                raise ZeroDivisionError("lanes")
            yield

    words = [("0", f"{distance:g}") for distance in distances]
    return replace(plays(raising=False), pairs=PlayedNeighbours(words, range(len(words)), play))


FARTHEST = [1.0 if number == 60 else 0.001 * number for number in range(100)]


@pytest.mark.parametrize("charged", [1.9, 2.0])
@pytest.mark.parametrize("in_lanes", [True, False])
def test_runs_beside_many_neighbours_name_the_one_that_is_farthest(charged: float, in_lanes: bool) -> None:
    """Each noise loses 1 in half of all draws, both 2 at most; 100 neighbours are on three gates."""
    subject = pairs_at(FARTHEST, in_lanes=in_lanes)
    evidence = Evidence(upper=UpperBound(charged, 0.0, "a test", every_run=True))
    run = subject.run(evidence, np.random.SeedSequence(0))
    assert run is not None
    lanes = EFFORTS["quick"].coupled_lanes if in_lanes else 16
    assert run.losses.shape == (100, lanes)
    assert [finding.kind for finding in evidence.findings] == ([] if in_lanes else ["no-lanes"])
    subject.add_run(evidence, run, np.random.SeedSequence(0), repeats=True)
    assert evidence.details["coupled"] == {
        "largest_loss": pytest.approx(2.0),
        "record": 60,
        "replacement": "1",
        "neighbours": 100,
        "lanes": lanes,
    }
    assert [each.text for each in evidence.contradictions] == (
        ["A coupled run has privacy loss 2, above the charge 1.9."] if charged < 2.0 else []
    )
    lower, witness = evidence.lower, evidence.witness
    assert lower is not None
    assert witness is not None
    assert (lower.epsilon, lower.in_view) == (pytest.approx(2.0), True)
    hits = int((run.losses[60] >= 2.0 - 1e-8).sum())
    assert (witness.hits, witness.trials, witness.neighbours) == (
        hits,
        lanes,
        {"data": "0", "data_prime": "1"},
    )
    assert witness.probability == hits / lanes
    assert witness.probability_prime == pytest.approx(hits / lanes * math.exp(-2.0))
    laws = witness.laws
    assert laws is not None
    below, *above = laws.bins
    assert (below.label, below.data, below.inside) == ("≤ 0", (run.losses[60] <= 0.0).sum(), False)
    assert sum(each.data for each in laws.bins) == lanes == laws.draws
    assert sum(each.data for each in above if each.inside) == hits
    assert sum(each.data_prime for each in above) == pytest.approx(
        np.exp(-run.losses[60][run.losses[60] > 0.0]).sum()
    )


def test_a_run_that_does_not_repeat_bounds_nothing_in_view() -> None:
    evidence, subject = Evidence(), pairs_at([1.0])
    run = subject.run(evidence, np.random.SeedSequence(0))
    assert run is not None
    subject.add_run(evidence, run, np.random.SeedSequence(0), repeats=False)
    assert evidence.lower is not None
    assert not evidence.lower.in_view


def test_draws_of_one_release_bound_its_loss_where_there_is_no_formula() -> None:
    """Of a bit that is true with p = e^1.5 / (1 + e^1.5): δ(ε) = p - e^ε (1 - p), inverted."""
    lower = bounded([response], DELTA).lower
    assert lower is not None
    p = 1.0 / (1.0 + math.exp(-1.5))
    assert (lower.confidence, lower.samples) == (1.0 - ERROR, 20_000)
    assert 0.99 * math.log((p - DELTA) / (1.0 - p)) < lower.epsilon < math.log((p - DELTA) / (1.0 - p))


@pytest.mark.parametrize("order", [(0.3, 1.0), (1.0, 0.3)])
def test_the_first_release_is_of_the_pair_that_shows_most(order: tuple[float, float]) -> None:
    evidence, subject = Evidence(), pairs_at(order)
    subject = replace(subject, claim=replace(subject.claim, delta=DELTA))
    assert subject.add(evidence, np.random.SeedSequence(0))
    assert evidence.lower is not None
    assert evidence.witness is not None
    assert evidence.lower.epsilon == pytest.approx(laplace_epsilon(DELTA))
    assert evidence.witness.neighbours["data_prime"] == "1"
