"""Regret theorems of linear bandits as SymPy expressions, with the constants that their proofs give.

Symbols: T, d, k (actions), alpha (2^{alpha l} clients in phase l), sigma (clients' deviations), B (rewards lie in
[-B, B]; 0 if they have no bound), epsilon, delta, mu (1/sigma of the Gaussian mechanism that is private at distance 1),
S (the largest support of a design). Li, Zhou & Ji 2022 ("printed") for h_1 = 2 and beta = 1/(kT); the
certified learners' theorem has one failure event and exact widths.
"""

from __future__ import annotations

import functools
import math
from typing import Literal

import sympy as sp

from algorithms.linear.g_optimal import support_bound
from algorithms.linear.linear_phases import SHUFFLED, calibrated_bits
from algorithms.problems.linear import LinearBandit
from algorithms.theory.confidence_theorem import PhaseTheorem, clients, deviation, n, phase, size, t
from algorithms.theory.regret_bound import FloorLog2, Instance, RegretBound, T, delta, epsilon, mu, unit_mu

d, n_actions, alpha, support = sp.symbols("d k_A alpha S", positive=True)
sigma_client, reward = sp.symbols("sigma_xi B", nonnegative=True)
_l = sp.Symbol("l", integer=True, positive=True)

_NEEDS_BOUND = sp.Piecewise((sp.oo, sp.Eq(reward, 0)), (sp.Integer(0), True))

_SHUFFLED = sp.Rational(SHUFFLED.numerator, SHUFFLED.denominator)


def _printed_dpe() -> dict[str, sp.Expr]:
    """Theorems 5.1 and 5.3 to 5.5; S is 4 d ln ln d + 16. "log(2T/h)" bounds the phases: its base is 2."""
    h, log_kt = 2, sp.log(n_actions * T)
    growth = 2 ** (1 - alpha)
    c0 = sp.sqrt(growth) / (sp.sqrt(growth) - 1)
    ratio = 2 ** (-alpha)
    c1, c2 = sp.sqrt(ratio) / (1 - sp.sqrt(ratio)), ratio / (1 - ratio)
    s, clients = support, sp.Integer(h) ** alpha
    plain = (
        2 * (h + s)
        + 8 * c0 * sp.sqrt(2 * d * clients * T ** (1 - alpha) * log_kt)
        + 20 * s * sp.sqrt(2 * d * log_kt / h)
        + 16 * sigma_client * sp.sqrt(2 * clients * log_kt) * T ** (1 - alpha / 2)
        + 4 * c1 * sigma_client * s * sp.sqrt(2 * log_kt)
        + 4 * sp.log(2 * T / h, 2)
        + _NEEDS_BOUND
    )

    def central(noise: sp.Expr) -> sp.Expr:
        return plain + 8 * noise * clients * s * sp.sqrt(2 * d * log_kt) * (
            T ** (1 - alpha) / (growth - 1) + c2 * s
        )

    classical = 2 * reward * sp.sqrt(2 * sp.log(sp.Rational(5, 4) / delta)) / epsilon
    # A.2: sigma_ns² = 360 Delta_2² ln(4s/delta) / (|U|² epshat²), epshat = epsilon / (18 √ln(2/delta))
    shuffled = 18 * reward * sp.sqrt(360 * sp.log(4 * s / delta) * sp.log(2 / delta)) / epsilon
    local = (
        plain
        + 32 * classical * s * sp.sqrt(d) * sp.sqrt(2 * clients * log_kt) * T ** (1 - alpha / 2)
        + 8 * c1 * classical * s**2 * sp.sqrt(2 * d * log_kt)
    )
    return {
        "published/dpe": plain,
        "published/dp-dpe-central": central(classical),
        "published/dp-dpe-local": local,
        "published/dp-dpe-shuffle": central(shuffled),
    }


