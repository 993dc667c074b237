"""Figures of the cascading bandits paper."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import numpy as np

from algorithms.problems import Value
from mechanisms import Box, Gaussian, Sensitivity
from verify.experiments.comparisons import (
    SeenRule,
    all_of,
    decreases_along,
    has_falling_order,
    has_less_regret,
    logarithmic,
    within,
)
from verify.experiments.experiment import (
    Experiment,
    Figure,
    FigureAxis,
    FigureLine,
    PaperStatement,
    PlotAxes,
    Results,
    Scale,
    Seen,
    Size,
)
from verify.experiments.lines import over_rounds, parameter_sweep

_PAPER = "cascading bandits paper"
_DELTA = 1e-3
_SCALE = 0.01
_SCALED: Mapping[str, Value] = {"noise_multiplier": _SCALE}
_SETTING = (
    "L = 20 items, K = 4 positions, δ = 10⁻³, T = 100,000, 10 repetitions unless said otherwise (ours stand below). "
    "The item means are never stated: here K items have attraction 0.2 and the others 0.05. "
)
_NOISE = (
    "As in the paper's experiments the published local learners' noise is multiplied by 0.01 and their radius is not: "
    "the lines with that mark are private in no useful sense. "
)
_NOT_PRIVATE = (
    "The published local learners send min(C, K) numbers, which gives the click away: their claim is false for every "
    "ε, whatever the noise. The certified learner sends a message of fixed length, with all the noise that ε asks for."
)
_RADII = (
    "At K = 4 the radii of the two published learners nearly tie, and with noise x 0.01 the radius is all that is "
    "left of privacy: 19.6 / ε against 18.5 / ε times √(ln t / T_e). Gaussian noise itself is below Laplace noise "
    "only for K > ln(1.25 / δ) = 7.1."
)
_NOT_YET = (
    "The radius √(ln t / T_e) K √24 / ε exceeds the gap of 0.15 for as long as an item has been examined fewer than "
    "24 K² ln t / (0.15 ε)² times: at ε = 0.2 no run of 100,000 rounds comes that far, and regret is still linear."
)


def _local(size: Size, epsilon: float, **own: Value) -> list[FigureLine]:
    """Return the published local learners as their experiments run them, and the certified one."""
    scaled = own | dict(_SCALED)
    return [
        over_rounds(
            name, label, learner, "cascade", size, epsilon=epsilon, delta=_DELTA,
            settings=scaled if learner.startswith("published/") else own, colour=colour,
        )
        for name, label, learner, colour in (
            ("Laplace", "Laplace, Algorithm 2, noise x 0.01", "published/cascade-ucb-ldp-laplace", 0),
            ("Gaussian", "Gaussian, Algorithm 3, noise x 0.01", "published/cascade-ucb-ldp-gaussian", 1),
            ("RR certified", "Randomized response", "cascade-ucb-rr", 2),
        )
    ]  # fmt: skip


def _non_private(size: Size, **settings: Value) -> FigureLine:
    return over_rounds(
        "non-private", "CascadeUCB1, no privacy", "cascade-ucb1", "cascade", size, settings=settings
    )


def _lines_at(size: Size, epsilon: float, **settings: Value) -> tuple[FigureLine, ...]:
    return (_non_private(size, **settings), *_local(size, epsilon, **settings))


def _figure_1e(size: Size) -> tuple[FigureLine, ...]:
    """Return the published learners at every value, the certified one at eleven."""
    epsilons = (2.0 * np.arange(1, size.points + 1) / size.points).round(10).tolist()
    chosen = epsilons[:: max(1, size.points // 10)] + epsilons[-1:]
    few = sorted(set(chosen))
    return (
        *parameter_sweep([epsilons[0], epsilons[-1]], lambda _: [_non_private(size)]),
        *parameter_sweep(epsilons, lambda epsilon: _local(size, epsilon)[:2]),
        *parameter_sweep(few, lambda epsilon: _local(size, epsilon)[2:]),
    )


def _central(
    name: str, words: str, size: Size, epsilon: float, colour: int, **settings: Value
) -> list[FigureLine]:
    """Return Algorithm 1 and its certified twin."""
    return [
        over_rounds(
            f"{name}{mark}", f"{label}, {words}", learner, "cascade", size, epsilon=epsilon, delta=_DELTA,
            settings=settings, colour=colour,
        )
        for mark, label, learner in (
            ("", "Algorithm 1", "published/cascade-ucb-hybrid"),
            (" certified", "Batches", "cascade-ucb-batch"),
        )
    ]  # fmt: skip


def _figure_1f(size: Size) -> tuple[FigureLine, ...]:
    lines = [_non_private(size)]
    for colour, epsilon in enumerate((0.1, 0.5, 1.0, 2.0)):
        lines += _central(f"ε={epsilon:g}", f"ε = {epsilon:g}", size, epsilon, colour)
    return tuple(lines)


def _figure_1g(size: Size) -> tuple[FigureLine, ...]:
    lines = []
    for colour, items in enumerate((8, 12, 16, 20)):
        lines += _central(f"L={items}", f"L = {items}", size, 1.0, colour, items=items)
    return tuple(lines)


def _semi_bandit(size: Size, epsilon: float) -> tuple[FigureLine, ...]:
    line = partial(over_rounds, problem="top-k", size=size, epsilon=epsilon, delta=_DELTA)
    published = "published/cucb-ldp-gaussian"
    return (
        line("non-private", "CUCB, no privacy", "cucb"),
        line("CUCB", "CUCB, Algorithm 4, noise x 0.01", published, settings=_SCALED),
        line("CUCB certified", "CUCB, Gaussian", "cucb-ldp-gaussian"),
        line("bit certified", "CUCB, one bit of a user", "cucb-ldp-bit", colour=1),
    )


def _claim(epsilon: float, positions: int) -> PaperStatement:
    """Return the paper's privacy claim, as not confirmed, with the ε that its scaled noise gives.

    That ε is of the case in which all positions are always sent; two users' click vectors differ in two coordinates by
    1 each.
    """
    laplace = 2.0 * epsilon / (_SCALE * positions)
    printed = Gaussian.classical(epsilon, _DELTA, sensitivity=Box(0, 1, positions).sensitivity)
    clicks = Sensitivity(2.0, math.sqrt(2.0), 1.0)
    gaussian = Gaussian(sigma=_SCALE * printed.sigma, sensitivity=clicks, delta=_DELTA).epsilon
    left = f"noise x {_SCALE} leaves Laplace {laplace:.3g} and Gaussian {gaussian:.3g}"
    words = f"{left}, even if all positions were always sent"
    return PaperStatement(
        f"the private learners are locally private at ε = {epsilon:g}",
        lambda results: Seen(False, words),
        _NOT_PRIVATE,
    )


_CURVES: dict[Scale, Size] = {"quick": Size(10_000, 64), "paper": Size(100_000, 64)}


def _local_statements(epsilon: float) -> tuple[PaperStatement, ...]:
    """Return the paper's statements on one panel of local learners."""
    return (
        PaperStatement(
            "Laplace has the most regret", has_falling_order("Laplace", "Gaussian", "non-private"), _RADII
        ),
        PaperStatement(
            "the private learners' regret is of order log T",
            all_of(logarithmic("Laplace"), logarithmic("Gaussian")),
            _NOT_YET,
        ),
        _claim(epsilon, 4),
        PaperStatement(
            "(not in the paper) the certified learner, with all its noise, has no more regret",
            has_less_regret("RR certified", "Laplace"),
            "It pays for noise a hundred times larger; where it loses, that is the price of being private.",
        ),
    )


