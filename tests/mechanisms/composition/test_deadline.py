"""After a deadline certified numbers are wider, and as true as before."""

import math
import random
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kinds_of_curves import KINDS

from accountant import deadline, risk_of
from accountant.audit import AuditQuestion, audit, calibrate, read_releases
from mechanisms import (
    ApproximateProfile,
    GaussianProfile,
    LaplaceProfile,
    ParameterError,
    PrivacyProfile,
    PureProfile,
    RandomizedResponse,
    ZeroConcentratedProfile,
    for_group,
)
from mechanisms.amplification.truncated_batches import TruncatedBatchProfile
from mechanisms.arrays import FloatArray
from mechanisms.composition import composed_loss, grid, product
from mechanisms.composition import contour as contours
from mechanisms.composition import least_noise as search
from mechanisms.composition.composed_loss import ComposedLoss, compose
from mechanisms.composition.composed_profile import composed_profile
from mechanisms.composition.enclosure import Bound, Enclosure
from mechanisms.composition.product import CountedProfiles
from mechanisms.composition.theorems import CompositionTheorem
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.losses import gaussian_mixture_loss
from mechanisms.losses.gaussian_loss import sampled_gaussian_loss
from mechanisms.losses.gaussian_mixture_loss import (
    AT_ZERO,
    GaussianMixtureLoss,
    GaussianMixtureLossSum,
    binomial_mixture,
)
from mechanisms.losses.privacy_loss import ComplexArray, PrivacyLoss
from mechanisms.numerics import deadline as deadlines
from mechanisms.numerics.deadline import OutOfTime, check_time, time_is_over
from mechanisms.profiles.related_profile import RelatedProfile
from mechanisms.profiles.subsampled import SubsampledProfile

NO_TIME = 1e-9
CASES: dict[str, list[tuple[PrivacyProfile, int]]] = {
    "Gaussian": [(GaussianProfile(0.1), 40)],
    "Laplace": [(LaplaceProfile(1.0, 20.0), 400)],
    "sampled": [
        (SubsampledProfile(RelatedProfile(GaussianProfile(1.0), Neighbouring.ADD_OR_REMOVE), 0.02), 400)
    ],
    "responses": [(RandomizedResponse(size=2, epsilon=0.1).profile(), 60)],
    "failures": [(ApproximateProfile(Fraction(1, 10), 1e-7), 3), (GaussianProfile(0.1), 4)],
    "a curve": [(ZeroConcentratedProfile(0.01), 2), (LaplaceProfile(1.0, 10.0), 3)],
}


@pytest.mark.slow_cells("a curve")
@pytest.mark.few(2)
@pytest.mark.parametrize("name", CASES)
def test_what_is_proved_in_no_time_contains_what_is_proved_later(name: str) -> None:
    loss = compose(CASES[name])
    with deadline(NO_TIME):
        short, small = loss.epsilon(1e-5), loss.delta(1.0)
    if (
        name == "a curve"
    ):  # the grid takes seconds; zCDP of 0.02 + 3 · 0.1² / 2 costs 2 √(ρ ln 1/δ) + ρ and less
        assert short.lower <= loss.epsilon(1e-5).lower
        assert short.upper < 0.035 + 2.0 * math.sqrt(0.035 * math.log(1e5))
        assert small.lower <= loss.delta(1.0).lower
        assert small.upper < 0.03
        return
    full, true = loss.epsilon(1e-5), loss.delta(1.0)
    assert short.lower <= full.lower <= full.upper <= short.upper < math.inf
    assert small.lower <= true.lower <= true.upper <= small.upper < 0.5
    assert full.width < 1e-6 or not loss.attained


def test_risk_is_bounded_after_a_deadline() -> None:
    loss = compose(CASES["Gaussian"])
    with deadline(NO_TIME):
        short = risk_of(loss, (0.1,))
    full = risk_of(loss, (0.1,))
    assert short.advantage.lower <= full.advantage.lower <= full.advantage.upper <= short.advantage.upper
    ends = short.true_positive_rates[0.1], full.true_positive_rates[0.1]
    assert ends[0].lower <= ends[1].lower <= ends[1].upper <= ends[0].upper


def test_the_first_of_two_deadlines_counts() -> None:
    assert not time_is_over()
    with deadline(NO_TIME), deadline(1e6):
        assert time_is_over()
        with pytest.raises(OutOfTime):
            check_time()
    with deadline(math.inf):
        assert not time_is_over()
    for seconds in (0.0, -1.0, math.nan):
        with pytest.raises(ParameterError, match="time_limit"), deadline(seconds):
            pass


