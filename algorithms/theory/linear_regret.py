"""Regret theorems of linear bandits as SymPy expressions, with the constants that their proofs give.

Symbols: T, d, k (actions), alpha (2^{alpha l} clients in phase l), sigma (clients' deviations), B (rewards lie in
[-B, B]; 0 if they have no bound), epsilon, delta, mu (1/sigma of the Gaussian mechanism that is private at distance 1),
S (the largest support of a design). Li, Zhou & Ji 2022 ("printed") for h_1 = 2 and beta = 1/(kT); the
certified learners' theorem has one failure event and exact widths.

**Theorem** (caps). Let V_l bound the widths after phase l and fall in l, n_l the rounds of phase l, R the largest gap,
and ``C_m = Σ_{l=m}^{L-1} n_{l+1} min(4 V_l, R) + n_{L+1} min(2 V_L, R)``, L the last phase that may fit. If ``2 C_1 <
R (T - n_1)``, then on the event that widths hold regret after the first phase is at most C_1.

*Proof.* Rounds that explore after phase l cost at most ``min(4 V_l, R)``. Suppose the leader is played after phase l,
at a largest width W. By the rule (`algorithms.linear.elimination`) ``2 left W <= 4 n_{l+1} W + Σ ...``, with ``min(W,
V_i)`` for the widths of all later phases. If ``W > R / 4``, divide by W: ``left <= 2 n_{l+1} + (2 / R) C_{l+1}``. But
V_1, ..., V_l are above ``R / 4`` then, so ``C_1 = R (n_2 + ... + n_{l+1}) + C_{l+1}``, and ``T = n_1 + ... + n_l + left
<= n_1 + (2 / R) C_1``. So ``W <= R / 4``, and by the rule ``2 left W <= C_l``. QED
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import sympy as sp
from sympy.utilities.lambdify import implemented_function

from algorithms.linear.g_optimal import support_bound
from algorithms.linear.linear_phases import PAPER, SHUFFLED, calibrated_bits
from algorithms.problems.linear import LinearBandit
from algorithms.theory.confidence_theorem import PhaseTheorem, clients, deviation, n, phase, size, t
from algorithms.theory.regret_bound import (
    FloorLog2,
    Instance,
    R_max,
    RegretBound,
    T,
    delta,
    epsilon,
    mu,
    unit_mu,
)

d, n_actions, alpha, support = sp.symbols("d k_A alpha S", positive=True)
sigma_client, reward = sp.symbols("sigma_xi B", nonnegative=True)
_l, _P = sp.symbols("l P", integer=True, positive=True)

_NEEDS_BOUND = sp.Piecewise((sp.oo, sp.Eq(reward, 0)), (sp.Integer(0), True))

_SHUFFLED = sp.Rational(SHUFFLED.numerator, SHUFFLED.denominator)


_LAWS: dict[str, Literal["Gaussian", "at most", "none"]] = {
    "": "none",
    "central": "Gaussian",
    "local": "Gaussian",
    "shuffle": "at most",
}
_log_kt = sp.log(n_actions * T)
_textbook = 2 * reward * sp.sqrt(2 * sp.log(sp.Rational(5, 4) / delta)) / epsilon  # at distance 2B
_sums = sp.sqrt(720 * reward**2 * sp.log(2 / delta) / epsilon**2 + sp.Rational(1, 2))
"""Eq. 60: step^2 n (b + 1) / 4 with step = 2B/g, b n <= 720 g^2 ln(2/delta) / epsilon^2 + n and g >= 2B sqrt(n)."""


def _shuffled_claim(s: sp.Expr) -> sp.Expr:
    """A.2: sigma_ns^2 = 360 Delta_2^2 ln(4s/delta) / (|U|^2 epshat^2), epshat = epsilon / (18 sqrt(ln(2/delta)))."""
    return 18 * reward * sp.sqrt(360 * sp.log(4 * s / delta) * sp.log(2 / delta)) / epsilon


def _printed_dpe(model: str) -> sp.Expr:
    """Theorems 5.1 and 5.3 to 5.5; S is 4 d ln ln d + 16. "log(2T/h)" bounds the phases: its base is 2."""
    h, s = 2, support
    growth = 2 ** (1 - alpha)
    c0 = sp.sqrt(growth) / (sp.sqrt(growth) - 1)
    ratio = 2 ** (-alpha)
    c1, c2 = sp.sqrt(ratio) / (1 - sp.sqrt(ratio)), ratio / (1 - ratio)
    clients = sp.Integer(h) ** alpha
    plain = (
        2 * (h + s)
        + 8 * c0 * sp.sqrt(2 * d * clients * T ** (1 - alpha) * _log_kt)
        + 20 * s * sp.sqrt(2 * d * _log_kt / h)
        + 16 * sigma_client * sp.sqrt(2 * clients * _log_kt) * T ** (1 - alpha / 2)
        + 4 * c1 * sigma_client * s * sp.sqrt(2 * _log_kt)
        + 4 * sp.log(2 * T / h, 2)
        + _NEEDS_BOUND
    )
    if model == "":
        return plain
    if model == "local":
        return (
            plain
            + 32 * _textbook * s * sp.sqrt(d) * sp.sqrt(2 * clients * _log_kt) * T ** (1 - alpha / 2)
            + 8 * c1 * _textbook * s**2 * sp.sqrt(2 * d * _log_kt)
        )
    noise = _textbook if model == "central" else _shuffled_claim(s)
    return plain + 8 * noise * clients * s * sp.sqrt(2 * d * _log_kt) * (
        T ** (1 - alpha) / (growth - 1) + c2 * s
    )


def _printed_pe(model: str) -> sp.Expr:
    """Appendix C: Theorems C.2, C.4 and C.7, with h_1 = S; "log(2T/h)" and "log(T)" bound phases: their base is 2."""
    h = s = support
    plain = (
        2 * (h + s)
        + 32 * sp.sqrt(2 * d * T * _log_kt)
        + 24 * s * sp.sqrt(2 * d * _log_kt / h)
        + 4 * sp.log(2 * T / h, 2)
        + _NEEDS_BOUND
    )
    if model == "":
        return plain
    if model == "local":
        return (
            plain
            + 64 * d * _textbook * sp.sqrt(2 * s * T * _log_kt)
            + 16 * d * _textbook * s ** sp.Rational(3, 2) * sp.sqrt(2 * _log_kt / h)
        )
    noise = _textbook if model == "central" else _sums
    return plain + 16 * d * noise * sp.sqrt(2 * s * _log_kt) * (sp.log(T, 2) + s / h)


_least = implemented_function("min", min)  # of SymPy's Min it would take long to sort the arguments
_most = implemented_function("max", max)


@dataclass(frozen=True)
class _Exploration:
    """Sums of the theorem of certified learners.

    Attributes
    ----------
    rounds, width
        ``2 h_l + S``, the most rounds of phase l + 1, and W_l.
    phases, first
        P, and the most rounds of the first phase.
    """

    rounds: sp.Expr
    width: sp.Expr
    phases: sp.Expr
    first: sp.Expr

    def _cost(self, start: sp.Expr, cap: sp.Expr) -> sp.Expr:
        last = self.rounds * _least(2 * self.width, cap)
        return self.explored(start, _P - 1, cap) + last.subs(_l, _P)

    def explored(self, start: sp.Expr, end: sp.Expr, cap: sp.Expr) -> sp.Expr:
        """Return 4 W_l, or the cap, in the rounds that explore after phases from one to another."""
        return sp.Sum(self.rounds * _least(4 * self.width, cap), (_l, start, end))

    def capped_cost(self, cost: Callable[[sp.Expr], sp.Expr]) -> sp.Expr:
        """Return a cost that is capped at R_max where the theorem on caps holds."""
        capped = sp.Lt(2 * self._cost(sp.Integer(1), R_max), R_max * (T - self.first), evaluate=False)
        return sp.Piecewise((cost(R_max), capped), (cost(sp.oo), True), evaluate=False)

    def remainder(self, start: sp.Expr) -> sp.Expr:
        """Return the cost of the rounds after phases from one on.

        Survivors of phase l are explored for at most 2 h_l + S rounds, each at 4 W_l; the leader of the last phase that
        the horizon does not cut is played at 2 W_l. Where the leader is played earlier, 2 W_l in all rounds to come is
        no more.
        """
        return self.capped_cost(lambda cap: self._cost(start, cap))

    def cost_so_far(self) -> sp.Expr:
        """Return the cost of exploring after all phases that have ended in t rounds, where the horizon is to come.

        Where the leader is played already, that is no more: the cost of exploring grows ever more slowly, as widths
        shrink, and at the horizon it is at least the leader's cost, which grows evenly.
        """
        return self.capped_cost(lambda cap: self.explored(sp.Integer(1), self.phases.subs(T, t), cap))


def _reporting(number: sp.Expr) -> sp.Expr:
    """Return U of a phase of the distributed learners."""
    return sp.ceiling(2 ** (alpha * number) - sp.Rational(1, 10**9))


_phases_dpe = sp.Max(FloorLog2(T + 2) - 1, 1)
_phases_pe = sp.Max(1, FloorLog2(sp.floor(T / support + 1)))


def _explore_dpe(model: str) -> _Exploration:
    """W_l = √(2x [ (σ² + 2 d v / h_l) / |U_l| + τ_l² 2 d (1 + 1/h_l) ]); v = B², or 1 unbounded."""
    s = support
    x = sp.log(2 * n_actions * _P * T)
    h, clients = 2**_l, _reporting(_l)
    unbounded = sp.Piecewise((1, sp.Eq(reward, 0)), (0, True))
    clipped = 1 + sp.sqrt(2 * (sigma_client**2 + 1) * sp.log(2 * s * clients * _P * T))
    central = 2 * _most(reward, unbounded * clipped) * sp.sqrt(s) / (clients * mu)
    noise = {"": sp.Integer(0), "local": central * sp.sqrt(clients), "shuffle": _SHUFFLED * central}.get(
        model, central
    )
    variance = _most(reward**2, unbounded)
    form = (sigma_client**2 + 2 * d * variance / h) / clients + noise**2 * 2 * d * (1 + 1 / h)
    return _Exploration(2 * h + s, sp.sqrt(2 * x * form), _phases_dpe, 2 + s)


def _explore_pe(model: str) -> _Exploration:
    """W_l = √(2x [ 2 d B² / h_l + τ² q_l ]), q_l = min(2d/h_l, 4 d² S / h_l²)."""
    s = support
    x = sp.log(2 * n_actions * _P * T)
    h = s * 2 ** (_l - 1)
    form = _unit * _least(2 * d / h, 4 * d**2 * s / h**2)
    noise = {"": sp.Integer(0), "local": _unit * 2 * d / h, "shuffle": _SHUFFLED**2 * form}.get(model, form)
    width = sp.sqrt(2 * x * (2 * d * reward**2 / h + noise))
    return _Exploration(2 * h + s, width, _phases_pe, 2 * s)


_unit = (2 * reward / mu) ** 2


def _proof(single: bool, **stated: Any) -> PhaseTheorem:
    """Return the proof of the distributed learners, or of those with a client for each play; rewards in [-B, B]."""
    return PhaseTheorem(
        length=support * 2 ** (phase - 1) if single else 2**phase,
        clients=sp.Integer(0) if single else _reporting(phase),
        reward=reward**2 / n if single else reward**2 / (clients * n),
        **stated,
    )


def _certified_proof(single: bool, model: str, explored: _Exploration) -> PhaseTheorem:
    """Return the proof of exact widths and one failure event."""
    central = _unit / n**2 if single else _unit * size / clients**2
    each = n if single else clients
    noise = {"": sp.Integer(0), "local": central * each, "shuffle": _SHUFFLED**2 * central}.get(
        model, central
    )
    return _proof(
        single,
        exponent=sp.log(2 * n_actions * _P * T),
        noise=noise,
        law=_LAWS[model],
        failure=1 / T,
        remainder=explored.remainder(sp.floor(sp.Min(phase, _P))),
    )


def _printed_proof(single: bool, model: str) -> PhaseTheorem:
    """Return the proof of section 5 or appendix C: sampling, clients and noise each within its part of the width.

    The noise behind A.2 has 540 for 360, as g is a whole number; its form is at most 3 d of the width's 4 S d.
    """
    if single:
        h = support * 2 ** (phase - 1)
        noise, deviations = {
            "": (sp.Integer(0), sp.Integer(0)),
            "central": (_textbook**2 / n**2, _textbook * sp.sqrt(size)),
            "local": (_textbook**2 / n, _textbook * sp.sqrt(2 * size * h)),
            "shuffle": (_sums**2 / n**2, deviation * sp.sqrt(size)),
        }[model]
        width, phases = sp.sqrt(2 * d / h) + deviations * 2 * d / h, _phases_pe
    else:
        central, bits = (each * sp.sqrt(size) / clients for each in (_textbook, _shuffled_claim(size)))
        noise, deviations = {
            "": (sp.Integer(0), sp.Integer(0)),
            "central": (central**2, central),
            "local": (central**2 * clients, central * sp.sqrt(clients)),
            "shuffle": (sp.Rational(3, 2) * bits**2, bits),
        }[model]
        spread = sp.sqrt(2 * d / (clients * 2**phase)) + sigma_client / sp.sqrt(clients)
        # S is the integer part of 4 d ln ln d + 16.
        width = spread + 2 * deviations * sp.sqrt((4 * d * sp.log(sp.log(d)) + 16) * d)
        phases = _phases_dpe
    return _proof(
        single,
        exponent=_log_kt,
        noise=noise,
        law=_LAWS[model],
        failure=2 * phases / T,
        width=width * sp.sqrt(2 * _log_kt),
    )


_NUMBERS = {"dpe": "5.1", "dp-dpe-central": "5.3", "dp-dpe-local": "5.4", "dp-dpe-shuffle": "5.5"} | {
    "pe": "C.2 without noise",
    "dp-pe-central": "C.2",
    "dp-pe-local": "C.4",
    "dp-pe-shuffle": "C.7",
}

_CORRECTED = {
    "dp-pe-local": "its width is 4 S d times larger than the exact form, at most 2 d / h, needs",
    "dp-dpe-shuffle": "the variance behind A.2 is 540 for 360, for which the width has room",
    "dp-pe-shuffle": "its proof puts in Algorithm 2's noise for Algorithm 4's; here Eq. 60's",
}


def _reward_bound(instance: Instance) -> float:
    """Return the learner's own B, 0 for none."""
    return float(instance.settings.get("reward_bound", 0.0))


