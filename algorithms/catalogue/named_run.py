"""Runs of learners that are known by name, begun and gone on with without a line of Python."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from accountant import Accountant, Gate
from accountant.data_files import DataFileError, from_json
from algorithms.catalogue.structured_entries import learners
from algorithms.durable.durable_run import DurableRun
from algorithms.durable.run_folder import kept_in
from algorithms.problems import Value, build_problem, known_name, problems
from algorithms.structured_learner import StructuredLearner

_KEPT = "learner"
_FORMAT = "dpwitness-learner-1"

Learner = StructuredLearner[Any]


@dataclass(frozen=True)
class NamedLearner:
    """A learner of the catalogue with all that it is built of.

    Attributes
    ----------
    learner, problem
        Their names; of the problem only the structure is used.
    epsilon, delta
        The learner's; None for a delta that it does not take.
    horizon
        For how many rounds its regret bound is.
    settings
        The problem's and the learner's own.

    Raises
    ------
    ValueError
        If a name or a setting is unknown or out of range, the learner does not play the problem, or takes a delta and
        none is given.
    """

    learner: str
    problem: str
    epsilon: float
    horizon: int
    delta: float | None = None
    settings: Mapping[str, Value] | None = None

    def __post_init__(self) -> None:
        self._builder()
        taken = "delta" in inspect.signature(learners[self.learner].make).parameters
        if taken is (self.delta is None):
            rule = "must be given: the learner's claim has one" if taken else "must not be given: it has none"
            raise ValueError(f"delta={self.delta!r}: {rule} ({self.learner})")

    def __call__(self, gate: Gate) -> Learner:
        """Return the learner on a gate."""
        return cast("Learner", self._builder()(gate))

    def _builder(self) -> Any:
        entry = learners[known_name("learner", self.learner, learners)]
        of_problem = {
            parameter.name for parameter in problems[known_name("problem", self.problem, problems)].parameters
        }
        given = dict(self.settings or {})
        problem = build_problem(
            self.problem, {key: value for key, value in given.items() if key in of_problem}
        )
        own = {key: value for key, value in given.items() if key not in of_problem}
        delta = {} if self.delta is None else {"delta": self.delta}
        return entry.build(problem, epsilon=self.epsilon, horizon=self.horizon, settings=own, **delta)


def begin_named_run(folder: str | Path, learner: NamedLearner, accountant: Accountant) -> DurableRun[Learner]:
    """Begin a run in a folder that knows its learner by name.

    Raises
    ------
    ValueError
        If the learner starts on the outcomes of all arms; also as `DurableRun.save`.
    OSError
        As `DurableRun.save`.
    """
    run = DurableRun(learner, accountant)
    try:
        if hasattr(run.learner, "observe_initial"):
            raise ValueError(
                f"learner={learner.learner!r}: starts on the outcomes of all arms at once, which nobody has in "
                f"production; use {learners[learner.learner].certified_form}, or begin the run in Python"
            )
        text = json.dumps({"format": _FORMAT, **asdict(learner)})
        run.save(folder, keep={_KEPT: text.encode()})
    except BaseException:
        run.close()
        raise
    return run


def load_named_run(folder: str | Path, **options: Any) -> DurableRun[Learner]:
    """Go on with a run that `begin_named_run` began.

    Parameters
    ----------
    folder, options
        As `DurableRun.load`.

    Raises
    ------
    ValueError
        If its learner has no name.
    accountant.stores.refusals.StoreRefused, OSError
        As `DurableRun.load`.
    """
    return DurableRun.load(folder, learner_of(folder), **options)


def learner_of(folder: str | Path) -> NamedLearner:
    """Return the learner of a run that `begin_named_run` began; it only reads.

    Raises
    ------
    ValueError
        If its learner has no name, or what was kept of it is damaged.
    """
    kept = kept_in(Path(folder), _KEPT)
    if kept is None:
        raise ValueError(
            f"{folder}: does not say what its learner is: it was begun in Python, not by `dpwitness run create`; give "
            "its builder, file.py:function"
        )
    try:
        saved = from_json(kept.decode())
        if saved.pop("format") != _FORMAT:
            raise ValueError(f"format must be {_FORMAT!r}")
        return NamedLearner(**saved)
    except (AttributeError, DataFileError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{folder}: what it says of its learner cannot be read ({error})") from None
