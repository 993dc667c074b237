"""The view of an interactive adversary on a bandit in the two worlds of its challenge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from accountant import Simulation
from algorithms.play import BuildLearner, checked_action
from algorithms.problems import Problem
from mechanisms import BLOCK
from verify.conduct.process_state import subjects_own
from verify.events.view_sample import ViewSample
from verify.events.worlds import NeighbouringWorlds
from verify.transcripts.action_features import features_for, first_actions, read_features, without_repeats
from verify.transcripts.adversary import Adversary, Interaction
from verify.transcripts.transcript import ActionArray, ActionSpace, Transcript

_PlayWorld = Callable[[bool, int, np.random.SeedSequence], ActionArray]
"""The world, the number of draws and a seed, to actions of shape (draws, rounds, size)."""


@dataclass(frozen=True, kw_only=True)
class _ViewSize:
    """Limits on the view of a run; the values were chosen by hand.

    Attributes
    ----------
    probed
        Draws of each world; features that are the same in all of both are dropped.
    features
        The most features beside the actions.
    actions
        The most places of actions that are read as they are.
    lane_rounds
        Rounds that are played side by side, those of all lanes together.
    """

    probed: int = BLOCK
    features: int = 24
    actions: int = 8
    lane_rounds: int = 1 << 18


_SIZE = _ViewSize()


def adversary_worlds(
    adversary: Adversary, play: _PlayWorld, space: ActionSpace, seed: np.random.SeedSequence
) -> NeighbouringWorlds:
    """Return the adversary's two worlds for a test.

    Parameters
    ----------
    adversary
        The strategy.
    play
        Plays a bandit against it.
    space
        The space of actions.
    seed
        The seed of a few draws that show which features vary.
    """
    transcript = Transcript(np.concatenate([play(other, _SIZE.probed, seed) for other in (False, True)]))
    varying = [
        feature
        for feature in features_for(transcript, space, None)
        if np.unique(feature.values(transcript)).size > 1
    ]
    shown = max(1, min(transcript.rounds, _SIZE.actions) // space.size)
    features = without_repeats([*varying[-_SIZE.features :], *first_actions(shown, space)])

    def draw(other: bool, n: int, child: np.random.SeedSequence) -> ViewSample:
        return read_features(features, Transcript(play(other, n, child)))

    words = f"{adversary.description}: first world", f"{adversary.description}: second world"
    return NeighbouringWorlds(words, draw, transcript.rounds)


def learner_worlds(
    build: BuildLearner,
    problem: Problem,
    adversary: Adversary,
    rounds: int,
    seed: np.random.SeedSequence,
) -> NeighbouringWorlds:
    """Return the two worlds of an adversary of a learner on a gate, played in lanes."""

    def play(other: bool, n: int, child: np.random.SeedSequence) -> ActionArray:
        lanes = _SIZE.lane_rounds // rounds // BLOCK * BLOCK or BLOCK
        sizes = [min(lanes, n - done) for done in range(0, n, lanes)]
        return np.concatenate(
            [
                _learner_against(build, problem, adversary, rounds, lanes=size, other_world=other, seed=own)
                for size, own in zip(sizes, child.spawn(len(sizes)), strict=True)
            ]
        )

    return adversary_worlds(adversary, play, ActionSpace.from_problem(problem), seed)


@subjects_own()
def _learner_against(
    build: BuildLearner,
    problem: Problem,
    adversary: Adversary,
    rounds: int,
    *,
    lanes: int,
    other_world: bool,
    seed: np.random.SeedSequence,
) -> ActionArray:
    """Return the actions of a learner on a gate against an adversary, shape (lanes, rounds, size).

    Raises
    ------
    AdversaryError
        If a lane is challenged twice, or outcomes have another shape than (lanes, arms).
    """
    gate = Simulation(seed, lanes)
    learner, structure = build(gate), problem.structure
    interaction = Interaction(
        adversary,
        rounds=rounds,
        arms=structure.arms,
        size=structure.size,
        lanes=lanes,
        other_world=other_world,
    )
    for record in range(1, rounds + 1):
        outcomes = interaction.outcomes()
        played = checked_action(learner, problem, lanes)
        learner.observe(gate.private(problem.feedback(outcomes, played), learner.feedback_domain, record))
        interaction.play(played)
    return interaction.actions
