"""The privacy loss of Gaussian noise on a Poisson subsample, both directions, by certified quadrature."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from mechanisms.arrays import FloatArray
from mechanisms.log_sum import log_sum
from mechanisms.neighbouring import Neighbouring
from mechanisms.privacy_loss import ROUNDING, ComplexArray, LossSum, PrivacyLoss, log1p_complex

_NEED = 46.0
"""Rules are chosen so that their errors are below e^{-46}, about 1e-20, of A(b)."""
_OUTSIDE = 4.0 * math.exp(-_NEED)
"""What lies outside of the nodes, of A(b): 2 Φ(-R/σ) <= e^{-R²/2σ²}."""
_SHARES = (0.42, 0.3, 0.2, 0.1, 0.03, 0.01, 0.003, 0.001)
"""How far paths are moved, in πσ². Far helps single releases, little helps many at small heights."""
_BLOCK = 2**18
"""Numbers in an array."""
_MOST_NODES = 2**14
"""Of a rule for a tilt that may be chosen."""
_HIGH = 100.0
"""Orders of Rényi divergences above which, as a rule, none is best."""
_MOST_NUMBERS = 2**20
"""Of the rule for one of them."""
_SAMPLE = 16
"""Losses that say which path is best for all, and where to integrate."""
_MOST_ORDER = 200
"""Up to which moments are summed: binomial coefficients are floats, and cheaper than a quadrature."""
_ALL = slice(None)


@dataclass(frozen=True)
class SubsampledGaussianLoss(PrivacyLoss):
    """Loss of the pair (Σ_j C(k,j) q^j (1-q)^{k-j} N(j,σ²), N(0,σ²)), or of the reversed pair if ``added``.

    For one record, k = 1, it is ((1-q) N(0,σ²) + q N(1,σ²), N(0,σ²)); for groups see `SampledGroupProfile`.

    With p_j the weights, v_j = (2jx - j²)/2σ² and l(x) = ln Σ p_j e^{v_j}, A(w) = E[e^{w l(x)}] under x ~ N(0, σ²):
    M(z) = A(z+1) if the records are removed, A(-z) if they are added.

    Trapezoid rule of step g (Poisson summation in the strip |Im x| < a, a < πσ²/k): there
    |φ_σ(x+ia)| = φ_σ(x) e^{a²/2σ²}, |Im l| <= ka/σ², Re l <= l(x) and Re l >= l(x) + ln cos(ka/2σ²), because the
    terms p_j e^{v_j} have angles from 0 to θ = ka/σ², hence projections on the middle one of at least cos(θ/2) of
    themselves. So for w = b + it

        |trapezoid - A(w)| <= 2 A(b) e^{a²/2σ² + |t|ka/σ²} c / (e^{2πa/g} - 1),

    c = 1 for b >= 0 and cos(ka/2σ²)^b for b < 0. *Outside* of the rule, where A(b) >= 1 (Jensen): added, b < 0 and
    l >= ln p_0, so that what is beyond [-R, R] is at most p_0^b 2Φ(-R/σ). Removed: (Σ p_j e^{v_j})^b <=
    Σ p_j e^{b v_j}, a sum of Gaussians around bj of masses p_j e^{b(b-1)j²/2σ²}, while A(b) >= p_j^b e^{b(b-1)j²/2σ²}
    for every j: the rule reaches as far as each of these masses takes to fall below e^{-46} of that.

    Parameters
    ----------
    rate : float
        Sampling rate q in (0, 1).
    sigma : float
        Noise over the l2 movement of one record, positive.
    added : bool
        The direction.
    size : int
        k, how many records are added or removed together.
    """

    rate: float
    sigma: float
    added: bool = False
    size: int = 1

    @property
    def neighbouring(self) -> Neighbouring:
        """Adding or removing a record."""
        return Neighbouring.ADD_OR_REMOVE

    @property
    def supremum(self) -> float:
        """-k ln(1-q) if added, else inf."""
        return -self.size * math.log1p(-self.rate) * (1.0 + 8 * ROUNDING) if self.added else math.inf

    @property
    def infimum(self) -> float:
        """K ln(1-q) if removed, else -inf."""
        return -math.inf if self.added else self.size * math.log1p(-self.rate) * (1.0 + 8 * ROUNDING)

    @cached_property
    def _alone(self) -> SubsampledGaussianLossSum:
        return SubsampledGaussianLossSum((self,), (1,))

    def cost(self, s: float, height: float) -> float:
        """The quadrature nodes, at a fortieth (a matrix product); their number grows with the height."""
        return self._alone.cost(s, height)

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return the trapezoid rule of the class docstring; the step is chosen for the largest t."""
        return self._alone.log_mgf_line(s, t)

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """Return ln A on the real line, one quadrature for each s."""
        return self._alone.log_mgf_real(s)

    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        """Return ln of a bound from a path moved off the real line; see `SubsampledGaussianLossSum`."""
        return self._alone.log_envelope(s, heights)

    def log_top_from_above(self, s: float) -> float:
        """Return ln M(s) between whole orders; see `SubsampledGaussianLossSum`."""
        return self._alone.log_top_from_above(s)

    def _divergence(self, order: float) -> float:
        return self._alone._divergence(order)

    def most_divergence(self, order: float) -> float:
        """Return an upper bound on the Rényi divergence that takes no quadrature.

        Added: no loss is above the supremum. Removed: of a mixture it is at most the largest of its parts (it is
        quasi-convex: van Erven, Harremoës 2014, Thm 13), that with all k records in the sample.
        """
        moved = self.size / self.sigma
        return self.supremum if self.added else 0.5 * order * moved * moved * (1.0 + 8.0 * ROUNDING)

    @classmethod
    def sum_losses(cls, losses: Sequence[PrivacyLoss], counts: Sequence[int]) -> PrivacyLoss:
        """Return the sum, its transforms by one rule; apart for the two directions, and for groups of other sizes."""
        alike: dict[tuple[bool, int], list[tuple[SubsampledGaussianLoss, int]]] = {}
        for loss, n in zip(losses, counts, strict=True):
            assert isinstance(loss, SubsampledGaussianLoss)
            alike.setdefault((loss.added, loss.size), []).append((loss, n))
        # What has more noise takes fewer nodes: neighbours in the sum are done together.
        ordered = [sorted(own, key=lambda pair: (pair[0].sigma, pair[0].rate)) for own in alike.values()]
        sums = [
            SubsampledGaussianLossSum(tuple(one for one, _ in own), tuple(n for _, n in own))
            for own in ordered
        ]
        return sums[0] if len(sums) == 1 else LossSum(tuple(sums), (1,) * len(sums))


