"""Plain bandits whose contexts are private: one round's context and reward change, and its own action is not seen."""

import math

import numpy as np
import pytest

from algorithms.claim import View
from mechanisms.parameters import ParameterError
from verify import PlainBandit, verify
from verify.bandits import bandit_view
from verify.bandits.calling.bandit_records import BanditRecords
from verify.transcripts.action_features import read_features

pytestmark = pytest.mark.usefixtures("small_searches")
ARMS, FEATURES, ROUNDS, PHASE = 2, 2, 16, 4
# One record moves a sum of rewards times contexts by sqrt(2) at most in l1; replaced, it may leave one arm's sum for
# another's.
SENSITIVITY = 2.0 * math.sqrt(2.0)


class PhasedLinear:
    """The arm whose noisy sum of rewards times contexts points most where the context does; released once a phase."""

    scale = SENSITIVITY

    def __init__(self, rng):
        self.rng = rng
        self.direction = [0.0] * (ARMS * FEATURES)
        self.sums = [0.0] * (ARMS * FEATURES)
        self.played = 0

    def select_arm(self, context):
        x, y = context.tolist()
        values = [self.direction[2 * arm] * x + self.direction[2 * arm + 1] * y for arm in range(ARMS)]
        return values.index(max(values))

    def update(self, arm, reward, context):
        for place, value in enumerate(context.tolist()):
            self.sums[FEATURES * arm + place] += self.part(reward) * value
        self.played += 1
        if self.played % PHASE == 0:
            noise = self.rng.laplace(scale=self.scale, size=len(self.sums)).tolist()
            self.direction = [total + each for total, each in zip(self.sums, noise, strict=True)]
            self.sums = [0.0] * (ARMS * FEATURES)

    def part(self, reward):
        return reward


class LessNoise(PhasedLinear):
    """A tenth of the noise."""

    scale = SENSITIVITY / 10.0


class ContextsAlone(PhasedLinear):
    """Forgets the rewards: only who is private in the contexts, too, is caught."""

    scale = SENSITIVITY / 10.0

    def part(self, reward):
        return 1.0


class OwnContext(PhasedLinear):
    """Shows each user's context in the user's own action, and nowhere else."""

    def update(self, arm, reward, context):
        pass

    def select_arm(self, context):
        return int(context[0] > 0.5)


class NextShowsContext(PhasedLinear):
    """The action of the next round shows the context, whatever the reward: noise on rewards does not help."""

    def update(self, arm, reward, context):
        self.direction = [0.0, 0.0, float(context[0] > 0.5) - 0.5 + self.rng.laplace(scale=0.1), 0.0]


def subject(kind, **settings):
    return PlainBandit(kind, arms=ARMS, rounds=ROUNDS, private_context=(FEATURES,), **settings)


def test_the_claim_says_that_contexts_are_private():
    form = subject(PhasedLinear).form
    assert form.view is View.OTHER_ACTIONS
    assert "context" in form.comment
    assert PlainBandit(PhasedLinear, arms=2, rounds=4).form.view is View.ACTIONS


@pytest.mark.slow
@pytest.mark.parametrize("kind", [LessNoise, ContextsAlone, NextShowsContext])
def test_a_contextual_bandit_with_too_little_noise_is_refuted(kind):
    result = verify(subject(kind), epsilon=1.0, effort="quick")
    assert result.verdict == "refuted"
    assert "and the context (" in result.witness.neighbours["data"]


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("kind", [PhasedLinear, OwnContext])
def test_a_private_contextual_bandit_is_not_refuted(kind, monkeypatch):
    hidden = set()

    def spied(features, transcript):
        hidden.add(int((transcript.actions == -1).all(axis=(0, 2)).sum()))
        return read_features(features, transcript)

    monkeypatch.setattr(bandit_view, "read_features", spied)
    assert verify(subject(kind), epsilon=1.0, effort="quick").verdict == "unproven"
    # No draw of the test shows the changed round's own action; others of OwnContext never change.
    assert hidden == ({1} if kind is PhasedLinear else set())


def test_the_same_actions_break_a_claim_whose_view_has_the_own_action():
    seen = PlainBandit(
        OwnContext,
        arms=ARMS,
        rounds=ROUNDS,
        contexts=np.tile([[1.0, 0.0], [0.0, 1.0]], (ROUNDS // 2, 1)),
    )
    assert seen.actions(np.zeros((5, ARMS)), 1, np.random.SeedSequence(0))[0, :, 0].tolist() == [1, 0, 1, 0]


def test_a_table_with_contexts_is_played_row_by_row():
    told = []

    class Shows:
        def __init__(self, rng):
            pass

        def select_arm(self, context):
            return int(context @ [1.0, 0.0] > 0.5)

        def update(self, arm, reward, context):
            told.append((arm, reward, tuple(context)))

    table = np.array([[0, 0, 0, 0], [0.0, 0.7, 1, 0], [0.2, 0.0, 0, 1]])
    actions = subject(Shows).actions(table, 1, np.random.SeedSequence(0))
    assert actions[0, :, 0].tolist() == [1, 0]
    assert told == [(1, 0.7, (1.0, 0.0)), (0, 0.2, (0.0, 1.0))]


@pytest.mark.parametrize("shape", [(2,), (3,), (2, 3), (3, 2)])
def test_every_row_is_in_the_domain_and_every_alternative_differs(shape):
    records = BanditRecords(shape[0] if len(shape) > 1 else 2, 0.0, 1.0, shape, (0.5,))
    for point in [*records.points(), *records.middle(), *records.coins(9, np.random.default_rng(0))]:
        assert point.shape == (records.places,)
        alternatives = records.alternatives(point)
        assert any(not np.array_equal(each[: records.arms], point[: records.arms]) for each in alternatives)
        assert any(not np.array_equal(each[records.arms :], point[records.arms :]) for each in alternatives)
        for each in [point, *alternatives]:
            assert not np.array_equal(each, point) or each is point
            assert (np.linalg.norm(np.atleast_2d(records.context_of(each)), axis=1) <= 1.0 + 1e-12).all()


def test_private_contexts_go_with_nothing_that_shows_them():
    with pytest.raises(ParameterError, match="private_context"):
        subject(PhasedLinear, contexts=np.zeros((ROUNDS, 2)))
    with pytest.raises(ParameterError, match="private_context"):
        PlainBandit(PhasedLinear, arms=2, rounds=4, private_context=(0,))
