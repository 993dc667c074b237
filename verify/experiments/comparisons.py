"""Rules for statements about effects in simulations: they compare means with their standard errors.

Two means differ if they are more than three standard errors of their difference apart; nearer ones count as equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np

from algorithms.theory.regret_bound import Instance, RegretBound
from mechanisms.arrays import FloatArray
from verify.experiments.experiment import Results, Seen
from verify.experiments.simulated_runs import SimulatedRuns

_ERRORS = 3.0
_ROUNDING = 1e-12
_STRAIGHT = 0.98  # of the variance
SeenRule = Callable[[Results], Seen]


def summary(values: FloatArray) -> tuple[float, float]:
    """Return mean and standard error of one number per run; the error of a single run is infinite."""
    mean = float(values.mean())
    if values.size < 2:
        return mean, math.inf
    deviation = float(values.std(ddof=1))
    if deviation <= _ROUNDING * abs(mean):  # equal runs, summed up in another order
        return mean, 0.0
    return mean, deviation / math.sqrt(values.size)


def in_words(values: FloatArray) -> str:
    """Return a mean and its standard error."""
    mean, error = summary(values)
    return f"{mean:.4g}" + (f" ± {error:.2g}" if math.isfinite(error) else "")


def final_regret(results: Results, line: str) -> FloatArray:
    """Return the final regret of every run, at the line's last parameter value."""
    return results[line][-1][1].final


def is_larger(first: FloatArray, second: FloatArray) -> bool | None:
    """Return True if the first mean is larger than the second, False if smaller, None if neither is significant."""
    (mean, error), (other, other_error) = summary(first), summary(second)
    difference, width = mean - other, _ERRORS * math.hypot(error, other_error)
    return None if not abs(difference) > width else difference > 0


def _conjunction(told: Sequence[bool | None]) -> bool | None:
    """Return True if all are True, False if one is False, None otherwise."""
    return False if False in told else (None if None in told else True)


def has_falling_order(*lines: str) -> SeenRule:
    """Return the rule that the lines end in falling order of regret."""

    def judge(results: Results) -> Seen:
        values = [final_regret(results, line) for line in lines]
        told = [is_larger(before, after) for before, after in pairwise(values)]
        words = ", ".join(f"{line} {in_words(value)}" for line, value in zip(lines, values, strict=True))
        return Seen(_conjunction(told), words)

    return judge


def has_less_regret(line: str, other: str) -> SeenRule:
    """Return the rule that a line has less final regret than another at every value of the parameter."""

    def judge(results: Results) -> Seen:
        told = [
            is_larger(theirs.final, own.final)
            for (_, own), (_, theirs) in zip(results[line], results[other], strict=True)
        ]
        words = f"{line} {in_words(final_regret(results, line))}, {other} {in_words(final_regret(results, other))}"
        if len(told) > 1:
            less, more = told.count(True), told.count(False)
            words = f"less at {less} of {len(told)} values, more at {more}; at the last: {words}"
        return Seen(_conjunction(told), words)

    return judge


def within(line: str, other: str, factor: float) -> SeenRule:
    """Return the rule that a line's final regret is at most `factor` times another's."""

    def judge(results: Results) -> Seen:
        first, second = final_regret(results, line), final_regret(results, other)
        told = is_larger(first, factor * second)
        words = (
            f"{line} {in_words(first)} against {in_words(second)} of {other}: "
            f"{first.mean() / second.mean():.3g} times, where up to {factor:g} counts as comparable"
        )
        return Seen(None if told is None else not told, words)

    return judge


def near_optimum(line: str, share: float) -> SeenRule:
    """Return the rule that the return per round ends at this share of the optimum or above."""

    def judge(results: Results) -> Seen:
        runs = results[line][-1][1]
        rounds = float(runs.trace.rounds[-1])
        optimum = (runs.trace.regret[-1] + runs.trace.reward[-1]).mean() / rounds
        reached = runs.trace.reward[-1] / rounds / optimum
        told = is_larger(reached, np.full(reached.size, share))
        ends = f"{line} ends at {100 * reached.mean():.1f} % of the best return ({optimum:.4g})"
        words = f"{ends}; {100 * share:g} % counts"
        return Seen(told, words)

    return judge


