"""Replay evaluation of learners on logs: the reward that they would have earned on another policy's traffic.

**The replay.** Event t of the log has an action a_t, which the logging policy took with probability p_t, and its
reward. The learner's action of the round is compared with it; if they agree, the event is the learner's round with
probability ``c / p_t``, c the least propensity; else the event is passed over. (Where all actions were taken alike
this is the replayer of Li, Chu, Langford & Wang 2011, "Unbiased offline evaluation of contextual-bandit-based news
article recommendation algorithms"; with rejections that of Dudik, Erhan, Langford & Li 2012, "Sample-efficient
nonstationary policy evaluation for contextual bandits".)

**Theorem.** Let events be independent and identically distributed, rewards given all actions, p_t the true
probability of a_t given its context, c fixed in advance and at most every propensity. Then the learner's rounds have
exactly the law of rounds played live, and how many events a round takes is independent of them.

*Proof.* Given any past, an event with context x and reward r is the round of an action a with probability
``P(x) P(a_t = a | x) (c / P(a_t = a | x)) P(r | x, a) = c P(x) P(r | x, a)``: all of that but c is the law of a live
round, and the waiting time is geometric with parameter c for every action. QED

So the mean reward of the rounds (`replay`) estimates the learner's mean reward without bias. `ips` weights every event
read, accepted or not, by ``1 / p_t`` if the action of the round agrees, and 0 if not: given the past, its mean is the
value of the policy in force, so that it estimates their mean over the events; `snips` divides by the weights in place
of the events. (c is read off the log here: an action that is taken more seldom than any logged one was in its context
is as if it did not exist.) Several runs share the events of one log among them at random, no event twice, so they are
independent, and standard errors are from how they differ. One run does not show the other paths that the learner could
take: standard errors of one run, and intervals of any number, are for the mean reward of the policies in force, given
the path.

The estimates are computed from raw logs: they are not private.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from accountant import Gate, Private, Simulation
from algorithms.learner import Learner
from algorithms.off_policy.estimates import Estimate, inverse_propensity, replay_estimate, self_normalised
from algorithms.off_policy.logged_bandit import LoggedBandit
from algorithms.problems import ProblemError
from algorithms.simulate import Runs, checkpoint_rounds
from mechanisms.arrays import FloatArray, IntArray
from mechanisms.parameters import ParameterError, open_unit, takes, whole_number


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Estimated reward of a learner, by several estimators.

    Attributes
    ----------
    estimates
        The estimates by each estimator.
    played
        The rounds of each run; (runs,). Fewer than the horizon where the log ended.
    read
        The number of events that were compared with the learner's actions.
    rounds, curve
        Rounds up to the fewest of a run, and the mean reward per round of all runs up to each; (checkpoints,).
    """

    estimates: tuple[Estimate, ...]
    played: IntArray
    read: int
    rounds: IntArray
    curve: FloatArray


