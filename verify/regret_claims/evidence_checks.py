"""Checks of the assumptions of regret proofs for learners by empirical divergence, on a running one.

Their indices are the evidence against an arm, ``H(J_i(largest estimate)) + ln n_i``, J an exponent I less the evidence
of noisy data below 0 against every mean and ``H(v) = v + 0.4 w ln(1 + 4 pi v)``, and the arm of least index is played
(`algorithms.theory.bandit_regret`). Bookkeeping, noise and estimates are checked as for learners on means; further

- *radius*: J_i is of Chernoff's exponent, or that of the exact law of the noises, computed again in another way;
- *estimates*: at its true mean u, ``P(I(u) > x) <= e^-x``, and no estimate is above its radius of level x more often;
- *gap lemma*: the arm played has ``J(u) <= ln T``, so for every z with ``u >= mu* - z`` and ``y <= n (mu + z)`` its gap
  is at most its radius of level ln T and 2 z.

There is no good event, and no statement of a single lane's regret: the proof adds up the costs of rare events.
"""

from __future__ import annotations

import numpy as np
from scipy import integrate, special

from algorithms.estimates.laplace_sums import FAR, MOST, OFF
from algorithms.lanes import gather
from algorithms.learner import Confidence
from algorithms.semi_bandits.dp_bandit import EXCUSED
from mechanisms.arrays import BoolArray, FloatArray, IntArray
from verify.regret_claims.mean_checks import MeanRun
from verify.regret_claims.noise_tests import AdditiveNoise
from verify.regret_claims.proof_run import TOLERANCE, rounded, scatter_masked

_EXPONENT_TOLERANCE = 1e-4  # of what two searches find of one maximum, where the learner makes twelve steps
_ALL_ALIKE = 1e-9  # a mean of bits this near 0 or 1 is 0 or 1 but for rounding
_POINTS = 3000


