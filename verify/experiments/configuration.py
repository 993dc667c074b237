"""One simulation, said in words and numbers only: learner, problem, settings, privacy, size."""

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
from algorithms.catalogue.structured_entries import learner_builder
from algorithms.learner import DEFAULT_DELTA, Learner
from algorithms.linear.contextual_play import simulate_contexts
from algorithms.problems import (
    Value,
    contextual_problems,
    linear_problems,
    problems,
)
from algorithms.simulate import simulate
from verify.bandits.calling.plain_bandit import BanditSubject
from verify.conduct.progress import Progress, silent
from verify.experiments.plain_runs import simulate_plain_bandit
from verify.experiments.simulated_runs import SimulatedRuns
from verify.learners.learner_subject import LearnerSubject, blaming, choose_problem, initial_records
from verify.linear.contextual_subject import build_contextual, is_contextual
from verify.linear.linear_subject import build_linear, is_linear, simulate_linear
from verify.subject_error import SubjectError
from verify.subjects.own_problem import loaded_problem, problem_file
from verify.subjects.resolve import every_learner, names_file, resolve


@dataclass(frozen=True)
class Configuration:
    """What is simulated, and how often.

    Attributes
    ----------
    learner
        A registered name, or ``path/to/file.py:object``: a learner class or a `verify.PlainBandit`.
    problem
        A name of the catalogue, ``path/to/file.py:problem`` (a problem, or a function that makes one), or None for the
        learner's own.
    settings
        Of learner and problem.
    epsilon, delta
        The privacy of a private learner.
    horizon, runs, seed
        Rounds of a run, how many runs, and the seed: a run depends on the seed and its own number only.
    checkpoints
        At how many rounds regret is kept.
    recommends
        Whether what each run would play next is kept, too, and the best action; for learners of super arms.
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
        """Whether a user's code is imported for it."""
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
    progress: Progress = silent,
) -> SimulatedRuns:
    """Simulate a configuration.

    Parameters
    ----------
    configuration
        What, and how often.
    executor
        Where blocks of runs are simulated, by default in this process; no result depends on it.
    store
        Where blocks are stored as they come; none are of plain bandits, and where actions are kept.
    progress
        Told the share that is done.

    Raises
    ------
    SubjectError
        If the learner is none, or raised an error.
    ProblemError
        If the problem or a setting is unknown or out of range, or of another family than the learner.
    ValueError
        If a number is out of range, or a stored block is damaged.
    BlocksMissing
        If the store is for a part of the runs only, and others are not there yet.
    """
    where: dict[str, Any] = {"workers": executor or Processes(1), "store": store}
    subject = resolve(configuration.learner)
    sizes: dict[str, Any] = {
        "horizon": configuration.horizon,
        "runs": configuration.runs,
        "seed": configuration.seed,
        "checkpoints": configuration.checkpoints,
    }
    privacy: dict[str, Any] = {"epsilon": configuration.epsilon, "delta": configuration.delta}
    named = configuration.problem
    problem = loaded_problem(named)
    own_file = problem_file(named)
    share: Callable[[float], None] = lambda done: progress(done, "simulating")  # noqa: E731
    further: dict[str, Any] = {}
    problem_played: object
    if isinstance(subject, BanditSubject):
        trace, problem_played, problem_name = simulate_plain_bandit(
            subject, problem, configuration.settings, progress=share, **sizes
        )
    elif not isinstance(subject, LearnerSubject):
        raise SubjectError(f"{configuration.learner}: only learners and plain bandits can be simulated")
    elif is_linear(subject):
        phased, linear, problem_name = build_linear(
            subject, problem, configuration.settings, horizon=configuration.horizon, **privacy
        )
        problem_played = linear
        with blaming(subject, own_file):
            trace, further = simulate_linear(phased, linear, progress=share, **where, **sizes)
        from algorithms.theory.communication import most_sent  # SymPy takes half a second
        from algorithms.theory.regret_bound import Instance

        instance = Instance(
            linear,
            configuration.epsilon,
            configuration.horizon,
            configuration.delta,
            configuration.settings,
        )
        if most := most_sent(subject.name, instance):
            further["most_communication"] = most
    elif is_contextual(subject):
        policy, contexts, problem_name = build_contextual(
            subject, problem, configuration.settings, horizon=configuration.horizon, **privacy
        )
        problem_played = contexts
        with blaming(subject, own_file):
            trace = simulate_contexts(policy, contexts, progress=share, **where, **sizes)
    else:
        played, own, problem_name = choose_problem(subject, problem, configuration.settings)
        problem_played = played
        build = learner_builder(subject.make, played, settings=own, horizon=configuration.horizon, **privacy)
        initial_records(build, subject)
        made: list[Learner] = []

        def build_and_keep(gate: Gate) -> Learner:
            made.append(build(gate))
            return made[-1]

        with blaming(subject, own_file):
            if configuration.recommends:
                trace = simulate(build_and_keep, played, progress=share, **sizes)
                next_actions = np.concatenate([learner.act() for learner in made])[: configuration.runs]
                further["recommended"] = next_actions.tolist()
                further["best"] = played.structure.solve(played.means[np.newaxis])[0].tolist()
            else:
                trace = simulate(build, played, progress=share, **where, **sizes)
    if own_file is not None:
        problem_name = own_file
    neighbours = subject.form.neighbours.value
    return SimulatedRuns(trace, subject.name, problem_name, neighbours, _instance(problem_played), further)


def _instance(problem: object) -> str:
    try:
        return identity(problem)
    except NoIdentity:
        return ""


@functools.cache
def _code(learner: str) -> str:
    """Return a word for the code of a registered learner, of all problems, and of the simulation."""
    plays = (simulate, simulate_linear, simulate_contexts)
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
