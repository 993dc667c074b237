"""The information about one user of a contextual learner in the actions of other users.

The first batch holds that user, with only the first unit vector to choose and a reward of 1 or -1, and others with the
same choice, which together bring the released sum to the point where one user decides. The next one is offered two
opposite actions, whose widths are equal: which of them is taken is the sign of an estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from accountant import Simulation
from algorithms.linear.contextual_play import BuildContextual, ContextualUsers, play_users
from mechanisms import Gaussian
from mechanisms.arrays import FloatArray
from verify.conduct.process_state import subjects_own
from verify.events.view_sample import Column, ViewSample
from verify.events.worlds import NeighbouringWorlds
from verify.learners.contextual_data import ShownTurn
from verify.transcripts.views import LearnerView

_STANDARD_ERRORS = 4.0  # that a count may be off


def users_who_tell(
    build: BuildContextual, features: int, *, horizon: int, delta: float, samples: int
) -> list[ShownUser]:
    """Return the user with the largest predicted loss in the next one's action, and the one if there is no noise.

    The second is for a learner that declares noise and adds none. None at all if nothing is released before the last
    round.
    """
    with subjects_own():
        learner = build(Simulation(0, 1))
    batch = _first_batch(build, features, horizon)
    if batch is None:
        return []
    mechanism = learner.mechanism
    weight = learner.feedback_domain.weight
    sigma = mechanism.sigma / weight if isinstance(mechanism, Gaussian) else 0.0
    others = np.linspace(1.0 - batch, batch - 1.0, 401) if batch > 1 else np.zeros(1)
    likely, unlikely = (ndtr((others + own) / max(sigma, 1e-9)) for own in (1.0, -1.0))
    least = likely - _STANDARD_ERRORS * np.sqrt(likely / samples) - delta
    most = unlikely + _STANDARD_ERRORS * np.sqrt(unlikely / samples) + 1.0 / samples
    best = int(np.argmax(np.maximum(least, 0.0) / most))
    shifts = dict.fromkeys((float(others[best]), 0.0))
    return [ShownUser(build, features, batch, shift) for shift in shifts]


@subjects_own()
def _first_batch(build: BuildContextual, features: int, horizon: int) -> int | None:
    """Return the number of rounds after which the policy first changes, at most ``horizon - 1``."""
    gate = Simulation(0, 1)
    nothing = ContextualUsers(np.zeros((horizon, 1, features)), np.zeros((horizon, 1)))
    first = None
    for played, turn in enumerate(play_users(build(gate), nothing, gate)):
        shown = ShownTurn.from_turn(turn)
        first = (turn.policy, shown) if first is None else first
        # A new one, or the old one overwritten.
        if turn.policy is not first[0] or not shown.same_policy(first[1]):
            return played
    return None


@dataclass(frozen=True, eq=False)
class ShownUser:
    """A user of the first batch, and the users beside it.

    Attributes
    ----------
    build
        Function that makes the learner on a gate.
    features
        The length of an action's vector.
    batch
        Number of users in the first batch.
    others
        The sum of their rewards, but for the first user's.
    """

    build: BuildContextual
    features: int
    batch: int
    others: float

    def users(self, reward: float) -> ContextualUsers:
        """Return the batch and the user after it, if the first user earns `reward`."""
        contexts = np.zeros((self.batch + 1, 2, self.features))
        contexts[..., 0] = 1.0
        contexts[-1, 1, 0] = -1.0
        rewards = np.full((self.batch + 1, 2), self.others / max(self.batch - 1, 1))
        rewards[0] = reward
        return ContextualUsers(contexts, rewards)

    def worlds(self) -> NeighbouringWorlds:
        """Return both worlds, with the law of the next user's action in them."""
        column = Column(
            f"action[{self.batch + 1}]",
            f"which of two opposite actions is taken in round {self.batch + 1}",
            "category",
        )
        beside = (
            f"all users of the first {self.batch} rounds are offered e_1 only, and all but the first of them "
            f"earn {self.others:.4g} together"
        )

        def draw(other: bool, n: int, seed: np.random.SeedSequence) -> ViewSample:
            users = self.users(-1.0 if other else 1.0)

            def watch(gate: Simulation) -> ViewSample:
                return ViewSample(self._last_action(users, gate), (column,))

            return LearnerView(watch, rounds=self.batch + 1).sample(n, seed)

        words = (f"{beside}; the first earns 1", f"{beside}; the first earns -1")
        return NeighbouringWorlds(words, draw, self.batch + 1)

    def _last_action(self, users: ContextualUsers, gate: Simulation) -> FloatArray:
        """Play, and return the place of the last user's action, (lanes, 1)."""
        *_, turn = play_users(self.build(gate), users, gate)
        return turn.chosen[:, np.newaxis].astype(np.float64)
