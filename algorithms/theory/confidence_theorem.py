"""The ingredients of regret proofs as data: the law of the estimates, their radii, and the gaps that these allow.

Every theorem here has the same structure. *Good event*: all estimates lie within their radii, but with probability
`failure`. *Gap lemma*, deterministic on it: a bad action's gap is bounded by the radii of its arms. *Count*: by its
inverse, the number of rounds with such radii; the regret is the sum of their gaps.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import sympy as sp

from algorithms.estimates.doubling_batches import released_counts
from mechanisms.arrays import FloatArray

n, j, x, u, t = sp.symbols("n j x u t", positive=True)
phase, clients, size, deviation = sp.symbols("l U s tau", positive=True)
left = sp.Symbol("m", positive=True)
volume = sp.Symbol("v", positive=True)

Values = Mapping[sp.Symbol, float]
Definitions = tuple[tuple[sp.Symbol, sp.Expr], ...]
"""Abbreviations with their formulas, each of which may use later ones."""
Radius = Callable[[FloatArray, FloatArray, float | FloatArray], FloatArray]
_ClickRadius = Callable[[FloatArray, FloatArray, float, FloatArray], FloatArray]


@dataclass(frozen=True)
class ConfidenceTheorem:
    """The statements that a regret proof makes on the way.

    Attributes
    ----------
    radius
        The largest distance of an estimate of n values with j noises from its mean, but with probability ``sides e^-x``
        on each side; in n, j, x and the bound's symbols.
    noise, scale
        The law of a released number around the sum of its values: "Laplace" or "Gaussian" of this scale, any that is
        "below Gaussian" in ``E e^(s N)``, "none", or
        "bit": one value Y in {0, 1}, flipped with probability ``(1 - 1 / scale) / 2`` and debiased to ``1/2 + (Y - 1/2)
        scale``.
    feeds
        The arms with outcomes that a round takes in: "all" arms played, the `few` "least" counted, or all items of a
        list that were "examined".
    counting
        The number of values in an estimate after f feeds: "every value", f; "last batch" of sizes 1, 2, 4, ... that
        is full; "growing batches", all that are full of `first` values and then the
        share `growth` of those before; "doubling episodes", each as long as all before, the last one that is full; a
        "tree" over the rounds, f, with a noise for each of its nodes in ``[1, t]``, read off when an arm is fed.
    index
        "clipped": estimate + radius in [0, 1]; "unclipped": infinite before the first value; "level-free":
        `algorithms.estimates.level_free`, at the latest release of any arm; "divergence": the
        largest q with ``n kl(p, q) <= x``, p the estimate plus the bound on its noise.
    lemma
        The arms of a bad action that bound its gap: "B_inf", twice B_inf times the largest radius; "B_1", twice B_1
        times their sum; "exchange", twice the sum over arms outside the best basis; "item", each item's own distance to
        the best list, twice its radius; "episode", the one arm whose episode starts, twice its radius.
    failure
        The failure probability of the good event over the whole horizon, in T and L; of round t's event where there is
        an `exponent`. None where the proof has no such event, but adds up the costs of rare ones.
    sides
        See `radius`; None where the radius has no x, or the noise of an estimate depends on when it is read.
    exponent
        x in round t, where it grows with the rounds: then the good event is one of each round.
    start
        The start of estimates on one value of every arm: the learner keeps a "noisy" or the "raw" outcome; or none.
    few, first, growth, falling
        See `index`, `feeds` and `counting`; `first` is rounded up, and the share is ``falling / j`` after j releases as
        long as that is more.
    """

    radius: sp.Expr
    index: Literal["clipped", "unclipped", "level-free", "divergence"]
    lemma: Literal["B_inf", "B_1", "exchange", "item", "episode"]
    failure: sp.Expr | None
    noise: Literal["none", "bit", "Laplace", "Gaussian", "below Gaussian"] = "none"
    scale: sp.Expr = sp.S.Zero
    feeds: Literal["all", "least", "examined"] = "all"
    counting: Literal["every value", "last batch", "growing batches", "doubling episodes", "tree"] = (
        "every value"
    )
    sides: float | None = 1.0
    exponent: sp.Expr | None = None
    start: Literal["none", "raw", "noisy"] = "none"
    few: sp.Expr = sp.S.One
    first: sp.Expr = sp.S.One
    growth: float = 1.0
    falling: float = 0.0


@dataclass(frozen=True)
class EliminationTheorem:
    """The statements that the regret proof of successive elimination makes on the way.

    In phase l every arm that is left, of m, is played so often; then means are released, and arms removed.

    Attributes
    ----------
    radius
        The largest distance of a mean of n values with j noises from its arm's, but with probability ``sides e^-x`` on
        each side; in n, j, x and the bound's symbols.
    noise, scale, sides
        The law of a released number around the sum of its values, as for `ConfidenceTheorem`; and see `radius`.
    batch
        The number of values of an arm that a phase adds, to be rounded up; in l, m, n (those before) and the bound's
        symbols.
    level
        The x of phase l; in l, m and the bound's symbols.
    apart
        The rule by which an arm is removed: where the largest mean is more than twice the "radii" of a mean of `batch`
        values at x above its own; or where ``inf_u I(u) + J(u) > x``, the "separation" by Chernoff's exponents of "at
        least u" for its total and "at most u" for that of the largest mean, which is found wherever the means are twice
        the radius at ``x / 2``, and the `algorithms.estimates.chernoff.SHORTFALL` of a search, apart.
    fresh
        True if a mean is of one phase only, released at its end; else of all so far, each released as it is full.
    failure
        The largest probability that the best arm is removed at some time.
    largest
        The largest gap of an arm that is left after phase l, where all means are within their radii, which fails as
        seldom. None where surviving arms are counted in expectation.
    """

    radius: sp.Expr
    noise: Literal["Laplace"]
    scale: sp.Expr
    sides: float
    batch: sp.Expr
    level: sp.Expr
    apart: Literal["radii", "separation"]
    fresh: bool
    failure: sp.Expr
    largest: sp.Expr | None = None


@dataclass(frozen=True)
class ClickTheorem:
    """The statements that the regret proof of a ranked list makes on the way.

    With n displays of an item, j releases, C its clicks and E its examinations as estimated from them, and w its
    attraction: ``|C - w E| <= R(w)``, and its index is at most the largest u with ``u E <= C + R(u)``.

    Attributes
    ----------
    radii
        R(u), the least of these, in n, j, x, u and the bound's symbols; either side fails with probability ``e^-x``.
    noise, scale
        The law of a released click count, as for `ConfidenceTheorem`; or "symbol", one of K + 1 by
        randomized response.
    phases
        Whether a list is kept for as many rounds as its least displayed item was displayed, and released once; else
        every round is.
    failure
        The largest probability that the index of one of the best items is below its mean at some time.
    index_level
        The level of the mixture that may lower an index (`algorithms.estimates.response_mixture`): it fails for an item
        with probability ``e^-x`` of this x, and need be valid for the best items only. None where there is none.
    """

    radii: tuple[sp.Expr, ...]
    noise: Literal["symbol", "Laplace", "Gaussian", "below Gaussian"]
    scale: sp.Expr
    phases: bool
    failure: sp.Expr
    index_level: sp.Expr | None = None

    def radius_on(self, values: Values, definitions: Definitions) -> _ClickRadius:
        """Return R on an instance as a function of n, j, x and u."""
        functions = [_compiled(radius, definitions) for radius in self.radii]
        fixed = {str(symbol): value for symbol, value in values.items()}

        def radius(count: FloatArray, releases: FloatArray, level: float, at: FloatArray) -> FloatArray:
            given: Mapping[str, float | FloatArray]
            given = {**fixed, "n": count, "j": releases, "x": level, "u": at}
            each = [np.broadcast_to(function(given), count.shape) for function in functions]
            return np.asarray(np.minimum.reduce(each))

        return radius


@dataclass(frozen=True)
class PhaseTheorem:
    """The statements that the regret proof of phased elimination makes on the way.

    Attributes
    ----------
    exponent
        x: all estimates <theta~, a> lie within ``W_a = sqrt(2 x (sigma^2 |a|^2 / U + a' V^+ a))``, with U clients and
        V^+ of the inverse variances of the averages, but with probability `failure`.
    length, clients
        h and U of phase l.
    reward, noise
        The variance proxies of an average around the clients' means: of its rewards and of the privacy noise; in n (its
        plays), U, s (the support's size) and the bound's symbols.
    law
        Whether the noise is "Gaussian" of this variance, has "at most" this proxy, or there is "none".
    failure
        The failure probability of the good event over the whole horizon.
    width
        One width for all actions, where estimates weigh averages by their plays; in U, s, l and tau, the largest
        deviation of the noise on a sum of rewards. None for ``W_a``, with averages weighed by their variances.
    remainder
        The largest regret after phase l, for any later exploration of survivors: the action of the
        largest estimate is played to the end where twice the largest width in all rounds to come is no more. None if
        survivors are explored to the end.
    """

    exponent: sp.Expr
    length: sp.Expr
    clients: sp.Expr
    reward: sp.Expr
    noise: sp.Expr
    law: Literal["Gaussian", "at most", "none"]
    failure: sp.Expr
    width: sp.Expr | None = None
    remainder: sp.Expr | None = None


@dataclass(frozen=True)
class WidthTheorem:
    """The statements that the regret proof of optimism on released moments makes on the way.

    With G and u the sums of ``x x'`` and ``x y`` over n rounds, as released with j noises: V is G + `shift` I, with
    eigenvalues of at least `least`, theta = V^-1 u, and ``|theta - theta*|_V <= width`` at all times but with
    probability `failure`. Then an action x's estimate is off by ``width |x|_(V^-1)`` at most, its radius, and a round
    costs at most twice the radius of the action played.

    Attributes
    ----------
    shift, least
        See above; in n, j and the bound's symbols.
    width
        The width, a function of v, the lesser of ``ln det(V / least)`` and `volume`, n, j and the bound's symbols.
    volume
        An upper bound on ``ln det(G / least + I)``; infinite if that is not used.
    weight, scale
        The weight of the coordinates in which moments are released (`mechanisms.RegressionMoments`), and the deviation
        of the normal noise in each of them; 0 if there is none.
    counting
        The rounds that a release is of: "growing batches", the first of `first` rounds (rounded up) and each later one
        of the share `growth` of those before; a "tree" over the rounds, its newest full node.
    failure
        The failure probability over the whole horizon.
    """

    shift: sp.Expr
    least: sp.Expr
    width: sp.Expr
    volume: sp.Expr
    weight: float
    scale: sp.Expr
    counting: Literal["growing batches", "tree"]
    failure: sp.Expr
    first: sp.Expr = sp.S.One
    growth: float = 1.0

    def width_on(self, values: Values) -> Callable[[float, float, FloatArray], FloatArray]:
        """Return the width on an instance as a function of n, j and v."""
        function = _compiled(self.width, ())
        fixed = {str(symbol): value for symbol, value in values.items()}
        return lambda count, releases, volume: np.broadcast_to(
            function({**fixed, "n": count, "j": releases, "v": volume}), volume.shape
        )

    def spans(self, rounds: int, first: int) -> dict[int, int]:
        """Return the number of rounds in each release due within `rounds` rounds, by the round of the release."""
        if self.counting == "tree":
            return {t: t & -t for t in range(1, rounds + 1)}
        ends = [0, *(int(end) for end in released_counts(rounds, first, self.growth))]
        return {end: end - start for start, end in itertools.pairwise(ends)}


@dataclass(frozen=True)
class WeightTheorem:
    """The statements that the regret proof of exponential weights over experts makes on the way.

    Attributes
    ----------
    rate
        The rate of the sums in the exponent of a weight, in the bound's symbols.
    noisy
        True if sums are those of `algorithms.full_information.hedge.expert_counter`; else they are exact.
    """

    rate: sp.Expr
    noisy: bool


Theorem = ConfidenceTheorem | EliminationTheorem | ClickTheorem | PhaseTheorem | WidthTheorem | WeightTheorem
"""The statements of the proof of any theorem."""


def radius_on(expression: sp.Expr, values: Values, definitions: Definitions) -> Radius:
    """Return a radius on an instance as a function of n, j and x; infinite where n is 0."""
    function = _compiled(expression, definitions)
    fixed = {str(symbol): value for symbol, value in values.items()}

    def radius(count: FloatArray, releases: FloatArray, level: float | FloatArray) -> FloatArray:
        some = np.maximum(count, 1.0)
        found = function({**fixed, "n": some, "j": np.maximum(releases, 1.0), "x": level})
        return np.where(count > 0, found, np.inf)

    return radius


@functools.cache
def _compiled(
    expression: sp.Expr, definitions: Definitions
) -> Callable[[Mapping[str, float | FloatArray]], FloatArray]:
    for symbol, definition in reversed(definitions):
        if symbol != x:
            expression = expression.subs(symbol, definition)
    symbols = sorted(expression.free_symbols, key=str)
    modules = [{"FloorLog2": lambda z: int(z).bit_length() - 1}, "numpy"]
    function = sp.lambdify(symbols, expression, modules=modules)
    names = [str(symbol) for symbol in symbols]  # SymPy takes long to print one
    return lambda values: np.asarray(function(*(values[name] for name in names)), dtype=np.float64)
