"""State that a class keeps from run to run is emptied, or found; then nothing is refuted."""
# ruff: noqa: NPY002 (others' code draws from NumPy's global generator)

import functools
import itertools

import numpy as np
import pytest

from verify import PlainBandit, verify
from verify.bandits.calling.run_generators import RunGenerators
from verify.conduct.kept_outside import changed_state, class_state, function_caches
from verify.verification.python_file import import_file

pytestmark = pytest.mark.usefixtures("small_searches")


class Noisy:
    """Private: one reward, released once with Lap(1), decides."""

    def __init__(self):
        self.arm = self.turn = 0

    def noise(self):
        return np.random.laplace()

    def select_arm(self):
        return self.arm

    def update(self, arm, reward):
        self.turn += 1
        self.arm = int(reward + self.noise() > 0.5)


@functools.lru_cache
def cached_noise(turn):
    return np.random.laplace()


class Cached(Noisy):
    """The noise of a process's first run is that of all its runs."""

    def noise(self):
        return cached_noise(self.turn)


class DealtOut(Noisy):
    """Noise is dealt out from a pool, by a counter of the class."""

    pool, at = np.random.default_rng(2).laplace(size=503), 0

    def noise(self):
        DealtOut.at += 1
        return self.pool[DealtOut.at % 503]


class MutableDefault(Noisy):
    def __init__(self, seen=[]):  # noqa: B006 (the bug)
        super().__init__()
        self.seen = seen

    def update(self, arm, reward):
        super().update(arm, reward)
        self.seen.append(1)


class Cycle(Noisy):
    turns = itertools.count()

    def update(self, arm, reward):
        super().update(arm, reward)
        next(self.turns)


@pytest.mark.slow
def test_caches_are_emptied_before_every_run():
    bandit = PlainBandit(Cached, arms=2, rounds=6)
    table = np.zeros((7, 2))
    actions = bandit.actions(table, 200, np.random.SeedSequence(0))
    assert np.unique(actions[:, 1, 0]).size == 2
    assert function_caches(Cached())
    cached_noise(0)
    result = verify(bandit, epsilon=1.0, effort="quick", samples=20_000)
    assert result.verdict == "unproven"
    assert [finding.kind for finding in result.findings] == ["rounds"]


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (DealtOut, "DealtOut.at"),
        (MutableDefault, "MutableDefault.__init__(seen=...)"),
        (Cycle, "Cycle.turns"),
    ],
)
def test_state_that_outlives_a_run_is_a_finding(make, name):
    result = verify(PlainBandit(make, arms=2, rounds=6), epsilon=1.0, effort="quick", samples=20_000)
    assert result.verdict == "unproven"
    (finding,) = result.findings
    assert finding.kind == "remembers"
    assert name in finding.message


def test_one_object_for_all_runs_is_a_finding():
    one = Noisy()
    result = verify(PlainBandit(lambda: one, arms=2, rounds=6), epsilon=1.0, effort="quick", samples=20_000)
    assert [finding.kind for finding in result.findings] == ["remembers"]


def test_generators_are_no_state():
    class Own(Noisy):
        rng = np.random.default_rng(0)

        def noise(self):
            return self.rng.laplace()

    before = class_state(Own())
    Own.rng.laplace()
    assert changed_state(before, class_state(Own())) == []


@pytest.mark.parametrize("draw", [lambda: np.random.random(), lambda: __import__("random").random()])
def test_every_run_has_random_numbers_of_its_own(draw):
    def drawn(numbers):
        generators = RunGenerators(np.random.SeedSequence(5))
        found = []
        for number in numbers:
            generators.begin(number)
            found.append((draw(), generators.rng.random()))
        return found

    forth, back = drawn([0, 1, 2, 3]), drawn([3, 2, 1, 0])
    assert forth == back[::-1]
    assert len(set(forth)) == 4


def test_caches_are_found_in_the_class_own_module_when_a_namesake_was_imported_since(tmp_path):
    code = (
        "import functools\n\n@functools.cache\ndef noise(turn):\n    return turn\n\n\n"
        "class Bandit:\n    def select_arm(self):\n        return noise(1)\n"
    )
    file = tmp_path / "bandit.py"
    file.write_text(code)
    first, _ = import_file(file), import_file(file)
    bandit = first.Bandit()
    bandit.select_arm()
    for clear in function_caches(bandit):
        clear()
    assert first.noise.cache_info().currsize == 0


def test_the_state_of_a_users_module_with_a_name_of_the_librarys_is_seen(tmp_path):
    (tmp_path / "algorithms").mkdir()
    (tmp_path / "algorithms" / "__init__.py").write_text(
        "TURNS = []\nclass Base:\n    def select_arm(self):\n        TURNS.append(1)\nclass Empty(Base): pass\n"
    )
    (tmp_path / "bandit.py").write_text("from algorithms import Base, Empty\n")
    module = import_file(tmp_path / "bandit.py")
    for make in (module.Base, module.Empty):
        before = class_state(make())
        make().select_arm()
        assert changed_state(before, class_state(make())) == ["TURNS"]
