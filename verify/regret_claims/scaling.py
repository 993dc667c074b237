"""The scaling of regret with ε, the gap, K or the number of arms, beside that of its bound on the same instances.

The powers of a theorem are asymptotic: at finite values there are lower-order terms, ``coth^2`` for ``1 / epsilon^2``,
logarithms. So the exponent that is fitted to mean regret is compared with the one that is fitted to the bound in the
same cells. Intervals are bootstrapped: runs are drawn again within their cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from algorithms.learner import LARGEST_EPSILON, LEAST_EPSILON, Family
from algorithms.problems import Problem, ProblemError, SettingError
from algorithms.theory.regret_bound import Instance
from mechanisms.arrays import FloatArray
from mechanisms.numerics.printed_numbers import counted_noun
from verify.regret_claims.plain_problem import plain_problem
from verify.regret_claims.simulated_regret import RegretOptions, simulated_regret
from verify.regret_claims.speaking_instances import StatedBound, smallest_horizon

_Variable = Literal["epsilon", "gap", "size", "arms"]
VARIABLES: tuple[str, ...] = get_args(_Variable)
"""The variables: epsilon; the gap between arms; K, of K + 1 arms; the number of arms, one played at a time."""

_RESAMPLED, _COVERED = 2000, 0.99
_LONGEST = {False: 1 << 15, True: 1 << 30}  # rounds; of learners that hold their actions
_LEARNT = 0.5  # of the worst regret; where there is more, nothing was learnt
_NONE = 1e-12  # of the worst regret; where there is less, it is rounding
_FEWEST = 3
_RUNS = 256  # of a cell
_MOST = 10_000  # arms of a cell


@dataclass(frozen=True)
class ScalingReport:
    """Regret over a grid of one variable, all other things equal.

    Attributes
    ----------
    learner, variable, horizon, runs, seed
        The learner's name, and the parameters of the runs.
    values
        The grid.
    means, bounds
        Mean regret and the bound in each cell; bounds are infinite without a theorem.
    learnt
        Whether regret is below half of the worst; the other cells are left out of the fit.
    exponent, interval
        The slope of log mean regret on log value, with a bootstrapped interval of 99 % (an approximation).
    bound_exponent
        The same of the bound; NaN without one, or where it is not above 0 and below the worst regret.
    """

    learner: str
    variable: _Variable
    horizon: int
    runs: int
    seed: int
    values: tuple[float, ...]
    means: tuple[float, ...]
    bounds: tuple[float, ...]
    learnt: tuple[bool, ...]
    exponent: float
    interval: tuple[float, float]
    bound_exponent: float


def fit_scaling(
    make: type[Any],
    variable: str,
    values: tuple[float, ...],
    options: RegretOptions,
    *,
    name: str = "",
    bound: StatedBound | None = None,
) -> ScalingReport:
    """Play a learner on a grid, and fit an exponent to its regret.

    Parameters
    ----------
    make, name
        The learner's class, and its name.
    variable, values
        The variable of the grid, and at least three values of it.
    options
        The options: by default 256 runs in each cell, an epsilon of 1 if that is not the variable, and the fewest
        rounds at which the bound speaks in all cells, or all that can be played.
    bound
        Its theorem, if it has one.

    Raises
    ------
    SettingError
        If the variable is unknown, or a value is out of range.
    ProblemError
        If the learner plays neither arms nor lists, learns nothing in more than all but two cells, or has no regret in
        one.

    Examples
    --------
    >>> from algorithms import CUCBBatch
    >>> options = RegretOptions(horizon=1 << 30, runs=64)
    >>> report = fit_scaling(CUCBBatch, "epsilon", (0.01, 0.02, 0.04), options)
    >>> round(report.exponent)
    -1
    """
    epsilon, horizon, runs, seed = (
        options.epsilon_or_one,
        options.horizon,
        options.runs or _RUNS,
        options.seed,
    )
    cells = [_cell(make.family, variable, value, epsilon) for value in _checked(variable, values)]
    longest = _LONGEST[hasattr(make, "committed_rounds")]
    if horizon is None:
        horizon = longest
        if bound is not None:
            spoken = [smallest_horizon(bound, Instance(*cell, longest), longest) or longest for cell in cells]
            horizon = max(spoken)
    instances = [Instance(*cell, horizon) for cell in cells]
    regrets = []
    for number, instance in enumerate(instances):
        trace = simulated_regret(make, instance, options, runs=runs, seed=len(cells) * seed + number)
        regrets.append(trace.regret[-1])
        options.progress((number + 1) / len(cells), f"played {variable} = {values[number]:g}")
    means = np.array([each.mean() for each in regrets])
    worst = np.array([each.trivial_regret for each in instances])
    if (none := means <= _NONE * worst).any():
        at = ",".join(f"{value:g}" for value, without in zip(values, none, strict=True) if without)
        raise ProblemError(
            f"{variable} = {at}: no regret within {counted_noun(horizon, 'round')} in {counted_noun(runs, 'run')}; an "
            "exponent is fitted to its logarithm: must be above 0 in each cell"
        )
    learnt = means < _LEARNT * worst
    if learnt.sum() < _FEWEST:
        raise ProblemError(
            f"{variable}={','.join(f'{value:g}' for value in values)}: something is learnt within "
            f"{counted_noun(horizon, 'round')} at {int(learnt.sum())} of these values only; at least {_FEWEST} are "
            "needed"
        )
    logs = np.log(np.array(values, dtype=np.float64))[learnt]
    exponent, low, high = _fitted(
        logs, [each for each, kept in zip(regrets, learnt, strict=True) if kept], seed
    )
    bounds = np.array([math.inf if bound is None else float(bound(each)) for each in instances])
    return ScalingReport(
        learner=name or make.__name__,
        variable=variable,  # type: ignore[arg-type]
        horizon=horizon,
        runs=runs,
        seed=seed,
        values=tuple(values),
        means=tuple(means.tolist()),
        bounds=tuple(bounds.tolist()),
        learnt=tuple(bool(each) for each in learnt),
        exponent=exponent,
        interval=(low, high),
        bound_exponent=_slope(logs, np.log(bounds[learnt]))
        if ((bounds > 0.0) & (bounds < worst))[learnt].all()
        else math.nan,
    )


def _checked(variable: str, values: tuple[float, ...]) -> tuple[float, ...]:
    """Refuse an unknown variable, and values that are out of range."""
    if variable not in VARIABLES:
        raise SettingError(f"scaling in {variable!r}: must be one of {', '.join(VARIABLES)}")
    if len(set(values)) < _FEWEST:
        raise SettingError(f"{variable} = {values!r}: must be at least {_FEWEST} different values")
    rules: Mapping[str, tuple[Callable[[float], bool], str]] = {
        "epsilon": (
            lambda value: LEAST_EPSILON <= value <= LARGEST_EPSILON,
            f"a number from {LEAST_EPSILON:g} to {LARGEST_EPSILON:g}",
        ),
        "gap": (lambda value: 0 < value < 1, "a number in (0, 1)"),
        "size": (
            lambda value: 1 <= value <= _MOST and value == int(value),
            f"a whole number from 1 to {_MOST}",
        ),
        "arms": (
            lambda value: 2 <= value <= _MOST and value == int(value),
            f"a whole number from 2 to {_MOST}",
        ),
    }
    allowed, rule = rules[variable]
    for value in values:
        if not allowed(value):
            raise SettingError(f"{variable} = {value!r}: must be {rule}")
    return values


def _cell(family: Family, variable: str, value: float, epsilon: float) -> tuple[Problem, float]:
    """Return the problem and the epsilon of a cell."""
    size = int(value) if variable == "size" else 1
    arms = int(value) if variable == "arms" else size + 1
    gap = value if variable == "gap" else 0.6
    means = np.full(arms, 0.5 - gap / 2)
    means[-size:] = 0.5 + gap / 2
    own = value if variable == "epsilon" else epsilon
    return plain_problem(family, means, size), own


def _slope(logs: FloatArray, heights: FloatArray) -> float:
    return float(np.polyfit(logs, heights, 1)[0])


def _fitted(logs: FloatArray, regrets: list[FloatArray], seed: int) -> tuple[float, float, float]:
    """Return the slope of log means, and its bootstrapped interval."""
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[1])
    # Shape (cells, resampled).
    drawn = np.stack([rng.choice(each, (_RESAMPLED, len(each))).mean(axis=1) for each in regrets])
    slopes = np.polyfit(logs, np.log(np.maximum(drawn, 1e-12)), 1)[0]
    tail = (1 - _COVERED) / 2
    return (
        _slope(logs, np.log([each.mean() for each in regrets])),
        float(np.quantile(slopes, tail)),
        float(np.quantile(slopes, 1 - tail)),
    )