class Clock:
    """Time that passes with what is computed of sampled Gaussians: a second for each loss at each node."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.longest = 0.0, 0.0
        line, envelope = GaussianMixtureLossSum.log_mgf_line, GaussianMixtureLossSum.log_envelope

        def slow_line(
            loss: GaussianMixtureLossSum, s: float, t: FloatArray
        ) -> tuple[ComplexArray, FloatArray]:
            self._pass(len(loss.losses) * t.size)
            return line(loss, s, t)

        def slow_envelope(loss: GaussianMixtureLossSum, s: float, heights: FloatArray) -> FloatArray:
            self._pass(len(loss.losses) * heights.size)
            return envelope(loss, s, heights)

        monkeypatch.setattr(GaussianMixtureLossSum, "log_mgf_line", slow_line)
        monkeypatch.setattr(GaussianMixtureLossSum, "log_envelope", slow_envelope)
        monkeypatch.setattr(deadlines, "time", SimpleNamespace(monotonic=lambda: self.now))

    def _pass(self, seconds: float) -> None:
        self.now += seconds
        self.longest = max(self.longest, seconds)


def test_an_interval_in_time_overruns_by_a_few_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    curves = [
        SubsampledProfile(
            RelatedProfile(GaussianProfile(1.0 / (1.0 + 0.03 * i)), Neighbouring.ADD_OR_REMOVE), 0.01
        )
        for i in range(40)
    ]
    direction = compose((curve, 1) for curve in curves).directions[0]
    clock = Clock(monkeypatch)

    def within(seconds: float) -> Enclosure:
        clock.now, clock.longest = 0.0, 0.0
        with deadline(seconds):
            return direction.epsilon(1e-6, 1e-9)

    whole = within(1e9)
    needed, largest_step = clock.now, clock.longest
    least = within(0.5)
    assert clock.now < 0.01 * needed
    monkeypatch.setattr(contours, "_AT_ONCE", 100.0)
    for share in (0.3, 0.8):
        short = within(share * needed)
        assert clock.longest < 0.05 * largest_step
        assert (
            clock.now <= share * needed + 5.0 * clock.longest
        )  # planned with a few of the losses, in between
        assert least.lower <= short.lower <= whole.lower <= whole.upper <= short.upper <= least.upper < 3.0
    cut = within(1e9)
    assert (cut.lower, cut.upper) == pytest.approx((whole.lower, whole.upper), abs=1e-9)


def test_an_envelope_is_left_when_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    loss = GaussianMixtureLossSum(
        tuple(sampled_gaussian_loss(0.01, 1.0 + 0.01 * i) for i in range(30)), (1,) * 30
    )
    clock = Clock(monkeypatch)
    monkeypatch.setattr(contours, "_AT_ONCE", 20.0 * loss.cost(5.0, 0.0))
    with deadline(15.0), pytest.raises(OutOfTime):
        contours.TiltedLoss(loss, 5.0).envelope(10)
    assert 15.0 <= clock.now < 30.0


def test_a_theorem_that_takes_too_long_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_long(releases: CountedProfiles, number: float) -> Bound:
        raise OutOfTime

    endless = CompositionTheorem("endless", "", too_long, too_long, one_way=True)
    monkeypatch.setattr(composed_loss, "beside_the_product", lambda *_, loose: (endless,))
    monkeypatch.setattr(composed_loss, "THEOREMS", {"endless": endless})
    loss = compose([(TruncatedBatchProfile(1.0, 0.1, 20, 5), 2)])
    assert 0.0 < loss.epsilon(1e-3).upper < 10.0
    assert 0.0 < loss.directed_delta(1.0)[0].upper < 1.0


@pytest.mark.slow
def test_an_audit_says_what_it_knows(tmp_path: Path) -> None:
    path = tmp_path / "releases.toml"
    path.write_text('[[release]]\nmechanism = "laplace"\nscale = 20.0\ncount = 400\n')
    releases, question = read_releases(path), AuditQuestion(delta=1e-6)
    full = audit(releases, question, 30.0, risk=True)
    short = audit(releases, question, 30.0, risk=True, time_limit=NO_TIME)
    assert full.complete
    assert not short.complete
    assert short.answer.lower <= full.answer.lower <= full.answer.upper <= short.answer.upper
    assert short.answer.upper == min(row.upper for row in short.theorems.values())
    assert full.remaining is not None
    assert short.remaining is not None
    (more,), (all_of_them,) = short.remaining.more.values(), full.remaining.more.values()
    assert 0 <= more <= all_of_them


def test_noise_that_was_proved_to_be_enough_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "releases.toml"
    path.write_text('[[release]]\nmechanism = "gaussian"\nsigma = 20.0\ncount = 90\n')
    releases = read_releases(path)
    least = calibrate(releases, 0.5, 1e-6)
    assert least.complete
    with pytest.raises(ValueError, match="within the time limit"):
        calibrate(releases, 0.5, 1e-6, time_limit=NO_TIME)
    asked = []

    def over() -> bool:
        asked.append(0)
        return len(asked) > 4

    monkeypatch.setattr(search, "time_is_over", over)
    some = calibrate(releases, 0.5, 1e-6)
    assert some.factor >= least.factor * (1.0 - 1e-6)
    assert some.epsilon <= 0.5


def test_a_curve_at_many_points_asks_once_after_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group's curve over a sampled composition took minutes: it was asked 256 times, ten times over."""
    profile = composed_profile([(LaplaceProfile(1.0, 2.0), 2), (GaussianProfile(0.3), 1)])
    x = np.linspace(0.0, 3.0, 200)
    low, high = profile.bounds(x)
    asked: list[float] = []
    directed_delta = ComposedLoss.directed_delta

    def counted(loss: ComposedLoss, epsilon: float, **terms: float) -> Any:
        asked.append(epsilon)
        return directed_delta(loss, epsilon, **terms)

    monkeypatch.setattr(ComposedLoss, "directed_delta", counted)
    with deadline(NO_TIME):
        later_low, later_high = profile.bounds(x)
    assert len(asked) == 1
    assert np.all(later_low <= high)
    assert np.all(later_high >= low)
    assert np.all(np.diff(later_high) <= 0.0)


