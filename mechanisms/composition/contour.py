"""δ(ε) by inverting a Laplace transform: certified, at a cost that does not depend on counts.

Theorem 1. For s > 0 with M(s) finite, δ(ε) = (1/2πi) ∫_{Re z = s} M(z) e^{-εz} / (z(z+1)) dz.
    ∫ δ(x) e^{zx} dx = E ∫_{-∞}^L (e^{zx} - e^{-L} e^{(z+1)x}) dx = E e^{zL} (1/z - 1/(z+1)), and the integrand
    is absolutely integrable: |M(s+it)| <= M(s), 1/|z(z+1)| <= 1/t².

Theorem 2. For h > 0, T = 2π/h, z_k = s + ikh and w_k = (h/2π) M(z_k) e^{-εz_k} / (z_k(z_k+1)), the sum
over all whole k is S(ε) = Σ_n δ(ε + nT) e^{snT} over all whole n: *never below* δ(ε).
    f(x) = δ(x) e^{sx} is continuous and Σ_n f(x + nT) converges locally uniformly (δ decreases, f is
    integrable); its Fourier coefficients are M(s+ikh) / (T z(z+1)), absolutely summable, so their series
    equals it everywhere (Poisson summation). All terms on the right are nonnegative.

Aliases. n < 0: δ <= 1 gives at most e^{-sT} / (1 - e^{-sT}). n > 0: by the Chernoff bound
δ(y) <= c(s') M(s') e^{-s'y} at most c(s') M(s') e^{-s'ε} r / (1 - r), r = e^{-(s'-s)T}, for any s' > s; and 0
if ε + T is at least the largest loss.

Theorem 3 (truncation). If |M(s+it)| <= E(τ) e^{-ρt²/2} for |t| >= τ = Nh, then the terms |k| > N add up to at
most (1/π) e^{-sε} E(τ) e^{-ρτ²/2} min(atan(s/τ)/s, 1/(ρτ³)): |z(z+1)| >= s² + t² and >= t², the majorant
decreases, so h Σ_{k>N} <= ∫_τ^∞. That the last terms are tiny proves nothing (atoms make spikes further out).
With a bound E' for τ <= |t| <= τ' and ρ > 0, what lies up to τ' has E', and E need only hold from τ' on.

Theorem 4 (phantom Gaussian). For every law of L and μ > 0 let M_μ(z) = M(z) e^{μ²z(z+1)/2},
U = (1/2πi) ∫ M_μ e^{-εz}/(z(z+1)) dz and B = μ² e^{μ²/8} (1/2πi) ∫ M_μ e^{-εz} dz. Then U - B <= δ(ε) <= U.
    U = E C_μ(ε - L), C_m(x) = Φ(m/2 - x/m) - e^x Φ(-m/2 - x/m) the profile of N(0,1) moved by m, and
    C_0(x) = (1 - e^x)^+. dC_m/dm = φ(x/m - m/2) lies between 0 and (2π)^{-1/2} e^{x/2 - x²/2μ²} for m <= μ, so
    0 <= C_μ - C_0 <= μ (2π)^{-1/2} e^{x/2 - x²/2μ²}, whose transform is μ² e^{μ²(z+1/2)²/2}. B is summed on the
    same nodes; its aliases are nonnegative, so they only lower the lower end. Its tail beyond τ is at most
    e^{μ²/8} μ² e^{-sε} E(τ) e^{-ρτ²/2} / (πρτ), with μ² counted in ρ and in E.

Rounding. A computed M(z) is off by a factor within e^{±E_k} - 1 (`PrivacyLoss.log_mgf_line`). Adding
ln h/2π - ln z(z+1) and -εz to ln M and taking the exponential adds u (4|ε||z| + 6|ln M| + 30); the pairwise sum of
N terms lg N + 12 more. In all Σ |w_k| (e^{E'_k} - 1).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mechanisms.arrays import FloatArray, IntArray
from mechanisms.composition.saddle import Saddle, log_chernoff_factor
from mechanisms.losses.privacy_loss import ROUNDING, UNDERFLOW, ComplexArray, PrivacyLoss
from mechanisms.numerics.deadline import check_time

_FURTHER = np.array([1.03, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0])  # s'/s tried for the right aliases
_SLACK = 1.0 + 1e-9  # over the rounding of the error terms themselves
_AT_ONCE = 5e5  # complex exponentials between two checks of the deadline: some hundredths of a second


@dataclass(frozen=True, slots=True)
class ContourPlan:
    """A contour chosen before any node is evaluated.

    Attributes
    ----------
    s, step, nodes
        z_k = s + ik step for |k| <= nodes.
    work
        Complex exponentials to evaluate, roughly.
    phantom
        μ² of the phantom Gaussian; 0 for none.
    further
        The abscissa s' of the Chernoff bound on the right aliases; 0 if there are none.
    log_tails
        Ln of the truncation bounds of U and, with a phantom, of B, at ε = 0.
    """

    s: float
    step: float
    nodes: int
    work: float
    phantom: float
    further: float
    log_tails: tuple[float, ...]

    @property
    def height(self) -> float:
        """Imaginary part at which the contour ends."""
        return self.nodes * self.step


def log_weights(plan: ContourPlan) -> FloatArray:
    """Return ln of the nodes' weights: twice the half-line k >= 0, the node k = 0 halved."""
    weights = np.full(plan.nodes + 1, math.log(plan.step / math.pi))
    weights[0] -= math.log(2.0)
    return weights