def _far(line: str, other: str, factor: float) -> SeenRule:
    """Return the rule that `within` does not hold."""

    def judge(results: Results) -> Seen:
        found = within(line, other, factor)(results)
        return Seen(None if found.holds is None else not found.holds, found.words)

    return judge


CASCADE: tuple[Experiment, ...] = (
    *(
        Figure(
            f"cascade/fig1{letter}",
            f"local privacy, ε = {epsilon:g}",
            f"{_PAPER}, Figure 1({letter})",
            "Regret of the Laplace, the Gaussian and the non-private learner: Laplace most, all of order log T.",
            f"{_SETTING}ε = {epsilon:g}. {_NOISE}",
            _CURVES,
            partial(_lines_at, epsilon=epsilon),
            _local_statements(epsilon),
        )
        for letter, epsilon in (("a", 0.2), ("b", 0.5), ("c", 1.0), ("d", 2.0))
    ),
    Figure(
        "cascade/fig1e",
        "local privacy, regret against ε",
        f"{_PAPER}, Figure 1(e)",
        "Final regret for ε in steps of 0.02 up to 2: it decays quickly and comes near that without privacy, sooner "
        "for the Gaussian learner.",
        f"{_SETTING}{_NOISE}The certified learner is simulated at eleven values.",
        {"quick": Size(3_000, 64, 5), "paper": Size(100_000, 64, 100)},
        _figure_1e,
        (
            PaperStatement(
                "regret falls in ε", all_of(decreases_along("Laplace"), decreases_along("Gaussian")), _NOT_YET
            ),
            PaperStatement(
                "at ε = 2 it is comparable to that without privacy",
                all_of(within("Laplace", "non-private", 2.0), within("Gaussian", "non-private", 2.0)),
                _NOT_YET,
            ),
            PaperStatement("the Gaussian learner has less", has_less_regret("Gaussian", "Laplace"), _RADII),
        ),
        axes=PlotAxes(FigureAxis("ε", of=float)),
    ),
    Figure(
        "cascade/fig1f",
        "central privacy, four values of ε",
        f"{_PAPER}, Figure 1(f)",
        "Regret of Algorithm 1 at ε = 0.1, 0.5, 1 and 2: the larger ε, the closer to the learner without privacy.",
        f"{_SETTING}The constant c₁ of Algorithm 1 is not stated: 1 here; its noise is not scaled.",
        {"quick": Size(1_500, 64), "paper": Size(100_000, 64)},
        _figure_1f,
        (
            PaperStatement(
                "regret falls in ε",
                has_falling_order("ε=0.1", "ε=0.5", "ε=1", "ε=2"),
                "The margin 3 c₁ L ln^1.5(n) ln t / (ε T_e) is above 1 until an item was examined some 10⁴ / ε times "
                "at T = 10⁵: until then the items are shown in turns at every ε, and regret is the same.",
            ),
            PaperStatement(
                "at ε = 2 it is close to that without privacy",
                within("ε=2", "non-private", 2.0),
                "With c₁ = 1 nothing is learnt within these rounds; the paper must have scaled the noise, or c₁.",
            ),
            PaperStatement(
                "(not in the paper) the certified twin has less regret at every ε",
                all_of(*(has_less_regret(f"ε={e} certified", f"ε={e}") for e in ("0.1", "0.5", "1", "2"))),
                "At the smallest ε neither of the two has begun to learn.",
            ),
        ),
    ),
    Figure(
        "cascade/fig1g",
        "central privacy, four numbers of items",
        f"{_PAPER}, Figure 1(g)",
        "Regret of Algorithm 1 for L = 8, 12, 16 and 20 items: the more items, the more regret.",
        f"{_SETTING}ε is not stated for this panel: 1 here, as c₁.",
        {"quick": Size(1_500, 64), "paper": Size(100_000, 64)},
        _figure_1g,
        (
            PaperStatement("regret grows in L", has_falling_order("L=20", "L=16", "L=12", "L=8")),
            PaperStatement(
                "(not in the paper) the same for the certified twin",
                has_falling_order("L=20 certified", "L=16 certified", "L=12 certified", "L=8 certified"),
            ),
        ),
    ),
    *(
        Figure(
            f"cascade/fig1{letter}",
            f"combinatorial semi-bandit, local privacy, ε = {epsilon:g}",
            f"{_PAPER}, Figure 1({letter})",
            "Regret of private and plain CUCB: the gap is large at ε = 0.2 and small at ε = 2.",
            f"{_SETTING}Super arms of 4 of 20 arms with the same means, all outcomes seen. ε = {epsilon:g}. {_NOISE}",
            _CURVES,
            partial(_semi_bandit, epsilon=epsilon),
            (
                PaperStatement("private CUCB has more regret", has_falling_order("CUCB", "non-private")),
                PaperStatement(
                    "at ε = 2 the gap is small" if epsilon > 1 else "the gap is large",
                    within("CUCB", "non-private", 2.0) if epsilon > 1 else _far("CUCB", "non-private", 2.0),
                    "The radius has (2 / ε) √(2 K ln(1.25 / δ)) = 7.6 at ε = 2 beside the √1.5 of CUCB: its square, "
                    "about 39 times that of CUCB, is what regret is multiplied by once both have learnt.",
                ),
            ),
        )
        for letter, epsilon in (("h", 0.2), ("i", 2.0))
    ),
    *(
        Figure(
            f"cascade/fig2{letter}",
            f"local privacy, ε = 0.2, K = {positions} positions",
            f"{_PAPER}, Figure 2({letter})",
            "Regret at ε = 0.2 for K = 4, 8, 12 and 16: the larger K, the larger the gap between Laplace and Gaussian.",
            f"{_SETTING}K = {positions}, ε = 0.2. {_NOISE}",
            _CURVES,
            partial(_lines_at, epsilon=0.2, positions=positions),
            (
                PaperStatement(
                    "Laplace has more regret than Gaussian",
                    has_falling_order("Laplace", "Gaussian"),
                    f"{_RADII}\n{_NOT_YET}",
                ),
                _claim(0.2, positions),
            ),
        )
        for letter, positions in (("a", 4), ("b", 8), ("c", 12), ("d", 16))
    ),
)
"""The experiments of the paper, in its order."""