def test_the_range_of_a_grid_is_found_after_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No point of the curve was small enough once all had the value of the first: an IndexError."""
    profile = composed_profile([(LaplaceProfile(1.0, 2.0), 2), (GaussianProfile(0.3), 1)])
    monkeypatch.setattr(grid, "check_time", lambda: None)  # the time may be over after its first step
    with deadline(NO_TIME):
        low, high = grid._range(profile, 1e-9)
    assert low < 0.0 < high
    assert profile.delta(high) <= 1e-9


def _ticking(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time that deadlines see, to be set."""
    now = [0.0]
    monkeypatch.setattr(deadlines, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


EVERY_KIND = [(relation, kind) for relation, makes in KINDS.items() for kind in makes]


@pytest.mark.slow_cells("replace one replaced group on a sample")
@pytest.mark.few(8)
@pytest.mark.parametrize(
    ("relation", "kind"), EVERY_KIND, ids=[f"{one.value} {kind}" for one, kind in EVERY_KIND]
)
def test_little_is_evaluated_after_the_grace(
    relation: Neighbouring, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An inversion evaluated a curve hundreds of times, and a Rényi curve has 91 orders."""
    profile = KINDS[relation][kind](random.Random(kind))
    group = for_group(profile, 3)
    calls: list[str] = []

    def count(owner: type, name: str) -> None:
        plain = getattr(owner, name)

        def counted(*arguments: Any) -> Any:
            calls.append(name)
            return plain(*arguments)

        monkeypatch.setattr(owner, name, counted)

    count(PrivacyProfile, "bounds")
    count(PrivacyProfile, "delta")
    count(PrivacyLoss, "log_top")
    now = _ticking(monkeypatch)

    def evaluations(ask: Callable[[], object]) -> int:
        now[0] = 0.0
        with deadline(1.0):
            now[0] = 10.0
            calls.clear()
            ask()
        return len(calls)

    once = evaluations(lambda: group.bounds(np.array(0.5)))
    asked: list[Callable[[], object]] = [lambda: group.epsilon(1e-5)]
    for releases in ([(profile, 1)], [(profile, 3)], [(group, 2)]):
        loss = compose(releases)
        asked += [partial(loss.epsilon, 1e-5), partial(loss.delta, 0.5), partial(loss.theorems, epsilon=0.5)]
    assert max(map(evaluations, asked)) <= 60 + 4 * once


@pytest.mark.parametrize("s", [1.0, 100.0, 1e4])
def test_the_cost_of_a_contour_is_its_nodes(s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """At large tilts it was a hundredth: a contour was planned that took five minutes."""
    nodes: list[int] = []
    losses_at = GaussianMixtureLossSum._losses_at

    def counted(own: GaussianMixtureLossSum, u: FloatArray, rows: slice) -> Any:
        nodes.append(u.size * len(own._sigmas[rows]))
        return losses_at(own, u, rows)

    monkeypatch.setattr(GaussianMixtureLossSum, "_losses_at", counted)
    for loss in (
        sampled_gaussian_loss(0.01, 1.0),
        sampled_gaussian_loss(1e-16, 20.0),
        GaussianMixtureLossSum((sampled_gaussian_loss(0.1, 2.0), sampled_gaussian_loss(0.2, 3.0)), (3, 1)),
    ):
        nodes.clear()
        loss.log_mgf_line(s, np.linspace(0.0, 30.0, 3))
        assert 0.5 * sum(nodes) <= loss.cost(s, 30.0) / gaussian_mixture_loss._OF_A_NODE <= 2.0 * sum(nodes)


def test_a_path_with_too_many_nodes_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Far paths took 4 seconds and a million nodes where near ones took thousands."""
    loss = GaussianMixtureLoss(AT_ZERO, binomial_mixture(2, 0.01), 1.0)
    sizes: list[int] = []
    log_density = GaussianMixtureLossSum._log_density

    def counted(own: GaussianMixtureLossSum, side: int, u: FloatArray, rows: slice) -> Any:
        sizes.append(u.size)
        return log_density(own, side, u, rows)

    monkeypatch.setattr(GaussianMixtureLossSum, "_log_density", counted)
    for s in (1.0, 1e3, 1e4):
        found = loss.log_envelope(s, np.array([1.0, 10.0]))
        assert found[1] <= found[0] < math.inf
        assert max(sizes) <= 2**15 + 4


def test_an_error_names_the_limit_that_counted(tmp_path: Path) -> None:
    path = tmp_path / "releases.toml"
    path.write_text('[[release]]\nmechanism = "gaussian"\nsigma = 20.0\ncount = 90\n')
    releases = read_releases(path)
    with deadline(1e-6), pytest.raises(ParameterError, match=r"within the time limit of 1e-06 s"):
        calibrate(releases, 0.5, 1e-6, time_limit=60.0)
    with pytest.raises(ParameterError, match=r"within the time limit of 2e-06 s"):
        calibrate(releases, 0.5, 1e-6, time_limit=2e-6)


def test_the_risk_of_an_audit_in_no_time_is_that_of_its_answer(tmp_path: Path) -> None:
    """An audit said δ <= .07 at ε = 0, and an advantage of at most 1."""
    path = tmp_path / "releases.toml"
    path.write_text('[[release]]\nmechanism = "laplace"\nscale = 20.0\ncount = 3\n')
    short = audit(read_releases(path), AuditQuestion(epsilon=0.0), risk=True, time_limit=NO_TIME)
    assert short.risk is not None
    assert short.answer.upper < 0.2
    assert short.risk.advantage.upper <= short.answer.upper
    assert short.risk.accuracy.upper <= 0.5 + 0.5 * short.answer.upper + 1e-15
    assert max(delta for _, delta in short.risk.profile) <= short.answer.upper


def test_the_first_bound_of_curves_is_known_before_their_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """The grid of two curves took the whole minute: δ <= 1 was all that was known, and .075 the truth."""
    now = _ticking(monkeypatch)

    def endless(*_: Any, **__: Any) -> None:
        now[0] = 1e3
        raise OutOfTime

    monkeypatch.setattr(product, "grid", endless)
    sampled = SubsampledProfile(
        RelatedProfile(ZeroConcentratedProfile(0.01), Neighbouring.ADD_OR_REMOVE), 0.1
    )
    loss = compose(
        [(sampled, 1), (RelatedProfile(PureProfile(Fraction(1, 1000)), Neighbouring.ADD_OR_REMOVE), 1)]
    )
    assert loss._is_on_grid
    with deadline(60.0):
        found = loss.delta(0.0)
        assert found.upper < 0.008
        assert found.by == "basic composition"
    now[0] = 0.0
    with deadline(60.0):
        assert compose(loss.releases).epsilon(1e-6).upper < 0.5
