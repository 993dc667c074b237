"""Rounds of a contextual learner: on newly drawn users, on given ones, and many independent runs."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from accountant import Gate, Simulation
from accountant.gates.random_streams import RandomStream
from algorithms.blocks import Arrays, Blocks, Tell
from algorithms.linear.contextual_learner import ContextualLearner, LinearUCB
from algorithms.problems.linear_contexts import LinearContexts
from algorithms.problems.own_draws import checked_contexts, checked_rewards
from algorithms.reward_curve import RewardCurve
from algorithms.simulate import RunsInBlocks, Trace, work_description
from algorithms.unit import RecordOf, each_its_own
from mechanisms import BLOCK, LaneStreams, Randomness, RegressionMoments
from mechanisms.arrays import FloatArray, IntArray

BuildContextual = Callable[[Gate], ContextualLearner]


class ContextualRound(NamedTuple):
    """One round of a learner with contexts.

    Attributes
    ----------
    policy
        The policy that chose the action.
    contexts, chosen
        The actions offered, (lanes, actions, d), and the index of the one taken, (lanes,).
    moments
        The observation, before it was admitted by the gate, (lanes, coordinates).
    reward, regret
        The expected reward, and its distance from that of the best action; (lanes,).
    """

    policy: LinearUCB
    contexts: FloatArray
    chosen: IntArray
    moments: FloatArray
    reward: FloatArray
    regret: FloatArray

    @property
    def allowed(self) -> FloatArray:
        """Upper bound on the round's regret if no estimate is off by more than its radius (optimism); (lanes,)."""
        played = self.contexts[np.arange(len(self.chosen)), self.chosen]
        return 2.0 * self.policy.radii(played[:, np.newaxis])[:, 0]


class ContextualTurn(NamedTuple):
    """One round of a given user.

    Attributes
    ----------
    policy
        The policy that chose the action.
    contexts
        The actions offered, (actions, d).
    chosen
        The index of the one taken, (lanes,).
    """

    policy: LinearUCB
    contexts: FloatArray
    chosen: IntArray


@dataclass(frozen=True)
class ContextualTrace(Trace):
    """Regret and reward of every run at checkpoints, and the regret that its radii allow.

    Attributes
    ----------
    allowed
        The sum over the rounds of `ContextualRound.allowed`, and of the largest regret of a round where that is less;
        shape (c, runs).
    """

    allowed: FloatArray = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class ContextualUsers:
    """Users of given rounds.

    Attributes
    ----------
    contexts
        The actions offered in each round, (rounds, actions, d).
    rewards
        The reward that each of them would earn, (rounds, actions).
    """

    contexts: FloatArray
    rewards: FloatArray

    def with_user(self, turns: Sequence[int], action: FloatArray, reward: float) -> ContextualUsers:
        """Return a copy in which the user of these turns is offered this action only, with this reward."""
        contexts, rewards = self.contexts.copy(), self.rewards.copy()
        contexts[turns], rewards[turns] = action, reward
        return ContextualUsers(contexts, rewards)

    def differs_from(self, other: ContextualUsers, turn: int) -> bool:
        """Return True if the user of a turn, counted from 0, differs."""
        return not all(
            np.array_equal(own[turn], its[turn])
            for own, its in ((self.contexts, other.contexts), (self.rewards, other.rewards))
        )


def play_contexts(
    learner: ContextualLearner, problem: LinearContexts, gate: Gate, environment: Randomness, rounds: int
) -> Iterator[ContextualRound]:
    """Play on freshly drawn users, each a record.

    Parameters
    ----------
    learner, gate
        A learner built on `gate`.
    problem
        The problem, which draws contexts and rewards.
    environment
        The source of the problem's randomness.
    rounds
        The number of rounds to play.

    Raises
    ------
    ProblemError
        If the problem draws actions outside the unit ball, or rewards outside [-1, 1]: the largest cost of a round, and
        so every limit on regret, would be another.
    """
    lane = np.arange(gate.lanes)
    for record in range(1, rounds + 1):
        contexts = checked_contexts(problem.draw_contexts(environment, gate.lanes))
        policy = learner.policy
        chosen = policy.choose(contexts.copy())  # a policy may write into its argument
        played = contexts[lane, chosen]
        rewards = checked_rewards(problem.draw_rewards(played, environment))
        moments = learner.feedback_domain.moments(played, rewards)
        learner.observe(gate.private(moments, learner.feedback_domain, record))
        reward, regret = problem.means(contexts)[lane, chosen], problem.regrets(contexts)[lane, chosen]
        yield ContextualRound(policy, contexts, chosen, moments, reward, regret)


