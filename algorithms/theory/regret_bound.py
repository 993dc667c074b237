"""A regret theorem as data: SymPy expressions with named symbols, conditions, source and corrections.

A bound is ``constant + sum over suboptimal arms of per_arm + sum over optimal arms of per_optimal + sum over the
arms of bad super arms of per_member``, with abbreviations (x, b, rho ...) defined by further expressions.

Summation. If at most ``a / u^2 + c / u`` charged plays have gap >= u, for every u in ``[Delta, Delta_max]``, their
regret ``int_0 N(u) du`` is at most ``a (2 / Delta - 1 / Delta_max) + c (1 + ln(Delta_max / Delta))``: N(Delta) on
``[0, Delta]`` and the integral beyond. `spread` is its first term.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from algorithms.epochs import epoch_end, epoch_horizon, epoch_of
from algorithms.learner import DEFAULT_DELTA, Family, check_delta, check_epsilon, check_horizon
from algorithms.problems import LinearBandit, LinearContexts, Problem, Value
from algorithms.restarts import restart_end, restart_epoch, restart_horizon
from algorithms.semi_bandits.cucb_batch import UNKNOWN_HORIZON
from algorithms.structured_learner import PLAYS, problem_kind
from algorithms.theory.confidence_theorem import (
    ConfidenceTheorem,
    Definitions,
    PhaseTheorem,
    Theorem,
    Values,
)
from algorithms.theory.gaps import Gaps, problem_gaps
from algorithms.theory.own_problems import drawn_as_declared
from mechanisms import Gaussian, Sensitivity

T, epsilon, K, L, B, B1 = sp.symbols("T epsilon K L B_inf B_1", positive=True)
Delta, Delta_max, rho, k = sp.symbols("Delta Delta_max rho k", positive=True)
R_max, Delta_0, p0 = sp.symbols("R_max Delta_0 p_0", positive=True)
w_1, mu, delta = sp.symbols("w_1 mu delta", positive=True)
b, A, v, N = sp.symbols("b A v N", positive=True)
sigma, M = sp.symbols("sigma M", positive=True)
T0, Tq = sp.symbols("T_0 T_q", positive=True)
Delta_1, theta = sp.symbols("Delta_1 theta", positive=True)
allowed = sp.Symbol("W", positive=True)


_SYMBOLS: Mapping[str, str] = MappingProxyType(
    {
        "T": "rounds",
        "T_0": f"T, and {epoch_horizon(0)} for a learner without a horizon",
        "T_q": f"T, and {UNKNOWN_HORIZON:,} for a learner without a horizon",
        "epsilon": "the learner's ε",
        "delta": "the learner's δ",
        "K": "arms played at once",
        "L": "arms in all",
        "B_inf": "the Lipschitz constant of the reward in the largest error of an outcome, 1 for one arm",
        "B_1": "the Lipschitz constant of the reward in the sum of errors of outcomes, 1 for sums",
        "R_max": "largest regret of a round",
        "Delta_0": "least gap of all",
        "Delta_1": "largest gap of an arm to a better one that is played in its place",
        "theta": "a share between 0 and 1, the one of the least bound",
        "p_0": "least probability that a list's last item is examined",
        "w_1": "largest mean of all",
        "mu": "1/sigma of Gaussian noise that is (ε, δ)-private at distance 1",
        "Delta": "an arm's least gap",
        "Delta_max": "an arm's largest gap",
        "rho": "their ratio",
        "k": "optimal arms that are better than it",
        "d": "dimension",
        "k_A": "number of actions",
        "alpha": "the rate by which clients of a phase grow",
        "S": "most actions that a phase plays",
        "sigma_xi": "spread of clients around the common reward",
        "B": "bound on a client's reward",
        "m": "mean of the largest of so many standard normal numbers",
        "s": "standard deviation of the noise in the sums that the last of T actions is chosen from",
        "Fed": "S(low, high; A) of Theorem 1, which algorithms/theory/level_free_regret.py defines, as the next ones",
        "Charged": "S(low, high; N) of Theorems 2 and 3",
        "Behind": "V(low, high) of Lemma 2",
        "Shortfall": "the integral of W in Theorem 3",
        "GapFree": "Theorem 4, over B_1",
        "Releases": "releases of an arm in T rounds",
        "Bits": "the largest q up to K and 20 with 2^q <= (e^ε - 1) / 32, at least 1",
        "W": "expected sum of what radii allow rounds to cost, R_max at most each; no function of T: only runs tell it",
    }
)
"""The meanings of the symbols in bounds; each bound defines its own abbreviations."""


class FloorLog2(sp.Function):  # type: ignore[misc]
    """``floor(log2(z))``, exact for whole numbers: a logarithm in floating point may fall just below one."""

    nargs = 1

    @classmethod
    def eval(cls, z: sp.Expr) -> sp.Expr | None:
        """Return the number for a positive integer."""
        return sp.Integer(int(z).bit_length() - 1) if z.is_Integer and z > 0 else None


_Function = Callable[[Values], float]

_NUMERICAL = [{"FloorLog2": lambda z: int(z).bit_length() - 1}, "math"]


def spread(a: sp.Expr, largest: sp.Expr = Delta_max) -> sp.Expr:
    """Return the regret of at most ``a / u^2`` plays of gap >= u, for every u from Delta to `largest`."""
    return a * (2 / Delta - 1 / largest)


@dataclass(frozen=True)
class Instance:
    """Instance on which a theorem is evaluated.

    Attributes
    ----------
    problem
        A problem, or a linear bandit, with contexts or without.
    epsilon, delta
        The learner's privacy; delta counts for learners with Gaussian noise.
    horizon
        T.
    settings
        The learner's own settings, where they are not its defaults; ``anytime`` is that it does not know T.

    Raises
    ------
    ParameterError
        If epsilon, delta or the horizon is out of range.
    """

    problem: Problem | LinearBandit | LinearContexts
    epsilon: float
    horizon: int
    delta: float = DEFAULT_DELTA
    settings: Mapping[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        check_horizon(self.horizon)

    @property
    def family(self) -> Family:
        """The kind of its problem."""
        return problem_kind(self.problem)

    @property
    def anytime(self) -> bool:
        """True if the learner does not know T."""
        return self.settings.get("anytime") == "yes"

    def epochs(self) -> list[Instance]:
        """Return the instance at the end of each epoch that has begun."""
        epochs = range(int(epoch_of(self.horizon - 1)) + 1)
        return [replace(self, horizon=min(self.horizon, int(epoch_end(epoch)))) for epoch in epochs]

    def with_horizon(self, horizon: int) -> Instance:
        """Return the instance on which the learner knows this horizon."""
        settings = {name: value for name, value in self.settings.items() if name != "anytime"}
        return replace(self, horizon=horizon, settings=settings)

    @functools.cached_property
    def gaps(self) -> Gaps:
        """The gaps of the problem.

        Raises
        ------
        GapsUnavailable
            As `problem_gaps`.
        """
        return problem_gaps(self.problem)  # type: ignore[arg-type]

    @property
    def level_horizon(self) -> int:
        """The horizon that indices are of: T, or H_k of the epoch (`algorithms.epochs`)."""
        return epoch_horizon(int(epoch_of(self.horizon - 1))) if self.anytime else self.horizon

    @property
    def trivial_regret(self) -> float:
        """T times the largest regret of a round, which no learner can exceed."""
        if isinstance(self.problem, LinearBandit):
            return self.horizon * float(self.problem.gaps.max())
        if isinstance(self.problem, LinearContexts):
            return self.horizon * self.problem.largest_regret
        return self.horizon * self.gaps.largest_regret


@dataclass(frozen=True)
class RegretBound:
    """An upper bound on the expected regret after T rounds.

    Attributes
    ----------
    constant, per_arm, per_optimal, per_member
        SymPy expressions. Free symbols: T, T_0 (T; without a horizon, the first epoch's), T_q (T; without a horizon,
        100,000), epsilon, delta, K (size of a super arm), L (number of arms), B_inf and B_1,
        R_max (the largest regret of a round), Delta_0 (the least gap of all), Delta_1 (the largest of an arm), p_0 (a
        cascade's least examination probability), w_1 (the largest mean of all), mu (1/sigma of the Gaussian mechanism
        that is (epsilon, delta)-differentially private at distance 1), W (the sum of widths, known from runs only); in
        `per_arm` Delta and Delta_max (an arm's least and largest gap), rho (their ratio) and k (how many optimal arms
        are better); in `per_optimal` Delta and Delta_max, in `per_member` Delta (see `Gaps`). Linear bandits have
        symbols of their own (`algorithms.theory.linear_regret`).
    source
        The paper and theorem.
    family
        The learner's family, which determines the problems that it plays.
    regime
        The conditions of the theorem, in words.
    definitions
        Abbreviations, in the order in which they are substituted.
    applies
        The regime as a predicate.
    printed
        The theorem as its paper states it, where that differs.
    correction
        The error or the gap in the printed theorem.
    unproved
        The part that no proof covers; empty for a theorem.
    printed_plays
        The largest number of plays of an arm of gap Delta by the paper's own lemma, where that is wrong.
    confidence
        The statements of its proof on the learner's estimates, where a running learner can be checked against them.
    levels
        True if the learner's indices have a confidence level, and without a horizon each epoch has its own; else the
        theorem holds at every T, for any T_0.
    outlasting
        The addition without a horizon, as actions are held longer than the epoch that they are chosen in.
    restarts
        True if the learner restarts without a horizon: its bound is the sum of those for the horizons of all epochs
        that have begun (`algorithms.restarts`).
    shares
        The values of theta, of which the one of the least bound is taken; none where there is no theta.
    begun
        For a linear bandit learner that restarts: a bound after the first t rounds of a run with horizon T.
    gap_free
        Another bound, for any gaps: the lesser of both holds. None where there is none.
    elsewhere
        The learner's theorem on structures that this one is not about; see `bound_for`.
    """

    constant: sp.Expr
    source: str
    family: Family
    regime: str = "every epsilon > 0 and T >= 1"
    per_arm: sp.Expr = sp.S.Zero
    per_optimal: sp.Expr = sp.S.Zero
    per_member: sp.Expr = sp.S.Zero
    definitions: Definitions = ()
    applies: Callable[[Instance], bool] = field(default=lambda instance: True)
    printed: str = ""
    correction: str = ""
    unproved: str = ""
    printed_plays: sp.Expr | None = None
    confidence: Theorem | None = None
    levels: bool = True
    outlasting: sp.Expr = sp.S.Zero
    restarts: bool = False
    shares: tuple[float, ...] = ()
    begun: sp.Expr | None = None
    gap_free: sp.Expr | None = None
    elsewhere: RegretBound | None = None

    def bound_for(self, instance: Instance) -> RegretBound:
        """Return the learner's theorem about an instance: this one, or the one elsewhere."""
        other = self.elsewhere
        return other if other is not None and other._plays(instance) and other.applies(instance) else self

    def values(self, instance: Instance) -> dict[sp.Symbol, float]:
        """Return the value of every symbol that is not about one arm.

        For a learner by epochs without a horizon (`algorithms.epochs`), T is the last epoch's horizon.
        """
        if isinstance(instance.problem, LinearBandit):
            from algorithms.theory.linear_regret import linear_values

            return linear_values(instance)
        if isinstance(instance.problem, LinearContexts):
            from algorithms.theory.contextual_regret import contextual_values

            return contextual_values(instance)
        values = instance_values(instance)
        if self.levels:
            values[T] = instance.level_horizon
        return values

    @property
    def of_runs(self) -> bool:
        """True if the bound has a term that is only known from runs, and is infinite before there are any."""
        return allowed in self.constant.free_symbols

    def covers(self, instance: Instance) -> bool:
        """Return True if the theorem covers this learner on this instance: its play, noise, oracle and regime."""
        proved = float(instance.settings.get("noise_multiplier", 1.0)) == 1.0
        serves = self._plays(instance) and proved and self._oracle_serves(instance)
        return serves and self.applies(instance) and self._as_declared(instance)

    def claimed(self, instance: Instance) -> bool:
        """Return True if the theorem, or its paper beyond the theorem's regime, claims the bound on this instance."""
        printed = bool(self.printed) and self._plays(instance) and self._oracle_serves(instance)
        return printed or self.covers(instance)

    def regime_on(self, instance: Instance) -> str:
        """Return the regime in words, with the further conditions that this instance does not meet."""
        words = [self.regime]
        if not self._oracle_serves(instance):
            words.append(
                "an oracle that never fails, as it may be asked with the same weights in many rounds"
            )
        if self._plays(instance) and not self._as_declared(instance):
            words.append(
                "a problem that draws what it declares, with the means that regret is counted by, as this one does not "
                "(`algorithms.theory.own_problems`)"
            )
        return "; ".join(words)

    def _plays(self, instance: Instance) -> bool:
        """Return True if the learner plays problems of this kind."""
        return instance.family in PLAYS[self.family]

    def _as_declared(self, instance: Instance) -> bool:
        """Return True if rewards are drawn with the law that the problem declares."""
        single = isinstance(self.confidence, PhaseTheorem) and self.confidence.clients == 0
        return drawn_as_declared(instance.problem, averages=not single)

    def _oracle_serves(self, instance: Instance) -> bool:
        """Return True if the oracle does not fail or, given the past, with probability 1 - beta at most in every round.

        Its answer is a function of the weights: so it must be asked with other ones in every round, as by indices that
        grow with the rounds. Else a failure lasts as long as the weights, which the failure itself decides.
        """
        if (
            isinstance(instance.problem, LinearBandit | LinearContexts)
            or instance.problem.structure.beta == 1
        ):
            return True
        return isinstance(self.confidence, ConfidenceTheorem) and self.confidence.exponent is not None

    def evaluate(self, instance: Instance) -> float:
        """Return the bound's value on an instance; infinity if no bound is claimed there.

        Raises
        ------
        GapsUnavailable
            If the instance's gaps cannot be had.
        """
        if not self.claimed(instance):
            return math.inf
        return sum(value for _, value in self._summands(instance, whole=True))

    def dominant(self, instance: Instance) -> tuple[sp.Expr, float]:
        """Return the summand of the bound that is largest on an instance, and its value there, summed over arms.

        Raises
        ------
        GapsUnavailable
            If the instance's gaps cannot be had.
        """
        return max(self._summands(instance, whole=False), key=lambda summand: summand[1])

    def sentence(self, *, anytime: bool = False) -> str:
        """Return the bound as a sentence: all terms, the abbreviations, and the meanings of the symbols.

        Parameters
        ----------
        anytime
            True for a learner that does not know T.
        """
        by_epochs = anytime and self.levels and not self.restarts
        sums = (
            (self.constant + self.outlasting if by_epochs else self.constant, ""),
            (self.per_arm, "the sum over all arms that are not optimal of "),
            (self.per_optimal, "the sum over the optimal arms of "),
            (self.per_member, "the sum over the arms of all actions that are not optimal of "),
        )
        terms = [f"{over}[{part}]" if over else str(part) for part, over in sums if part != 0]
        other = sp.S.Zero if self.gap_free is None else self.gap_free
        abbreviations = [f"{symbol} = {value}" for symbol, value in self.definitions]
        used = {
            str(symbol.func if symbol.args else symbol)
            for expression in (*(part for part, _ in sums), other, *(value for _, value in self.definitions))
            for symbol in expression.free_symbols | expression.atoms(AppliedUndef)
        } - {str(symbol) for symbol, _ in self.definitions}
        symbols = {**_SYMBOLS, "K": "experts"} if self.family == "experts" else dict(_SYMBOLS)
        if by_epochs:
            symbols["T"] = "N (k + 1)(k + 2), N the rounds of the epoch"
        meant = [f"{name}: {symbols[name]}" for name in symbols if name in used]
        when = (
            "In epoch k (from 0) of a learner that does not know the horizon,"
            if by_epochs
            else "After T rounds"
        )
        if anytime and self.restarts:
            first = ", ".join(f"{restart_horizon(epoch):,}" for epoch in range(3))
            when = (
                f"Without a horizon the learner restarts, for {first}, ... rounds, each number the square of the last: "
                "expected regret is at most the sum of its bounds for these horizons, of all epochs that have begun"
                + (", or of the open one what its phases so far may cost" if self.begun is not None else "")
                + ". Where it knows the horizon, after T rounds"
            )
        return (
            f"{when} expected regret is at most {' + '.join(terms)}"
            + (f", or {other} if that is less" if other != 0 else "")
            + (f", where {', '.join(abbreviations)}" if abbreviations else "")
            + f". ({'; '.join(meant)})"
        )

    def value_of(self, expression: sp.Expr, instance: Instance, **further: float) -> float:
        """Return the value of an expression in the bound's symbols and abbreviations, none of them about one arm.

        Parameters
        ----------
        expression, instance
            The expression, and the instance.
        further
            Values of other positive symbols, by name.
        """
        own = {sp.Symbol(name, positive=True): value for name, value in further.items()}
        return _value_at(_compiled(expression, self.definitions), self.values(instance) | own)

    def _summands(self, instance: Instance, *, whole: bool) -> list[tuple[sp.Expr, float]]:
        """Return the parts, or the terms they add, with their values summed over the arms that they count.

        Of a learner that restarts, they are summed over its epochs, too.
        """
        if instance.trivial_regret == 0:  # no regret is possible, and some terms divide by it
            return [(sp.S.Zero, 0.0)]
        if instance.anytime and self.restarts:
            return self._summands_of_epochs(instance, whole=whole)
        if isinstance(instance.problem, LinearBandit | LinearContexts):
            values = self.values(instance)
            parts = [self.constant] if whole else sp.Add.make_args(self.constant)
            return [(part, _value_at(_compiled(part, self.definitions), values)) for part in parts]
        each = [
            self._parts(instance, self.values(instance) | {theta: share}, whole=whole)
            for share in self.shares or (0.0,)
        ]
        if self.gap_free is not None:
            each.append([(self.gap_free, self.value_of(self.gap_free, instance))])
        return min(each, key=lambda parts: sum(value for _, value in parts))

    def _parts(self, instance: Instance, common: Values, *, whole: bool) -> list[tuple[sp.Expr, float]]:
        """Return the summands, with these values of the symbols that are not about one arm."""
        gaps = instance.gaps
        per_arm = [
            {Delta: gap.least, Delta_max: gap.largest, rho: gap.largest / gap.least, k: gap.count}
            for gap in gaps.suboptimal
        ]
        summed: list[tuple[sp.Expr, Sequence[Values]]] = [
            (self.constant, [{}]),
            (self.outlasting if instance.anytime else sp.S.Zero, [{}]),
            (self.per_arm, per_arm),
            (self.per_optimal, [{Delta: gap.least, Delta_max: gap.largest} for gap in gaps.optimal]),
            (self.per_member, [{Delta: least} for least in gaps.members]),
        ]
        return [
            (part, _sum_over_arms(_compiled(part, self.definitions), common, owned))
            for expression, owned in summed
            for part in ([expression] if whole else sp.Add.make_args(expression))
        ]

    def _summands_of_epochs(self, instance: Instance, *, whole: bool) -> list[tuple[sp.Expr, float]]:
        """Return the summands of a learner that restarts, summed over its epochs; `begun` of the open one if less."""
        last = restart_epoch(instance.horizon - 1)
        told = [instance.with_horizon(restart_horizon(epoch)) for epoch in range(last + 1)]
        each = [self._summands(epoch, whole=whole) for epoch in told]
        opened: list[tuple[sp.Expr, float]] = []
        if self.begun is not None:
            rounds = instance.horizon - (restart_end(last - 1) if last else 0)
            value = self.value_of(self.begun, told[-1], t=rounds)
            if value < sum(summand for _, summand in each[-1]):
                opened = [(self.begun, value)]
                del each[-1]
        ended = [(terms[0][0], sum(value for _, value in terms)) for terms in zip(*each, strict=True)]
        return ended + opened