def _linear(instance: Instance) -> LinearBandit:
    assert isinstance(instance.problem, LinearBandit)
    return instance.problem


def _bounded(instance: Instance) -> bool:
    """Return True if rewards lie in [-1, 1] and B is no less."""
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
    """Return True if that holds, or rewards have no bound and B is wide enough for no report to be clipped."""
    return _bounded(instance) or (_linear(instance).rewards != "signs" and _reward_bound(instance) == 0)


def _shuffled_wide(instance: Instance) -> bool:
    """Return True if that holds, with at least ``2^alpha`` clients in every phase."""
    fewest = math.ceil(2.0 ** float(instance.settings.get("alpha", 0.8)))
    return _wide(instance) and shuffles_well(instance, fewest)


def _shuffled_bounded(instance: Instance) -> bool:
    """Return True if it holds of rewards of single plays, of which an action may have one in a phase."""
    return _bounded(instance) and shuffles_well(instance, 1)


def _printed_bound(name: str, single: bool, model: str) -> RegretBound:
    """Return a theorem as printed, with the constants of its proof."""
    return RegretBound(
        family="linear",
        constant=_printed_pe(model) if single else _printed_dpe(model),
        source=f"{PAPER}Theorem {_NUMBERS[name]} with its proof's constants",
        regime="d >= 3, so that S = 4 d ln ln d + 16 bounds a support, and rewards in [-B, B]",
        applies=lambda instance: _linear(instance).actions.shape[1] >= 3 and _bounded(instance),
        printed="the same up to constants",
        correction=_CORRECTED.get(name, ""),
        confidence=_printed_proof(single, model),
    )