def play_users(
    learner: ContextualLearner,
    users: ContextualUsers,
    gate: Gate,
    *,
    others: Sequence[ContextualUsers] = (),
    record_of: RecordOf = each_its_own,
) -> Iterator[ContextualTurn]:
    """Play on given users, the same in all lanes; yield each turn once it is observed.

    Parameters
    ----------
    learner, users, gate
        A learner built on `gate`, and its users.
    others
        The users in the other data sets of a coupled gate, one for each.
    record_of
        The record's name of each round, 1, 2, ...
    """
    for turn in range(len(users.rewards)):
        policy, domain = learner.policy, learner.feedback_domain
        chosen, moments = _observed(policy, domain, users, turn, gate.lanes)
        if others:
            differ = any(each.differs_from(users, turn) for each in others)
            sides = [_observed(policy, domain, each, turn, gate.lanes)[1] for each in others if differ]
            moments = np.stack([moments, *sides])
        learner.observe(gate.private(moments, domain, record_of(turn + 1)))
        yield ContextualTurn(policy, users.contexts[turn], chosen)


def _observed(
    policy: LinearUCB, domain: RegressionMoments, users: ContextualUsers, turn: int, lanes: int
) -> tuple[IntArray, FloatArray]:
    """Return which action a user takes, (lanes,), and the moments that are observed, (lanes, coordinates)."""
    contexts = users.contexts[turn]
    chosen = policy.choose(np.repeat(contexts[np.newaxis], lanes, axis=0))
    return chosen, domain.moments(contexts, users.rewards[turn])[chosen]


def simulate_contexts(
    build: BuildContextual, problem: LinearContexts, asked: RunsInBlocks
) -> ContextualTrace:
    """Simulate independent runs; a run depends on the seed and its own number only.

    Parameters
    ----------
    build
        Function that makes a learner on a gate.
    problem
        The problem to play.
    asked
        The runs.

    Raises
    ------
    ParameterError
        If there is less than one worker, or a stored block is damaged.
    """
    start = time.perf_counter()
    rounds = asked.rounds
    words = "contextual rewards, regret and what radii allow at checkpoints, 64 lanes a block"
    says = work_description(words, build, problem, asked.seed, rounds.tolist())
    work = functools.partial(_simulate_lanes, build, problem, asked.seed, rounds.tolist())
    done = asked.finished(Blocks(work, math.ceil(asked.runs / BLOCK), says=says))
    reward, regret, allowed = (
        np.concatenate([block[name] for block in done.results[0]], axis=1)[:, : asked.runs]
        for name in ("reward", "regret", "allowed")
    )
    return ContextualTrace(rounds, regret, reward, time.perf_counter() - start, done.stored, allowed=allowed)


def _simulate_lanes(
    build: BuildContextual,
    problem: LinearContexts,
    seed: int,
    rounds: list[int],
    blocks: range,
    progress: Tell,
) -> list[Arrays]:
    """Simulate adjacent blocks of 64 lanes, one after the other; return each one's curves, (checkpoints, 64)."""
    done: list[Arrays] = []
    for block in blocks:
        gate = Simulation(seed, BLOCK, first_block=block)
        environment = LaneStreams(seed, BLOCK, block, key=(RandomStream.ENVIRONMENT,))
        reward, regret, allowed = (RewardCurve(np.array(rounds), BLOCK) for _ in range(3))
        for played in play_contexts(build(gate), problem, gate, environment, rounds[-1]):
            reward.add(played.reward)
            regret.add(played.regret)
            allowed.add(np.minimum(played.allowed, problem.largest_regret))
        done.append({"reward": reward.kept, "regret": regret.kept, "allowed": allowed.kept})
    return done
