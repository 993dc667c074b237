"""Runs of learners of the catalogue, begun and resumed by name from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, cast

from accountant import Accountant, Gate
from accountant.files.data_files import DataFileError, from_json
from algorithms.catalogue.contextual_entries import contextual_learners
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.catalogue.structured_entries import Playable, learners
from algorithms.durable.durable_run import DurableRun
from algorithms.durable.open_tickets import AnyLearner, Run
from algorithms.durable.run_place import absolute_location, kept_in, location_name, state_in, unpack
from algorithms.durable.state import PublicDecoder, own_modules
from algorithms.problems import (
    LinearContexts,
    Value,
    contextual_problems,
    known_name,
    problems,
)
from algorithms.problems.problem_settings import check_shared
from mechanisms.parameters import ParameterError

_KEPT = "learner"
_FORMAT = "dpwitness-learner-1"

RUN_LEARNERS: Mapping[str, Any] = {**learners, **contextual_learners}
"""The learners that hand out tickets, which runs are of."""
RunProblem = Playable | LinearContexts


def run_learner(name: str) -> Any:
    """Return the entry of a learner that runs are of.

    Raises
    ------
    ParameterError
        If there is none of this name, or it is of linear bandits, which hand out no tickets.
    """
    if name in linear_learners:
        raise ParameterError(
            f"learner = {name!r}: must hand out tickets, which none of linear bandits does (in Python: DurableRun)"
        )
    return RUN_LEARNERS[known_name("learner", name, RUN_LEARNERS)]


@dataclass(frozen=True)
class NamedLearner:
    """A learner of the catalogue with all that it is built of.

    Attributes
    ----------
    learner, problem
        Their names; of the problem only the structure is used. For a user's own problem its place,
        ``path/to/file.py:object``.
    epsilon, delta
        The learner's parameters; None for a delta that it does not take.
    horizon
        The rounds that its regret bound is for; None for all, if the learner needs no horizon.
    settings
        The problem's and the learner's own.
    own_problem
        The problem itself, if it is a user's own.

    Raises
    ------
    ParameterError
        If a name or a setting is unknown or out of range, the learner does not play the problem, or takes a delta and
        none is given.
    """

    learner: str
    problem: str
    epsilon: float
    horizon: int | None
    delta: float | None = None
    settings: Mapping[str, Value] | None = None
    own_problem: RunProblem | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._builder()
        taken = RUN_LEARNERS[self.learner].takes_delta
        if taken is (self.delta is None):
            rule = "must be given: the learner's claim has one" if taken else "must not be given: it has none"
            raise ParameterError(f"delta = {self.delta!r}: {rule} ({self.learner})")

    def __call__(self, gate: Gate) -> AnyLearner:
        """Return the learner on a gate."""
        return cast("AnyLearner", self._builder()(gate))

    def _builder(self) -> Any:
        entry = run_learner(self.learner)
        problem, settings = self.problem_and_settings()
        delta = {} if self.delta is None else {"delta": self.delta}
        return entry.build(problem, epsilon=self.epsilon, horizon=self.horizon, settings=settings, **delta)

    def problem_and_settings(self) -> tuple[RunProblem, dict[str, Value]]:
        """Return the problem, and those of the settings that are not its own."""
        given = dict(self.settings or {})
        if self.own_problem is not None:
            return self.own_problem, given
        named: Mapping[str, Any] = {**problems, **contextual_problems}
        entry = named[known_name("problem", self.problem, named)]
        check_shared(
            given, {self.learner: RUN_LEARNERS[self.learner].parameters, self.problem: entry.parameters}
        )
        of_problem = {
            parameter.name: given.pop(parameter.name)
            for parameter in entry.parameters
            if parameter.name in given
        }
        return entry.build(**of_problem), given

    def stored_fields(self) -> dict[str, Any]:
        """Return all of it but a problem of the user's own, of which the place is kept."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "own_problem"}