def _certified_bound(name: str, single: bool, model: str) -> RegretBound:
    """Return the theorem of a certified learner."""
    shuffled = model == "shuffle"
    if single:
        explored, least = _explore_pe(model), _NEEDS_BOUND + 4 * support + 2
        covers, otherwise, largest = _shuffled_bounded if shuffled else _bounded, "rewards in [-B, B]", 10
    else:
        explored, least = _explore_dpe(model), 2 * support + 8
        covers, otherwise, largest = _shuffled_wide if shuffled else _wide, "no report is clipped", 30
    return RegretBound(
        family="linear",
        constant=least + explored.remainder(sp.Integer(1)),
        source="this library: exact widths, one failure event and the leader in the end (Theorem 7"
        + (", one client per play)" if single else ")")
        + (", shuffled noise at most 1.3 times the central one" if shuffled else ""),
        regime=_regime(name, otherwise, largest),
        applies=covers,
        definitions=((_P, explored.phases),),
        confidence=_certified_proof(single, model, explored),
        restarts=True,
        begun=least + explored.cost_so_far(),
    )


class _LinearBounds(Mapping[str, RegretBound]):
    """The theorems by name, each made when it is first asked for: SymPy takes half a second for all."""

    def __iter__(self) -> Iterator[str]:
        return (prefix + name for prefix in ("published/", "") for name in _NUMBERS)

    def __len__(self) -> int:
        return 2 * len(_NUMBERS)

    def __getitem__(self, name: str) -> RegretBound:
        known = name.removeprefix("published/")
        if known not in _NUMBERS:
            raise KeyError(name)
        return _bound_of(known, name != known)


@functools.cache
def _bound_of(name: str, printed: bool) -> RegretBound:
    single = name.split("-")[1 if "-" in name else 0] == "pe"
    model = name.rpartition("-")[2] if "-" in name else ""
    return (_printed_bound if printed else _certified_bound)(name, single, model)


LINEAR_BOUNDS: Mapping[str, RegretBound] = _LinearBounds()
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
        R_max: float(problem.gaps.max()),
    }
