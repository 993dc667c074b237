"""The options of all tests of regret, the construction of a learner for an instance, and its simulated regret."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from algorithms.blocks import BlockStore, Executor
from algorithms.catalogue import learner_builder
from algorithms.learner import check_epsilon, check_horizon
from algorithms.problems import SettingError
from algorithms.simulate import RunsInBlocks, Trace
from algorithms.theory.regret_bound import Instance
from mechanisms.parameters import open_unit, whole_number
from verify.conduct.progress import Progress, no_progress
from verify.learners.learner_on_problem import simulate_learner


def builder_for(make: type[Any], instance: Instance) -> Any:
    """Return a function that makes a learner of this class on a gate, with the instance's numbers that it takes."""
    return learner_builder(
        make,
        instance.problem,
        epsilon=instance.epsilon,
        delta=instance.delta,
        horizon=instance.horizon,
        settings=instance.settings,
    )


@dataclass(frozen=True, kw_only=True)
class RegretOptions:
    """The options that all tests of regret have.

    Attributes
    ----------
    epsilon
        The learner's epsilon, if it takes one; None for the test's own choice.
    horizon, runs
        Rounds per run, and independent runs; None for the test's own choice.
    error
        The probability that a learner which keeps its bound is called violated, at most.
    seed
        The seed of all randomness.
    workers, store
        The workers and the store of the runs, as in `algorithms.simulate`; the report does not depend on them.
    progress
        Function that is called with the share done.

    Raises
    ------
    SettingError
        If a number is out of range; the message names it, and the rule.
    """

    epsilon: float | None = None
    horizon: int | None = None
    runs: int | None = None
    error: float = 1e-4
    seed: int = 0
    workers: int | Executor = 1
    store: BlockStore | None = None
    progress: Progress = no_progress

    def __post_init__(self) -> None:
        try:
            self._check()
        except ValueError as refusal:  # an error of the caller, and not of the learner
            raise SettingError(str(refusal)) from None

    def _check(self) -> None:
        if self.epsilon is not None:
            check_epsilon(self.epsilon)
        if self.horizon is not None:
            check_horizon(self.horizon)
        if self.runs is not None:
            whole_number("runs", self.runs, least=1)
        open_unit("error", self.error)
        whole_number("seed", self.seed, least=0)

    @property
    def epsilon_or_one(self) -> float:
        """The learner's epsilon; 1 if the choice is the test's."""
        return 1.0 if self.epsilon is None else self.epsilon


def simulated_regret(
    make: type[Any],
    instance: Instance,
    options: RegretOptions,
    *,
    runs: int,
    seed: int,
    checkpoints: int = 1,
    progress: Callable[[float], None] | None = None,
) -> Trace:
    """Return the pseudo-regret of every run at checkpoints, by default after the last round.

    Parameters
    ----------
    make, instance
        The learner's class, and the instance that it plays.
    options
        The options of the test, with the workers and the store of the runs.
    runs, seed, checkpoints, progress
        As `algorithms.simulate.simulate` takes them.
    """
    asked = RunsInBlocks(
        horizon=instance.horizon,
        runs=runs,
        seed=seed,
        checkpoints=checkpoints,
        workers=options.workers,
        store=options.store,
        progress=progress,
    )
    return simulate_learner(builder_for(make, instance), instance.problem, asked)[0]
