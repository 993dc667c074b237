"""The configuration of one simulation as plain data: learner, problem, settings, privacy, size."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from accountant import Gate
from algorithms.blocks import BlockStore, Executor, NoIdentity, Processes, identity
from algorithms.learner import DEFAULT_DELTA, Learner
from algorithms.linear.contextual_play import simulate_contexts
from algorithms.play import BuildLearner
from algorithms.problems import (
    LinearBandit,
    Problem,
    Value,
    contextual_problems,
    linear_problems,
    problems,
)
from algorithms.simulate import Trace, simulate
from verify.bandits.calling.plain_bandit import BanditSubject
from verify.conduct.progress import Progress, no_progress
from verify.experiments.plain_runs import simulate_plain_bandit
from verify.experiments.simulated_runs import SimulatedRuns
from verify.findings.subject_error import SubjectError
from verify.learners.learner_on_problem import (
    build_learner,
    is_contextual,
    is_linear,
    simulate_learner,
)
from verify.learners.learner_subject import (
    LearnerSubject,
    attribute_errors_to_subject,
    initial_records,
    problem_size,
)
from verify.verification.own_problem import loaded_problem, problem_file
from verify.verification.resolve import every_learner, names_file, resolve


@dataclass(frozen=True)
class Configuration:
    """The configuration of a simulation, and its number of runs.

    Attributes
    ----------
    learner
        A registered name, or ``path/to/file.py:object``: a learner class or a `verify.PlainBandit`.
    problem
        A name of the catalogue, ``path/to/file.py:problem`` (a problem, or a function that makes one), or None for the
        learner's own.
    settings
        The settings of learner and problem.
    epsilon, delta
        The privacy of a private learner.
    horizon, runs, seed
        Rounds of a run, number of runs, and the seed: a run depends on the seed and its own number only.
    checkpoints
        Number of rounds at which regret is kept.
    recommends
        If True, the action that each run would play next is kept, too, and the best action; for learners of super arms.
    """

    learner: str
    horizon: int
    runs: int
    problem: str | None = None
    settings: Mapping[str, Value] = field(default_factory=dict)
    epsilon: float = 1.0
    delta: float = DEFAULT_DELTA
    seed: int = 0
    checkpoints: int = 50
    recommends: bool = False

    @property
    def from_file(self) -> bool:
        """True if a user's code is imported for it."""
        return names_file(self.learner) or (self.problem is not None and names_file(self.problem))

    @property
    def key(self) -> str:
        """A word for it, and for the code and data files that its result depends on; of a registered learner.

        Two configurations have the same if they give the same numbers.
        """
        what = (asdict(self), _digest(str(self.settings.get("folder", ""))), _code(self.learner))
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:24]


def simulated(
    configuration: Configuration,
    *,
    executor: Executor | None = None,
    store: BlockStore | None = None,
    progress: Progress = no_progress,
) -> SimulatedRuns:
    """Simulate a configuration.

    Parameters
    ----------
    configuration
        The configuration, with its number of runs.
    executor
        The executor of blocks of runs, by default this process; no result depends on it.
    store
        The store of finished blocks; blocks of plain bandits, or with recorded actions, are not stored.
    progress
        Function that is called with the share done.

    Raises
    ------
    SubjectError
        If the learner is none, or raised an error.
    ProblemError
        If the problem or a setting is unknown or out of range, or of another family than the learner.
    ParameterError
        If a number is out of range, or a stored block is damaged.
    """
    where: dict[str, Any] = {"workers": executor or Processes(1), "store": store}
    subject = resolve(configuration.learner)
    sizes: dict[str, Any] = {
        "horizon": configuration.horizon,
        "runs": configuration.runs,
        "seed": configuration.seed,
        "checkpoints": configuration.checkpoints,
    }
    problem, own_file = loaded_problem(configuration.problem), problem_file(configuration.problem)
    share: Callable[[float], None] = lambda done: progress(done, "simulating")  # noqa: E731
    further: dict[str, Any] = {}
    played: Any
    if isinstance(subject, BanditSubject):
        trace, played, name = simulate_plain_bandit(
            subject, problem, configuration.settings, progress=share, **sizes
        )
    elif not isinstance(subject, LearnerSubject):
        raise SubjectError(f"{configuration.learner}: only learners and plain bandits can be simulated")
    else:
        build, played, name = build_learner(
            subject,
            problem,
            configuration.settings,
            epsilon=configuration.epsilon,
            delta=configuration.delta,
            horizon=configuration.horizon,
        )
        linear, contextual = is_linear(subject), is_contextual(subject)
        if not (linear or contextual):
            initial_records(build, subject)
        with attribute_errors_to_subject(subject, own_file):
            if configuration.recommends and not linear:
                trace, further = _final_actions(build, played, progress=share, **sizes)
            else:
                trace, further = simulate_learner(build, played, progress=share, **where, **sizes)
        if linear and (most := _most_sent(subject.name, played, configuration)):
            further["most_communication"] = most
    neighbours = subject.form.neighbours.value
    further["size"] = problem_size(played)
    return SimulatedRuns(trace, subject.name, own_file or name, neighbours, _instance(played), further)


def _final_actions(build: BuildLearner, problem: Problem, **simulation: Any) -> tuple[Trace, dict[str, Any]]:
    """Simulate, and add the next action of each run and the best action."""
    made: list[Learner] = []

    def build_and_keep(gate: Gate) -> Learner:
        made.append(build(gate))
        return made[-1]

    trace = simulate(build_and_keep, problem, **simulation)
    following = np.concatenate([learner.act() for learner in made])[: trace.runs]
    best = problem.structure.solve(problem.means[np.newaxis])[0]
    return trace, {"recommended": following.tolist(), "best": best.tolist()}


def _most_sent(learner: str, problem: LinearBandit, configuration: Configuration) -> dict[str, float]:
    """Return the most communication of a linear learner in a run, by its formula; {} without one."""
    from algorithms.theory.communication import most_sent  # SymPy takes half a second
    from algorithms.theory.regret_bound import Instance

    instance = Instance(
        problem,
        configuration.epsilon,
        configuration.horizon,
        configuration.delta,
        configuration.settings,
    )
    return most_sent(learner, instance)


def _instance(problem: object) -> str:
    try:
        return identity(problem)
    except NoIdentity:
        return ""


@functools.cache
def _code(learner: str) -> str:
    """Return a word for the code of a registered learner, of all problems, and of the simulation."""
    plays = (simulate, simulate_learner, simulate_contexts)
    return identity((every_learner[learner].make, plays, problems, linear_problems, contextual_problems))


@functools.cache
def _digest(folder: str) -> str:
    """Return a word for the files of a folder of data; empty for none."""
    if not folder:
        return ""
    digest = hashlib.sha256()
    for path in sorted(Path(folder).glob("*.dat")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
