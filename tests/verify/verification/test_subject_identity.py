"""A subject's digest changes with its code and parameters, and with nothing else."""

import collections
import functools
import inspect
import sys

import numpy as np
import pytest

from mechanisms import Interval, Laplace
from verify import PlainBandit
from verify.conduct.process_state import ignore_float_errors
from verify.functions.command_subject import command_subject
from verify.transcripts.adversary import ChallengeOnPlay
from verify.verification.resolve import resolve
from verify.verification.subject_identity import adversary_words, module_digests, source_digest
from verify.zoo import specimens
from verify.zoo.plain_bandits import DPUCB

DOMAIN = Interval(0, 1)


def digest(subject):
    return source_digest(resolve(subject, DOMAIN))


def noise(data, rng):
    return data + rng.laplace()


def other_noise(data, rng):
    return data + rng.normal()


def made(scale):
    def scaled(data, rng, factor=1.0):
        return data + factor * rng.laplace(scale=scale)

    return scaled


class Scaled:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, data, rng):
        return data + rng.laplace(scale=self.scale)


def test_functions_differ_by_code_and_by_what_they_close_over():
    assert digest(noise) == digest(noise)
    assert digest(noise) != digest(other_noise)
    assert digest(made(1.0)) != digest(made(2.0))
    assert digest(Scaled(1.0)) == digest(Scaled(1.0))
    assert digest(Scaled(1.0)) != digest(Scaled(2.0))
    partial = functools.partial(made(1.0), factor=2.0)
    assert source_digest(resolve(functools.partial(noise), DOMAIN)) != digest(noise)
    assert digest(partial) != digest(functools.partial(made(1.0), factor=3.0))


def test_mechanisms_and_learners_differ_by_parameters_and_bases():
    assert source_digest(resolve(Laplace(scale=1.0))) == source_digest(resolve(Laplace(scale=1.0)))
    assert source_digest(resolve(Laplace(scale=1.0))) != source_digest(resolve(Laplace(scale=2.0)))
    assert source_digest(resolve("cucb-ldp1")) != source_digest(resolve("cucb-ldp2"))


class Spoken(collections.UserDict):
    description = "says"


def test_what_is_pythons_own_differs_from_version_to_version_and_counts_by_its_name():
    bases = "\n".join(f"{base.__module__}.{base.__name__}" for base in Spoken.__mro__[1:-1])
    assert adversary_words(Spoken()) == f"says\n{inspect.getsource(Spoken)}\n{bases}"


@pytest.mark.parametrize(
    "changed",
    [
        PlainBandit(specimens["plain-bandit-seeded"].subject.make, arms=2, rounds=4),
        PlainBandit(DPUCB, arms=2, rounds=5),
        PlainBandit(DPUCB, arms=3, rounds=4),
        PlainBandit(DPUCB, arms=2, rounds=4, rewards=(0.0, 2.0)),
        PlainBandit(DPUCB, arms=2, rounds=4, select="select_arm"),
        PlainBandit(DPUCB, arms=2, rounds=4, update=lambda bandit, arm, reward: None),
        PlainBandit(DPUCB, arms=2, rounds=4, contexts=np.ones((4, 1))),
        PlainBandit(DPUCB, arms=2, rounds=4).against(ChallengeOnPlay(0, 1)),
        PlainBandit(DPUCB, arms=2, rounds=4).against(ChallengeOnPlay(0, 2)),
    ],
    ids=["class", "rounds", "arms", "rewards", "select", "update", "contexts", "adversary", "its-arms"],
)
def test_bandits_differ_by_class_and_by_every_parameter(changed):
    same = [source_digest(resolve(PlainBandit(DPUCB, arms=2, rounds=4))) for _ in range(2)]
    assert same[0] == same[1] != source_digest(resolve(changed))


def test_commands_differ_by_the_files_they_name(tmp_path):
    program = tmp_path / "program.sh"
    program.write_text("echo 1")
    before = source_digest(
        command_subject(["sh", "program.sh"], resolve(noise, DOMAIN).neighbours, folder=tmp_path)
    )
    program.write_text("echo 2")
    after = source_digest(
        command_subject(["sh", "program.sh"], resolve(noise, DOMAIN).neighbours, folder=tmp_path)
    )
    other = source_digest(
        command_subject(["sh", "other.sh"], resolve(noise, DOMAIN).neighbours, folder=tmp_path)
    )
    assert len({before, after, other}) == 3