def _printed_pe() -> dict[str, sp.Expr]:
    """Appendix C: Theorems C.2, C.4 and C.7, with h_1 = S; "log(2T/h)" and "log(T)" bound phases: their base is 2."""
    s, log_kt = support, sp.log(n_actions * T)
    h = s
    plain = (
        2 * (h + s)
        + 32 * sp.sqrt(2 * d * T * log_kt)
        + 24 * s * sp.sqrt(2 * d * log_kt / h)
        + 4 * sp.log(2 * T / h, 2)
        + _NEEDS_BOUND
    )

    def central(noise: sp.Expr) -> sp.Expr:
        return plain + 16 * d * noise * sp.sqrt(2 * s * log_kt) * (sp.log(T, 2) + s / h)

    classical = 2 * reward * sp.sqrt(2 * sp.log(sp.Rational(5, 4) / delta)) / epsilon
    # Eq. 60: step² n (b + 1) / 4 with step = 2B/g, bn <= 720 g² ln(2/delta) / epsilon² + n and g >= 2B√n
    shuffled = sp.sqrt(720 * reward**2 * sp.log(2 / delta) / epsilon**2 + sp.Rational(1, 2))
    local = (
        plain
        + 64 * d * classical * sp.sqrt(2 * s * T * log_kt)
        + 16 * d * classical * s ** sp.Rational(3, 2) * sp.sqrt(2 * log_kt / h)
    )
    return {
        "published/pe": plain,
        "published/dp-pe-central": central(classical),
        "published/dp-pe-local": local,
        "published/dp-pe-shuffle": central(shuffled),
    }


def _remainder(term: sp.Expr, phases: sp.Expr, first: sp.Expr) -> sp.Expr:
    """Return 4 times the terms of phases from `first` on but the last, and twice that of the last.

    Survivors of phase l are explored for at most 2 h_l + S rounds, each at 4 W_l; the leader of the last phase that the
    horizon does not cut is played at 2 W_l. Where the leader is played earlier, 2 W_l in all rounds to come is no more.
    """
    return 4 * sp.Sum(term, (_l, first, phases - 1)) + 2 * term.subs(_l, phases)


def _explored(term: sp.Expr, phases: sp.Expr) -> sp.Expr:
    """Return 4 times the terms of all phases: of those that have ended, where the horizon is still to come.

    Where the leader is played already, that is no more: what exploring costs grows ever more slowly, as widths shrink,
    and at the horizon it is at least what the leader costs, which grows evenly.
    """
    return 4 * sp.Sum(term, (_l, 1, phases))


_phases_dpe = sp.Max(FloorLog2(T + 2) - 1, 1)


def _terms_dpe() -> dict[str, sp.Expr]:
    """(2 h_l + S) √(2x [ (σ² + 2 d v / h_l) / |U_l| + τ_l² 2 d (1 + 1/h_l) ]); v = B², or 1 unbounded."""
    s = support
    x = sp.log(2 * n_actions * _phases_dpe * T)
    h, clients = 2**_l, sp.ceiling(2 ** (alpha * _l) - sp.Rational(1, 10**9))
    unbounded = sp.Piecewise((1, sp.Eq(reward, 0)), (0, True))
    clipped = 1 + sp.sqrt(2 * (sigma_client**2 + 1) * sp.log(2 * s * clients * _phases_dpe * T))
    bound = sp.Max(reward, unbounded * clipped)
    variance = sp.Max(reward**2, unbounded)

    def term(noise: sp.Expr) -> sp.Expr:
        form = (sigma_client**2 + 2 * d * variance / h) / clients + noise**2 * 2 * d * (1 + 1 / h)
        return (2 * h + s) * sp.sqrt(2 * x * form)

    central = 2 * bound * sp.sqrt(s) / (clients * mu)
    return {
        "dpe": term(sp.Integer(0)),
        "dp-dpe-central": term(central),
        "dp-dpe-local": term(central * sp.sqrt(clients)),
        "dp-dpe-shuffle": term(_SHUFFLED * central),
    }


_phases_pe = sp.Max(1, FloorLog2(sp.floor(T / support + 1)))


def _terms_pe() -> dict[str, sp.Expr]:
    """(2 h_l + S) √(2x [ 2 d B² / h_l + τ² q_l ]), q_l = min(2d/h_l, 4 d² S / h_l²)."""
    s = support
    x = sp.log(2 * n_actions * _phases_pe * T)
    h = s * 2 ** (_l - 1)

    def term(noise: sp.Expr) -> sp.Expr:
        return (2 * h + s) * sp.sqrt(2 * x * (2 * d * reward**2 / h + noise))

    form = sp.Min(2 * d / h, 4 * d**2 * s / h**2)
    variance = (2 * reward / mu) ** 2
    return {
        "pe": term(sp.Integer(0)),
        "dp-pe-central": term(variance * form),
        "dp-pe-local": term(2 * d * variance / h),
        "dp-pe-shuffle": term(_SHUFFLED**2 * variance * form),
    }