@functools.cache
def _compiled(expression: sp.Expr, definitions: Definitions) -> _Function:
    """Return an expression as a function of its symbols' values: once, as a search over T asks it often."""
    expression = expression.subs(definitions[::-1])
    # A condition of another as it stands: to print it, SymPy would simplify it first, for seconds.
    expression = expression.replace(sp.ITE, lambda c, a, b: sp.Or(sp.And(c, a), sp.And(sp.Not(c), b)))
    symbols = sorted(expression.free_symbols, key=str)
    function = sp.lambdify(symbols, expression, modules=_NUMERICAL)
    return lambda values: float(function(*(values[symbol] for symbol in symbols)))


def _value_at(function: _Function, values: Values) -> float:
    try:
        number = function(values)
    except (ZeroDivisionError, OverflowError):  # p_0 is 0, or its square next to nothing
        return math.inf
    return math.inf if math.isnan(number) else number


def _sum_over_arms(function: _Function, common: Values, owned: Sequence[Values]) -> float:
    """Return the sum of a function over the values that each arm has of its own, equal ones evaluated once."""
    value = functools.cache(lambda own: _value_at(function, {**common, **dict(own)}))
    return sum(value(tuple(own.items())) for own in owned)


def instance_values(instance: Instance) -> dict[sp.Symbol, float]:
    """Return the value of every symbol that is not about one arm."""
    problem, gaps = instance.problem, instance.gaps
    assert not isinstance(problem, LinearBandit | LinearContexts)
    structure = problem.structure
    best = np.sort(problem.means)[::-1][: structure.size]
    return {
        T: instance.horizon,
        T0: epoch_horizon(0) if instance.anytime else instance.horizon,
        Tq: UNKNOWN_HORIZON if instance.anytime else instance.horizon,
        epsilon: instance.epsilon,
        delta: instance.delta,
        K: structure.size,
        L: structure.arms,
        B: structure.smoothness_linf,
        B1: structure.smoothness_l1,
        R_max: gaps.largest_regret,
        Delta_0: gaps.least_gap,
        Delta_1: max((gap.largest for gap in gaps.suboptimal), default=gaps.largest_regret),
        p0: float(np.prod(1 - best[:-1])),
        w_1: float(best[0]),
        mu: unit_mu(instance.epsilon, instance.delta),
    }


@functools.lru_cache(maxsize=1024)
def unit_mu(epsilon_value: float, delta_value: float) -> float:
    """Return 1/sigma of the Gaussian mechanism that is (epsilon, delta)-differentially private at distance 1."""
    return (
        1.0
        / Gaussian.for_epsilon_delta(epsilon_value, delta_value, sensitivity=Sensitivity(1.0, 1.0, 1.0)).sigma
    )
