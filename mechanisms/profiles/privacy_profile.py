"""Privacy profiles: the curve ε -> δ(ε) of a mechanism, for every real ε.

δ(ε) = sup_S P(S) - e^ε Q(S) is the hockey-stick divergence of a dominating pair (P, Q) (Zhu, Dong, Wang
2022, "Optimal accounting of differential privacy via characteristic function", Def. 7).
"""

from __future__ import annotations

import abc
import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, overload

import numpy as np
import numpy.typing as npt
import scipy
from scipy.special import ndtri

from mechanisms.arrays import FloatArray
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.losses.privacy_loss import LEAST_DIVERGENCE, PrivacyLoss
from mechanisms.numerics.deadline import GRACE, OutOfTime, check_time
from mechanisms.numerics.rounding import up
from mechanisms.parameters import ParameterError, real

if TYPE_CHECKING:
    from mechanisms.profiles.atomic_profile import AtomicProfile

SMALLEST = 5e-324
"""The smallest positive float."""
_FAR = 1e3
"""Beyond it ε is looked for with growing strides."""
_UP = 1.0 + 2.0**-50  # covers the rounding of three products


class PrivacyProfile(abc.ABC):
    """The curve ε -> δ(ε) of a dominating pair; a frozen, hashable value.

    A subclass gives `_curve` (δ at finite ε >= 0). The neighbouring relation is symmetric, so the other half of the
    curve follows: δ(-ε) = 1 - e^{-ε} + e^{-ε} δ(ε).
    """

    @property
    def neighbouring(self) -> Neighbouring:
        """The neighbouring relation the curve holds for; "replace one" unless something else is stated."""
        return Neighbouring.REPLACE_ONE

    @property
    def statable(self) -> frozenset[Neighbouring]:
        """The relations the curve may be stated for: all, if it depends on a value's movement alone."""
        return frozenset(Neighbouring)

    @property
    def bound(self) -> str:
        """Name of the theorem that makes this a certified upper bound; empty if the curve is exact."""
        return ""

    @property
    def relative_error(self) -> float:
        """Largest relative error of a computed `delta`.

        Near a largest loss that is not a rational number the error may be larger; `bounds` holds there, too.
        """
        return 1e-12

    @property
    def symmetric(self) -> bool:
        """True if the reverse pair (Q, P) has the same curve, as for every mechanism under a symmetric relation."""
        return True

    @property
    def covers_both_directions(self) -> bool:
        """True if the curve is an upper bound for both directions of the neighbouring relation."""
        return self.symmetric or len(self.directions()) > 1

    @property
    @abc.abstractmethod
    def pure_epsilon(self) -> Fraction | None:
        """The largest privacy loss as an exact rational; None if it is unbounded."""

    @property
    def infinite_mass(self) -> float:
        """Probability of an infinite privacy loss: the limit of δ(ε) as ε grows."""
        return 0.0

    @property
    def largest_finite(self) -> Fraction | None:
        """Upper bound on all finite losses: from there on δ is `infinite_mass`, exactly; None if none is known."""
        return self.pure_epsilon

    @property
    def rho(self) -> float | None:
        """A ρ for which ρ-zCDP is known to hold (Bun & Steinke 2016), or None."""
        return None

    @property
    def gaussian_mu(self) -> float | None:
        """A μ for which μ-Gaussian-DP is known to hold (Dong, Roth & Su 2022), or None.

        From pure ε: μ = 2 Φ⁻¹(e^ε / (1 + e^ε)), rounded up. The trade-off curve of ε-randomized response is
        two lines that meet on the diagonal at c = 1/(1 + e^ε). The curve of N(0,1) against N(μ,1) is convex,
        starts at (0, 1) like the first line and passes (c, c) for this μ: it lies below, and by symmetry
        below the second. For ε > 600 by Φ(-x) <= e^{-x²/2}/2: μ <= 2√(2ε).
        """
        if self.pure_epsilon is None:
            return None
        size = up(self.pure_epsilon)
        if size < HARDLY_ANY:
            return 2.0 * size  # √(π/2) ε is enough; the result below could vanish
        if size > 600.0:
            return 2.0 * math.sqrt(2.0 * size) * (1.0 + 1e-15)
        return gaussian_mu_at(1.0 / (1.0 + math.exp(size)), math.tanh(0.5 * size))

    @abc.abstractmethod
    def _curve(self, epsilon: FloatArray) -> FloatArray:
        """Return δ at finite epsilon >= 0 (any shape)."""

    def _everywhere(self, epsilon: FloatArray) -> FloatArray:
        """Return δ at every finite epsilon."""
        size = np.abs(epsilon)
        curve = self._curve(size)
        return np.where(epsilon >= 0.0, curve, -np.expm1(-size) + np.exp(-size) * curve)

    @overload
    def delta(self, epsilon: float) -> float: ...

    @overload
    def delta(self, epsilon: FloatArray) -> FloatArray: ...

    def delta(self, epsilon: float | FloatArray) -> float | FloatArray:
        """Return δ(ε) for every real ε, also negative and ±inf; element by element for arrays.

        Raises
        ------
        ParameterError
            If an epsilon is NaN.
        """
        x = np.asarray(epsilon, dtype=np.float64)
        if np.isnan(x).any():
            raise ParameterError("epsilon = nan: must be a number")
        finite = np.isfinite(x)
        values = self._everywhere(np.where(finite, x, 0.0))
        values = np.where(finite, values, np.where(x > 0.0, self.infinite_mass, 1.0))
        values = np.clip(values, 0.0, 1.0)
        return float(values) if values.ndim == 0 else values

    def bounds(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (lower, upper) with lower <= δ(ε) <= upper, certified, for finite ε; element by element.

        An upper end is the mass of infinite losses where no finite loss is as large; elsewhere δ is positive, and at
        least the smallest float where no float can show it.
        """
        x = np.asarray(epsilon, dtype=np.float64)
        lower, upper = self._bounds(x)
        lower, upper = np.maximum(lower, 0.0) + 0.0, np.maximum(upper, SMALLEST)  # + 0: no -0
        largest = self.largest_finite
        if largest is not None and (beyond := x >= up(largest)).any():
            upper = np.where(beyond, self.infinite_mass, upper)
        return lower, upper

    def _bounds(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return bounds from `relative_error`, and 1e-310 more where floats have fewer digits."""
        value, error = np.clip(self._everywhere(epsilon), 0.0, 1.0), self.relative_error
        least = np.where(value < 1e-290, 1e-310, 0.0)
        return value * (1.0 - error) - least, np.minimum(value * (1.0 + error) + least, 1.0)

    def proves(self, epsilon: float, delta: float) -> bool:
        """Return True if the certified upper end of the curve at a finite epsilon is at most delta."""
        return float(self.bounds(np.array(epsilon))[1]) <= delta

    def epsilon(self, delta: float) -> float:
        """Return the smallest ε >= 0 for which (ε, delta) is proved; inf if there is none.

        An upper bound of the exact inverse, rounding included, as near to it as the ends of `bounds` are; some time
        after a deadline (`mechanisms.numerics.deadline`) the least that was proved by then.

        Raises
        ------
        ParameterError
            If delta is NaN or outside [0, 1].
        """
        target = real("delta", delta)
        if not 0.0 <= target <= 1.0:
            raise ParameterError(f"delta = {delta!r}: must lie in [0, 1]")
        if self.proves(0.0, target):
            return 0.0
        if target == 0.0:
            return math.inf if self.pure_epsilon is None else up(self.pure_epsilon)
        mass = self.infinite_mass
        if target < mass:
            return math.inf
        if mass > 0.0 and target - mass <= max(1e-12, self.relative_error) * mass:
            # The part of the finite losses in δ would be rounded away: only an upper bound on all of them is enough.
            return self._largest_finite_loss(target)
        least = math.inf if self.pure_epsilon is None else up(self.pure_epsilon)

        def proved(x: float) -> bool:
            nonlocal least
            check_time(GRACE)
            enough = self.proves(x, target)
            least = min(least, x) if enough else least
            return enough

        try:
            guess = self._invert(target)
            return guess if math.isinf(guess) else smallest(guess, proved)
        except OutOfTime:
            return least

    def _largest_finite_loss(self, mass: float) -> float:
        """Return ε at the mass of an infinite loss: an upper bound on all finite losses, or inf."""
        if self.largest_finite is not None:
            return up(self.largest_finite)
        sides = self.directions()
        if sides != (self,):
            return max(side.epsilon(mass) for side in sides)
        loss = self.loss()
        return math.inf if loss is None else max(0.0, loss.supremum)

    def _invert(self, delta: float) -> float:
        """Return ε > 0 close to δ(ε) = delta, by bracketing and Brent's method on ln δ.

        Raises
        ------
        OutOfTime
            Some time after a deadline.
        """
        low, high = 0.0, 1.0 if self.pure_epsilon is None else up(self.pure_epsilon)
        factor = 2.0
        while self.delta(high) > delta:
            check_time(GRACE)
            if high == sys.float_info.max:
                return math.inf
            low, high = high, min(factor * high, sys.float_info.max)
            factor = 2.0 * factor if high > _FAR else factor
        log_target = math.log(delta)

        def excess(x: float) -> float:
            check_time(GRACE)
            return log_or_floor(self.delta(x)) - log_target

        if excess(high) >= 0.0:
            return high
        if excess(low) <= 0.0:  # at 0, where so little is missing that rounding keeps it from being proved
            return low
        # A guess will do, where ε is next to 0 and too many halvings away.
        return float(
            scipy.optimize.brentq(excess, low, high, xtol=1e-300, rtol=8.9e-16, maxiter=300, disp=False)
        )

    def atoms(self) -> AtomicProfile | None:
        """Return the finite privacy-loss distribution behind the curve, or None if there is none."""
        return None

    def loss(self) -> PrivacyLoss | None:
        """Return the law of the privacy loss of the pair (P, Q), or None if only the curve is known."""
        from mechanisms.losses.atomic_loss import AtomicLoss

        finite = self.atoms()
        return (
            None
            if finite is None
            else AtomicLoss(
                finite.losses,
                finite.probabilities,
                finite.infinite_mass,
                finite.relative_rounding,
                mirrored=finite.mirrored,
            )
        )

    def directions(self) -> tuple[PrivacyProfile, ...]:
        """Return the pairs to compose separately, the largest δ of which counts.

        One (the profile itself) if the pair (Q, P) has the same loss as (P, Q) or the curve already covers
        both; two if removing a record differs from adding one: first removing, then adding.
        """
        return (self,)

    def attained(self) -> tuple[PrivacyProfile, ...]:
        """Return the curves of pairs of real data sets that are known to lose so much; none if a bound is all there is.

        Itself by default. With several the curve is their maximum, at every ε: another pair may be worst at another ε,
        hence in each of several releases another one, chosen by earlier releases. The maximum is the curve of a
        pair; its composition is an upper bound, which two or more releases need not attain.
        """
        return () if self.bound else (self,)

    def attained_in_the_long_run(self) -> PrivacyProfile | None:
        """Return the curve of one more pair of data, worst at no ε of one release but of many; None if none is."""
        return None

    @property
    def outdoes_its_curve(self) -> bool:
        """True if `rho` or `renyi` may be smaller than those of a pair with this curve."""
        return self.loss() is None

    def parts(self) -> tuple[tuple[PrivacyProfile, int], ...]:
        """Return the parts of which it is the composition, with counts: itself, once."""
        return ((self, 1),)

    def renyi(self, order: npt.ArrayLike) -> FloatArray:
        """Return an upper bound on the Rényi curve α -> D_α (Mironov 2017) at orders above 1, in both directions.

        Rounded up. From the moments of the loss; else from ρ-zCDP (αρ); else from pure ε (Bun & Steinke 2016,
        Prop. 3.3: min(αε²/2, ε), the square only of what is ε-DP in both directions); else infinite.

        Raises
        ------
        ParameterError
            If an order is not above 1.
        """
        orders = np.asarray(order, dtype=np.float64)
        if not (orders > 1.0).all():
            raise ParameterError(f"order = {order!r}: must be above 1")
        if self.infinite_mass > 0.0:
            return np.full(orders.shape, np.inf)
        losses = [side.loss() for side in self.directions()]
        known = [loss.renyi(orders) for loss in losses if loss is not None]
        if len(known) == len(losses):
            return np.asarray(np.maximum.reduce(known))
        if self.rho is not None:
            return np.maximum(self.rho * orders * _UP, LEAST_DIVERGENCE if self.rho else 0.0)
        if self.pure_epsilon is not None:
            largest = up(self.pure_epsilon)
            if not self.covers_both_directions:
                return np.full(orders.shape, largest)
            return np.minimum(np.maximum(0.5 * largest * largest * orders * _UP, LEAST_DIVERGENCE), largest)
        return np.full(orders.shape, np.inf)


class BoundedCurve(PrivacyProfile):
    """Base class of profiles that compute `bounds`: δ is the upper one."""

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        return self._everywhere(epsilon)

    def _everywhere(self, epsilon: FloatArray) -> FloatArray:
        return self.bounds(epsilon)[1]


class OneRelation(PrivacyProfile):
    """Base class of profiles that hold for one neighbouring relation alone."""

    @property
    def statable(self) -> frozenset[Neighbouring]:
        """Its own relation alone: the movement by another kind of neighbour is not known."""
        return frozenset({self.neighbouring})


def bounds_on_both_sides(
    epsilon: FloatArray,
    right: tuple[FloatArray, FloatArray],
    left: tuple[FloatArray, FloatArray] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return bounds on δ at all ε from those at |ε|: of a pair, and of its reverse if that has another curve.

    δ(-x) = 1 - e^{-x} + e^{-x} δ_reverse(x).
    """
    keep, rest = np.exp(np.minimum(epsilon, 0.0)), -np.expm1(np.minimum(epsilon, 0.0))
    lower, upper = (rest + keep * end for end in left or right)
    return (
        np.where(epsilon >= 0.0, right[0], lower * (1.0 - 2.0**-50)),
        np.minimum(1.0, np.where(epsilon >= 0.0, right[1], upper * (1.0 + 2.0**-50))),
    )


HARDLY_ANY = 1e-290
"""Below it products of ε with numbers near 1 may be no normal floats, and lose digits."""


def gaussian_mu_at(meeting: float, gap: float) -> float:
    """Return the μ of the trade-off curve that meets the diagonal at ``meeting`` = (1 - gap) / 2, rounded up.

    μ = -2 Φ⁻¹(meeting). Near 1/2 by the series Φ⁻¹(1/2 + x) = √(2π) x (1 + πx²/3 + 7π²x⁴/30 + ...).
    """
    if gap < 0.01:
        x = 0.5 * gap
        return 2.0 * math.sqrt(2.0 * math.pi) * x * (1.0 + math.pi / 3.0 * x * x + 2.4 * x**4) * (1.0 + 1e-15)
    return float(-2.0 * ndtri(meeting)) * (1.0 + 1e-13)


def log_or_floor(x: float) -> float:
    """Return ln x, and a number below every float's logarithm at 0 (a root finder needs it finite)."""
    return math.log(x) if x > 0.0 else -800.0


def smallest(guess: float, holds: Callable[[float], bool]) -> float:
    """Return the smallest float at which an increasing condition holds, searching outwards from a guess.

    The condition is evaluated with rounding errors, so it need not increase strictly; it does hold at the
    result (unless that is infinite).
    """
    step = math.ulp(guess)
    if holds(guess):
        high, low = guess, max(guess - step, 0.0)
        while low > 0.0 and holds(low):
            step *= 2.0
            high, low = low, max(low - step, 0.0)
    else:
        low, high = guess, guess + step
        while not math.isinf(high) and not holds(high):
            step *= 2.0
            low, high = high, high + step
    while low < (middle := low + 0.5 * (high - low)) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