_TERMS_DPE, _TERMS_PE = _terms_dpe(), _terms_pe()


def _phased(name: str, noise: sp.Expr, law: Literal["Gaussian", "at most", "none"]) -> PhaseTheorem:
    """Return the proof of the distributed learners, for rewards in [-B, B]."""
    return PhaseTheorem(
        exponent=sp.log(2 * n_actions * _phases_dpe * T),
        length=2**phase,
        clients=sp.ceiling(2 ** (alpha * phase) - sp.Rational(1, 10**9)),
        reward=reward**2 / (clients * n),
        noise=noise**2,
        law=law,
        failure=1 / T,
        remainder=_remainder(_TERMS_DPE[name], _phases_dpe, sp.floor(sp.Min(phase, _phases_dpe))),
    )


def _played(name: str, noise: sp.Expr, law: Literal["Gaussian", "at most", "none"]) -> PhaseTheorem:
    """Return the proof of the learners with a client for each play: its rounds are its clients."""
    return PhaseTheorem(
        exponent=sp.log(2 * n_actions * _phases_pe * T),
        length=support * 2 ** (phase - 1),
        clients=sp.Integer(0),
        reward=reward**2 / n,
        noise=noise,
        law=law,
        failure=1 / T,
        remainder=_remainder(_TERMS_PE[name], _phases_pe, sp.floor(sp.Min(phase, _phases_pe))),
    )


_unit = (2 * reward / mu) ** 2
_central_noise = 2 * reward * sp.sqrt(size) / (clients * mu)
_PROOFS: dict[str, PhaseTheorem] = {
    "dpe": _phased("dpe", sp.Integer(0), "none"),
    "dp-dpe-central": _phased("dp-dpe-central", _central_noise, "Gaussian"),
    "dp-dpe-local": _phased("dp-dpe-local", _central_noise * sp.sqrt(clients), "Gaussian"),
    "dp-dpe-shuffle": _phased("dp-dpe-shuffle", _SHUFFLED * _central_noise, "at most"),
    "pe": _played("pe", sp.Integer(0), "none"),
    "dp-pe-central": _played("dp-pe-central", _unit / n**2, "Gaussian"),
    "dp-pe-local": _played("dp-pe-local", _unit / n, "Gaussian"),
    "dp-pe-shuffle": _played("dp-pe-shuffle", _SHUFFLED**2 * _unit / n**2, "at most"),
}

_log_kt = sp.log(n_actions * T)
_printed_support = 4 * d * sp.log(sp.log(d)) + 16  # S is its integer part
_textbook = 2 * reward * sp.sqrt(2 * sp.log(sp.Rational(5, 4) / delta)) / epsilon  # at distance 2B
_shuffled_claim = (
    18 * reward * sp.sqrt(360 * size * sp.log(4 * size / delta) * sp.log(2 / delta)) / (epsilon * clients)
)


def _printed_phased(
    noise: sp.Expr, width: sp.Expr, law: Literal["Gaussian", "at most", "none"]
) -> PhaseTheorem:
    """Return the proof of section 5: sampling, clients and noise each within its part of the width."""
    spread = sp.sqrt(2 * d / (clients * 2**phase)) + sigma_client / sp.sqrt(clients) + width
    return PhaseTheorem(
        exponent=_log_kt,
        length=2**phase,
        clients=sp.ceiling(2 ** (alpha * phase) - sp.Rational(1, 10**9)),
        reward=reward**2 / (clients * n),
        noise=noise,
        law=law,
        failure=2 * sp.Max(FloorLog2(T + 2) - 1, 1) / T,
        width=spread * sp.sqrt(2 * _log_kt),
    )


def _printed_played(
    noise: sp.Expr, width: sp.Expr, law: Literal["Gaussian", "at most", "none"]
) -> PhaseTheorem:
    """Return the same of appendix C."""
    length = support * 2 ** (phase - 1)
    return PhaseTheorem(
        exponent=_log_kt,
        length=length,
        clients=sp.Integer(0),
        reward=reward**2 / n,
        noise=noise,
        law=law,
        failure=2 * sp.Max(1, FloorLog2(sp.floor(T / support + 1))) / T,
        width=(sp.sqrt(2 * d / length) + width * 2 * d / length) * sp.sqrt(2 * _log_kt),
    )