class EvidenceRun(MeanRun):
    """The checked state of a learner that plays the arm of least index, up to the current round."""

    def _check_oracle(self, shown: Confidence, action: IntArray) -> None:
        """Check that no index is below that of the arm played."""
        index = np.maximum(shown.index, -1e9)
        least = index.min(axis=1)
        self.refuse(
            "oracle",
            gather(index, action)[:, 0] > least + TOLERANCE * (1 + np.abs(least)),
            lambda lane: f"arm {action[lane, 0]} where the indices are {rounded(shown.index[lane])}",
        )

    def _check_gaps(self, shown: Confidence, action: IntArray, gap: FloatArray) -> None:
        """Check the gap of an arm against its radius and what the estimates are off by."""
        radius = gather(self.radius(shown.count, shown.releases, self.exponent), action)[:, 0]
        means = self.problem.means
        above = gather(np.where(shown.count > 0, shown.estimate - means, 0.0), action)[:, 0]
        off = np.maximum(0.0, np.maximum(means.max() - self._largest(shown)[:, 0], above))
        allowed = radius + 2 * off
        self.refuse(
            "gap lemma",
            gap > allowed * (1 + TOLERANCE),
            lambda lane: (
                f"arm {action[lane, 0]} has a gap of {gap[lane]:.6g}, more than the {allowed[lane]:.6g} that its "
                f"radius and estimates that are off by {off[lane]:.6g} allow"
            ),
        )

    def _check_index(self, before: Confidence, after: Confidence, due: BoolArray) -> None:
        """Check the indices of all arms where something was released, which moves the largest estimate."""
        changed = np.broadcast_to(due.any(axis=1, keepdims=True), due.shape)
        self.refuse_moves(
            "radius", "index", ~changed & (after.index != before.index), before.index, after.index
        )
        first = self.first if self.theorem.noise == "bit" else 1  # before, fewest messages first
        here = changed & (after.count >= first)
        mean = np.broadcast_to(self._largest(after), due.shape)[here]
        against = np.maximum(self._evidence(after, here, mean) - self._against_all(after, here), 0.0)
        computed = against
        if self.theorem.exact:  # which is to be found as far as this, and but for so much
            computed = np.maximum(np.minimum(against, FAR - EXCUSED) - OFF, 0.0)
        share, size = self._share(after, here), np.log(after.count[here])
        least, most = (scatter_masked(_sharpened(each, share) + size, here) for each in (computed, against))
        shown, least, most = (np.minimum(each, 1e9) for each in (after.index, least, most))
        slack = _EXPONENT_TOLERANCE * (1 + np.abs(most))  # a bit rejects a mean of 1 for good
        self.refuse_arm(
            "radius",
            here & ~((shown - most <= slack) & (least - shown <= slack)),
            lambda lane, arm: (
                f"index {after.index[lane, arm]:.6g} where {after.count[lane, arm]:g} values of mean "
                f"{after.estimate[lane, arm]:.6g} make {most[lane, arm]:.6g}"
            ),
        )
        self.refuse_arm(
            "radius",
            changed & (after.count < first) & (after.index >= 0),
            lambda lane, arm: (
                f"index {after.index[lane, arm]:.6g} of an arm with {after.count[lane, arm]:g} values: it is to be "
                "played first"
            ),
        )

    def _share(self, shown: Confidence, where: BoolArray) -> FloatArray:
        """Return w for arms in a mask: the share of values in the variance with the exact law, 1/2 for bits, else 1."""
        n, m = shown.count[where], shown.releases[where]
        if self.theorem.noise == "bit":
            return np.full_like(n, 0.5)
        noise = 2.0 * self.scale**2 * m if self.theorem.exact else 0.0 * m
        return np.asarray(n / (n + 4.0 * noise))

    def _largest(self, shown: Confidence) -> FloatArray:
        """Return the mean that arms are held against, (lanes, 1): the largest, in [0, 1] unless all are of bits."""
        largest: FloatArray = np.where(shown.count > 0, shown.estimate, 0.0).max(axis=1, keepdims=True)
        return largest if self.theorem.noise == "bit" else np.clip(largest, 0.0, 1.0)

    def _evidence(self, shown: Confidence, where: BoolArray, mean: FloatArray) -> FloatArray:
        """Return with which exponent data reject a mean, for arms in a mask."""
        n, estimate = shown.count[where], shown.estimate[where]
        found = np.zeros_like(n)
        lower = estimate < mean
        if isinstance(self.noise, AdditiveNoise):
            releases = shown.releases[where]
            exact = lower & (releases <= MOST) & self.theorem.exact
            chernoff = lower & ~exact
            for rows, exponent in ((exact, self._exact_exponent), (chernoff, self.chernoff_exponent)):
                if rows.any():
                    found[rows] = exponent(n[rows], releases[rows], estimate[rows], mean[rows])
            return np.maximum(found, 0.0)
        sent, right = self._sent(estimate[lower]), self._sent(mean[lower])
        sent = np.round(n[lower] * sent) / n[lower]
        found[lower] = n[lower] * (special.rel_entr(sent, right) + special.rel_entr(1 - sent, 1 - right))
        return found

    def _against_all(self, shown: Confidence, where: BoolArray) -> FloatArray:
        """Return what data below 0 say against every mean, for arms in a mask, as much of it as is taken off."""
        n, m, estimate = shown.count[where], shown.releases[where], shown.estimate[where]
        found = np.zeros_like(n)
        if not isinstance(self.noise, AdditiveNoise):
            return found
        below = estimate < 0.0
        exact = below & (m <= MOST) & self.theorem.exact
        for at in np.flatnonzero(exact):
            short, noises = float(-n[at] * estimate[at] / self.scale), float(m[at])
            tail, _ = integrate.quad(lambda t, k=noises: float(self._density(t, k)), short, np.inf)
            found[at] = -np.log(min(2.0 * tail, 1.0)) if tail > 0.0 else np.inf
        rest = below & ~exact
        if rest.any():
            found[rest] = self.chernoff_exponent(n[rest], m[rest], estimate[rest], np.zeros(int(rest.sum())))
        return np.minimum(found, EXCUSED)

    @staticmethod
    def _density(at: float | FloatArray, m: float | FloatArray) -> FloatArray:
        """Return the density of a sum of m Laplace noises of scale 1, by a Bessel function."""
        t, order = np.maximum(np.abs(at), 1e-12), np.asarray(m) - 0.5
        power = order * np.log(t / 2) + np.log(special.kve(order, t)) - t
        return np.asarray(np.exp(power - special.gammaln(order + 0.5)) / np.sqrt(np.pi))

    def _sent(self, value: FloatArray) -> FloatArray:
        """Return the mean of randomized bits that a debiased mean was; 0 and 1 exactly, where kl is not continuous."""
        sent = 0.5 + np.tanh(self.instance.epsilon / 2) * (value - 0.5)
        return np.asarray(np.where(np.abs(sent - np.round(sent)) < _ALL_ALIKE, np.round(sent), sent))

    def _exact_exponent(self, n: FloatArray, m: FloatArray, mean: FloatArray, u: FloatArray) -> FloatArray:
        """Return ``-ln E exp(-n kl((y - L) / n, u))`` by midpoints, with the noises' density by Bessel functions."""
        short, noises = (n * (u - mean))[:, np.newaxis] / self.scale, m[:, np.newaxis]
        share = (np.arange(_POINTS) + 0.5) / _POINTS
        reach = 40.0 + 4.0 * m[:, np.newaxis]
        low, high = -np.minimum(short, reach), np.minimum((n * mean)[:, np.newaxis] / self.scale, reach)
        wide = np.maximum(high - low, 0.0)
        at = low + share * wide
        value = np.clip((n * mean)[:, np.newaxis] - self.scale * at, 0.0, n[:, np.newaxis]) / n[:, np.newaxis]
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = special.rel_entr(value, u[:, np.newaxis]) + special.rel_entr(
                1 - value, 1 - u[:, np.newaxis]
            )
        inside = self._density(at, noises) * np.exp(-n[:, np.newaxis] * rate) * wide
        beyond = self._density(short + share * reach, noises) * reach
        return np.asarray(-np.log(np.maximum((inside + beyond).mean(axis=1), np.finfo(np.float64).tiny)))

    def _note(self, after: Confidence, count: FloatArray, releases: FloatArray, due: BoolArray) -> None:
        """Note how much speaks against the true means, and how far estimates are above them."""
        means = np.broadcast_to(self.problem.means, due.shape)
        against = scatter_masked(self._evidence(after, due, means[due]), due)
        off = after.estimate - means
        seldom = self.theorem.counting == "growing batches"
        here = due if seldom else due & (np.log2(np.maximum(count, 1.0)) % 1.0 == 0)

        def far(level: float) -> tuple[BoolArray, BoolArray]:
            return against > level, off > self.radius(count, releases, level)

        self.note_levels(count, here, far)


def _sharpened(exponent: FloatArray, share: FloatArray) -> FloatArray:
    """Return ``v + 0.4 w ln(1 + 4 pi v)``."""
    return np.asarray(exponent + 0.4 * share * np.log1p(4.0 * np.pi * exponent))