def rounding_of_terms(plan: ContourPlan, size: FloatArray) -> FloatArray:
    """Return the rounding error of E_k at ε = 0 beside that of ln M, by the sizes at the nodes ("Rounding" above)."""
    return ROUNDING * (6.0 * size + 42.0 + math.log2(plan.nodes + 2.0))


class TiltedLoss:
    """Loss on the line Re z = s, from which contours there are planned; each number is computed once."""

    def __init__(self, loss: PrivacyLoss, s: float) -> None:
        self.loss, self.s = loss, s
        self._rough = loss.approximation()
        self._log_tops: dict[int, float] = {}
        self._certain: dict[int, float] = {}
        self._likely: dict[int, float] = self._certain if self._rough is loss else {}

    @cached_property
    def _larger_tilts(self) -> tuple[FloatArray, FloatArray]:
        """Tilts s' > s, and ln c(s') M(s'), roughly."""
        further = self.s * _FURTHER
        with np.errstate(all="ignore"):
            return further, self._rough.log_mgf_real(further) + log_chernoff_factor(further)

    def period(self, saddle: Saddle, tolerance: float) -> tuple[float, float]:
        """Return a period T at which all aliases are below about 2 tolerance·δ, and s' for the right ones.

        T = max(ln(1/tolerance·δ) / s, min_{s'} (ln M(s') - s'ε + ln c(s') - ln δ + ln(1/tolerance)) / (s' - s)); the
        second matters for subsampled mechanisms, which have a heavy right tail.
        """
        s, wanted = self.s, -math.log(tolerance) - saddle.log_delta
        left = wanted / s
        # Chernoff bounds overshoot by a few 1/s, so bounds will be asked for at a somewhat smaller ε.
        epsilon = max(0.0, saddle.epsilon - 4.0 / s)
        reach = self.loss.supremum - epsilon
        if reach <= left:
            return left, 0.0
        further, logs = self._larger_tilts
        with np.errstate(all="ignore"):
            periods = (logs - further * epsilon + wanted) / (further - s)
        periods = np.where(np.isfinite(periods), periods, np.inf)
        best = int(np.argmin(periods))
        right = float(periods[best])
        if self._rough is not self.loss and math.isfinite(right):
            # The approximation chooses s'; the distance of aliases needs all losses.
            if best not in self._log_tops:
                self._log_tops[best] = self.loss.log_top(float(further[best]))
            log_c = float(log_chernoff_factor(further[best]))
            right = (self._log_tops[best] + log_c - further[best] * epsilon + wanted) / (further[best] - s)
        chosen = float(further[best]) if math.isfinite(right) else 0.0
        return max(left, min(right, reach)), chosen

    def log_size(self, epsilon: float) -> float:
        """Return ln |M(s) e^{-εs} / s(s+1)|, approximately: the size of the summands."""
        log_m = float(self._rough.log_mgf_real(np.array([self.s]))[0])
        return log_m - self.s * epsilon - math.log(self.s * (self.s + 1.0))

    def likely(self, rungs: range) -> FloatArray:
        """Return about `envelope` at some rungs."""
        missing = [i for i in rungs if i not in self._likely]
        if missing:
            found = self._rough.log_envelope(self.s, _heights(np.array(missing)))
            self._likely.update(zip(missing, found.tolist(), strict=True))
        return np.array([self._likely[i] for i in rungs])

    def envelope(self, rung: int) -> float:
        """Return ln of a bound on |M(s+it)| e^{ρt²/2} for all |t| from the height of this rung on."""
        if rung not in self._certain:
            height = _heights(np.array([rung]))
            total, size = 0.0, 0.0
            for piece, count in self._pieces:
                check_time()
                found = count * float(piece.log_envelope(self.s, height)[0])
                total, size = total + found, size + abs(found)
            several = len(self._pieces) + 2 if len(self._pieces) > 1 else 0
            self._certain[rung] = total + several * ROUNDING * size
        return self._certain[rung]

    @cached_property
    def _pieces(self) -> Pieces:
        # A path moved off the real line costs about as much as a hundred nodes.
        return _pieces(self.loss, 100.0 * self.loss.cost(self.s, 0.0))


