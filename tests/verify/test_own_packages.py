"""A user's packages with names of this library's are found by the user's code, and by nothing else."""

from __future__ import annotations

import abc
import linecache
import os
import random
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Generic

import numpy as np
import pytest

from algorithms.blocks.identity import identity
from algorithms.code_fingerprint import forget_sources
from dpwitness import is_installed, is_of_a_user, is_of_library, is_of_package, is_of_python
from verify import verify
from verify.learners.other_records import boundary_values
from verify.verification.python_file import import_file
from verify.verification.subject_identity import class_without_source

ROOT = Path(__file__).parent.parent.parent

_SUBJECT = """\
from __future__ import annotations
from mechanisms.shaped import Noise, noisy
from mechanisms import Integers  # of the library: the folder has none
from verify import ReplaceOne, claimed
import algorithms.counts
import helper

@claimed(data=ReplaceOne(Integers(0, 1), 2))
def count(data, rng):
    from algorithms.lazy import scale
    return noisy(algorithms.counts.total(data), scale(), rng) + helper.nothing()
"""


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Path]:
    """A repository with packages of three of these names, one of them without an ``__init__.py``."""
    files = {
        "mechanisms/__init__.py": "from . import shaped\n",
        "mechanisms/shaped.py": (
            "from __future__ import annotations\nfrom dataclasses import dataclass\n"
            "from algorithms import counts\n\n@dataclass\nclass Noise:\n    scale: float\n\n"
            "def noisy(x, scale, rng):\n    return x + rng.laplace(scale=Noise(scale).scale)\n"
        ),
        "algorithms/counts.py": "def total(data):\n    return float(data.sum())\n",
        "algorithms/lazy.py": "from mechanisms.shaped import Noise\n\ndef scale():\n    return Noise(1.0).scale\n",
        "helper.py": (
            "import mechanisms.shaped as noise\n\ndef nothing():\n    import mechanisms.shaped as again\n"
            "    return 0.0 if again is noise else 1e9\n"
        ),
        "subject.py": _SUBJECT,
    }
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    before = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = before[0]
    for name in set(sys.modules) - before[1]:
        if "helper" in name:
            del sys.modules[name]


def test_they_are_imported_and_verified(repository: Path) -> None:
    import algorithms
    import mechanisms

    result = verify(f"{repository}/subject.py:count", epsilon=1.0, effort="quick", samples=20_000, seed=0)
    assert result.verdict == "unproven"
    assert result.lower is not None
    assert result.lower.epsilon > 0.5
    assert sys.modules["mechanisms"] is mechanisms
    assert sys.modules["algorithms"] is algorithms
    assert "mechanisms.shaped" not in sys.modules
    assert "algorithms.counts" not in sys.modules


def test_imports_at_call_time_find_the_same_modules(repository: Path) -> None:
    module = import_file(repository / "subject.py")
    assert abs(module.count(np.array([0, 1]), np.random.default_rng(0))) < 100.0


def test_a_file_of_such_a_name_still_imports_the_library(tmp_path: Path) -> None:
    (tmp_path / "verify.py").write_text("from verify import claimed\nfrom mechanisms import Interval\n")
    module = import_file(tmp_path / "verify.py")
    from mechanisms import Interval

    assert module.Interval is Interval


PICKLED = """\
import importlib, inspect, pickle, typing
from dataclasses import dataclass

@dataclass
class Answer:
    value: float

def noisy(data, rng):
    assert importlib.import_module("mechanisms.core").Answer is Answer
    assert inspect.getmodule(Answer) is __import__("mechanisms").core
    assert typing.get_type_hints(Answer) == {"value": float}
    return pickle.loads(pickle.dumps(Answer(float(data + rng.laplace())))).value
"""


def test_their_classes_are_found_by_name_while_their_code_runs(tmp_path: Path) -> None:
    (tmp_path / "mechanisms").mkdir()
    (tmp_path / "mechanisms" / "core.py").write_text(f"from __future__ import annotations\n{PICKLED}")
    (tmp_path / "subject.py").write_text(
        "from mechanisms import Interval\nfrom mechanisms.core import noisy\nfrom verify import claimed\n"
        "noisy = claimed(data=Interval(0, 1))(noisy)\n"
    )
    result = verify(f"{tmp_path}/subject.py:noisy", epsilon=1.0, effort="quick", samples=2000)
    assert result.lower is not None
    assert result.lower.epsilon > 0.1
    assert not [finding for finding in result.findings if "raised" in finding.message]
    assert "mechanisms.core" not in sys.modules
    assert str(tmp_path) not in sys.path[:1]


