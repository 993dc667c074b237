"""Logs of K-armed bandits: actions, the probabilities with which they were taken, and rewards."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from algorithms.problems import Arms, ProblemError
from mechanisms.arrays import FloatArray, IntArray

_OPEN_BANDIT = ("item_id", "click", "propensity_score")
_PLAIN = ("action", "reward", "propensity")
_ROUNDED = 0.01  # propensities are often written with two or three digits
_BEYOND_CHANCE = 6.0


@dataclass(frozen=True, eq=False)
class LoggedBandit:
    """Events of a logging policy, independent and identically distributed but for the action that it took.

    Parameters
    ----------
    actions
        The action of each event, from 0 on; (events,).
    rewards
        The reward of the action, in [0, 1]; (events,).
    propensities
        The probability with which the logging policy took this action in this event; (events,).
    names
        The names of actions 0, 1, ...; each is taken in at least one event.

    Raises
    ------
    ProblemError
        If there is no event, the shapes differ, a number is out of range, an action was never taken, or the
        propensities are not the log's: ``1 / propensity`` averages to the number of actions.
    """

    actions: IntArray
    rewards: FloatArray
    propensities: FloatArray
    names: tuple[str, ...]
    structure: Arms = field(init=False)

    def __post_init__(self) -> None:
        given = np.asarray(self.actions)
        if given.size and given.dtype.kind not in "iu":
            raise ProblemError(f"actions of type {given.dtype}: must be whole numbers, from 0 on")
        actions, rewards = given.astype(np.int64), np.array(self.rewards, dtype=np.float64)
        propensities = np.array(self.propensities, dtype=np.float64)
        if not actions.size or actions.ndim != 1 or not actions.shape == rewards.shape == propensities.shape:
            raise ProblemError(
                f"actions, rewards, propensities of shapes {actions.shape}, {rewards.shape}, {propensities.shape}: "
                "must be one of each for every event, and at least one event"
            )
        _check("rewards", rewards, (rewards >= 0.0) & (rewards <= 1.0), "in [0, 1]")
        above = (propensities > 0.0) & (propensities <= 1.0)
        _check("propensities", propensities, above, "above 0 and at most 1")
        if not np.array_equal(np.unique(actions), np.arange(len(self.names))):
            raise ProblemError(f"actions: must be 0 to {len(self.names) - 1}, each in at least one event")
        _check_propensities(propensities, len(self.names))
        for name, values in (("actions", actions), ("rewards", rewards), ("propensities", propensities)):
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        object.__setattr__(self, "structure", Arms(len(self.names)))

    @property
    def events(self) -> int:
        """Number of events."""
        return int(self.actions.size)

    @property
    def least_propensity(self) -> float:
        """The smallest propensity of an event."""
        return float(self.propensities.min())

    @property
    def mean_reward(self) -> float:
        """Mean reward of the logging policy per event."""
        return float(self.rewards.mean())


def read_log(file: str | Path, *, position: int | None = None) -> LoggedBandit:
    """Read a log from a CSV file.

    Columns are ``action``, ``reward``, ``propensity``; or those of the Open Bandit Dataset: ``item_id``, ``click``,
    ``propensity_score``, ``position``. Other columns are not read.

    Parameters
    ----------
    file
        The file, with a line of column names.
    position
        For the Open Bandit Dataset, the position of the events to read. Without it, the position is a context that the
        learner does not see.

    Raises
    ------
    ProblemError
        If a column is missing (without propensities no other policy can be evaluated), or as `LoggedBandit`;
        lines are named.
    OSError
        If the file cannot be read.
    """
    with Path(file).open(newline="", encoding="utf-8-sig") as opened:
        rows = csv.reader(opened)
        try:
            header = next(rows, [])
            return _parse_log(str(file), header, rows, position)
        except (UnicodeDecodeError, csv.Error) as error:
            raise ProblemError(f"{file}: is no CSV file in UTF-8 ({error})") from None


def _parse_log(
    file: str, header: Sequence[str], rows: Iterable[list[str]], position: int | None
) -> LoggedBandit:
    columns = _columns(file, header)
    for name in (*columns, "position"):
        if header.count(name) > 1:
            raise ProblemError(f"{file}: has {header.count(name)} columns {name}: must have one")
    at = [header.index(name) for name in columns]
    place = None
    if position is not None:
        if columns is not _OPEN_BANDIT or "position" not in header:
            raise ProblemError(f"position = {position}: {file} has no column position of an Open Bandit log")
        place = header.index("position")
    labels: list[str] = []
    numbers: list[tuple[float, float]] = []
    for line, row in enumerate(rows, start=2):
        if not row:
            continue
        if len(row) != len(header):
            raise ProblemError(f"{file}:{line}: has {len(row)} values, the first line {len(header)} names")
        if place is not None:
            own = _float(row[place])
            _check_cell(row[place], f"{file}:{line}: position", math.isfinite(own), "of a place")
            if own != position:
                continue
        label, reward, propensity = (row[i].strip() for i in at)
        if not label:
            raise ProblemError(f"{file}:{line}: {columns[0]} = '': must name the action that was taken")
        labels.append(label)
        earned, chance = _float(reward), _float(propensity)
        _check_cell(reward, f"{file}:{line}: {columns[1]}", 0.0 <= earned <= 1.0, "in [0, 1]")
        _check_cell(propensity, f"{file}:{line}: {columns[2]}", 0.0 < chance <= 1.0, "above 0 and at most 1")
        numbers.append((earned, chance))
    if not labels:
        raise ProblemError(f"{file}: has no events{'' if position is None else f' at position {position}'}")
    names = tuple(sorted(set(labels), key=_in_order))
    number_of = {name: number for number, name in enumerate(names)}
    rewards, propensities = np.array(numbers).T
    try:
        return LoggedBandit(np.array([number_of[label] for label in labels]), rewards, propensities, names)
    except ProblemError as error:
        raise ProblemError(f"{file}: {error}") from None


def _columns(file: str, header: Sequence[str]) -> tuple[str, str, str]:
    found = [columns for columns in (_OPEN_BANDIT, _PLAIN) if set(columns) <= set(header)]
    if len(found) > 1:
        raise ProblemError(
            f"{file}: has the columns {', '.join(_PLAIN)} and {', '.join(_OPEN_BANDIT)}: which of them are meant?"
        )
    if found:
        return found[0]
    rule = f"must be {', '.join(_PLAIN)}, or {', '.join(_OPEN_BANDIT)} (Open Bandit), separated by commas"
    for *needed, propensity in (_OPEN_BANDIT, _PLAIN):
        if set(needed) <= set(header):
            raise ProblemError(
                f"{file}: no column {propensity}: without the probability with which each logged action was taken "
                "nothing can be said of what others earn; where all were taken alike it is 1 / the number of actions"
            )
    raise ProblemError(f"{file}: columns are {', '.join(header) or 'none'}; {rule}")


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _check_cell(text: str, where: str, right: bool, rule: str) -> None:
    if not right:
        raise ProblemError(f"{where} = {text!r}: must be a number {rule}")


def _in_order(name: str) -> tuple[int, int, str]:
    """Whole numbers first, by their value."""
    return (0, int(name), name) if name.isascii() and name.isdigit() else (1, 0, name)


def _check(name: str, values: FloatArray, right: npt.NDArray[np.bool_], rule: str) -> None:
    wrong = np.flatnonzero(~right)
    if wrong.size:
        raise ProblemError(f"{name}[{wrong[0]}] = {values[wrong[0]]}: must be {rule}")


def _check_propensities(propensities: FloatArray, actions: int) -> None:
    """Refuse propensities that are another policy's: the mean of ``1 / p`` over a log is its number of actions."""
    with np.errstate(over="ignore", invalid="ignore"):  # of the least propensities: nothing is known then
        inverse = 1.0 / propensities
        mean = float(inverse.mean())
        error = float(inverse.std()) / math.sqrt(inverse.size)
    if abs(mean - actions) > _ROUNDED * actions + _BEYOND_CHANCE * error:
        raise ProblemError(
            f"propensities: 1 / propensity averages to {mean:.4g} +- {error:.2g}, but must to the number of actions, "
            f"{actions}: they are not the probabilities with which these actions were taken"
        )