Pieces = Sequence[tuple[PrivacyLoss, int]]
"""Independent losses, each with its count."""


def _pieces(loss: PrivacyLoss, work: float) -> Pieces:
    """Return a sum that takes so much work in pieces that take `_AT_ONCE` each, about."""
    return loss.pieces(max(1, math.ceil(_AT_ONCE / max(work, 1.0) * loss.distinct_count)))


_RUNGS = 5
"""Heights at which contours may end are 2^{i/5}, for any step: so envelopes serve all of them."""
_OCTAVES = 12
"""Heights, an octave apart, with envelopes computed at once, before those between the last two of them."""


def _heights(rungs: IntArray) -> FloatArray:
    return np.asarray(2.0 ** (rungs / _RUNGS))


def plan_contour(
    line: TiltedLoss, saddle: Saddle, tolerance: float, most_work: float, phantom: float = 0.0
) -> ContourPlan | None:
    """Return the contour that keeps every error term below tolerance·δ, or None if it costs too much.

    Decided from the envelope alone (Theorem 3), no node is evaluated. The work is counted in complex
    exponentials (`PrivacyLoss.cost`). Of a sum of many losses the height is looked for with some of them, and then
    certified with all.
    """
    loss, s = line.loss, line.s
    period, further = line.period(saddle, tolerance)
    step = 2.0 * math.pi / period

    def plan_to(rung: int, log_tails: FloatArray) -> ContourPlan:
        height = float(_heights(np.array(rung)))
        nodes = max(_LEAST_NODES, math.ceil(height / step * (1.0 + 1e-12)))
        work = nodes * loss.cost(s, nodes * step)
        return ContourPlan(s, step, nodes, work, phantom, further, tuple(log_tails.tolist()))

    if not 0.0 < step < math.inf:
        return None
    wanted = _wanted_tail(saddle, tolerance) + s * saddle.epsilon

    def first_enough(rungs: range) -> int | None:
        tails = _log_tails(loss, s, _heights(np.array(rungs)), phantom, line.likely(rungs))
        enough = np.flatnonzero(np.max(tails, axis=0) <= wanted)
        return rungs[int(enough[0])] if enough.size else None

    least, none = math.ceil(_RUNGS * math.log2(_LEAST_NODES * step)), np.zeros(0)
    rung, first = None, math.ceil(least / _RUNGS) * _RUNGS  # octaves that other contours here have, too
    while rung is None and plan_to(first, none).work <= most_work:
        octaves = range(first, first + _RUNGS * _OCTAVES, _RUNGS)
        rung, first = first_enough(octaves), octaves.stop
    if rung is None:
        return None
    between = first_enough(range(max(least, rung - _RUNGS + 1), rung + 1))
    rung = rung if between is None else between
    while plan_to(rung, none).work <= most_work:
        envelope = np.array([line.envelope(rung)])
        tail = _log_tails(loss, s, _heights(np.array([rung])), phantom, envelope)[:, 0]
        if np.max(tail) <= wanted:
            return plan_to(rung, tail)
        rung += 1
    return None


