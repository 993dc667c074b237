"""Compositions next to their largest loss, against 60 digits."""

import math
import random
from fractions import Fraction

import mpmath as mp
import pytest

from mechanisms import (
    AtomicProfile,
    DiscreteLaplaceProfile,
    LaplaceProfile,
    PrivacyProfile,
    RandomizedResponse,
)
from mechanisms.composition.ceiling import NearCeiling
from mechanisms.composition.composed_loss import compose
from mechanisms.composition.equal_laplace import equal_laplace
from mechanisms.composition.saddle import saddle_for_epsilon
from mechanisms.losses.laplace_loss import LaplaceLoss
from mechanisms.losses.privacy_loss import CeilingLaw

Atoms = list[tuple[mp.mpf, mp.mpf]]


def exactly(value: Fraction) -> mp.mpf:
    return mp.mpf(value.numerator) / value.denominator


def of_laplace(count: int, gap: mp.mpf) -> mp.mpf:
    """δ of Laplace losses at a distance of at most 2 min e below the largest, by convolving one after the other.

    The law of X is a sum of atoms at 0 and densities c_i x^i e^{-x/2}.
    """
    atom, density = mp.mpf(1), {0: mp.mpf(0)}
    for _ in range(count):
        new: dict[int, mp.mpf] = {0: atom / 4}
        for i, c in density.items():
            new[i] = new.get(i, mp.mpf(0)) + c / 2
            new[i + 1] = new.get(i + 1, mp.mpf(0)) + c / 4 / (i + 1)
        atom, density = atom / 2, new
    # ∫_0^g x^i e^{-x/2} (1 - e^{x-g}) dx with both parts as incomplete gamma functions
    total = atom * -mp.expm1(-gap)
    for i, c in density.items():
        first = mp.gammainc(i + 1, 0, gap / 2) * mp.mpf(2) ** (i + 1)
        second = mp.exp(-gap) * gap ** (i + 1) * mp.hyp1f1(i + 1, i + 2, gap / 2) / (i + 1)
        total += c * (first - second)
    return total


def of_discrete_laplace(shift: int, scale: float) -> Atoms:
    b = mp.mpf(scale)
    a = mp.exp(-1 / b)
    inner = [(2 * k / b, a**k * (1 - a) / (1 + a)) for k in range(1, shift)]
    return [(mp.mpf(0), 1 / (1 + a)), *inner, (2 * shift / b, a**shift / (1 + a))]


def of_response(epsilon: float, size: int) -> Atoms:
    e = mp.mpf(epsilon)
    top = 1 / (1 + (size - 1) * mp.exp(-e))
    return [(mp.mpf(0), top), (2 * e, top * mp.exp(-e)), (e, (size - 2) * top * mp.exp(-e))]


class Case:
    """A random composition; its exact δ just below the largest loss."""

    def __init__(self, draw: random.Random) -> None:
        self.releases: list[tuple[PrivacyProfile, int]] = []
        self.laplace, self.atoms = 0, [(mp.mpf(0), mp.mpf(1))]
        self.ceiling, self.reach = Fraction(0), Fraction(10**6)
        for _ in range(draw.randint(1, 3)):
            count = draw.choice([1, 2, 3])
            if draw.random() < 0.5:
                shift, scale = draw.uniform(0.1, 5.0), 10.0 ** draw.uniform(-1.0, 4.0)
                e = Fraction(shift) / Fraction(scale)
                self.releases.append((LaplaceProfile(shift, scale), count))
                self.laplace += count
                self.reach = min(self.reach, 2 * e)
            elif draw.random() < 0.5:
                steps, scale = draw.randint(1, 4), 10.0 ** draw.uniform(-0.5, 4.0)
                e = steps / Fraction(scale)
                self._add(DiscreteLaplaceProfile(steps, scale), count, of_discrete_laplace(steps, scale))
            else:
                epsilon, size = 10.0 ** draw.uniform(-4.0, 1.0), draw.choice([2, 5])
                e = Fraction(epsilon)
                profile = RandomizedResponse(size=size, epsilon=epsilon).profile()
                self._add(profile, count, of_response(epsilon, size))
            self.ceiling += count * e

    def _add(self, profile: PrivacyProfile, count: int, atoms: Atoms) -> None:
        self.releases.append((profile, count))
        for _ in range(count):
            sums: dict[mp.mpf, mp.mpf] = {}
            for x, p in self.atoms:
                for y, q in atoms:
                    sums[x + y] = sums.get(x + y, mp.mpf(0)) + p * q
            self.atoms = list(sums.items())

    def delta(self, epsilon: float) -> mp.mpf | None:
        """None beyond the reach of the closed form."""
        gap = self.ceiling - Fraction(epsilon)
        if gap > self.reach:
            return None
        g = exactly(gap)
        return mp.fsum(p * of_laplace(self.laplace, g - x) for x, p in self.atoms if x < g)