def test_a_path_that_the_file_extends_is_searched_too(tmp_path: Path) -> None:
    (tmp_path / "below" / "algorithms").mkdir(parents=True)
    (tmp_path / "below" / "algorithms" / "deep.py").write_text("def same(x):\n    return x\n")
    (tmp_path / "subject.py").write_text(
        "import sys\nfrom pathlib import Path\nimport algorithms\n"
        "sys.path.insert(0, str(Path(__file__).parent / 'below'))\n"
        "def f(x):\n    from algorithms.deep import same\n    return same(x)\n"
    )
    before = list(sys.path)
    try:
        assert import_file(tmp_path / "subject.py").f(2) == 2
    finally:
        sys.path[:] = before


INSTALLED = ("dpwitness.py", "mechanisms", "accountant", "algorithms", "verify")
PROJECTS = {
    "own_mechanisms": (
        {
            "mechanisms/__init__.py": "def lap(x, rng):\n    import mechanisms, pickle\n"
            "    assert mechanisms.lap is lap\n    pickle.dumps(lap)\n    return float(x + rng.laplace())\n",
            "test_fixture.py": "from mechanisms import lap\n"
            "def test(assert_dp):\n    assert_dp(lap, epsilon=1.0, data=[0.0, 1.0], samples=2000)\n"
            "    import mechanisms\n    assert mechanisms.lap is lap\n",
            "test_import.py": "from verify import DPViolation, assert_dp, ReplaceOne\nfrom mechanisms import lap\n"
            "import verify.neighbouring.within, pytest\n"
            "def test():\n    with pytest.raises(DPViolation):\n"
            "        assert_dp(lap, epsilon=0.1, data=[0.0, 2.0], samples=4000)\n",
            "test_without.py": "import mechanisms\ndef test():\n    assert vars(mechanisms).keys() >= {'lap'}\n"
            "    with __import__('pytest').raises(ImportError):\n        from mechanisms import Laplace\n",
        },
        3,
    ),
    "own_verify": (
        {
            "verify/__init__.py": "",
            "verify/checks.py": "def ok(x):\n    return x\n",
            "test_a.py": "from verify.checks import ok\nfrom mechanisms import Interval\n"
            "def noisy(data, rng):\n    from verify import checks\n    return checks.ok(float(data + rng.laplace()))\n"
            "def test(assert_dp):\n    assert_dp(noisy, epsilon=1.0, data=Interval(0, 1), samples=2000)\n",
            "test_b.py": "from verify.checks import ok\ndef test():\n    import sys\n    assert ok(1) == 1\n"
            "    assert sys.modules['verify.checks'].ok is ok\n",
        },
        2,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROJECTS)
def test_pytest_in_a_repository_with_such_packages(name: str, tmp_path: Path) -> None:
    """As installed: the packages lie behind the repository on the path, and pytest finds the plugin's entry point."""
    installed, project = tmp_path / "installed", tmp_path / "project"
    (installed / "own-1.0.dist-info").mkdir(parents=True)
    for each in INSTALLED:
        (installed / each).symlink_to(ROOT / each)
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    entry = "".join(f"{name} = {target}\n" for name, target in points.items())
    (installed / "own-1.0.dist-info" / "entry_points.txt").write_text(f"[pytest11]\n{entry}")
    (installed / "own-1.0.dist-info" / "METADATA").write_text("Name: own\nVersion: 1.0\n")
    files, passed = PROJECTS[name]
    for file, text in files.items():
        (project / file).parent.mkdir(parents=True, exist_ok=True)
        (project / file).write_text(text)
    environment = {
        **os.environ,
        "PYTHONPATH": f"{project}:{installed}",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "dpwitness",
        "-p",
        "no:cacheprovider",
        "--dp-report",
    ]
    ran = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert f"{passed} passed" in ran.stdout, ran.stdout + ran.stderr


def run_verify(
    folder: Path, packages: Path, *arguments: str, python: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run ``dpwitness verify`` in a folder at quick effort, with packages before the library on the path."""
    command = [sys.executable, *python, "-c", "import dpwitness; dpwitness.main()", "verify", *arguments]
    return subprocess.run(
        [*command, "--epsilon", "1", "--effort", "quick"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{packages}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_command_in_a_folder_with_such_packages(repository: Path) -> None:
    (repository / "verify.py").write_text("")
    ran = run_verify(repository, repository, "subject.py:count", "--samples", "2000")
    assert ran.returncode == 3, ran.stderr


BASE = """\
import functools
from algorithms.problems import SemiBandit

class Base:
    def act(self): return 0

class Empty(Base): pass

class Static(Base):
    act = staticmethod(lambda: 0)

class Property(Base):
    act = property(lambda self: 0)

class Partial(Base):
    act = functools.partialmethod(print)

@functools.wraps(SemiBandit, updated=())
class Named(Base): pass
"""


def test_a_users_class_never_counts_as_the_librarys_whatever_its_body_and_names(tmp_path: Path) -> None:
    import algorithms

    (tmp_path / "algorithms").mkdir()
    (tmp_path / "algorithms" / "__init__.py").write_text("from algorithms.learner import *\n")
    (tmp_path / "algorithms" / "learner.py").write_text(BASE)
    (tmp_path / "subject.py").write_text("import algorithms\n")
    theirs = vars(import_file(tmp_path / "subject.py").algorithms)
    for name in ("Base", "Empty", "Static", "Property", "Partial", "Named"):
        assert not is_of_library(theirs[name]), name
    assert is_of_library(algorithms.Learner)
    assert is_of_library(algorithms.ClaimForm)  # made anew, with slots


def test_packages_are_installed_in_every_folder_of_packages(tmp_path: Path) -> None:
    """A user's, a distribution's and one of the path are none of sysconfig's; an editable one lies elsewhere."""
    for folder in ("user/lib/python3.11/site-packages", "usr/lib/python3/dist-packages"):
        file = tmp_path / folder / "tool" / "core.py"
        assert is_installed(str(file))
        assert is_of_package(str(file))
        assert not is_of_a_user(str(file))
    assert is_of_package(np.__file__)
    assert is_installed(os.__file__)
    assert not is_of_package(os.__file__)
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "mine.py").symlink_to(tmp_path / "src" / "mine.py")
    assert is_of_a_user(str(tmp_path / "site-packages" / "mine.py"))


@pytest.mark.slow
def test_a_package_of_the_path_is_not_run_again_with_the_users_code(tmp_path: Path) -> None:
    """It was taken for a module of the user's."""
    (tmp_path / "site-packages" / "loaded_once").mkdir(parents=True)
    (tmp_path / "site-packages" / "loaded_once" / "__init__.py").write_text(
        "import pathlib\nwith (pathlib.Path(__file__).parent / 'loads').open('a') as file:\n    file.write('x')\n"
    )
    (tmp_path / "subject.py").write_text(
        "import loaded_once\nfrom mechanisms import Interval\nfrom verify import claimed\n"
        "@claimed(data=Interval(0, 1))\ndef noisy(data, rng):\n    return data + rng.laplace(scale=0.5)\n"
    )
    run_verify(tmp_path, tmp_path / "site-packages", "subject.py:noisy", python=("-P",))
    assert (tmp_path / "site-packages" / "loaded_once" / "loads").read_text() == "x"


RUN = """\
import sys
import dpwitness
algorithms, accountant = map(dpwitness.library_module, ("algorithms", "accountant"))
problems = dpwitness.library_module("algorithms.problems")
from algorithms.mine import Mine

def build(gate):
    return Mine(problems.TopK(arms=5, size=2), gate, epsilon=1.0, horizon=100)

if sys.argv[1] == "save":
    with algorithms.DurableRun(build, accountant.Accountant(accountant.Budget(epsilon=1.0))) as run:
        run.learner.act()
        run.accountant.private([1.0, 0.0], run.learner.feedback_domain, record="ann")
        run.save("kept")
else:
    algorithms.DurableRun.load("kept", build).close()
"""
MINE = """\
import dpwitness

class Mine(dpwitness.library_module("algorithms").CUCBBatch):
    def act(self):
        from algorithms.factor import FACTOR
        return super().act()
"""


@pytest.mark.slow
def test_a_durable_run_of_such_a_package_goes_on_and_notices_changed_code(tmp_path: Path) -> None:
    (tmp_path / "algorithms").mkdir()
    files = {
        "run": RUN,
        "algorithms/__init__": "",
        "algorithms/mine": MINE,
        "algorithms/factor": "FACTOR = 1.0\n",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)

    def run(how: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "run.py", how],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )

    for how in ("save", "load"):
        found = run(how)
        assert found.returncode == 0, found.stderr
    (tmp_path / "algorithms" / "factor.py").write_text("FACTOR = 2.0\n")
    assert "algorithms/factor.py changed since" in run("load").stderr


def test_a_module_that_hides_one_of_pythons_is_a_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sndhdr.py").write_text("class Mine:\n    limit = 0.375\n")
    import_file(tmp_path / "sndhdr.py")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "sndhdr", raising=False)
    mine = __import__("sndhdr").Mine
    assert not is_of_python(mine)
    assert 0.375 in boundary_values(mine, 0.0, 1.0)
    before = identity(mine)
    (tmp_path / "sndhdr.py").write_text("class Mine:\n    limit = 0.5\n")
    forget_sources()
    assert identity(mine) != before
    assert class_without_source(mine) is None
    (tmp_path / "sndhdr.py").unlink()
    linecache.checkcache()
    assert class_without_source(mine) == "Mine"


@pytest.mark.parametrize("found", [object, dict, ValueError, abc.ABC, Generic, Counter, random.Random])
def test_classes_of_pythons_are_known(found: type) -> None:
    assert is_of_python(found)


def test_a_class_that_says_that_it_is_pythons_is_not() -> None:
    assert not is_of_python(type("Mine", (), {"__module__": "calendar"}))