def expected_rounds(log: LoggedBandit, runs: int) -> int:
    """Return how many rounds a log is expected to give each of some runs, rounded down."""
    return int(log.events // runs * log.least_propensity * (1.0 + 1e-12))


@dataclass(frozen=True)
class _RunsOnLog(Runs):
    """The runs of a learner on a log, which they share.

    Attributes
    ----------
    delay
        The number of further rounds after which a round's reward reaches the learner.
    error
        The probability with which each interval may miss.
    """

    build: Callable[[Gate], Learner]
    log: LoggedBandit
    _: KW_ONLY
    runs: int = 1
    seed: int = 0
    delay: int = 0
    error: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("delay", self.delay, least=0)
        open_unit("error", self.error)


@takes(_RunsOnLog)
def evaluate(asked: _RunsOnLog) -> Evaluation:
    """Estimate the reward that a learner would have earned on a log.

    The runs share the log. Where it ends, a run has fewer rounds than the horizon.

    Parameters
    ----------
    build
        Function that makes a learner of the log's structure on a gate.
    log
        The logged events.

    Raises
    ------
    ProblemError
        If the learner starts on outcomes of all arms, or hands out no tickets for late rewards.
    ParameterError
        If a number is out of range, or the log is too short for a round in each run.
    """
    log, runs = asked.log, asked.runs
    if expected_rounds(log, runs) < 1:
        raise ParameterError(
            f"runs = {runs!r}: {log.events} events and a least propensity of {log.least_propensity:g} are not expected "
            "to give each run a round; ask for fewer runs, or give a log of more events or larger propensities"
        )
    shares, *seeds = np.random.SeedSequence(asked.seed).spawn(runs + 1)
    dealt = np.random.default_rng(shares).permutation(log.events) % runs
    done: list[_Replayed] = []
    for run, own in enumerate(seeds):
        done.append(_replay(asked, np.flatnonzero(dealt == run), own))
        if asked.progress is not None:
            asked.progress((run + 1) / runs)
    accepted = np.concatenate([each.accepted for each in done])
    if not accepted.size:
        raise ParameterError(f"seed = {asked.seed!r}: no event of the log was accepted; give a longer log")
    weights = np.concatenate([each.weights for each in done])
    rewards = np.concatenate([each.rewards for each in done])
    played = np.array([each.accepted.size for each in done])
    most = 1.0 / log.least_propensity
    of_rounds = np.repeat(np.arange(runs), played)
    of_events = np.repeat(np.arange(runs), [each.weights.size for each in done])
    estimates = (
        replay_estimate(accepted, asked.error, of_rounds),
        inverse_propensity(weights, rewards, most, asked.error, of_events),
        self_normalised(weights, rewards, of_events),
    )
    common = int(played.min())
    rounds = checkpoint_rounds(common, asked.checkpoints) if common else np.zeros(0, dtype=np.int64)
    earned = np.cumsum([each.accepted[:common] for each in done], axis=1)[:, rounds - 1]
    return Evaluation(estimates, played, int(weights.size), rounds, earned.mean(axis=0) / rounds)


@dataclass(frozen=True, eq=False)
class _Replayed:
    accepted: FloatArray
    weights: FloatArray
    rewards: FloatArray


def _replay(asked: _RunsOnLog, share: npt.NDArray[np.intp], seed: np.random.SeedSequence) -> _Replayed:
    """Play a learner on the events of a share, in their order."""
    log = asked.log
    noise, rejections = seed.spawn(2)
    gate = Simulation(noise, 1)
    learner: Any = asked.build(gate)
    _check_learner(learner, asked.delay)
    actions, rewards, propensities = log.actions[share], log.rewards[share], log.propensities[share]
    taken = np.random.default_rng(rejections).random(share.size) * propensities < log.least_propensity
    agreeing = [np.flatnonzero(actions == arm) for arm in range(log.structure.arms)]
    accepted = [events[taken[events]] for events in agreeing]
    weights, earned = np.zeros(share.size), list[float]()
    waiting: list[tuple[Private, Any]] = []
    now = 0
    while len(earned) < asked.horizon:
        ticket = learner.issue() if hasattr(learner, "issue") else None
        arm = int((learner.act() if ticket is None else ticket.action)[0, 0])
        coming = accepted[arm]
        following = int(np.searchsorted(coming, now))
        end = share.size if following == coming.size else int(coming[following]) + 1
        first, last = np.searchsorted(agreeing[arm], (now, end))
        events = agreeing[arm][first:last]
        weights[events] = 1.0 / propensities[events]
        now = end
        if following == coming.size:
            break
        reward = rewards[end - 1]
        earned.append(float(reward))
        record = int(share[end - 1])
        waiting.append((gate.private(np.array([[reward]]), learner.feedback_domain, record), ticket))
        if len(waiting) > asked.delay:
            feedback, of = waiting.pop(0)
            if of is None:
                learner.observe(feedback)
            else:
                learner.observe(feedback, ticket=of)
    return _Replayed(np.array(earned), weights[:now], rewards[:now])


def _check_learner(learner: Any, delay: int) -> None:
    name = type(learner).__name__
    if hasattr(learner, "observe_initial"):
        raise ProblemError(f"{name} starts on the outcomes of all arms at once, which no log has")
    if delay and not hasattr(learner, "issue"):
        raise ProblemError(f"delay = {delay}: {name} hands out no tickets, with which late rewards come")
