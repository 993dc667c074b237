"""Every engine takes each error that it is told of into account: errors far above rounding are planted, as are cuts.

In use, an error of a transform is a few units in the last place, and what is cut off is chosen to be less. No answer
shows then if a term of the bound is missing. Here transforms are off by far more, and say so, and contours end early or
have few nodes: without the term an interval would miss the δ that the untouched engines agree upon.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from kinds_of_curves import JOINING, KINDS, PLAIN, REPLACING
from syrupy.assertion import SnapshotAssertion

from mechanisms import Neighbouring
from mechanisms.arrays import FloatArray
from mechanisms.composition.composed_loss import compose
from mechanisms.composition.contour import Contour, TiltedLoss, _log_tails, plan_contour
from mechanisms.composition.enclosure import lower_end
from mechanisms.composition.lattice import LatticeContour, lattice_contour
from mechanisms.composition.product import engines
from mechanisms.composition.saddle import saddle_for_epsilon
from mechanisms.losses.atomic_loss import AtomicLoss
from mechanisms.losses.discrete_gaussian_loss import DiscreteGaussianLoss
from mechanisms.losses.gaussian_loss import GaussianLoss, sampled_gaussian_loss
from mechanisms.losses.laplace_loss import LaplaceLoss
from mechanisms.losses.oscillation import Oscillations
from mechanisms.losses.privacy_loss import ComplexArray, LatticeValues, PrivacyLoss, add_losses


@dataclass(frozen=True)
class OffLoss(PrivacyLoss):
    """A loss whose transform is off by a factor e^{off}, and says so."""

    own: PrivacyLoss
    off: float

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        value, error = self.own.log_mgf_line(s, t)
        return value + self.off, error + abs(self.off)

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        return self.own.log_mgf_real(s)

    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        return self.own.log_envelope(s, heights)

    def log_lattice_envelope(self, s: float, heights: FloatArray, spacing: Fraction) -> FloatArray:
        return self.own.log_lattice_envelope(s, heights, spacing)

    def oscillations(self, s: float) -> Oscillations | None:
        return self.own.oscillations(s)

    @property
    def supremum(self) -> float:
        return self.own.supremum

    @property
    def precision(self) -> float:
        return self.own.precision

    @property
    def lattice(self) -> LatticeValues | None:
        return self.own.lattice


RESPONSE = AtomicLoss((Fraction(1, 10), Fraction(-1, 10)), (0.5249791874789399, 0.47502081252106))
LOSSES = {
    "contour": (add_losses([GaussianLoss(0.5), LaplaceLoss((Fraction(1, 3),))], [1, 4]), 2.0),
    "contour of a sampled Gaussian": (add_losses([sampled_gaussian_loss(0.01, 1.0)], [500]), 1.5),
    "phantom": (LaplaceLoss((Fraction(1, 20), Fraction(1, 7)), (500, 70)), 5.0),
    "oscillations": (LaplaceLoss(tuple(Fraction(1, 40 + i) for i in range(60)), (20,) * 60), 1.5),
    "lattice": (add_losses([RESPONSE], [200]), 4.05),
    "discrete Gaussian": (add_losses([DiscreteGaussianLoss(1, 5.0)], [10]), 2.02),
}
OFF = 1e-4


def intervals(loss: PrivacyLoss, epsilon: float) -> Iterator[tuple[str, float, float]]:
    saddle = saddle_for_epsilon(loss, epsilon)
    for engine in engines(TiltedLoss(loss, saddle.s), saddle, 1e-6):
        yield engine.name, *engine.bounds(epsilon)


def truth(loss: PrivacyLoss, epsilon: float) -> tuple[float, float]:
    found = [(lower, upper) for _, lower, upper in intervals(loss, epsilon)]
    lower, upper = max(low for low, _ in found), min(high for _, high in found)
    assert 0.0 < upper - lower < 0.1 * OFF * upper
    return lower, upper


@pytest.mark.parametrize("name", LOSSES)
def test_engines_take_the_errors_of_transforms_into_account(name: str) -> None:
    loss, epsilon = LOSSES[name]
    lower, upper = truth(loss, epsilon)
    for off in (-OFF, OFF):
        for engine, low, high in intervals(OffLoss(loss, off), epsilon):
            assert low <= lower, engine
            assert high >= upper, engine
            assert high - low >= OFF * upper
            assert high - low <= 50.0 * OFF * upper, engine  # a few for the sum of moduli over the sum


@pytest.mark.parametrize("name", ["contour", "contour of a sampled Gaussian", "phantom"])
def test_what_a_contour_cuts_off_and_counts_twice_is_taken_into_account(name: str) -> None:
    """It ends early, or its nodes are too far apart."""
    loss, epsilon = LOSSES[name]
    lower, upper = truth(loss, epsilon)
    saddle = saddle_for_epsilon(loss, epsilon)
    line, phantom = TiltedLoss(loss, saddle.s), 1e-3 if name == "phantom" else 0.0
    plan = plan_contour(line, saddle, 1e-9, 1e7, phantom)
    assert plan is not None
    whole, apart = Contour(loss, plan).estimate(epsilon)[0], 0
    for share in (1.0, 0.5, 0.3, 0.2, 0.1, 0.05):
        for wider in (1.0, 1.5, 2.0, 3.0, 5.0):
            nodes, step = max(1, round(share * plan.nodes / wider)), plan.step * wider
            ends = np.array([nodes * step])
            tails = _log_tails(loss, plan.s, ends, phantom, loss.log_envelope(plan.s, ends))[:, 0]
            coarse = replace(plan, step=step, nodes=nodes, log_tails=tuple(tails.tolist()))
            contour = Contour(loss, coarse)
            low, high = contour.bounds(epsilon)
            assert low <= lower
            assert high >= upper
            apart += abs(contour.estimate(epsilon)[0] - whole) > 1e-6 * whole
    assert apart > 8  # else the bounds had nothing to do


@pytest.mark.parametrize("name", ["lattice", "discrete Gaussian"])
def test_what_a_lattice_contour_cuts_off_and_counts_twice_is_taken_into_account(name: str) -> None:
    loss, epsilon = LOSSES[name]
    lower, upper = truth(loss, epsilon)
    saddle = saddle_for_epsilon(loss, epsilon)
    full = lattice_contour(TiltedLoss(loss, saddle.s), saddle, 1e-12)
    assert full is not None
    most = round(full._period / full._d)
    for share, tilt in product((1.0, 0.5, 0.25, 0.1), (1.0, 0.2)):
        points, other = max(8, round(share * most)), replace(saddle, s=tilt * saddle.s)
        for nodes in {points // 2, points // 4, points // 8, 4, 2}:
            contour = LatticeContour(loss, full._lattice, other, points, nodes, 2.0 * saddle.s)
            low, high = contour.bounds(epsilon)
            assert low <= lower
            assert high >= upper


@pytest.mark.parametrize("off", [-OFF, OFF])
def test_running_losses_add_up_the_errors_of_what_is_added(off: float) -> None:
    """As a contour grows by five releases, whose transforms are off."""
    loss, epsilon, count = GaussianLoss(0.5), 2.0, 5
    more = LaplaceLoss((Fraction(1, 3),))
    lower, upper = truth(add_losses([loss, more], [1, count]), epsilon)
    saddle = saddle_for_epsilon(loss, epsilon)
    plan = plan_contour(TiltedLoss(loss, saddle.s), saddle, 1e-9, 1e7)
    assert plan is not None
    contour = Contour(loss, plan)
    low, high = contour.including(contour.transform(OffLoss(more, off)), count).bounds(epsilon)
    assert low <= lower < upper <= high
    assert high - low <= 50.0 * count * OFF * upper


@pytest.mark.parametrize("moved", [Fraction(-1, 10**5), Fraction(1, 10**5)])
@pytest.mark.parametrize("epsilon", [1.2, 1.6 - 1e-5])
def test_values_that_are_off_by_as_much_as_stated_are_inside(epsilon: float, moved: Fraction) -> None:
    """Of a response's 30 releases every loss is larger, or smaller, than the one given."""
    count, losses, p = 30, RESPONSE.losses, RESPONSE.probabilities
    given = add_losses([AtomicLoss(losses, p, displaced=float(abs(moved)))], [count])
    lower, upper = truth(add_losses([AtomicLoss(tuple(own + moved for own in losses), p)], [count]), epsilon)
    found = list(intervals(given, epsilon))
    assert found
    for name, low, high in found:
        assert low <= lower, name
        assert high >= upper, name
        assert high - low <= 0.2 * upper


