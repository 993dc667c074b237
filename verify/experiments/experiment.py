"""A figure or a table of a paper: lines of configurations, axes, and the paper's statements about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.parameters import ParameterError
from verify.experiments.configuration import Configuration
from verify.experiments.simulated_runs import SimulatedRuns

LineRole = Literal["baseline", "published", "certified", "own"]
Scale = Literal["quick", "paper"]


@dataclass(frozen=True)
class Size:
    """The size of a simulation.

    Attributes
    ----------
    horizon, runs
        Rounds of a run, and runs of each configuration.
    points
        Number of values of the parameter on the horizontal axis.
    """

    horizon: int
    runs: int
    points: int = 0


@dataclass(frozen=True)
class FigureLine:
    """A line of a figure, or one row of a table that is simulated.

    Attributes
    ----------
    name
        A short name within the experiment.
    label
        For the legend.
    role
        Whether it is a baseline without privacy, an algorithm as its paper prints it, a certified learner, or a user's.
    points
        One configuration, or one for each value of the parameter on the horizontal axis.
    colour
        Lines of one colour belong together: an algorithm as published and its certified twin.
    """

    name: str
    label: str
    role: LineRole
    points: tuple[tuple[float, Configuration], ...]
    colour: int = 0


Results = Mapping[str, Sequence[tuple[float, SimulatedRuns]]]
"""The simulated runs of every line, by its name, at each parameter value."""


@dataclass(frozen=True)
class Quantity:
    """The quantity of a run that a figure shows.

    Attributes
    ----------
    label
        For the axis, units included.
    of
        Function from rounds (checkpoints, 1), regret and reward (checkpoints, runs) to the quantity.
    more_is_better
        True if a higher line is the better learner.
    """

    label: str
    of: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
    more_is_better: bool = False

    def values(self, runs: SimulatedRuns) -> FloatArray:
        """Return the quantity at every checkpoint of every run, (checkpoints, runs)."""
        rounds = runs.trace.rounds[:, np.newaxis].astype(np.float64)
        return self.of(rounds, runs.trace.regret, runs.trace.reward)


REGRET = Quantity("cumulative regret", lambda rounds, regret, reward: regret)
REGRET_PER_ROUND = Quantity("regret per round", lambda rounds, regret, reward: regret / rounds)
RETURN = Quantity(
    "expected return per round", lambda rounds, regret, reward: reward / rounds, more_is_better=True
)
REGRET_OVER_LOG = Quantity(
    "regret / ln n", lambda rounds, regret, reward: regret / np.maximum(np.log(rounds), np.log(2.0))
)


@dataclass(frozen=True)
class FigureAxis:
    """The horizontal axis.

    Attributes
    ----------
    label
        With units.
    logarithmic
        Its scale.
    of
        Function from the value of a configuration's parameter to its place; None if the axis has the rounds.
    """

    label: str
    logarithmic: bool = False
    of: Callable[[float], float] | None = None


LOG_ROUNDS = FigureAxis("round n", logarithmic=True)


@dataclass(frozen=True)
class PlotAxes:
    """The axes of a figure, and marks beside its lines.

    Attributes
    ----------
    x, y
        The horizontal axis, and the quantity drawn against it.
    log_y
        Whether the vertical axis is logarithmic.
    band
        The shaded band around a mean: two standard errors, or one standard deviation of the runs, as in the paper.
    optimum
        Whether the best reward of a round is drawn, as a horizontal line.
    """

    x: FigureAxis = FigureAxis("round t")
    y: Quantity = REGRET
    log_y: bool = False
    band: Literal["± 2 standard errors", "± standard deviation"] = "± 2 standard errors"
    optimum: bool = False


@dataclass(frozen=True)
class Seen:
    """The result of a rule: True, False or not significant, with its numbers.

    Attributes
    ----------
    says
        The paper's statement that the rule tests; "" where the rule does not know it.
    holds
        None if the runs do not decide it.
    words
        The numbers behind it.
    vacuous
        True if the rule cannot fail here, so that it is no test.
    """

    says: str = field(default="", kw_only=True)
    holds: bool | None
    words: str
    vacuous: bool = False

    def __post_init__(self) -> None:
        if self.vacuous and self.holds is not None:
            raise ParameterError(f"holds = {self.holds!r}: must be None of a vacuous statement")

    @property
    def result(self) -> str:
        """The result in a word or two."""
        if self.vacuous:
            return "vacuous"
        return {True: "agrees", False: "differs", None: "not significant"}[self.holds]


@dataclass(frozen=True)
class PaperStatement:
    """A paper's statement about its figure or table, with the rule that tests it on our simulations.

    Attributes
    ----------
    says
        The statement in the paper.
    seen
        The rule: from the simulated results to whether the statement is seen.
    why
        The reasons for a difference between the two, for the report: one on each line.
    """

    says: str
    seen: Callable[[Results], Seen]
    why: str = ""

    def judge(self, results: Results) -> Seen:
        """Return the result of the rule, with the statement."""
        return replace(self.seen(results), says=self.says)


@dataclass(frozen=True)
class Experiment:
    """A figure or a table of a paper.

    Attributes
    ----------
    name
        As in ``matroid/fig2a``.
    title
        One line.
    source
        Paper, number, page or section.
    shows
        The content of the figure or table, in words.
    setting
        The settings: those of the paper, and our choices where it leaves them open.
    sizes
        The size of the simulation at each scale.
    lines
        Function from a size to the lines; by default nothing is simulated.
    statements
        The paper's statements about it.
    takes_data
        Whether the problem is made of data that the user has to bring; `lines` then plays a synthetic stand-in.
    """

    name: str
    title: str
    source: str
    shows: str
    setting: str
    sizes: Mapping[Scale, Size] = field(default_factory=lambda: {"quick": Size(1, 1), "paper": Size(1, 1)})
    lines: Callable[[Size], tuple[FigureLine, ...]] = lambda size: ()
    statements: tuple[PaperStatement, ...] = ()
    takes_data: bool = False


@dataclass(frozen=True)
class Figure(Experiment):
    """A figure, drawn in its `axes`."""

    axes: PlotAxes = PlotAxes()


@dataclass(frozen=True)
class TableContent:
    """A table.

    Attributes
    ----------
    columns, rows
        Cells as text.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, str]]) -> TableContent:
        """Return the table of rows that have their cells by the names of the columns."""
        return cls(tuple(rows[0]), tuple(tuple(row.values()) for row in rows))


@dataclass(frozen=True)
class PaperTable(Experiment):
    """A table.

    Attributes
    ----------
    content
        Function from the simulated runs, and the lines, to the cells.
    """

    content: Callable[[Results, tuple[FigureLine, ...]], TableContent] = field(kw_only=True)