def plan_oscillating_contour(
    line: TiltedLoss, saddle: Saddle, tolerance: float, most_work: float, phantom: float
) -> ContourPlan | None:
    """Return a contour with few nodes for many different losses with atoms (`mechanisms.losses.oscillation`), or None.

    The phantom, and any other Gaussian part, bounds the integral beyond a far height τ'; c is tabulated up to that one.
    First it is checked that c can be small enough at all.
    """
    loss, s, wanted = line.loss, line.s, _wanted_tail(saddle, tolerance)
    rho = loss.precision + phantom
    own = loss.oscillations(s)
    if own is None or rho <= 0.0:
        return None
    tilt = 0.5 * phantom * s * (s + 1.0) - s * saddle.epsilon
    if own.log_floor + tilt > wanted:
        return None
    cap = loss.log_top(s)
    end = math.sqrt(2.0 * max(1.0, cap + tilt - wanted + 2.0) / rho)
    table = own.up_to(end)
    if table is None:
        return None
    period, further = line.period(saddle, tolerance)
    step = 2.0 * math.pi / period
    counts = _node_counts(most_work)
    heights = np.minimum(counts * step, end)
    inside = np.minimum(table.log_envelope(heights, end), cap)
    inside += tilt + s * saddle.epsilon - math.log(math.pi) + 1e-12 * (1.0 + abs(inside))
    fall = -0.5 * rho * heights**2
    beyond = _log_tails(loss, s, np.array([end]), phantom, loss.log_envelope(s, np.array([end])))
    first = inside + fall + np.log(np.arctan2(s, heights) / s)
    second = inside + phantom / 8.0 + math.log(max(phantom, 1e-300)) + fall
    second += np.log(np.minimum(math.sqrt(math.pi / (2.0 * rho)), 1.0 / (rho * heights)))
    tails = np.logaddexp(np.stack([first, second])[: beyond.shape[0]], beyond)
    enough = np.flatnonzero(np.max(tails, axis=0) - s * saddle.epsilon <= wanted)
    if enough.size == 0:
        return None
    nodes = int(counts[enough[0]])
    work = nodes * loss.cost(s, nodes * step)
    log_tails = tuple((tails[:, enough[0]] + 1e-12).tolist())
    return ContourPlan(s, step, nodes, work, phantom, further, log_tails) if work <= most_work else None


_LEAST_NODES = 12


def _node_counts(most_work: float) -> FloatArray:
    exponents = np.arange(math.ceil(math.log(max(most_work, 15.0) / _LEAST_NODES, 1.25)), dtype=np.float64)
    return np.asarray(np.ceil(_LEAST_NODES * 1.25**exponents))


def _wanted_tail(saddle: Saddle, tolerance: float) -> float:
    return math.log(tolerance) + saddle.log_delta


