"""The privacy loss between two mixtures of Gaussians on a line, one on either side of 0, by certified quadrature."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.delegation import delegated
from mechanisms.losses.privacy_loss import ROUNDING, ComplexArray, LossSum, PrivacyLoss, log1p_complex
from mechanisms.numerics.deadline import check_time
from mechanisms.numerics.log_sum import log_sum

_NEED = 46.0
"""Rules are chosen so that their errors are below e^{-46}, about 1e-20, of M(s)."""
_OUTSIDE = 4.0 * math.exp(-_NEED)
"""Share of M(s) outside of the nodes."""
_SHARES = (0.42, 0.3, 0.2, 0.1, 0.03, 0.01, 0.003, 0.001)
"""Shifts of the paths, in πσ². Far helps single releases, little helps many at small heights."""
_FURTHEST = 24.0
"""The longest shift, in σ over the first share: its square is about 2 · 46."""
_BLOCK = 2**18
"""The largest number of entries of an array."""
_MOST_NODES = 2**14
"""The largest number of nodes of a rule, for a tilt to be chosen."""
_HIGH = 100.0
"""Orders of Rényi divergences above which, as a rule, none is best."""
_MOST_NUMBERS = 2**20
"""The largest number of entries of the rule for a Rényi order above `_HIGH`."""
_OF_A_NODE = 0.025
"""Complex exponentials that take the time of a node of the quadrature at one height."""
_SAMPLE = 16
"""Losses that say which path is best for all, and where to integrate."""
_ALL = slice(None)

Mixture = tuple[tuple[float, float], ...]
"""Distances of centres from 0, increasing, and the logarithms of their weights, which add up to one."""

AT_ZERO: Mixture = ((0.0, 0.0),)
"""A single Gaussian around 0."""


@dataclass(frozen=True)
class GaussianMixtureLoss(PrivacyLoss):
    """Loss of the pair (Σ_j a_j N(m_j, σ²), Σ_i b_i N(-n_i, σ²)), m_j, n_i >= 0.

    With A(x) = ln Σ_j a_j e^{m_j (2x - m_j)/2σ²} and B(x) = ln Σ_i b_i e^{-n_i (2x + n_i)/2σ²} the loss at output x is
    l = A - B, which increases, and M(z) = ∫ φ_σ e^{(z+1)A - zB} dx. Let m, n be the largest centres, β = n - min n_i.

    Trapezoid rule of step g (Poisson summation in the strip |Im x| < a, θ = a/σ², (m - min m_j) θ < π, βθ < π): there
    |φ_σ(x+ia)| = φ_σ(x) e^{a²/2σ²}. The terms of e^A have angles from 0 to mθ, those of e^B from -nθ to 0, hence
    |Im l| <= κθ, κ = m + n; Re A <= A(x); and Re B >= B(x) + ln cos(βθ/2), by projection on the middle angle. So

        |trapezoid - M(s+it)| <= 2 M(s) e^{a²/2σ² + |t|κθ} cos(βθ/2)^{-s} / (e^{2πa/g} - 1).

    For ((1-q) N_0 + q N_c, (1-q') N_0 + q' N_{-c}) κ = c if q q' e^{-c²/σ²} <= (1-q)(1-q'): of c_0 + c_1 e^{icθ} +
    c_2 e^{2icθ}, e^A times the conjugate of e^B, the angle is cθ plus one that is not positive as c_2 <= c_0.

    *Outside* of the rule: e^{(s+1)A} <= Σ_j a_j e^{(s+1) v_j}, as Σ a_j = 1 (Jensen), and e^{-sB} is at most that with
    one term i of e^B alone, which may be chosen for each j: Gaussians around (s+1) m_j + s n_i of masses
    a_j b_i^{-s} e^{s(s+1)(m_j+n_i)²/2σ²}. Or that with n_i the mean of all n and ln b_i = -Var n / 2σ² (B is at least
    the mean of its exponents, again by Jensen): closer where s and σ are large. M(s) is at least 1, and at least
    a_j^{s+1} e^{s(s+1) m_j²/2σ²} for every j (one term of e^A; x^{-s} is convex, and the mean of e^B under
    N((s+1) m_j, σ²) is at most 1). The rule reaches as far as each mass takes to fall below e^{-46} of that.

    Parameters
    ----------
    above, below : Mixture
        (m_j, ln a_j) and (n_i, ln b_i).
    sigma : float
        Noise, positive.
    """

    above: Mixture
    below: Mixture
    sigma: float

    @cached_property
    def _ends(self) -> tuple[float, float]:
        (lowest, log_a), (nearest, log_b) = self.above[0], self.below[0]
        least = log_a if lowest == 0.0 and self.below[-1][0] == 0.0 else -math.inf
        most = -log_b if nearest == 0.0 and self.above[-1][0] == 0.0 else math.inf
        return least * (1.0 + 8 * ROUNDING), most * (1.0 + 8 * ROUNDING)

    @property
    def infimum(self) -> float:
        """Ln a_0 if the second mixture is a single Gaussian around 0, else -inf."""
        return self._ends[0]

    @property
    def supremum(self) -> float:
        """-ln b_0 if the first mixture is a single Gaussian around 0, else inf."""
        return self._ends[1]

    @cached_property
    def _own_sum(self) -> GaussianMixtureLossSum:
        return GaussianMixtureLossSum((self,), (1,))

    cost = delegated("_own_sum.cost")
    log_mgf_line = delegated("_own_sum.log_mgf_line")
    log_mgf_real = delegated("_own_sum.log_mgf_real")
    log_envelope = delegated("_own_sum.log_envelope")
    _divergence = delegated("_own_sum._divergence")

    def most_divergence(self, order: float) -> float:
        """Return an upper bound on the Rényi divergence that takes no quadrature.

        No loss is above the supremum, and between mixtures it is at most the largest between their parts (it is
        jointly quasi-convex: van Erven, Harremoës 2014, Thm 13).
        """
        apart = (self.above[-1][0] + self.below[-1][0]) / self.sigma
        return min(self.supremum, 0.5 * order * apart * apart * (1.0 + 8.0 * ROUNDING))

    @classmethod
    def sum_losses(cls, losses: Sequence[PrivacyLoss], counts: Sequence[int]) -> PrivacyLoss:
        """Return the sum, its transforms by one rule for all with the same centres."""
        alike: dict[tuple[tuple[float, ...], ...], list[tuple[GaussianMixtureLoss, int]]] = {}
        for loss, n in zip(losses, counts, strict=True):
            assert isinstance(loss, GaussianMixtureLoss)
            centres = tuple(tuple(m for m, _ in side) for side in (loss.above, loss.below))
            alike.setdefault(centres, []).append((loss, n))
        # More noise takes fewer nodes: neighbours in the sum are done together.
        ordered = [
            sorted(own, key=lambda pair: (pair[0].sigma, pair[0].above, pair[0].below))
            for own in alike.values()
        ]
        sums = [
            GaussianMixtureLossSum(tuple(one for one, _ in own), tuple(n for _, n in own)) for own in ordered
        ]
        return sums[0] if len(sums) == 1 else LossSum(tuple(sums), (1,) * len(sums))


@dataclass(frozen=True)
class GaussianMixtureLossSum(LossSum):
    """Losses between mixtures with the same centres, on common nodes x = σu.

    Envelope. With A(x+ia) = R_A + iI_A, likewise B, I = I_A - I_B, θ = a/σ² and max(m, n) θ in (0, π/2),

        |M(s+it)| <= e^{a²/2σ²} J(τ) for |t| >= τ,  J(τ) = ∫ φ_σ(x) e^{(s+1) R_A - s R_B - τI} dx.

        *Proof.* The path, or its mirror image, is moved to Im x = a: |φ_σ(x+ia)| = φ_σ(x) e^{a²/2σ²}, and e^{-|t|I}
        falls with |t|: I_A >= 0 >= I_B, as all terms have such angles. []

    The trapezoid rule for J: the integrand is analytic for |Im x| = y, max(m, n)(y + a) < πσ², R_A being
    ½(A(x+ia) + A(x-ia)). There its modulus is at most e^{y²/2σ²} φ_σ(x) e^{(s+1)A - sB} c,
    c = (½(cos βθ + cos(βy/σ²)))^{-s/2}, because I(a+y) + I(a-y) >= 0 for y <= a (both are) and for
    max(m, n)(a+y) <= πσ²/2 (I is odd in the angle, and increases up to there: |Σ c_j e^{i m_j θ}|² I_A' =
    Σ m_j c_j c_i cos((m_j-m_i)θ)), and Re B >= B + ln cos(angle/2) at both a+y and a-y. So the rule is off by at most
    2 M(s) e^{y²/2σ²} c / (e^{2πy/g} - 1); what lies outside is as for the transform, times cos(βθ/2)^{-s}.
    """

    @cached_property
    def _sides(self) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
        """Return the centres of both mixtures, each with ln of the weights: by centres and losses."""

        def table(sides: list[Mixture]) -> tuple[FloatArray, FloatArray]:
            rows = np.array(sides)
            return rows[0, :, 0], np.ascontiguousarray(rows[:, :, 1].T)

        losses = [loss for loss in self.losses if isinstance(loss, GaussianMixtureLoss)]
        return table([loss.above for loss in losses]), table([loss.below for loss in losses])

    @cached_property
    def _sigmas(self) -> FloatArray:
        return np.array([loss.sigma for loss in self.losses if isinstance(loss, GaussianMixtureLoss)])

    @cached_property
    def _counts(self) -> FloatArray:
        return np.array(self.counts, dtype=np.float64)

    @cached_property
    def _furthest(self) -> float:
        """The largest distance of a centre from 0."""
        return max(float(centres[-1]) for centres, _ in self._sides)

    @cached_property
    def _turns(self) -> FloatArray:
        """Return κ for each loss."""
        (m, log_a), (n, log_b) = self._sides
        whole = np.full(len(self.losses), m[-1] + n[-1])
        if not (m.size == n.size == 2 and m[0] == n[0] == 0.0 and m[1] == n[1]):
            return whole
        half = log_a[1] + log_b[1] - (m[1] / self._sigmas) ** 2 <= log_a[0] + log_b[0]
        return np.where(half, m[1], whole)

    def cost(self, s: float, height: float) -> float:
        """The quadrature nodes of all losses, at a fortieth (a matrix product)."""
        if s not in self._costs:
            at = np.array([s])
            (low,), (high,) = self._reach(at)
            scale = _OF_A_NODE * float(high - low) / (2.0 * math.pi)
            own = scale * float(np.sum(self._rates(at, 0.0)))
            self._costs[s] = own, scale * float(np.sum(self._turns / self._sigmas))
        at_zero, rise = self._costs[s]
        return at_zero + rise * height

    @cached_property
    def _costs(self) -> dict[float, tuple[float, float]]:
        """By tilt: the cost at height 0, and by how much it rises with the height."""
        return {}

    @cached_property
    def _short_sum(self) -> GaussianMixtureLossSum:
        """A sum of at most `_SAMPLE` of the losses, with counts that make it about this one."""
        if len(self.losses) <= _SAMPLE:
            return self
        grown = np.minimum(self._log_mgf_each(np.ones(1))[0], 700.0)
        influence = np.log(np.maximum(np.expm1(grown), 1e-300))
        order = np.argsort(influence, kind="stable")
        weights = self._counts[order] * np.exp(influence[order] - influence[order[-1]])
        # Cells of ascending influence, none of which has much of the influence or of the losses.
        place = np.cumsum(weights) / np.sum(weights) + np.cumsum(self._counts[order]) / np.sum(self._counts)
        first = np.unique(np.searchsorted(place, np.arange(_SAMPLE) * (2.0 / _SAMPLE)))
        last = np.append(first[1:], order.size) - 1
        chosen = order[last]
        each = np.maximum(np.exp(influence[chosen] - influence[order[-1]]), 1e-300)
        total = np.add.reduceat(weights, first) / each
        return GaussianMixtureLossSum(
            tuple(self.losses[i] for i in chosen.tolist()),
            tuple(max(1, round(own)) for own in total.tolist()),
        )

    def approximation(self) -> PrivacyLoss:
        """Return a sum of a few of the losses: ln M, and where it falls, to within a half."""
        return self._short_sum

    def _divergence(self, order: float) -> float:
        """Return the divergence from the transform; at a high order that takes too many numbers, a bound without it."""
        if order <= _HIGH or self._numbers(order - 1.0) <= _MOST_NUMBERS:
            return super()._divergence(order)
        most = 0.0
        for loss, count in zip(self.losses, self.counts, strict=True):
            assert isinstance(loss, GaussianMixtureLoss)
            most += count * loss.most_divergence(order)
        return most * (1.0 + (len(self.losses) + 2.0) * ROUNDING)

    def _numbers(self, s: float) -> float:
        """Return about the number of terms of the trapezoid rule for M(s): nodes of every loss, times centres."""
        at = np.array([s])
        (low,), (high,) = self._reach(at)
        centres = sum(own.size for own, _ in self._sides)
        return float(high - low) / float(self._step(at, 0.0)[0]) * len(self.losses) * centres

    def _reach(self, s: FloatArray, rows: slice = _ALL) -> tuple[FloatArray, FloatArray]:
        """Return between which u `_OUTSIDE` of every M(s) is not left out, for each s."""
        (m, log_a), (n, log_b) = self._sides
        sigma, at = self._sigmas[rows], s[:, None, None]  # axes: s, first centres, losses
        m, n = m[:, None] / sigma, n[:, None] / sigma
        log_a, log_b = log_a[:, rows], log_b[:, rows]
        if len(n) > 1:
            mean, square = (np.sum(np.exp(log_b) * n**power, axis=0) for power in (1, 2))
            n = np.concatenate((np.broadcast_to(n, log_b.shape), mean[None]))
            log_b = np.concatenate((log_b, 0.5 * (mean**2 - square)[None]))
        power = 0.5 * at * (at + 1.0)
        masses, centres = np.full(np.broadcast_shapes(at.shape, m.shape), np.inf), 0.0 * at
        for own, log_weight in zip(n, log_b, strict=True):
            by_this = log_a - at * log_weight + power * (m + own) ** 2
            centres = np.where(by_this < masses, (at + 1.0) * m + at * own, centres)
            masses = np.minimum(masses, by_this)
        least = np.max((at + 1.0) * log_a + power * m * m, axis=1, keepdims=True)
        reaches = 2.0 * (masses - np.maximum(least, 0.0) + _NEED + math.log(m.shape[0]))
        seen, reaches = reaches > 0.0, np.sqrt(np.maximum(reaches, 0.0))
        low = np.min(np.where(seen, centres - reaches, np.inf), axis=(1, 2))
        high = np.max(np.where(seen, centres + reaches, -np.inf), axis=(1, 2))
        return low, high

    def _tilted_parts(self, side: int, u: FloatArray, rows: slice) -> tuple[FloatArray, FloatArray]:
        """Return v_j and ln a_j + v_j (or those of the second mixture), by centres, losses and nodes."""
        centres, logs = self._sides[side]
        shift = centres[:, None, None] / self._sigmas[rows, None]
        v = shift * ((-u if side else u) - 0.5 * shift)
        return v, logs[:, rows, None] + v

    def _log_density(
        self, side: int, u: FloatArray, rows: slice
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return A (or B) at the nodes, and the terms it is made of."""
        v, logs = self._tilted_parts(side, u, rows)
        if len(v) == 1:
            return v[0], v, logs
        terms = np.exp(np.minimum(logs, 700.0))
        weights = np.exp(self._sides[side][1][:, rows, None])
        excess = np.where(v > 1.0, terms - weights, weights * np.expm1(np.minimum(v, 1.0))).sum(axis=0)
        near = np.abs(excess) < 0.3  # does not cancel where the sum is about 1
        top = np.max(logs, axis=0)
        plain = np.min(top) > -700.0 and np.max(top) < 700.0
        far = np.log(np.sum(terms, axis=0)) if plain else log_sum(logs, axis=0)
        return np.where(near, np.log1p(np.where(near, excess, 0.0)), far), v, logs

    def _losses_at(
        self, u: FloatArray, rows: slice
    ) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
        """Return A and B at the nodes, each with a bound on its error in units of u."""
        found = []
        for side in (0, 1):
            own, v, logs = self._log_density(side, u, rows)
            if not v.any():
                found.append((own, v[0]))
                continue
            weights = self._sides[side][1][:, rows, None]
            parts = np.exp(np.maximum(logs, weights) - own)
            size = np.abs(v)
            sizes = np.minimum(1.0, size) * (len(v) + 8.0 - 3.0 * weights) + 6.0 * size
            found.append((own, np.einsum("jik,jik->ik", parts, sizes) + 6.0 * np.abs(own)))
        return found[0], found[1]

    def _strip(self, s: FloatArray, rows: slice = _ALL) -> tuple[FloatArray, FloatArray]:
        """Return the half-width a of the strip of the transform's rule, and ln c: a row for each s."""
        sigma = self._sigmas[rows]
        (m, _), (n, _) = self._sides
        width, beta = float(m[-1] - m[0]), float(n[-1] - n[0])
        flat = np.sqrt(1.0 + s[:, None] * (0.5 * beta / sigma) ** 2)  # ln cos(y) is about -y²/2
        widest = math.pi * min(0.9 / width if width else math.inf, 0.5 / beta if beta else math.inf)
        a = np.minimum(sigma * math.sqrt(2.0 * _NEED) / flat, widest * sigma * sigma)
        return a, -s[:, None] * np.log(np.cos(0.5 * beta * a / (sigma * sigma)))

    def _step(self, s: FloatArray, height: float, rows: slice = _ALL) -> FloatArray:
        """Return the largest step in u that is good enough for every loss, for each s."""
        return np.asarray(2.0 * math.pi / np.max(self._rates(s, height, rows), axis=1))

    def _rates(self, s: FloatArray, height: float, rows: slice = _ALL) -> FloatArray:
        """Return 2π over the largest step in u that is good enough for each loss: a row for each s."""
        sigma = self._sigmas[rows]
        a, log_c = self._strip(s, rows)
        rate = (_NEED + a * a / (2.0 * sigma * sigma) + log_c) / a + self._turns[rows] * height / sigma**2
        return np.asarray(rate * sigma)

    def _blocks(self, size: int) -> Iterator[slice]:
        """Return slices of losses, so that as many arrays of ``size`` numbers each stay small."""
        rows = max(1, _BLOCK // size)
        return (slice(i, min(i + rows, len(self.losses))) for i in range(0, len(self.losses), rows))

    def _blocks_of_own_step(
        self, s: FloatArray, height: float, times: int
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Return slices of losses, each with its nodes: they are as far apart as these losses allow."""
        first = 0
        while first < len(self.losses):
            rows = slice(first, first + 1)
            for _ in range(2):
                step = float(self._step(s, height, rows)[0])
                (low,), (high,) = self._reach(s, rows)
                u: FloatArray = step * np.arange(math.floor(low / step) - 1, math.ceil(high / step) + 2.0)
                if len(self.losses) == 1:
                    break
                if rows.stop == rows.start + 1:
                    rows = slice(first, min(first + max(1, _BLOCK // (u.size * times)), len(self.losses)))
            yield rows, u
            first = rows.stop

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return the trapezoid rule, summed over the losses.

        With weights w_j = m_j / Σ m it is (Σ m) φ(t), φ - 1 = Σ w_j (e^{itl_j} - 1). Nodes t_k = kh with
        k = a(2H+1) + b, |b| <= H, have e^{it_k l} - 1 = DE + D + E, D = e^{ia(2H+1)hl} - 1 and E = e^{ibhl} - 1: one
        product of real matrices, of cosines and sines of D and of E for b >= 0, gives both b and -b. With r_j the
        relative error of m_j, r' its mean, u λ_j the error of l_j and t' = (a(2H+1) + |b|) h, so that
        |D| + |E| <= min(4, t'|l_j|), and κ u what `_transforms` adds of that

            |computed φ - φ| <= Σ w_j min(2, t|l_j|) (r_j + r' + 32u) + κ u Σ w_j min(4, t'|l_j|) + u t Σ w_j λ_j
                                + quadrature.

        φ may be close to 1 and M(s), too, where counts are large: then ln Σ m = ln(1 + Σ m_j (1 - e^{-y_j})),
        y = (s+1)A - sB, the rule for φ_σ itself being 1.
        """
        at, height = np.array([s]), float(t[-1])
        spacing = float(t[1]) if t.size > 1 else 0.0
        half = math.isqrt(t.size // 2)
        width = 2 * half + 1
        rows_of_t = -(-(t.size - 1 - half) // width) + 1 if t.size > 1 else 0
        number = np.arange(t.size, dtype=np.float64)
        ahead = width * np.floor((number + half) / width)
        apart = spacing * (ahead + np.abs(number - ahead))
        total, bound = np.zeros(t.size, dtype=np.complex128), np.zeros(t.size)
        size = np.zeros(t.size)
        arrays = 2 * (half + rows_of_t) + 8 + sum(centres.size for centres, _ in self._sides)
        for rows, u in self._blocks_of_own_step(at, height, arrays):
            a, log_c = (column[0] for column in self._strip(at, rows))
            sigma, step = self._sigmas[rows], float(u[1] - u[0])
            variance = sigma * sigma
            turn = 2.0 * math.pi * a / (step * sigma)
            exponent = (a * a / (2.0 * variance) + log_c - turn)[:, None]
            exponent = exponent + np.outer(self._turns[rows] * a / variance, t)
            quadrature = 2.0 * np.exp(exponent) / -np.expm1(-turn)[:, None] + _OUTSIDE
            (first, off_first), (second, off_second) = self._losses_at(u, rows)
            log_ratio, inner = first - second, off_first + off_second
            tilt, off_tilt = (s + 1.0) * first - s * second, (s + 1.0) * off_first + s * off_second
            log_weight = math.log(step / math.sqrt(2.0 * math.pi)) - 0.5 * u * u
            log_masses = log_weight + tilt
            relative = ROUNDING * (16.0 + 4.0 * np.abs(log_weight) + off_tilt)
            top = np.max(log_masses, axis=1)
            weights = np.exp(log_masses - top[:, None])
            sums = np.sum(weights, axis=1)
            weights /= sums[:, None]
            scatter = np.einsum("ij,ij->i", weights, relative)
            log_m = top + np.log(sums)
            error_of_log_m = scatter + ROUNDING * (u.size + 16.0 + 4.0 * np.abs(top)) + quadrature[:, 0]
            near = np.abs(log_m) < 0.3
            if near.any():
                masses, part = np.exp(log_masses[near]), _excess(log_masses[near], tilt[near])
                log_m[near] = np.log1p(np.sum(part, axis=1))
                off = np.abs(part) * (relative[near] + ROUNDING * (u.size + 16.0))
                off += masses * (ROUNDING * off_tilt[near])
                error_of_log_m[near] = 3.0 * np.sum(off, axis=1) + 3.0 * quadrature[near, 0]
            n = self._counts[rows]
            if t.size == 1:
                total.real += n @ log_m
                bound += n @ error_of_log_m
                size += n @ np.abs(log_m)
                continue
            phi, summed = _transforms(weights, spacing * log_ratio, half, rows_of_t)
            phi = phi[:, : t.size]
            lengths = np.abs(log_ratio)
            slope = np.einsum("ij,ij->i", weights, lengths)
            mean = scatter + 32.0 * ROUNDING
            own = np.einsum("ij,ij,ij->i", weights, lengths, relative) + mean * slope
            error = np.minimum(np.outer(own, t), 4.0 * mean[:, None])
            error += ROUNDING * summed * np.minimum(np.outer(slope, apart), 4.0)
            error += np.outer(ROUNDING * np.einsum("ij,ij->i", weights, inner + 5.0 * lengths), t)
            error += quadrature * (t > 0.0)
            logs = log1p_complex(np.where(np.abs(1.0 + phi) > 1e-290, phi, 1e-290 - 1.0))
            modulus = np.maximum(np.abs(1.0 + phi), 1e-300)
            turned = 8.0 * ROUNDING * np.abs(phi) / modulus
            total.real += n @ (logs.real + log_m[:, None])
            total.imag += n @ logs.imag
            bound += n @ (np.log1p(error / modulus) + turned + error_of_log_m[:, None])
            size += n @ (np.abs(logs) + np.abs(log_m)[:, None])
        return total, bound + (len(self.losses) + 4) * ROUNDING * size

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """Return Σ n ln M on the real line; inf where that takes too many nodes."""
        each = self._log_mgf_each(s)
        return np.where(np.isinf(each[:, 0]), np.inf, each @ self._counts)

    def _log_mgf_each(self, s: FloatArray) -> FloatArray:
        """Return ln M on the real line, a row for each s and a column for each loss, by one rule for all."""
        steps, (low, high) = self._step(s, 0.0), self._reach(s)
        fits = (high - low) / steps <= _MOST_NODES
        out = np.full((s.size, len(self.losses)), np.inf)
        if not fits.any():
            return out
        at = s[fits][:, None, None]  # axes: s, losses, nodes
        step = float(np.min(steps[fits]))
        first, last = float(np.min(low[fits])) / step, float(np.max(high[fits])) / step
        u: FloatArray = step * np.arange(math.floor(first) - 1, math.ceil(last) + 2.0)
        log_weight = math.log(step / math.sqrt(2.0 * math.pi)) - 0.5 * u * u
        for rows in self._blocks(u.size * at.size):
            own, other = (self._log_density(side, u, rows)[0] for side in (0, 1))
            tilt = (at + 1.0) * own - at * other
            log_masses = log_weight + tilt
            log_m = log_sum(log_masses, axis=2)
            near = np.abs(log_m) < 0.3
            log_m[near] = np.log1p(np.sum(_excess(log_masses[near], tilt[near]), axis=1))
            out[fits, rows] = log_m
        return out

    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        """Return Σ n ln of the class docstring's bound, for each height with the path that is best for a few losses."""
        tried = self._short_sum._path_bounds(s, heights, np.array(_SHARES))
        if self._short_sum is self:
            return np.asarray(np.min(tried, axis=0))
        best = np.argmin(tried, axis=0)
        out = np.empty(heights.shape)
        for i in np.unique(best).tolist():
            out[best == i] = self._path_bounds(s, heights[best == i], np.array(_SHARES[i : i + 1]))[0]
        return out

    def oscillations(self, s: float) -> None:
        """None: there are no atoms."""

    def _path_bounds(self, s: float, heights: FloatArray, shares: FloatArray) -> FloatArray:
        """Return Σ n ln of the bound of paths moved by a = share·πσ² over the furthest centre, a row for each share.

        Infinite where that takes too many nodes, if another path takes fewer.
        """
        sigma, variance = self._sigmas, self._sigmas**2
        furthest, beta = self._furthest, float(self._sides[1][0][-1] - self._sides[1][0][0])
        # Axes: shares, losses. Further than some σ a path costs more than it gains.
        theta = shares[:, None] * np.minimum(math.pi / furthest, _FURTHEST / sigma)
        angle = np.maximum(theta, 0.5 * math.pi / furthest - theta)
        angle = np.minimum(angle, math.sqrt(2.0 * _NEED) / sigma)
        y = angle * variance
        log_c = -0.5 * s * np.log(0.5 * (np.cos(beta * theta) + np.cos(beta * angle)))
        outside = -s * np.log(np.cos(0.5 * beta * theta))
        steps = 2.0 * math.pi * y / (_NEED + y * y / (2.0 * variance) + log_c)
        finest = np.min(steps / sigma, axis=1)
        (low,), (high,) = self._reach(np.array([s]))
        few = finest >= min(np.max(finest), 0.5 * (high - low) / _MOST_NODES)
        if not few.all():
            bounds = np.full((shares.size, heights.size), np.inf)
            bounds[few] = self._path_bounds(s, heights, shares[few])
            return bounds
        step = float(np.min(finest))
        u: FloatArray = step * np.arange(math.floor(low / step) - 1, math.ceil(high / step) + 2.0)
        log_weight = math.log(step / math.sqrt(2.0 * math.pi)) - 0.5 * u * u
        turn = 2.0 * math.pi * y / (step * sigma)
        missed = 2.0 * np.exp(y * y / (2.0 * variance) + log_c - turn) / -np.expm1(-turn)
        missed = missed + _OUTSIDE * np.exp(np.minimum(outside, 700.0))
        largest = float(np.max(np.abs(u)))
        total = np.zeros((shares.size, heights.size))
        for rows in self._blocks(u.size * heights.size * shares.size):
            check_time()
            moduli, angles, plain = [], [], []
            for side in (0, 1):
                own, _, logs = self._log_density(side, u, rows)
                turns = np.exp(1j * theta[:, rows, None] * self._sides[side][0])
                parts = np.exp(logs - own) if len(logs) > 1 else np.ones((1, 1, 1))
                turned = np.einsum("slc,cln->sln", turns, parts)  # axes: shares, losses, nodes
                moduli.append(own + np.log(np.abs(turned)))
                angles.append(np.angle(turned))
                plain.append(own)
            exponent = log_weight + (s + 1.0) * moduli[0] - s * moduli[1]
            top = np.max(exponent, axis=2, keepdims=True)
            falls = heights[:, None] * (angles[0] + angles[1])[:, :, None, :]
            j = np.log(np.sum(np.exp((exponent - top)[:, :, None, :] - falls), axis=3) + 1e-300) + top
            log_masses = log_weight + (s + 1.0) * plain[0] - s * plain[1]
            left_out = (log_sum(log_masses, axis=1) + np.log(missed[:, rows]))[..., None]
            sizes = (s + 1.0) * np.abs(plain[0]) + s * np.abs(plain[1])
            rounding = 40.0 * (1.0 + largest) ** 2 + 16.0 * np.max(sizes, axis=1)
            bound = np.logaddexp(j, left_out) + ROUNDING * (rounding[:, None] + 8.0 * heights)
            bound += 0.5 * (theta**2 * variance)[:, rows, None]
            total += np.einsum("i,sih->sh", self._counts[rows], bound)
        return total + 4 * ROUNDING * len(self.losses) * np.abs(total)


def _transforms(
    weights: FloatArray, angles: FloatArray, half: int, rows_of_t: int
) -> tuple[ComplexArray, float]:
    """Return Σ_j w_j (e^{ikθ_j} - 1), k = 0, 1, ..., for each row, and κ.

    See `GaussianMixtureLossSum.log_mgf_line`: it is off by κ u Σ_j w_j min(4, (|a|(2H+1) + |b|) θ_j). Nodes are
    summed in groups of m, whose sums are added up: each of the real sums is off by (m + 16) u of the moduli in it, and
    a complex number by √2 times that. The D and E themselves are off by at most max(20, 6 log2 k) u min(4, kθ) each
    (`_turns`).
    """
    losses, nodes = weights.shape
    beside = _turns(angles, half + 1).reshape(2 * half + 2, losses, nodes).transpose(1, 0, 2)
    ahead = (
        _turns((2 * half + 1) * angles, rows_of_t).reshape(2 * rows_of_t, losses, nodes).transpose(1, 0, 2)
    )
    length = max(64, -(-nodes // 8))
    groups = [slice(first, first + length) for first in range(0, nodes, length)]
    alone = np.zeros((losses, 2 * half + 2, 1))
    for group in groups:
        alone += np.matmul(beside[:, :, group], weights[:, group, None])
    beside[:, : half + 1] += 1.0
    beside *= weights[:, None]
    product = np.zeros((losses, 2 * rows_of_t, 2 * half + 2))
    for group in groups:
        product += np.matmul(ahead[:, :, group], beside[:, :, group].transpose(0, 2, 1))
    r, h = rows_of_t, half + 1
    cc, cs, sc, ss = product[:, :r, :h], product[:, :r, h:], product[:, r:, :h], product[:, r:, h:]
    cosine, sine = alone[:, None, :h, 0], alone[:, None, h:, 0]
    out = np.empty((losses, rows_of_t, 2 * half + 1), dtype=np.complex128)
    out.real[:, :, half:] = cc - ss + cosine
    out.imag[:, :, half:] = sc + cs + sine
    out.real[:, :, :half] = (cc + ss + cosine)[:, :, :0:-1]
    out.imag[:, :, :half] = (sc - cs - sine)[:, :, :0:-1]
    turning = max(20.0, 6.0 * math.log2(max(half + 1, rows_of_t)))
    return out.reshape(losses, -1)[:, half:], 1.5 * (length + 16.0) + 2.0 * turning


def _excess(log_masses: FloatArray, tilt: FloatArray) -> FloatArray:
    """Return m (e^{tilt} - 1), given ln m + tilt: without cancellation, to 2.2 times the error of m e^{tilt} and m."""
    masses = np.exp(log_masses)
    small = np.clip(tilt, -1.0, 1.0)
    far = masses - np.exp(np.minimum(log_masses - tilt, 700.0))
    return np.where(np.abs(tilt) < 1.0, masses * -np.expm1(-small), far)


def _turns(angles: FloatArray, count: int) -> FloatArray:
    """Return cos kθ - 1 and sin kθ (the first axis) for k = 0, 1, ... (the second) without cancellation.

    D_k = e^{ikθ} - 1 for powers of 2 is computed alone, to 4u |D_k|; D_{m+n} = D_m D_n + D_m + D_n for m < n adds
    8u (m+n) θ, and not more than 16u. So in all D_k is off by 20u kθ, and not by more than 24u log2 k.
    """
    out = np.zeros((2, count, *angles.shape))
    n = 1
    while n < count:
        cosine, sine = -2.0 * np.sin(0.5 * n * angles) ** 2, np.sin(n * angles)
        known, more = out[:, : min(n, count - n)], out[:, n : 2 * n]
        more[0] = known[0] * (1.0 + cosine) - known[1] * sine + cosine
        more[1] = known[1] * (1.0 + cosine) + known[0] * sine + sine
        n *= 2
    return out


def binomial_mixture(size: int, rate: float) -> Mixture:
    """Return Bin(size, rate), the number of records of a group in a Poisson sample, as centres and ln of the weights.

    The weights are exact before their logarithms are taken; of one near 1 that of the rest is.
    """
    taken, whole = rate.as_integer_ratio()
    scale = size * (whole.bit_length() - 1)
    found = []
    for j in range(size + 1):
        weight = math.comb(size, j) * taken**j * (whole - taken) ** (size - j)
        if 2 * weight > 1 << scale:
            log_weight = math.log1p(-(((1 << scale) - weight) / (1 << scale)))
        else:
            bits = weight.bit_length()
            log_weight = math.log(weight / (1 << bits)) + (bits - scale) * math.log(2.0)
        found.append((float(j), log_weight))
    return tuple(found)