def begin_named_run(where: str | Path, learner: NamedLearner, accountant: Accountant) -> Run:
    """Begin a run in a folder or a database, which knows its learner by name.

    Raises
    ------
    ParameterError
        If the learner starts on the outcomes of all arms, or the accountant's noise source is secure and
        cannot draw its noise; also as `DurableRun.save`.
    OSError
        As `DurableRun.save`.
    """
    run = DurableRun(learner, accountant)
    try:
        if hasattr(run.learner, "observe_initial"):
            raise ParameterError(
                f"learner = {learner.learner!r}: starts on the outcomes of all arms at once, which nobody has in "
                f"production; use {RUN_LEARNERS[learner.learner].certified_form}, or begin the run in Python"
            )
        noise = getattr(run.learner, "mechanism", None)
        if noise is not None:
            try:
                accountant.check_source(noise)
            except ValueError as error:
                form = RUN_LEARNERS[learner.learner].certified_form
                raise ParameterError(f"learner = {learner.learner!r}: {error}, or use {form}") from None
        text = json.dumps({"format": _FORMAT, **learner.stored_fields()})
        run.save(where, keep={_KEPT: text.encode()})
    except BaseException:
        run.close()
        raise
    return run


def load_named_run(
    where: str | Path, read_problem: Callable[[str], RunProblem] | None = None, **options: Any
) -> Run:
    """Go on with a run that `begin_named_run` began.

    Parameters
    ----------
    read_problem
        As for `learner_of`.
    where, options
        As `DurableRun.load`.

    Raises
    ------
    ParameterError
        If its learner has no name.
    accountant.stores.store_refusals.StoreRefused, OSError
        As `DurableRun.load`.
    """
    return DurableRun.load(where, learner_of(where, read_problem), **options)


def saved_learner(where: str | Path, learner: NamedLearner, gate: Gate) -> AnyLearner:
    """Return the learner of a run on another gate, with the public state that was saved last; it only reads.

    Private values that wait for a release stay in the run: the returned learner has none of them, and can only be read.

    Raises
    ------
    ParameterError
        If there is no saved run, or its state is another learner's.
    """
    at = absolute_location(where)
    saved, arrays = unpack(state_in(at))
    made = learner(gate)
    if saved["learner"] != type(made).__qualname__:
        raise ParameterError(
            f"{location_name(at)}: holds a {saved['learner']}, and {learner.learner} is a {type(made).__qualname__}"
        )
    PublicDecoder(gate, arrays, own_modules(made)).restore(made, saved["state"])
    return made


def learner_of(where: str | Path, read_problem: Callable[[str], RunProblem] | None = None) -> NamedLearner:
    """Return the learner of a run that `begin_named_run` began; it only reads.

    Parameters
    ----------
    read_problem
        Function that returns a user's own problem, given its place, ``path/to/file.py:object``: it runs the file.
        Without it, runs on own problems are refused. Its errors reach the caller unchanged.

    Raises
    ------
    ParameterError
        If its learner has no name, or the saved description of it is damaged.
    """
    at = absolute_location(where)
    kept, name = kept_in(at, _KEPT), location_name(at)
    if kept is None:
        raise ParameterError(
            f"{name}: does not name its learner: it was begun in Python, not by `dpwitness ledger "
            "create --learner`; give its builder, file.py:function"
        )
    try:
        saved = from_json(kept.decode())
        if saved.pop("format") != _FORMAT:
            raise ParameterError(f"format must be {_FORMAT!r}")
        problem = saved["problem"]
        if not isinstance(problem, str):
            raise TypeError(f"problem = {problem!r}: must be a text")
        if ".py:" not in problem:
            return NamedLearner(**saved)
    except (AttributeError, DataFileError, KeyError, TypeError, ValueError) as error:
        raise ParameterError(f"{name}: its description of its learner cannot be read ({error})") from None
    if read_problem is None:
        raise ParameterError(
            f"{name}: its problem is a user's own, {problem}: give read_problem, which reads it"
        )
    return NamedLearner(**saved, own_problem=read_problem(problem))
