"""The construction of a learner for an instance, and its simulated regret, for all tests of regret."""

from __future__ import annotations

from typing import Any

from algorithms.catalogue import learner_builder
from algorithms.learner import check_delta, check_epsilon, check_horizon
from algorithms.problems import SettingError
from algorithms.simulate import Trace
from algorithms.theory.regret_bound import Instance
from mechanisms.parameters import open_unit, whole_number
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


def simulated_regret(
    make: type[Any], instance: Instance, *, checkpoints: int = 1, **simulation: Any
) -> Trace:
    """Return the pseudo-regret of every run at checkpoints, by default after the last round.

    Parameters
    ----------
    make, instance
        The learner's class, and the instance that it plays.
    checkpoints
        The number of checkpoints.
    simulation
        Runs, seed, workers, store and progress, as `algorithms.simulate.simulate` takes them.
    """
    build, problem = builder_for(make, instance), instance.problem
    how = {"horizon": instance.horizon, "checkpoints": checkpoints, **simulation}
    return simulate_learner(build, problem, **how)[0]


def check_numbers(
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    horizon: int | None = None,
    runs: int | None = None,
    error: float | None = None,
    seed: int = 0,
) -> None:
    """Refuse the numbers of a question about regret that are given and out of range.

    Raises
    ------
    SettingError
        With the name of the number, and the rule.
    """
    try:
        if epsilon is not None:
            check_epsilon(epsilon)
        if delta is not None:
            check_delta(delta)
        if horizon is not None:
            check_horizon(horizon)
        if runs is not None:
            whole_number("runs", runs, least=1)
        if error is not None:
            open_unit("error", error)
        whole_number("seed", seed, least=0)
    except ValueError as refusal:  # an error of the caller, and not of the learner
        raise SettingError(str(refusal)) from None