def _log_tails(
    loss: PrivacyLoss, s: float, heights: FloatArray, phantom: float, log_envelopes: FloatArray
) -> FloatArray:
    """Return ln of the truncation bounds of U and, with a phantom, of B (rows), for each height, at ε = 0."""
    rho = loss.precision + phantom
    base = log_envelopes + 0.5 * phantom * s * (s + 1.0) - 0.5 * rho * heights**2
    base = base - math.log(math.pi) + 1e-12
    slow = np.arctan2(s, heights) / s
    with np.errstate(divide="ignore", over="ignore"):
        first = base + np.log(np.minimum(slow, 1.0 / (rho * heights**3) if rho > 0.0 else np.inf))
        if phantom == 0.0:
            return np.asarray(first[None])
        second = base + phantom / 8.0 + np.log(phantom / (rho * heights))
    return np.stack([first, second])


@dataclass(frozen=True, slots=True, eq=False)
class Transform:
    """Values of a loss that a contour needs.

    Attributes
    ----------
    line, error
        Ln M at the nodes, and the bound on its error (`PrivacyLoss.log_mgf_line`).
    further
        Ln M at the abscissa of the right aliases, rounded up; 0 if there are none.
    supremum
        Upper bound on the finite values of the loss.
    """

    line: ComplexArray
    error: FloatArray
    further: float
    supremum: float

    @property
    def top(self) -> float:
        """Ln M(s), rounded up: it bounds |M| on the whole line."""
        return float(self.line[0].real + self.error[0])

    def add(self, other: Transform, count: int) -> Transform:
        """Return that of this loss and ``count`` of another, with the rounding of the sum."""
        line, more = self.line.copy(), float(count)
        # Real and imaginary parts by themselves: a count times a complex -inf is nan.
        line.real += more * other.line.real
        line.imag += more * other.line.imag
        rounding = ROUNDING * (np.abs(line) + 3.0 * more * np.abs(other.line))
        return Transform(
            line,
            self.error + more * other.error + rounding,
            _sum_up(self.further, more * other.further),
            _sum_up(self.supremum, more * other.supremum),
        )


def _sum_up(one: float, other: float) -> float:
    return one + other + 4.0 * ROUNDING * (abs(one) + abs(other)) if other else one