def test_modules_are_those_of_users_wherever_they_lie_and_versions_those_of_packages(tmp_path, monkeypatch):
    """A package without __init__.py, and a module found through sys.path, are code of the learner, too."""
    (tmp_path / "spaced_of_test").mkdir()
    (tmp_path / "spaced_of_test" / "tools.py").write_text("FACTOR = 1.0\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "shared_of_test.py").write_text("FACTOR = 1.0\n")
    monkeypatch.syspath_prepend(tmp_path / "lib")
    (tmp_path / "own_of_test.py").write_text(
        "import json\nimport shared_of_test\nfrom spaced_of_test.tools import FACTOR\nimport numpy as np\n"
        "from algorithms import ClaimForm, View\n"
        "class Mine:\n    claim = ClaimForm(model='local', view=View.MESSAGE, unit='one report', source='notes')\n"
        "    def act(self): ...\n"
    )
    found = module_digests(resolve(f"{tmp_path / 'own_of_test.py'}:Mine"))
    for name in [name for name in sys.modules if "of_test" in name]:
        del sys.modules[name]
    assert {name for name in found if name.startswith("module")} == {
        "module algorithms.claim",  # of this library, what it uses itself
        "module own_of_test",
        "module shared_of_test",
        "module spaced_of_test.tools",
    }
    assert found["version of numpy"] == np.__version__


def test_modules_that_only_a_function_imports_count_whether_or_not_it_ran(tmp_path, monkeypatch):
    """A package beside the file, what this imports in turn, and a module found through sys.path."""
    monkeypatch.setattr(sys, "path", [str(tmp_path / "lib"), *sys.path])
    for name, text in {
        "lib/far_of_test.py": "def index(x): return x\n",
        "package_of_test/__init__.py": "from .inner import index\n",
        "package_of_test/inner.py": "def index(x):\n    import next_of_test\n    return next_of_test.FACTOR * x\n",
        "next_of_test.py": "FACTOR = 1.0\n",
        "lazy_of_test.py": "from algorithms import ClaimForm, View\n"
        "class Mine:\n    claim = ClaimForm(model='local', view=View.MESSAGE, unit='one report', source='notes')\n"
        "    def act(self):\n        import far_of_test, package_of_test, json, numpy\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    subject = resolve(f"{tmp_path / 'lazy_of_test.py'}:Mine")
    found = module_digests(subject)
    (tmp_path / "package_of_test" / "inner.py").write_text("def index(x): return 2 * x\n")
    changed = module_digests(subject)
    assert {name for name in found if name.startswith("module")} == {
        "module algorithms.claim",
        "module far_of_test",
        "module lazy_of_test",
        "module next_of_test",
        "module package_of_test",
        "module package_of_test.inner",
    }
    assert found["module package_of_test.inner"] != changed["module package_of_test.inner"]


def test_packages_around_a_module_count_and_modules_that_hide_pythons_own(tmp_path, monkeypatch):
    """What a package's __init__ does runs before its modules do, and may change them."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name, text in {
        "around_of_test/__init__.py": "from . import patch\n",
        "around_of_test/patch.py": "from . import inner\ninner.FACTOR = 2.0\n",
        "around_of_test/inner.py": "FACTOR = 1.0\n",
        "this.py": "FACTOR = 1.0\n",
        "inside_of_test.py": "import this\nfrom around_of_test.inner import FACTOR\n"
        "from algorithms import ClaimForm, View\n"
        "class Mine:\n    claim = ClaimForm(model='local', view=View.MESSAGE, unit='one report', source='notes')\n"
        "    def act(self): ...\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.delitem(sys.modules, "this", raising=False)
    found = module_digests(resolve(f"{tmp_path / 'inside_of_test.py'}:Mine"))
    for name in [name for name in sys.modules if "of_test" in name or name == "this"]:
        del sys.modules[name]
    assert {name for name in found if name.startswith("module")} == {
        "module algorithms.claim",
        "module around_of_test",
        "module around_of_test.inner",
        "module around_of_test.patch",
        "module inside_of_test",
        "module this",
    }


def test_a_class_in_a_users_module_of_a_shared_name_counts_by_its_code(tmp_path):
    """It was taken for the library's, and counted by its name."""
    digests = set()
    for scale in (1, 2):
        folder = tmp_path / str(scale)
        (folder / "mechanisms/noise").mkdir(parents=True)
        (folder / "mechanisms/noise/laplace.py").write_text(
            f"class Noisy:\n    def __call__(self, data, rng):\n        return data + rng.laplace(scale={scale})\n"
        )
        (folder / "subject.py").write_text(
            "from mechanisms.noise.laplace import Noisy\nclass Own(Noisy):\n    pass\nown = Own()\n"
        )
        with ignore_float_errors():
            digests.add(digest(f"{folder}/subject.py:own"))
    assert len(digests) == 2