_printed_central = _textbook * sp.sqrt(size) / clients
_sums = sp.sqrt(720 * reward**2 * sp.log(2 / delta) / epsilon**2 + sp.Rational(1, 2))  # Eq. 60
_PRINTED_PROOFS: dict[str, PhaseTheorem] = {
    "published/dpe": _printed_phased(sp.Integer(0), sp.Integer(0), "none"),
    "published/dp-dpe-central": _printed_phased(
        _printed_central**2, 2 * _printed_central * sp.sqrt(_printed_support * d), "Gaussian"
    ),
    "published/dp-dpe-local": _printed_phased(
        _printed_central**2 * clients,
        2 * _printed_central * sp.sqrt(clients * _printed_support * d),
        "Gaussian",
    ),
    "published/dp-dpe-shuffle": _printed_phased(
        _shuffled_claim**2, 2 * _shuffled_claim * sp.sqrt(_printed_support * d), "at most"
    ),
    "published/pe": _printed_played(sp.Integer(0), sp.Integer(0), "none"),
    "published/dp-pe-central": _printed_played(_textbook**2 / n**2, _textbook * sp.sqrt(size), "Gaussian"),
    "published/dp-pe-local": _printed_played(
        _textbook**2 / n, _textbook * sp.sqrt(2 * size * support * 2 ** (phase - 1)), "Gaussian"
    ),
    "published/dp-pe-shuffle": _printed_played(_sums**2 / n**2, deviation * sp.sqrt(size), "at most"),
}

_PAPER = "distributed linear bandits paper, "
_NUMBERS = {"dpe": "5.1", "dp-dpe-central": "5.3", "dp-dpe-local": "5.4", "dp-dpe-shuffle": "5.5"} | {
    "pe": "C.2 without noise",
    "dp-pe-central": "C.2",
    "dp-pe-local": "C.4",
    "dp-pe-shuffle": "C.7",
}

_CORRECTED = {
    "published/dp-pe-local": "its width is 4 S d times larger than the exact form, at most 2 d / h, needs",
    "published/dp-dpe-shuffle": "the variance behind A.2 should have 540 for 360",
    "published/dp-pe-shuffle": "its proof puts in Algorithm 2's noise for Algorithm 4's; here Eq. 60's",
}


def _reward_bound(instance: Instance) -> float:
    """Return the learner's own B, 0 for none."""
    return float(instance.settings.get("reward_bound", 0.0))


def _linear(instance: Instance) -> LinearBandit:
    assert isinstance(instance.problem, LinearBandit)
    return instance.problem


def _bounded(instance: Instance) -> bool:
    """Whether rewards lie in [-1, 1] and B is no less."""
    return _linear(instance).rewards == "signs" and not 0 < _reward_bound(instance) < 1


_ASKED = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1024)
"""Numbers of shuffled clients at which their noise is compared with the central one."""


@functools.lru_cache(maxsize=1024)
def _shuffled_ratio(epsilon_value: float, delta_value: float, clients: int) -> float:
    """Return the deviation of shuffled noise over the central Gaussian's, for clients' single numbers in [-1, 1].

    Computed, not proved: of several numbers at once it was at most 1.5 % larger where it is near 1 (1.048 for 1.033),
    and in none of 1,000 random cases above `SHUFFLED` where this is not; of more clients it was smaller.
    """
    central = 2.0 / (unit_mu(epsilon_value, delta_value) * clients)
    return math.sqrt(calibrated_bits(epsilon_value, delta_value, clients, 1).proxy) / central


def shuffles_well(instance: Instance, fewest: int) -> bool:
    """Return True if shuffled noise is at most 1.3 times the central one for any number of clients from `fewest` on.

    As long as g = 1 the random bits of all clients together are as many for any number n of them, except for the one
    each that rounding up takes, one of the proxy, and one part in 4096 of the calibration: with ``(2 mu)^2 n <= 1`` the
    square of the ratio is at most that at `fewest` and its 2048th, and ``n mu^2 / 2``, more.
    """
    fewest = int(instance.settings.get("fixed_clients", 0)) or fewest
    first = _shuffled_ratio(instance.epsilon, instance.delta, fewest)
    square = unit_mu(instance.epsilon, instance.delta) ** 2

    def follows(clients: int) -> bool:
        larger = first**2 * (1.0 + 1.0 / 2048.0) + 0.5 * square * clients
        return 4.0 * square * clients < 1.0 - 1e-9 and larger <= SHUFFLED**2

    return first <= SHUFFLED and all(
        follows(clients) or _shuffled_ratio(instance.epsilon, instance.delta, clients) <= SHUFFLED
        for clients in _ASKED
        if clients > fewest
    )