@dataclass(frozen=True)
class SubsampledGaussianLossSum(LossSum):
    """Losses of Gaussian noise on Poisson subsamples, all in one direction and for one k, on common nodes x = σu.

    Envelope. With l(x+ia) = R + iI, the logarithm and the angle of Σ p_j e^{v_j + ijθ/k}, θ = ka/σ² in (0, π/2), and
    J(τ) = ∫ φ_σ(x) e^{bR - τI} dx,  |M(s+it)| <= e^{a²/2σ²} J(τ) for |t| >= τ.

        *Proof.* The path of A(b+it), or its mirror image, is moved to Im x = a: |φ_σ(x+ia)| = φ_σ(x) e^{a²/2σ²}, and
        e^{-|t|I} falls with |t| as I >= 0. []

    The trapezoid rule for J: the integrand is that of φ_σ exp(((b+iτ) l(x+ia) + (b-iτ) l(x-ia)) / 2), analytic for
    |Im x| = y with y + a < πσ²/k. There its modulus is at most e^{y²/2σ²} φ_σ(x) e^{bl(x)} c, because
    I(a+y) + I(a-y) >= 0 for y <= a (both are) and for k(a+y)/σ² <= π/2 (I is odd in the angle, and increases up to
    there: |Σ c_j e^{ijθ}|² I' = Σ j c_j c_i cos((j-i)θ)); c = 1 for b >= 0 and ((cos(ka/σ²) + cos(ky/σ²))/2)^{b/2}
    for b < 0, as Re l >= l + ln cos(angle/2). So the rule is off by at most 2 A(b) e^{y²/2σ²} c / (e^{2πy/g} - 1); what
    lies outside is as for the transform.
    """

    @cached_property
    def _columns(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        rates, sigmas = (
            np.array([getattr(loss, name) for loss in self.losses])[:, None] for name in ("rate", "sigma")
        )
        return rates, sigmas, np.array(self.counts, dtype=np.float64)

    @cached_property
    def _added(self) -> bool:
        return isinstance(self.losses[0], SubsampledGaussianLoss) and self.losses[0].added

    @cached_property
    def _size(self) -> int:
        return self.losses[0].size if isinstance(self.losses[0], SubsampledGaussianLoss) else 1

    @cached_property
    def _log_weights(self) -> FloatArray:
        """Return ln p_j, j = 0 .. k along the first axis, then a column of losses."""
        return log_binomial_weights(self._size, self._columns[0])

    def cost(self, s: float, height: float) -> float:
        """The sum of the losses' costs."""
        sigma = self._columns[1][:, 0]
        rate = self._size * (height + 16.0) / (sigma * sigma) + 10.0 / sigma
        return float(np.sum(0.025 * (20.0 * sigma + 10.0 * self._size) * rate)) / (2.0 * math.pi)

    @cached_property
    def _few(self) -> SubsampledGaussianLossSum:
        """A sum of some of the losses, with counts so that it is about this one."""
        if len(self.losses) <= _SAMPLE:
            return self
        rates, sigmas, counts = (np.ravel(column) for column in self._columns)
        influence = 2.0 * np.log(rates) + np.log(np.maximum(np.expm1(np.minimum(sigmas**-2, 700.0)), 1e-300))
        order = np.argsort(influence, kind="stable")
        weights = counts[order] * np.exp(influence[order] - influence[order[-1]])
        # Cells of ascending influence, none of which has much of the influence or of the losses.
        place = np.cumsum(weights) / np.sum(weights) + np.cumsum(counts[order]) / np.sum(counts)
        first = np.unique(np.searchsorted(place, np.arange(_SAMPLE) * (2.0 / _SAMPLE)))
        last = np.append(first[1:], order.size) - 1
        chosen = order[last]
        each = np.maximum(np.exp(influence[chosen] - influence[order[-1]]), 1e-300)
        total = np.add.reduceat(weights, first) / each
        return SubsampledGaussianLossSum(
            tuple(self.losses[i] for i in chosen.tolist()),
            tuple(max(1, round(own)) for own in total.tolist()),
        )

    def approximation(self) -> PrivacyLoss:
        """Return a sum of a few of the losses: ln M, and where it falls, to within a half."""
        return self._few

    def _divergence(self, order: float) -> float:
        """Return it from the transform; of a high order, where that takes too many numbers, what is known without."""
        if order <= _HIGH or self._numbers(order - 1.0) <= _MOST_NUMBERS:
            return super()._divergence(order)
        most = 0.0
        for loss, count in zip(self.losses, self.counts, strict=True):
            assert isinstance(loss, SubsampledGaussianLoss)
            most += count * loss.most_divergence(order)
        return most * (1.0 + (len(self.losses) + 2.0) * ROUNDING)

    def _numbers(self, s: float) -> float:
        """Return about how many numbers the trapezoid rule for M(s) takes: nodes of every loss, times k + 1."""
        at = np.array([s])
        (low,), (high,) = self._reach(at)
        return (
            float(high - low)
            / float(self._step(self._power(at), 0.0)[0])
            * len(self.losses)
            * (self._size + 1)
        )

    def _power(self, s: FloatArray) -> FloatArray:
        return -s if self._added else s + 1.0

    def _reach(self, s: FloatArray, rows: slice = _ALL) -> tuple[FloatArray, FloatArray]:
        """Return between which u `_OUTSIDE` of every A(b) is not left out, for each s."""
        weights = self._log_weights[:, rows]
        if self._added:
            reach = np.sqrt(2.0 * (_NEED - s * float(np.min(weights[0]))))
            return -reach, reach
        b = self._power(s)[:, None, None]  # axes: s, j, losses
        centres = (
            np.arange(self._size + 1.0)[:, None] / self._columns[1][rows, 0]
        )  # of Gaussians in u, over b
        grown = 0.5 * b * (b - 1.0) * centres * centres
        least = np.maximum(0.0, np.max(b * weights[..., 0] + grown, axis=1, keepdims=True))
        reaches = 2.0 * (weights[..., 0] + grown - least + _NEED + math.log(self._size + 1.0))
        seen, reaches = reaches > 0.0, np.sqrt(np.maximum(reaches, 0.0))
        low = np.min(np.where(seen, b * centres - reaches, np.inf), axis=(1, 2))
        high = np.max(np.where(seen, b * centres + reaches, -np.inf), axis=(1, 2))
        return low, high

    def _terms_of(self, u: FloatArray, rows: slice) -> FloatArray:
        """Return ln(p_j e^{v_j}) for j = 0 .. k, by losses and nodes."""
        sigma = self._columns[1][rows]
        j = np.arange(self._size + 1.0)[:, None, None]
        return np.asarray(self._log_weights[:, rows] + j / sigma * (u - 0.5 * j / sigma))

    def _log_ratio(self, u: FloatArray, rows: slice) -> tuple[FloatArray, FloatArray]:
        """Return l at the nodes, and how many u it may be off."""
        q, sigma, _ = self._columns
        if self._size == 1:
            v = u / sigma[rows] - 0.5 / sigma[rows] ** 2
            log_ratio = log_mixture(q[rows], v)
            share = np.minimum(1.0, q[rows] * np.exp(np.minimum(v, 50.0)))
            return log_ratio, share * (6.0 * np.abs(v) + 6.0) + 4.0 * np.abs(log_ratio)
        logs, weights = self._terms_of(u, rows), self._log_weights[:, rows]
        moved = np.minimum(logs - weights, 700.0)
        excess = np.sum(np.exp(weights) * np.expm1(moved), axis=0)  # does not cancel where the sum is about 1
        near = np.abs(excess) < 0.3
        log_ratio = np.where(near, np.log1p(np.where(near, excess, 0.0)), log_sum(logs, axis=0))
        parts = np.exp(logs - log_ratio)
        sizes = (self._size + 8.0) * np.minimum(1.0, np.abs(moved)) + 6.0 * np.abs(moved)
        sizes = (sizes + np.abs(weights) * np.minimum(1.0, np.abs(moved))) * np.maximum(
            parts, np.exp(weights - log_ratio)
        )
        return log_ratio, 3.0 * np.sum(sizes, axis=0) + 4.0 * np.abs(log_ratio)

    def _strip(self, b: FloatArray, rows: slice = _ALL) -> tuple[FloatArray, FloatArray]:
        """Return the half-width a of the strip of the transform's rule, and ln c: a row for each b."""
        sigma, k = self._columns[1][rows, 0], self._size
        below = np.maximum(0.0, -b)[:, None]
        flat = np.sqrt(1.0 + below * (0.5 * k / sigma) ** 2)  # ln cos(y) is about -y²/2
        widest = np.where(below > 0.0, 0.5, 0.9) * math.pi * sigma * sigma / k
        a = np.minimum(sigma * math.sqrt(2.0 * _NEED) / flat, widest)
        return a, -below * np.log(np.cos(np.where(below > 0.0, 0.5 * k * a / (sigma * sigma), 0.0)))

    def _step(self, b: FloatArray, height: float, rows: slice = _ALL) -> FloatArray:
        """Return the largest step in u that is good enough for every loss, for each b."""
        sigma = self._columns[1][rows, 0]
        a, log_c = self._strip(b, rows)
        rate = (_NEED + a * a / (2.0 * sigma * sigma) + log_c) / a + self._size * height / (sigma * sigma)
        return np.asarray(2.0 * math.pi / np.max(rate * sigma, axis=1))

    def _blocks(self, size: int) -> Iterator[slice]:
        """Return slices of losses, so that as many arrays of ``size`` numbers each stay small."""
        rows = max(1, _BLOCK // size)
        return (slice(i, min(i + rows, len(self.losses))) for i in range(0, len(self.losses), rows))

    def _blocks_of_own_step(
        self, s: FloatArray, height: float, times: int
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Return slices of losses, each with its nodes: they are as far apart as these losses allow."""
        b, first = self._power(s), 0
        while first < len(self.losses):
            rows = slice(first, first + 1)
            for _ in range(2):
                step = float(self._step(b, height, rows)[0])
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

        φ may be close to 1 and M(s), too, where counts are large: then ln Σ m = ln(1 + Σ m_j (1 - e^{-bl_j})), the rule
        for φ_σ itself being 1.
        """
        at, (_, sigmas, counts) = np.array([s]), self._columns
        b, height = float(self._power(at)[0]), float(t[-1])
        spacing = float(t[1]) if t.size > 1 else 0.0
        half = math.isqrt(t.size // 2)
        width = 2 * half + 1
        rows_of_t = -(-(t.size - 1 - half) // width) + 1 if t.size > 1 else 0
        number = np.arange(t.size, dtype=np.float64)
        ahead = width * np.floor((number + half) / width)
        apart = spacing * (ahead + np.abs(number - ahead))
        total, bound = np.zeros(t.size, dtype=np.complex128), np.zeros(t.size)
        size = np.zeros(t.size)
        for rows, u in self._blocks_of_own_step(at, height, 2 * (half + rows_of_t) + self._size + 8):
            a, log_c = (column[0] for column in self._strip(self._power(at), rows))
            sigma, step = sigmas[rows, 0], float(u[1] - u[0])
            variance = sigma * sigma
            turn = 2.0 * math.pi * a / (step * sigma)
            exponent = (a * a / (2.0 * variance) + log_c - turn)[:, None] + np.outer(
                self._size * a / variance, t
            )
            quadrature = 2.0 * np.exp(exponent) / -np.expm1(-turn)[:, None] + _OUTSIDE
            log_ratio, inner = self._log_ratio(u, rows)
            log_weight = math.log(step / math.sqrt(2.0 * math.pi)) - 0.5 * u * u
            log_masses = log_weight + b * log_ratio
            relative = ROUNDING * (16.0 + 4.0 * np.abs(log_weight) + abs(b) * inner)
            top = np.max(log_masses, axis=1)
            weights = np.exp(log_masses - top[:, None])
            sums = np.sum(weights, axis=1)
            weights /= sums[:, None]
            scatter = np.einsum("ij,ij->i", weights, relative)
            log_m = top + np.log(sums)
            error_of_log_m = scatter + ROUNDING * (u.size + 16.0 + 4.0 * np.abs(top)) + quadrature[:, 0]
            near = np.abs(log_m) < 0.3
            if near.any():
                masses, part = np.exp(log_masses[near]), _excess(log_masses[near], b * log_ratio[near])
                log_m[near] = np.log1p(np.sum(part, axis=1))
                off = np.abs(part) * (relative[near] + ROUNDING * (u.size + 16.0))
                off += masses * (ROUNDING * abs(b) * inner[near])
                error_of_log_m[near] = 3.0 * np.sum(off, axis=1) + 3.0 * quadrature[near, 0]
            n = counts[rows]
            if t.size == 1:
                total.real += n @ log_m
                bound += n @ error_of_log_m
                size += n @ np.abs(log_m)
                continue
            signed = -log_ratio if self._added else log_ratio
            phi, summed = _transforms(weights, spacing * signed, half, rows_of_t)
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
        """Return Σ n ln A on the real line, one rule for all s; inf where that takes too many nodes."""
        steps, (low, high) = self._step(self._power(s), 0.0), self._reach(s)
        fits = (high - low) / steps <= _MOST_NODES
        out = np.where(fits, 0.0, np.inf)
        if not fits.any():
            return out
        b = self._power(s[fits])[:, None, None]  # axes: s, losses, nodes
        step = float(np.min(steps[fits]))
        first, last = float(np.min(low[fits])) / step, float(np.max(high[fits])) / step
        u: FloatArray = step * np.arange(math.floor(first) - 1, math.ceil(last) + 2.0)
        log_weight = math.log(step / math.sqrt(2.0 * math.pi)) - 0.5 * u * u
        for rows in self._blocks(u.size * b.size):
            tilt = b * self._log_ratio(u, rows)[0]
            log_masses = log_weight + tilt
            log_a = log_sum(log_masses, axis=2)
            near = np.abs(log_a) < 0.3
            log_a[near] = np.log1p(np.sum(_excess(log_masses[near], tilt[near]), axis=1))
            out[fits] += log_a @ self._columns[2][rows]
        return out

    def log_top_from_above(self, s: float) -> float:
        """Return a chord of ln M between the whole orders beside s + 1, where it is nearly straight.

        ln A is convex, and for whole b (Mironov, Talwar & Zhang 2019, section 3.3)
        A(b) = 1 + Σ_{j>=2} C(b,j) q^j (1-q)^{b-j} (e^{j(j-1)/2σ²} - 1): nothing cancels. With second differences of at
        most a fifth the chord is a few percent too large. For all else than one removed record it is `log_top`.
        """
        order = math.floor(s) + 1
        if self._added or self._size > 1 or not 3 <= order <= _MOST_ORDER:
            return self.log_top(s)
        below, at, above = (self._log_moments(order + i) for i in (-1, 0, 1))
        if not float(np.sum(above - 2.0 * at + below)) <= 0.2 * float(np.sum(at)):
            return self.log_top(s)
        beyond = s + 1.0 - order
        return float((1.0 - beyond) * np.sum(at) + beyond * np.sum(above)) * (1.0 + 8 * ROUNDING)

    def _log_moments(self, order: int) -> FloatArray:
        """Return n ln A at a whole order for each loss, rounded up: ln(1 + (1+r)x) <= (1+r) ln(1+x)."""
        q, sigma, counts = (column.ravel() for column in self._columns)
        j = np.arange(2.0, order + 1.0)[:, None]
        choices = np.log([float(math.comb(order, i)) for i in range(2, order + 1)])[:, None]
        moved = 0.5 * j * (j - 1.0) / sigma**2
        logs = choices + j * np.log(q) + (order - j) * np.log1p(-q)
        sizes = choices - j * np.log(q) - (order - j) * np.log1p(-q) + moved
        logs += moved + np.log(-np.expm1(-moved))
        relative = ROUNDING * (8.0 * np.max(sizes, axis=0) + 2.0 * order + 32.0)
        log_moments = np.logaddexp(0.0, log_sum(logs, axis=0))
        return np.asarray(counts * log_moments * (1.0 + relative + counts.size * ROUNDING))

    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        """Return Σ n ln of the class docstring's bound, for each height with the path that is best for a few losses."""
        tried = self._few._shifted(s, heights, np.array(_SHARES))
        if self._few is self:
            return np.asarray(np.min(tried, axis=0))
        best = np.argmin(tried, axis=0)
        out = np.empty(heights.shape)
        for i in np.unique(best).tolist():
            out[best == i] = self._shifted(s, heights[best == i], np.array(_SHARES[i : i + 1]))[0]
        return out

    def oscillations(self, s: float) -> None:
        """None: there are no atoms."""

    def _shifted(self, s: float, heights: FloatArray, shares: FloatArray) -> FloatArray:
        """Return Σ n ln of the bound of paths moved by a = share·πσ², a row for each share."""
        at, (_, sigma, counts) = np.array([s]), self._columns
        b, k, variance = float(self._power(at)[0]), self._size, sigma[:, 0] ** 2
        theta = shares[:, None] * math.pi  # axes: shares, losses
        angle = np.minimum(np.maximum(theta, 0.5 * math.pi - theta), k * math.sqrt(2.0 * _NEED) / sigma[:, 0])
        y = angle * variance / k
        log_c = 0.5 * b * np.log(0.5 * (np.cos(theta) + np.cos(angle))) if b < 0.0 else np.zeros(y.shape)
        steps = 2.0 * math.pi * y / (_NEED + y * y / (2.0 * variance) + log_c)
        step = float(np.min(steps / sigma[:, 0]))
        (low,), (high,) = self._reach(at)
        u: FloatArray = step * np.arange(math.floor(low / step) - 1, math.ceil(high / step) + 2.0)
        log_weight = math.log(step / math.sqrt(2.0 * math.pi)) - 0.5 * u * u
        turn = 2.0 * math.pi * y / (step * sigma[:, 0])
        missed = 2.0 * np.exp(y * y / (2.0 * variance) + log_c - turn) / -np.expm1(-turn) + _OUTSIDE
        turns = np.exp(1j * theta / k * np.arange(k + 1.0))  # axes: shares, j
        furthest = float(np.max(np.abs(u)))
        total = np.zeros((shares.size, heights.size))
        for rows in self._blocks(u.size * heights.size * shares.size):
            log_ratio, _ = self._log_ratio(u, rows)
            log_masses = log_weight + b * log_ratio
            turned = np.tensordot(turns, np.exp(self._terms_of(u, rows) - log_ratio), 1)
            exponent = log_masses + b * np.log(np.abs(turned))  # axes: shares, losses, nodes
            top = np.max(exponent, axis=2, keepdims=True)
            falls = heights[:, None] * np.angle(turned)[:, :, None, :]
            j = np.log(np.sum(np.exp((exponent - top)[:, :, None, :] - falls), axis=3) + 1e-300) + top
            left_out = (log_sum(log_masses, axis=1) + np.log(missed[:, rows]))[..., None]
            rounding = 40.0 * (1.0 + furthest) ** 2 + 16.0 * abs(b) * np.max(np.abs(log_ratio), axis=1)
            bound = np.logaddexp(j, left_out) + ROUNDING * (rounding[:, None] + 8.0 * heights)
            bound += 0.5 * (theta[..., None] / k) ** 2 * variance[rows, None]
            total += np.einsum("i,sih->sh", counts[rows], bound)
        return total + 4 * ROUNDING * len(self.losses) * np.abs(total)


def _transforms(
    weights: FloatArray, angles: FloatArray, half: int, rows_of_t: int
) -> tuple[ComplexArray, float]:
    """Return Σ_j w_j (e^{ikθ_j} - 1), k = 0, 1, ..., for each row, and κ.

    See `SubsampledGaussianLossSum.log_mgf_line`: it is off by κ u Σ_j w_j min(4, (|a|(2H+1) + |b|) θ_j). Nodes are
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


def log_binomial_weights(size: int, rate: float | FloatArray) -> FloatArray:
    """Return the logarithms of the probabilities of Bin(size, rate), j = 0 .. size along the first axis."""
    q = np.asarray(rate, dtype=np.float64)
    j = np.arange(size + 1.0).reshape(-1, *([1] * q.ndim))
    choices = gammaln(size + 1.0) - gammaln(j + 1.0) - gammaln(size - j + 1.0)
    return np.asarray(choices + j * np.log(q) + (size - j) * np.log1p(-q))


def log_mixture(q: float | FloatArray, v: FloatArray) -> FloatArray:
    """Return ln(1 - q + q e^v), also at v = -inf: to a few u, relative; beyond 700, and below 0 for q > 1/2, absolute.

    Absolute errors are relative to |v| + |ln q|.
    """
    out = np.log1p(q * np.expm1(np.minimum(v, 700.0)))
    if np.max(q) > 0.5:  # 1 + q (e^v - 1) would cancel
        near = np.log((1.0 - q) + q * np.exp(np.minimum(v, 0.0)))
        out = np.where((v < -0.5) & (np.asarray(q) > 0.5), near, out)
    if not np.max(v, initial=0.0) > 700.0:
        return np.asarray(out)
    return np.where(v > 700.0, v + np.log(q + (1.0 - q) * np.exp(-np.maximum(v, 700.0))), out)


def log_drop(q: float, high: float, height: FloatArray) -> FloatArray:
    """Return a lower bound on Re m(l + iy) - m(l), m(l) = ln(1 - q + q e^l), for real l <= high, |y| <= height < π.

    |α + βe^{iy}|² = (α+β)² (1 - 4κ(1-κ) sin²(y/2)), κ = β/(α+β) = dm/dl, which increases with l.
    """
    steepest = 1.0 / (1.0 + (1.0 - q) / q * math.exp(-min(high, 700.0)))
    bend = 4.0 * steepest * (1.0 - steepest) if steepest < 0.5 else 1.0
    return 0.5 * np.log1p(-bend * np.sin(0.5 * np.minimum(height, 3.0)) ** 2)
