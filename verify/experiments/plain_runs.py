"""Simulation of bandits written without this library, against stochastic rewards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter

import numpy as np

from accountant.gates.random_streams import RandomStream, stream_generator
from algorithms.problems import LinearBandit, LinearContexts, Problem, ProblemError, Value, build_problem
from algorithms.simulate import Runs, Trace
from verify.bandits.calling.plain_bandit import BanditSubject
from verify.findings.subject_error import SubjectError
from verify.learners.learner_subject import AnyProblem


def simulate_plain_bandit(
    subject: BanditSubject,
    problem: AnyProblem | str | None,
    settings: Mapping[str, Value],
    asked: Runs,
) -> tuple[Trace, Problem, str]:
    """Simulate a plain bandit on a problem of single arms; a run depends on the seed and its own number only.

    Parameters
    ----------
    subject
        The bandit: it selects an arm and receives its reward. Outcomes 0 and 1 become its smallest and largest reward.
    problem, settings
        One in which a single arm is played, with as many arms; by default ``top-k`` of that size.
    asked
        The runs.

    Returns
    -------
    tuple
        Regret and reward of every run, the problem, and its name.

    Raises
    ------
    SubjectError
        If it stops by itself, plays an adversary or sees private contexts: then its regret is not defined here.
    ProblemError
        If the problem is another one.
    ParameterError
        If the bandit cannot be called in the given way.
    """
    bandit = subject.bandit
    if bandit.stops or bandit.adversary is not None or bandit.private_context:
        raise SubjectError(
            f"{subject.name}: regret is simulated of bandits that play every round against random rewards, without "
            "stopping by themselves, adversary or private context"
        )
    if problem is None or problem == "top-k":
        played, name = build_problem("top-k", {"arms": bandit.arms, "size": 1, **settings}), "top-k"
    elif isinstance(problem, str):
        played, name = build_problem(problem, settings), problem
    else:
        if isinstance(problem, LinearBandit | LinearContexts) or settings:
            raise ProblemError(
                f"{subject.name} plays single arms of a problem that takes no settings, or a named one"
            )
        played, name = problem, type(problem).__name__
    if played.structure.size != 1 or played.structure.arms != bandit.arms:
        raise ProblemError(
            f"{subject.name} plays one of {bandit.arms} arms, not {played.structure.size} of {played.structure.arms}"
        )
    start = perf_counter()
    low, high = bandit.rewards[0], bandit.rewards[-1]
    rounds = asked.rounds
    means = played.expected_reward(np.arange(bandit.arms)[:, np.newaxis])
    reward = np.empty((len(rounds), asked.runs))
    timed = replace(bandit, rounds=asked.horizon)
    for run in range(asked.runs):
        outcomes = stream_generator(asked.seed, RandomStream.ENVIRONMENT, run).random(
            (asked.horizon + 1, bandit.arms)
        )
        table = np.where(outcomes < played.means, high, low)
        actions = timed.actions(table, [run], np.random.SeedSequence(asked.seed))[0, :, 0]
        reward[:, run] = np.cumsum(means[actions])[rounds - 1]
        if asked.progress is not None:
            asked.progress((run + 1) / asked.runs)
    regret = played.benchmark * rounds[:, np.newaxis] - reward
    return Trace(rounds, regret, reward, perf_counter() - start), played, name