def _regime(name: str, otherwise: str, largest: int) -> str:
    """Return where a certified learner's theorem applies."""
    if not name.endswith("shuffle"):
        return f"every epsilon > 0 and T >= 1; {otherwise}"
    return (
        f"epsilon up to about {largest} at delta = 1e-3, less at smaller ones: shuffled noise is then at most 1.3 "
        f"times the central one, however few report; {otherwise}"
    )


def _wide(instance: Instance) -> bool:
    """The same, or rewards have no bound and B is wide enough for no report to be clipped."""
    return _bounded(instance) or (_linear(instance).rewards != "signs" and _reward_bound(instance) == 0)


def _shuffled_wide(instance: Instance) -> bool:
    """The same, with at least ``2^alpha`` clients in every phase."""
    fewest = math.ceil(2.0 ** float(instance.settings.get("alpha", 0.8)))
    return _wide(instance) and shuffles_well(instance, fewest)


def _shuffled_bounded(instance: Instance) -> bool:
    """The same of rewards of single plays, of which an action may have one in a phase."""
    return _bounded(instance) and shuffles_well(instance, 1)


LINEAR_BOUNDS: dict[str, RegretBound] = {
    **{
        name: RegretBound(
            family="linear",
            constant=bound,
            per_arm=sp.S.Zero,
            source=f"{_PAPER}Theorem {_NUMBERS[name.removeprefix('published/')]} with its proof's constants",
            regime="d >= 3, so that S = 4 d ln ln d + 16 bounds a support, and rewards in [-B, B]",
            applies=lambda instance: _linear(instance).actions.shape[1] >= 3 and _bounded(instance),
            printed="the same up to constants",
            correction=_CORRECTED.get(name, ""),
            confidence=_PRINTED_PROOFS[name],
        )
        for name, bound in (_printed_dpe() | _printed_pe()).items()
    },
    **{
        name: RegretBound(
            family="linear",
            constant=2 * support + 8 + _remainder(term, _phases_dpe, sp.Integer(1)),
            per_arm=sp.S.Zero,
            source="this library: exact widths, one failure event and the leader in the end (Theorem 7)"
            + (", shuffled noise at most 1.3 times the central one" if name.endswith("shuffle") else ""),
            regime=_regime(name, "no report is clipped", 30),
            applies=_shuffled_wide if name.endswith("shuffle") else _wide,
            confidence=_PROOFS[name],
            restarts=True,
            begun=2 * support + 8 + _explored(term, _phases_dpe.subs(T, t)),
        )
        for name, term in _TERMS_DPE.items()
    },
    **{
        name: RegretBound(
            family="linear",
            constant=_NEEDS_BOUND + 4 * support + 2 + _remainder(term, _phases_pe, sp.Integer(1)),
            per_arm=sp.S.Zero,
            source="this library: exact widths, one failure event and the leader in the end "
            "(Theorem 7, one client per play)"
            + (", shuffled noise at most 1.3 times the central one" if name.endswith("shuffle") else ""),
            regime=_regime(name, "rewards in [-B, B]", 10),
            applies=_shuffled_bounded if name.endswith("shuffle") else _bounded,
            confidence=_PROOFS[name],
            restarts=True,
            begun=_NEEDS_BOUND + 4 * support + 2 + _explored(term, _phases_pe.subs(T, t)),
        )
        for name, term in _TERMS_PE.items()
    },
}
"""The theorems by the learner's registered name."""


def linear_values(instance: Instance) -> dict[sp.Symbol, float]:
    """Return the value of every symbol on an instance."""
    problem = _linear(instance)
    k, dimension = problem.actions.shape
    return {
        T: instance.horizon,
        d: dimension,
        n_actions: k,
        alpha: float(instance.settings.get("alpha", 0.8)),
        sigma_client: problem.sigma,
        reward: (_reward_bound(instance) or 1.0) if problem.rewards == "signs" else 0.0,
        epsilon: instance.epsilon,
        delta: instance.delta,
        mu: unit_mu(instance.epsilon, instance.delta),
        support: support_bound(dimension),
    }