def violations(count: int, seed: int) -> tuple[list[object], float]:
    """Return the cases whose intervals exclude the truth, and the widest relative interval of δ."""
    draw = random.Random(seed)
    wrong: list[object] = []
    widest = 0.0
    for _ in range(count):
        case = Case(draw)
        x = float(case.ceiling)
        for _ in range(draw.randint(0, 2)):
            x = math.nextafter(x, 0.0)
        x *= 1.0 - draw.choice([0.0, 10.0 ** draw.uniform(-16.0, -0.5)])
        delta = case.delta(x)
        if delta is None:
            continue
        loss = compose(case.releases)
        interval = loss.delta(x)
        if not interval.lower <= delta <= interval.upper:
            wrong.append((case.releases, x))
        if delta > 0:
            widest = max(widest, float(interval.width / delta))
        if 1e-250 < delta < 0.5:
            back = loss.epsilon(float(delta))
            # δ is given to 53 digits only, so ε may move by that over the slope of ln δ, at least 1/g.
            room = 1e-15 * float(case.ceiling)
            if not back.lower - room <= x <= back.upper + room:
                wrong.append((case.releases, float(delta)))
    return wrong, widest


@pytest.mark.slow
def test_compositions_next_to_the_largest_loss() -> None:
    with mp.workdps(60):
        wrong, widest = violations(75, 1)
    assert wrong == []
    assert widest <= 1e-12


@pytest.mark.slow
def test_compositions_next_to_the_largest_loss_often() -> None:
    with mp.workdps(60):
        assert violations(3_000, 2)[0] == []


@pytest.mark.parametrize(("count", "share"), [(3, 1e-16), (7, 1e-15), (7, 1e-9), (40, 1e-3)])
def test_the_series_over_equal_losses_next_to_their_sum(count: int, share: float) -> None:
    """Near its largest loss its terms were dropped by rounding: an upper end of 1e-56 for 2e-20."""
    e = Fraction(0.5287855879783483) / Fraction(36.46258020107888)
    loss = LaplaceLoss((e,), (count,))
    x = math.nextafter(float(count * e) * (1.0 - share), 0.0)
    series = equal_laplace(loss, e, count, saddle_for_epsilon(loss, x))
    assert series is not None
    lower, upper = series.bounds(x)
    with mp.workdps(60):
        assert lower <= of_laplace(count, exactly(count * e - Fraction(x))) <= upper


def test_far_from_the_largest_loss_the_engine_says_nothing() -> None:
    law = LaplaceLoss((Fraction(1), Fraction(2)), (1, 1)).below_ceiling
    engine = NearCeiling(law, {Fraction(0): 1.0}, Fraction(1, 2), 1.0)
    assert engine.bounds(1.0) == (0.0, 1.0)
    assert engine.bounds(2.75)[1] < 0.1


@pytest.mark.parametrize("gap", [30.0, 45.0, 55.0, 59.9])
def test_the_series_reaches_as_far_as_the_closed_form_is_used(gap: float) -> None:
    """It ended too early: at 60 below the largest loss both ends were too small by 2e-7 of δ."""
    case = Case(random.Random(0))
    case.releases, case.laplace, case.atoms = [], 0, [(mp.mpf(0), mp.mpf(1))]
    with mp.workdps(60):
        for epsilon in (35.0, 40.0):
            profile = RandomizedResponse(size=3, epsilon=epsilon).profile()
            case._add(profile, 1, of_response(epsilon, 3))
        case.ceiling, case.reach = Fraction(75), Fraction(60)
        interval, delta = compose(case.releases).delta(75.0 - gap), case.delta(75.0 - gap)
        assert delta is not None
        assert interval.lower <= delta <= interval.upper


def test_a_vanished_probability_at_the_top() -> None:
    """The largest loss is known, its probability is below every float: no closed form, still sound."""
    profile = AtomicProfile((Fraction(2), Fraction(1), Fraction(-1)), (0.0, 0.75, 0.25))
    interval = compose([(profile, 2)]).delta(1.9)
    assert interval.lower <= 0.75**2 * -math.expm1(1.9 - 2.0) <= interval.upper


def test_too_many_sums_are_not_begun() -> None:
    """Thousands of atoms would make millions of sums in the first step."""
    atoms = tuple((Fraction(i, 1000), 1 / 3000) for i in range(3000))
    law = CeilingLaw(((Fraction(3), 64),), atoms=((atoms, 64),))
    assert law.sums_below(Fraction(60), 100) is None
    assert law.sums_below(Fraction(101, 1000), 100) is None
    few = law.sums_below(Fraction(2, 1000), 100)
    assert few is not None
    assert few[Fraction(0)] == pytest.approx(3000.0**-64)
    assert few[Fraction(1, 1000)] == pytest.approx(64 * 3000.0**-64)