def decreases_along(line: str) -> SeenRule:
    """Return the rule that final regret falls along the parameter: never rises, and is less at the end."""

    def judge(results: Results) -> Seen:
        points = sorted(results[line], key=lambda point: point[0])
        rises = [x for (_, a), (x, b) in pairwise(points) if is_larger(b.final, a.final)]
        less = is_larger(points[0][1].final, points[-1][1].final)
        words = (
            f"{line} goes from {in_words(points[0][1].final)} at {points[0][0]:g} to "
            f"{in_words(points[-1][1].final)} at {points[-1][0]:g}"
        )
        if rises:
            words += f", and rises on the way, at {', '.join(f'{x:g}' for x in rises[:5])}"
        return Seen(False if rises else less, words)

    return judge


def is_linear_in(line: str, x: Callable[[float], float]) -> SeenRule:
    """Return the rule that final regret is a straight line in a function of the parameter, by its share of variance."""

    def judge(results: Results) -> Seen:
        places = np.array([x(value) for value, _ in results[line]])
        means = np.array([runs.final.mean() for _, runs in results[line]])
        slope, offset = np.polyfit(places, means, 1)
        explained = 1.0 - np.sum((means - slope * places - offset) ** 2) / np.sum((means - means.mean()) ** 2)
        words = (
            f"{line}: a straight line explains {100 * explained:.1f} % of the variance ({100 * _STRAIGHT:g} % count), "
            f"slope {slope:.4g}, from {means.min():.4g} to {means.max():.4g}"
        )
        return Seen(bool(explained >= _STRAIGHT), words)

    return judge


def logarithmic(line: str) -> SeenRule:
    """Return the rule that regret grows like ln t: the last doubling of t adds at most 1.3 times that of the previous.

    Of ln t each doubling adds the same, of t twice as much.
    """

    def judge(results: Results) -> Seen:
        runs = results[line][-1][1]
        second, first = _regret_growth(runs, 1.0, 2.0), _regret_growth(runs, 2.0, 4.0)
        words = f"{line}: the last doubling of the rounds adds {in_words(second)}, the one before {in_words(first)}"
        more = is_larger(second, 1.3 * first)
        return Seen(None if more is None else not more, words)

    return judge


def levels(line: str) -> SeenRule:
    """Return the rule that regret / ln n has stopped: it moves by a tenth at most in the last third of ln n."""

    def judge(results: Results) -> Seen:
        trace = results[line][-1][1].trace
        before = int(np.searchsorted(trace.rounds, trace.rounds[-1] ** (2 / 3)))
        means = [float(trace.regret_mean[i]) / math.log(trace.rounds[i]) for i in (before, -1)]
        words = (
            f"{line}: {means[0]:.4g} after {trace.rounds[before]:,} rounds, {means[1]:.4g} after "
            f"{trace.rounds[-1]:,}"
        )
        return Seen(abs(means[1] - means[0]) <= 0.1 * means[1], words)

    return judge


def below_bounds(played: Iterable[tuple[str, FloatArray, RegretBound, Instance]]) -> Seen:
    """Return True if the final regret of runs is below their bounds: of each name, the runs, the bound, the instance.

    A bound above the largest possible regret is left out, as no learner could fail it; without any other the comparison
    is vacuous.
    """
    words, told = [], []
    for name, final, bound, instance in played:
        value, largest = bound.evaluate(instance), instance.trivial_regret
        vacuous = value >= largest
        told += [] if vacuous else [float(final.max()) <= value]
        words.append(f"{name} {final.max():,.0f} of {value:,.0f}" + (" (vacuous)" if vacuous else ""))
    said = f"largest regret of a run, and bound: {', '.join(words)}"
    return Seen(_conjunction(told), said) if told else Seen(None, said, vacuous=True)


def all_of(*rules: SeenRule) -> SeenRule:
    """Return the rule that all of these hold."""

    def judge(results: Results) -> Seen:
        found = [rule(results) for rule in rules]
        return Seen(_conjunction([each.holds for each in found]), "; ".join(each.words for each in found))

    return judge


def _regret_growth(runs: SimulatedRuns, last_part: float, first_part: float) -> FloatArray:
    """Return the growth of every run's regret between the shares 1/first_part and 1/last_part of the rounds."""
    rounds = runs.trace.rounds
    horizon = float(rounds[-1])
    return np.array(
        [
            np.interp(horizon / last_part, rounds, regret) - np.interp(horizon / first_part, rounds, regret)
            for regret in runs.trace.regret.T
        ]
    )