class Contour:
    """Certified bounds on δ near one ε, from one set of nodes (the finite part of the loss only)."""

    def __init__(self, loss: PrivacyLoss, plan: ContourPlan) -> None:
        """Evaluate ln M at the nodes of the plan.

        Raises
        ------
        OutOfTime
            If a deadline passes before that.
        """
        self.name = "contour" if plan.phantom == 0.0 else "contour with phantom Gaussian"
        self.plan, self.s = plan, plan.s
        self._t: FloatArray = plan.step * np.arange(plan.nodes + 1, dtype=np.float64)
        self._z: ComplexArray = np.asarray(plan.s + 1j * self._t, dtype=np.complex128)
        self._abs_z: FloatArray = np.abs(self._z)
        self._product: ComplexArray = self._z * (self._z + 1.0)
        self._log_product: ComplexArray = np.log(self._product)
        self._log_scale = log_weights(plan)
        r = math.exp(-plan.s * 2.0 * math.pi / plan.step)
        self._left = r / (1.0 - r) * _SLACK
        (first, count), *others = _pieces(loss, plan.work)
        own = self.transform(first)
        if count > 1:
            own = own.add(own, count - 1)
        for piece, n in others:
            check_time()
            own = own.add(self.transform(piece), n)
        self._take(own, plan.log_tails)

    def transform(self, loss: PrivacyLoss) -> Transform:
        """Return the values of a loss that this contour's `including` needs."""
        line, error = loss.log_mgf_line(self.s, self._t)
        further = loss.log_top(self.plan.further) if self.plan.further else 0.0
        return Transform(line, error, further, loss.supremum)

    def including(self, more: Transform, count: int) -> Contour:
        """Return the same contour for the sum of its loss and ``count`` independent others.

        As |M| <= M(s) for what is added, the truncation bounds grow by no more than M(s) does: beside δ they stay what
        they were where the contour was planned.
        """
        other = copy.copy(self)
        log_tails = tuple(_sum_up(tail, count * more.top) for tail in self._log_tails)
        other._take(self._transform.add(more, count), log_tails)
        return other

    def _take(self, own: Transform, log_tails: tuple[float, ...]) -> None:
        plan = self.plan
        self._transform, self._log_tails = own, log_tails
        log_m, size = own.line, np.abs(own.line)
        if plan.phantom:
            log_m = log_m + (0.5 * plan.phantom) * self._product
            size = np.abs(log_m) + plan.phantom * np.abs(self._product)
        self._error: FloatArray = own.error + rounding_of_terms(plan, size)
        self._log_b: ComplexArray = log_m + self._log_scale
        self._log_w: ComplexArray = self._log_b - self._log_product
        self.supremum = own.supremum
        self._log_right = self._log_right_alias(own.further)

    def _log_right_alias(self, log_m: float) -> float:
        """Return ln of the bound on the aliases from the right at ε = 0; multiply by e^{-s'ε}."""
        far, plan = self.plan.further, self.plan
        if far == 0.0:
            return math.inf
        log_r = -(far - plan.s) * 2.0 * math.pi / plan.step
        log_c = float(log_chernoff_factor(np.array(far)))
        return log_m + log_c + log_r - math.log1p(-math.exp(log_r)) + 1e-9

    def estimate(self, epsilon: float) -> tuple[float, float]:
        """Return S(ε) and its derivative, not certified."""
        with np.errstate(over="ignore", invalid="ignore"):
            w = np.exp(self._log_w - epsilon * self._z)
            return float(np.sum(w.real)), -float(np.sum((self._z * w).real))

    def bounds(self, epsilon: float) -> tuple[float, float]:
        """Return (lower, upper) with lower <= δ(ε) <= upper; see the module docstring for every term."""
        with np.errstate(over="ignore", invalid="ignore"):
            lower, upper = self._bounds(epsilon)
        return (lower, upper) if lower <= upper else (0.0, 1.0)  # far from the saddle all may overflow

    def _bounds(self, epsilon: float) -> tuple[float, float]:
        plan = self.plan
        shift = epsilon * self._z
        error = self._error + 4.0 * ROUNDING * abs(epsilon) * self._abs_z
        w = np.exp(self._log_w - shift)
        total = float(np.sum(w.real))
        slack = _rounding(self._log_w.real - shift.real, w, error)
        scale = 1e-12 * abs(plan.s * epsilon)
        slack += math.exp(min(700.0, self._log_tails[0] - plan.s * epsilon + scale))
        if plan.phantom:
            bump = plan.phantom * math.exp(plan.phantom / 8.0) if plan.phantom < 5600.0 else math.inf
            b = np.exp(self._log_b - shift)
            loss_of_width = float(np.sum(b.real)) + _rounding(self._log_b.real - shift.real, b, error)
            below = bump * max(0.0, loss_of_width)
            below += math.exp(min(700.0, self._log_tails[1] - plan.s * epsilon + scale))
        else:
            below = 0.0
        right = 0.0
        if epsilon + 2.0 * math.pi / plan.step * (1.0 - 1e-12) < self.supremum:
            right = math.exp(
                min(700.0, self._log_right - plan.further * epsilon + 1e-12 * abs(plan.further * epsilon))
            )
        slack = slack * _SLACK + UNDERFLOW
        lower = total - slack - (self._left + right + below) * _SLACK
        return max(0.0, lower), min(1.0, total + slack)


def _rounding(log_size: FloatArray, w: ComplexArray, error: FloatArray) -> float:
    """Return Σ |w_k| (e^{E_k} - 1), also where E_k is large and |w_k| tiny."""
    if float(np.max(error)) < 1.0:
        return float(np.abs(w) @ np.expm1(error))
    with np.errstate(over="ignore", divide="ignore"):
        return float(np.sum(np.exp(log_size + error + np.log(-np.expm1(-error)))))
