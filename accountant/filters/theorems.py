"""Composition theorems by name, to be compared in one table.

A theorem takes a multiset of profiles and δ and returns the ε it can promise, or None where it does not apply. All are
used for mechanisms fixed in advance; the filters for adaptively chosen ones are in `accountant.compositions`.
What a theorem promises is an upper end alone: its lower end is 0, by "nothing". Only the last has both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from scipy.optimize import brentq

from accountant.filters.conversions import corollary_4_1, gaussian_dp_of, renyi_to_epsilon, zcdp_of
from mechanisms import (
    ApproximateProfile,
    GaussianProfile,
    PrivacyProfile,
    PureProfile,
    ZeroConcentratedProfile,
)
from mechanisms.arrays import FloatArray
from mechanisms.gaussian import gaussian_epsilons
from mechanisms.losses.certified_interval import CertifiedInterval
from mechanisms.losses.composed_loss import NOTHING, CountedProfiles, compose
from mechanisms.losses.deadline import OutOfTime, check_time
from mechanisms.neighbouring import common_neighbouring
from mechanisms.parameters import ParameterError, open_unit, whole
from mechanisms.privacy_loss import add_losses
from mechanisms.rounding import up

RENYI_ORDERS = 1.0 + np.geomspace(1e-3, 1e6, 91)
_UP = 1.0 + 1e-12
_FAR = 1e3  # what is further off is not told apart


@dataclass(frozen=True, slots=True)
class CompositionTheorem:
    """A named theorem: ``epsilon(releases, delta)`` is an interval, or None where it does not apply."""

    name: str
    source: str
    bound: Callable[[CountedProfiles, float], CertifiedInterval | None]

    def epsilon(self, releases: CountedProfiles, delta: float) -> CertifiedInterval | None:
        """Return the smallest ε that the theorem promises at ``delta``.

        Raises
        ------
        MixedNeighbours
            If the releases hold for different neighbouring relations.
        """
        relation = common_neighbouring(profile for profile, _ in releases)
        found = self.bound(releases, delta)
        return None if found is None else found.stated_for(relation)

    def delta(self, releases: CountedProfiles, epsilon: float) -> CertifiedInterval | None:
        """Return the smallest δ (to 1e-4 of itself, and at least 1e-290) at which the theorem promises ``epsilon``."""

        def excess(log_delta: float) -> float:
            check_time()
            found = self.epsilon(releases, math.exp(log_delta))
            return _FAR if found is None else min(found.upper - epsilon, _FAR)

        low, high = math.log(1e-290), math.log(0.999999)
        if (best := self.epsilon(releases, math.exp(high))) is None:
            return None
        if best.upper > epsilon:
            return CertifiedInterval(0.0, 1.0, NOTHING, self.name, best.neighbouring)
        log_delta, step = low, 2e-5
        if excess(low) > 0.0:
            log_delta = float(brentq(excess, low, high, xtol=step, maxiter=300))
        while log_delta < high and excess(log_delta) > 0.0:  # the root may lie on the other side
            log_delta, step = min(log_delta + step, high), 2.0 * step
        return CertifiedInterval(0.0, math.exp(log_delta), NOTHING, self.name, best.neighbouring)


def _upper(value: float, name: str) -> CertifiedInterval:
    return CertifiedInterval(0.0, value, NOTHING, name)


def _guarantees(releases: CountedProfiles, delta: float) -> list[tuple[float, float, int]]:
    """Return (ε_i, δ_i, n_i): pure ε where there is one, else the profile at an equal share of delta."""
    others = sum(n for profile, n in releases if profile.pure_epsilon is None)
    share = delta / others if others else 0.0
    mus = [profile.mu for profile, _ in releases if isinstance(profile, GaussianProfile) and profile.mu]
    of_gaussians = iter(gaussian_epsilons(np.array(mus), share).tolist() if mus else ())
    result = []
    for profile, n in releases:
        largest = profile.pure_epsilon
        if largest is not None:
            result.append((up(largest), 0.0, n))
        elif isinstance(profile, GaussianProfile):
            result.append((next(of_gaussians), share, n))
        else:
            result.append((profile.epsilon(share), share, n))
    return result


def _split(releases: CountedProfiles, delta: float) -> tuple[list[tuple[float, float, int]], float]:
    """Return guarantees that use up half of delta (none if all are pure), and what is left."""
    pure = all(profile.pure_epsilon is not None for profile, _ in releases)
    return (
        (_guarantees(releases, delta), delta) if pure else (_guarantees(releases, 0.5 * delta), 0.5 * delta)
    )


def _total(terms: Iterable[float]) -> float:
    """Return the sum; inf if it is beyond floats."""
    try:
        return math.fsum(terms)
    except OverflowError:
        return math.inf


_SMALLEST = 1e-300
"""Losses below it count as this large: the rounding of floats that are much smaller is coarse."""


def _root_of_squares(sizes: Iterable[tuple[float, int]]) -> float:
    """Return √Σ n x² for pairs (x, n), up to a few roundings; also where squares are no floats."""
    counted = [(max(x, _SMALLEST), n) for x, n in sizes if x > 0.0]
    largest = max((x for x, _ in counted), default=0.0)
    if largest == 0.0 or math.isinf(largest):
        return largest
    return largest * math.sqrt(_total(n * (x / largest) ** 2 for x, n in counted))


def basic(releases: CountedProfiles, delta: float) -> CertifiedInterval:
    """Return Σ ε_i, the δ_i adding up to delta (Dwork, McSherry, Nissim, Smith 2006); fully adaptive."""
    total = _total(n * epsilon for epsilon, _, n in _guarantees(releases, delta))
    return _upper(total * _UP, "basic composition")


def advanced(releases: CountedProfiles, delta: float) -> CertifiedInterval:
    """Return √(2 ln(1/δ') Σ ε_i²) + Σ ε_i (e^{ε_i} - 1), δ = δ' + Σ δ_i.

    Dwork, Rothblum, Vadhan 2010, Thm III.3; for different ε_i by the same martingale.
    """
    parts, rest = _split(releases, delta)
    if any(epsilon > 700.0 for epsilon, _, _ in parts):
        return _upper(math.inf, "advanced composition")
    root = _root_of_squares((epsilon, n) for epsilon, _, n in parts)
    drift = _total(n * epsilon * math.expm1(epsilon) for epsilon, _, n in parts)
    return _upper((math.sqrt(-2.0 * math.log(rest)) * root + drift) * _UP, "advanced composition")


def _heterogeneous(releases: CountedProfiles, delta: float) -> CertifiedInterval:
    """Return the closed bound on optimal composition (Kairouz, Oh, Viswanath 2015, Thm 3.5).

    The least of Σ ε_i, D + √(2 Σε_i² ln(e + √(Σε_i²)/δ')) and D + √(2 Σε_i² ln(1/δ')) with
    D = Σ ε_i (e^{ε_i} - 1)/(e^{ε_i} + 1), where 1 - δ = (1 - δ') Π (1 - δ_i).
    """
    parts, _ = _split(releases, delta)
    kept = _total(n * math.log1p(-own) for _, own, n in parts)
    rest = -math.expm1(math.log1p(-delta) - kept) * (1.0 - 1e-12)
    root = _root_of_squares((epsilon, n) for epsilon, _, n in parts)
    drift = _total(n * epsilon * math.tanh(0.5 * epsilon) for epsilon, _, n in parts)
    log_1 = math.log(math.e + root / rest)
    best = min(
        _total(n * epsilon for epsilon, _, n in parts),
        drift + math.sqrt(2.0 * min(log_1, -math.log(rest))) * root,
    )
    return _upper(best * _UP, "optimal composition, closed bound")


def optimal(releases: CountedProfiles, delta: float) -> CertifiedInterval:
    """Return the best ε that holds for all mechanisms with these (ε_i, δ_i).

    Kairouz, Oh, Viswanath 2015, Thm 3.3 (equal ε_i: exact): the worst mechanisms are randomized responses, whose
    composition is computed; the same argument for different ε_i is Murtagh & Vadhan 2016.
    """
    parts, _ = _split(releases, delta)
    if any(math.isinf(epsilon) for epsilon, _, _ in parts):
        return _upper(math.inf, "optimal composition")
    worst = [
        (ApproximateProfile(epsilon, own) if own else PureProfile(epsilon), n)  # type: ignore[arg-type]
        for epsilon, own, n in parts
        if epsilon > 0.0 or own
    ]
    return _upper(compose(worst).epsilon(delta, width=1e-6).upper, "optimal composition")


def _by_corollary_4_1(releases: CountedProfiles, delta: float) -> CertifiedInterval | None:
    """Return the ε <= 0.9 at which Corollary 4.1 allows these releases; None if there is none."""
    if any(profile.pure_epsilon is None for profile, _ in releases):
        return None
    count = sum(n for _, n in releases)
    largest = max((up(profile.pure_epsilon or 0) for profile, _ in releases), default=0.0)  # type: ignore[arg-type]
    if largest == 0.0:
        return _upper(0.0, "corollary 4.1")
    largest = max(largest, _SMALLEST)
    if corollary_4_1(0.9, delta, count) < largest * _UP:
        return None
    low, high = 0.0, 0.9
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if corollary_4_1(middle, delta, count) >= largest * _UP else (middle, high)
    return _upper(high, "corollary 4.1")


def zcdp(releases: CountedProfiles, delta: float) -> CertifiedInterval | None:
    """Return the ε of Σ ρ_i-zCDP (Bun & Steinke 2016, Lemma 1.7; Canonne, Kamath, Steinke 2020, Cor. 13)."""
    known = [(zcdp_of(profile), n) for profile, n in releases]
    if any(rho is None for rho, _ in known):
        return None
    total = _total(n * rho for rho, n in known if rho is not None) * _UP
    epsilon = math.inf if math.isinf(total) else ZeroConcentratedProfile(total).epsilon(delta)
    return _upper(epsilon, "zCDP")


def renyi(releases: CountedProfiles, delta: float) -> CertifiedInterval | None:
    """Return the ε of Σ D_α, the best of 91 orders (Mironov 2017, Prop. 1; conversion as in zCDP)."""
    largest = _divergences(tuple(releases))
    if largest is None:
        return None
    finite = np.isfinite(largest)
    if not finite.any():
        return None
    return _upper(renyi_to_epsilon(RENYI_ORDERS[finite], largest[finite], delta), "Renyi DP")


@lru_cache(maxsize=32)  # a search for δ asks for the same ones at every step
def _divergences(releases: tuple[tuple[PrivacyProfile, int], ...]) -> FloatArray | None:
    """Return Σ D_α in the worse direction, for all orders, or None if a loss is infinite with some probability.

    D_α from the moments of the losses with their certified error, from αρ where only ρ-zCDP is known.
    """
    largest = np.zeros(RENYI_ORDERS.shape)
    for profiles in _sides(releases):
        losses = [(profile.loss(), n) for profile, n in profiles]
        known = [(loss, n) for loss, n in losses if loss is not None and loss.infinite_mass == 0.0]
        total = np.zeros(RENYI_ORDERS.shape)
        if known:
            loss = add_losses([loss for loss, _ in known], [n for _, n in known])
            total = total + loss.renyi(RENYI_ORDERS)
        for (profile, n), (own, _) in zip(profiles, losses, strict=True):
            if own is None:
                total = total + n * profile.renyi(RENYI_ORDERS) * _UP
            elif own.infinite_mass > 0.0:
                return None
        largest = np.maximum(largest, total)
    largest.setflags(write=False)
    return largest


def _sides(releases: CountedProfiles) -> list[CountedProfiles]:
    """Return the releases in each direction of the neighbouring relation."""
    sides = [profile.directions() for profile, _ in releases]
    number = max((len(side) for side in sides), default=0)
    counts = [n for _, n in releases]
    return [
        [(side[min(i, len(side) - 1)], n) for side, n in zip(sides, counts, strict=True)]
        for i in range(number)
    ]


def gaussian(releases: CountedProfiles, delta: float) -> CertifiedInterval | None:
    """Return the ε of √(Σ μ_i²)-Gaussian DP (Dong, Roth, Su 2022, Cor. 3.3)."""
    known = [(gaussian_dp_of(profile), n) for profile, n in releases]
    if any(mu is None or math.isinf(mu) for mu, _ in known):
        return None
    total = _root_of_squares((mu, n) for mu, n in known if mu is not None) * _UP
    epsilon = math.inf if math.isinf(total) else GaussianProfile(total).epsilon(delta)
    return _upper(epsilon, "Gaussian DP")


def exact(releases: CountedProfiles, delta: float) -> CertifiedInterval:
    """Return the composition of the privacy-loss distributions themselves; see `composed_loss.compose`."""
    return compose(releases).epsilon(delta)


THEOREMS: Mapping[str, CompositionTheorem] = MappingProxyType(
    {
        theorem.name: theorem
        for theorem in (
            CompositionTheorem("basic composition", "Dwork, McSherry, Nissim, Smith 2006", basic),
            CompositionTheorem("advanced composition", "Dwork, Rothblum, Vadhan 2010, Thm III.3", advanced),
            CompositionTheorem(
                "optimal composition, closed bound", "Kairouz, Oh, Viswanath 2015, Thm 3.5", _heterogeneous
            ),
            CompositionTheorem("optimal composition", "Kairouz, Oh, Viswanath 2015, Thm 3.3", optimal),
            CompositionTheorem("corollary 4.1", "Kairouz, Oh, Viswanath 2015, Cor. 4.1", _by_corollary_4_1),
            CompositionTheorem("zCDP", "Bun & Steinke 2016; Canonne, Kamath, Steinke 2020", zcdp),
            CompositionTheorem("Renyi DP", "Mironov 2017; Canonne, Kamath, Steinke 2020", renyi),
            CompositionTheorem("Gaussian DP", "Dong, Roth, Su 2022", gaussian),
            CompositionTheorem("privacy-loss distributions", "Zhu, Dong, Wang 2022", exact),
        )
    }
)
"""Every theorem by name, loosest first."""

EXACT = "privacy-loss distributions"


def theorem_table(
    releases: CountedProfiles,
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    exact: CertifiedInterval | None = None,
) -> dict[str, CertifiedInterval]:
    """Return what each theorem says about ε at delta, or δ at epsilon; theorems that do not apply are left out.

    After a deadline (`mechanisms.losses.deadline`) those that were not asked yet are left out, too.

    Parameters
    ----------
    releases
        The profiles, and how often each was released.
    delta, epsilon
        One of them.
    exact
        What the privacy-loss distributions themselves say, if that is known already.

    Raises
    ------
    ParameterError
        If not exactly one of delta and epsilon is given, delta is outside [0, 1) or a count is below 1.
    MixedNeighbours
        If the releases hold for different neighbouring relations.
    """
    if (delta is None) == (epsilon is None):
        raise ParameterError("give delta or epsilon, one of the two")
    for _, count in releases:
        whole("count", count, least=1)
    table: dict[str, CertifiedInterval] = {}
    if delta == 0.0:
        largest = compose(releases).epsilon(0.0) if exact is None else exact
        return {"basic composition": _upper(largest.upper, "basic composition"), EXACT: largest}
    for name, theorem in THEOREMS.items():
        if name == EXACT and exact is not None:
            table[name] = exact
            continue
        try:
            check_time()
            if delta is not None:
                found = theorem.epsilon(releases, open_unit("delta", delta))
            elif name == EXACT:
                assert epsilon is not None
                found = compose(releases).delta(epsilon)
            else:
                assert epsilon is not None
                found = theorem.delta(releases, epsilon)
        except OutOfTime:
            continue
        if found is not None:
            table[name] = found
    return table