FIGURES = 2.0**-20
"""Unit roundoff of floats with the digits of single precision, nearly: what is counted for rounding is seen then."""


@pytest.fixture
def coarse_floats(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Floats of few digits in all of mechanisms, which keeps nothing from before, and nothing of it afterwards."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("mechanisms.")]
    kept = [value for module in modules for value in vars(module).values() if hasattr(value, "cache_clear")]
    for module in modules:
        if hasattr(module, "ROUNDING"):
            monkeypatch.setattr(module, "ROUNDING", FIGURES)
    for value in kept:
        value.cache_clear()
    yield
    for value in kept:
        value.cache_clear()


def shown(low: float, high: float) -> str:
    """Give both ends, the lower one by its distance; one of a few true roundings is no figure."""
    return f"{high:.6g}, lower by " + (f"{high - low:.3g}" if high - low > 1e-10 * high else "little")


@pytest.mark.usefixtures("coarse_floats")
@pytest.mark.parametrize("name", LOSSES)
def test_engines_count_roundings_as_recorded(name: str, snapshot: SnapshotAssertion) -> None:
    """A change that is meant is recorded with ``--snapshot-update``, and the difference is read like code."""
    loss, epsilon = LOSSES[name]
    found = [
        f"{engine} {high:.6g}, lower by {high - low:.3g}" for engine, low, high in intervals(loss, epsilon)
    ]
    assert "\n".join(found) == snapshot


@pytest.mark.usefixtures("coarse_floats")
@pytest.mark.parametrize(
    ("relation", "kind"),
    [
        *(
            (Neighbouring.REPLACE_ONE, kind) for kind in (*PLAIN, *REPLACING) if kind != "several binomials"
        ),  # dear
        *(
            (Neighbouring.ADD_OR_REMOVE, kind) for kind in JOINING if kind != "random allocation"
        ),  # is a law no more
    ],
    ids=lambda value: value if isinstance(value, str) else value.value,
)
def test_curves_and_compositions_count_roundings_as_recorded(
    relation: Neighbouring, kind: str, snapshot: SnapshotAssertion
) -> None:
    """Of every kind, with parameters that no other test has, as some results are kept; widths are of roundings then."""
    profile = KINDS[relation][kind](random.Random(f"coarse {kind}"))
    ends = np.transpose(profile.bounds(np.array([-0.5, 0.03, 0.4]))).tolist()
    if kind in PLAIN and profile.loss() is not None:
        answer = compose([(profile, 3)]).delta(0.3, width=1e-3)
        ends.append([lower_end(answer) or 0.0, answer.upper])
    assert "\n".join(shown(low, high) for low, high in ends) == snapshot
