"""How a learner is built for an instance, and its regret there: what every question about regret is judged by."""

from __future__ import annotations

from typing import Any

from algorithms.catalogue.contextual_entries import contextual_builder
from algorithms.catalogue.linear_entries import linear_builder
from algorithms.catalogue.structured_entries import learner_builder
from algorithms.linear.contextual_play import simulate_contexts
from algorithms.linear.linear_play import simulate_phases
from algorithms.problems import LinearBandit, LinearContexts
from algorithms.simulate import Trace, checkpoint_rounds, simulate
from algorithms.theory.regret_bound import Instance


def builder_for(make: type[Any], instance: Instance) -> Any:
    """Return a function that makes a learner of this class on a gate, with the instance's numbers that it takes."""
    problem: Any = instance.problem
    builder: Any = learner_builder
    if isinstance(problem, LinearBandit):
        builder = linear_builder
    elif isinstance(problem, LinearContexts):
        builder = contextual_builder
    return builder(
        make,
        problem,
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
        The learner's class, and what it plays with which numbers.
    checkpoints
        How many.
    simulation
        Runs, seed, workers, store and progress, as `algorithms.simulate.simulate` takes them.
    """
    build, problem, horizon = builder_for(make, instance), instance.problem, instance.horizon
    if isinstance(problem, LinearBandit):
        phased = simulate_phases(build, problem, rounds=horizon, **simulation)
        return phased.at(checkpoint_rounds(horizon, checkpoints))
    if isinstance(problem, LinearContexts):
        return simulate_contexts(build, problem, horizon=horizon, checkpoints=checkpoints, **simulation)
    return simulate(build, problem, horizon=horizon, checkpoints=checkpoints, **simulation)
