"""Wrappers are Python that works where nothing is to be filled in, and say every guess."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from verify import verify
from verify.commands.audit_repo_command import audit_repo_command
from verify.repository.callables import found_in
from verify.repository.wrappers import Wrapper, wrap
from verify.subjects.resolve import load_object

MECHANISMS = """
import numpy as np
import matplotlib.pyplot as plt
from missing_plotter_of_nobody import draw

def scalar(value, epsilon, sensitivity=1.0):
    return value + np.random.laplace(scale=sensitivity / (2 * epsilon))

def mean(data, eps=0.1, seed=None):
    return np.mean(data) + np.random.RandomState(seed).laplace(scale=1 / (eps * len(data)))

def coin(bit: bool, epsilon, delta, rng):
    return bit if rng.random() < 0.7 else 1 - bit

def maximum(queries, epsilon, rng=None):
    return max(range(len(queries)), key=lambda i: queries[i] + rng.laplace(scale=2 / epsilon))

def threshold(q, t0, epsilon):
    return [each > t0 + np.random.laplace(scale=1 / epsilon) for each in q]

class Shared:
    def __init__(self, epsilon, sensitivity, lower): self.scale = sensitivity / epsilon
    def randomise(self, value): return value + np.random.laplace(scale=self.scale)

class PrivateUCB:
    def __init__(self, n_arms, epsilon, rng): self.n, self.epsilon, self.rng = np.zeros(n_arms), epsilon, rng
    def select_arm(self): return int(np.argmin(self.n))
    def update(self, arm, reward): self.n[arm] += 1 + self.rng.laplace() / 1e9

draw(scalar(1, 1))
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    path = tmp_path / "checkout" / "1 mechanisms.py"
    path.parent.mkdir()
    path.write_text(MECHANISMS)
    return path


def wrappers(path: Path) -> dict[str, Wrapper]:
    return {each.name: each for each in wrap(found_in(path), path.parent).wrappers}


def test_guesses_are_said_and_what_cannot_be_guessed_too(checkout: Path) -> None:
    found = wrappers(checkout)
    assert found["scalar_of"].guesses == ("value is a number of [0, 1]",)
    assert "return scalar(value=data, epsilon=EPSILON)" in found["scalar_of"].text
    assert found["mean_of"].guesses == ("data holds 10 numbers of [0, 1], of which one is replaced",)
    assert "mean(data=data, eps=EPSILON, seed=int(rng.integers(2**32)))" in found["mean_of"].text
    assert "@claimed(data=Categories(2), guessed=True)" in found["coin_of"].text
    assert "epsilon=EPSILON, delta=DELTA, rng=rng" in found["coin_of"].text
    assert found["coin_of"].delta
    assert "@claimed(data=Within(Box(0, 10, 5), linf=1), guessed=True)" in found["maximum_of"].text
    assert found["threshold_of"].missing == ("t0",)
    assert "# To be filled in: t0." in found["threshold_of"].text
    assert found["Shared_randomise"].guesses[1:] == ("sensitivity = 1.0", "lower = 0.0")
    assert not found["PrivateUCB_bandit"].missing


def test_wrappers_work_as_they_are(checkout: Path, tmp_path: Path) -> None:
    wrapped = wrap(found_in(checkout), checkout.parent)
    assert wrapped.needs == wrapped.stubs == ()  # the main part is not run, nor what it imports
    file = tmp_path / "wrapped.py"
    file.write_text(wrapped.text)
    data = {
        "mean_of": np.zeros(10),
        "maximum_of": np.zeros(5),
        "coin_of": 1,
        "scalar_of": 0.5,
        "Shared_randomise": 0.5,
    }
    for name, value in data.items():
        assert np.isscalar(load_object(f"{file}:{name}")(value, np.random.default_rng(1)))  # type: ignore[operator]
    bandit = load_object(f"{file}:PrivateUCB_bandit")
    assert bandit.actions(np.zeros((5, 2)), 1, np.random.SeedSequence(0))[0, :2, 0].tolist() == [0, 1]  # type: ignore[attr-defined]
    assert verify(f"{file}:scalar_of", epsilon=1.0, samples=20_000).verdict == "refuted"


def test_packages_with_relative_imports_are_imported_as_such(tmp_path: Path) -> None:
    package = tmp_path / "dp_of_a_test" / "inner"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "noise.py").write_text("SCALE = 2.0\n")
    (package / "laplace.py").write_text(
        "import numpy as np\nfrom .noise import SCALE\n\n"
        "def private(x, epsilon, rng):\n    return x + rng.laplace(scale=SCALE / epsilon)\n"
    )
    file = tmp_path / "wrapped.py"
    file.write_text(wrap(found_in(package / "laplace.py"), package.parent).text)
    assert load_object(f"{file}:private_of")(0.0, np.random.default_rng(1)) != 0.0  # type: ignore[operator]


def test_the_command_lists_commands_and_overwrites_nothing(checkout: Path, tmp_path: Path) -> None:
    (checkout.parent / "old.py").write_text("print 'Python 2'")
    folder = tmp_path / "wrappers"
    run = CliRunner().invoke(audit_repo_command, [str(checkout.parent), "--wrappers", str(folder)])
    assert run.exit_code == 0
    assert "old.py: cannot be read as Python" in run.stderr
    assert f"{checkout}:6  scalar  a mechanism" in run.stdout
    assert f"dpwitness verify {folder}/1_mechanisms.py:scalar_of --epsilon 1\n" in run.stdout
    assert f"{folder}/1_mechanisms.py:coin_of --epsilon 1 --delta 1e-05\n" in run.stdout
    assert "fill in first: t0" in run.stdout
    again = CliRunner().invoke(
        audit_repo_command, [str(checkout.parent), "--wrappers", str(folder), "--json"]
    )
    listed = json.loads(again.stdout)["subjects"]
    assert [each["to_be_filled_in"] for each in listed] == [[], [], [], [], [], [], ["t0"]]
    (folder / "1_mechanisms.py").write_text("# checked, and changed\n")
    refused = CliRunner().invoke(audit_repo_command, [str(checkout.parent), "--wrappers", str(folder)])
    assert refused.exit_code != 0
    assert "is there and not the same" in str(refused.exception)
    assert (folder / "1_mechanisms.py").read_text() == "# checked, and changed\n"


def test_where_one_file_is_there_and_not_the_same_none_is_written(tmp_path: Path) -> None:
    source, folder = tmp_path / "source", tmp_path / "wrappers"
    source.mkdir()
    for name in ("a", "b", "c"):
        (source / f"{name}.py").write_text(
            "import numpy as np\n\ndef private(x, epsilon, rng):\n    return x + rng.laplace(scale=1.0 / epsilon)\n"
        )
    folder.mkdir()
    for in_the_way in ((folder / "b.py").mkdir, lambda: (folder / "b.py").write_bytes(b"\xff")):
        in_the_way()
        refused = CliRunner().invoke(audit_repo_command, [str(source), "--wrappers", str(folder)])
        assert "b.py is there and not the same" in str(refused.exception)
        assert [each.name for each in folder.iterdir()] == ["b.py"]
        if (folder / "b.py").is_dir():
            (folder / "b.py").rmdir()
    (folder / "b.py").unlink()
    assert CliRunner().invoke(audit_repo_command, [str(source), "--wrappers", str(folder)]).exit_code == 0
    assert sorted(each.name for each in folder.iterdir()) == ["a.py", "b.py", "c.py"]


def test_files_whose_names_are_written_alike_have_wrappers_of_their_own(tmp_path: Path) -> None:
    source, folder = tmp_path / "source", tmp_path / "wrappers"
    (source / "a").mkdir(parents=True)
    for file, scale in ((source / "a" / "b.py", 1), (source / "a_b.py", 2)):
        file.write_text(
            "import numpy as np\n\ndef private(x, epsilon, rng):\n"
            f"    return x + rng.laplace(scale={scale} / epsilon)\n"
        )
    for _ in range(2):  # the second time nothing is new
        run = CliRunner().invoke(audit_repo_command, [str(source), "--wrappers", str(folder)])
        assert run.exit_code == 0
        assert sorted(each.name for each in folder.iterdir()) == ["a_b.py", "a_b_2.py"]
        assert f"{folder}/a_b.py:private_of" in run.stdout
        assert f"{folder}/a_b_2.py:private_of" in run.stdout


def test_a_checkout_without_anything_says_so(tmp_path: Path) -> None:
    run = CliRunner().invoke(audit_repo_command, [str(tmp_path), "--wrappers", str(tmp_path / "none")])
    assert "nothing in it looks like a mechanism or a bandit" in run.output
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "name",
    ["a\nimport nothing.py", "b\rimport nothing.py", 'c"""\nimport nothing.py', "d\udcff.py", "e;x/f.py"],
)
def test_names_of_files_are_no_code_in_wrappers(tmp_path: Path, name: str) -> None:
    file = tmp_path / "source" / name
    file.parent.mkdir(parents=True)
    try:
        file.write_text(
            "def private(x, epsilon):\n    from . import z\n    return x + z.laplace(1 / epsilon)\n"
        )
    except (OSError, UnicodeError) as error:
        pytest.skip(f"no file can be named so here: {error}")
    (file.parent / "__init__.py").touch()
    folder = tmp_path / "wrappers"
    run = CliRunner().invoke(audit_repo_command, [str(tmp_path / "source"), "--wrappers", str(folder)])
    assert run.exit_code == 0, run.exception
    (written,) = folder.iterdir()
    imported = [
        alias.name
        for each in ast.walk(ast.parse(written.read_bytes()))
        if isinstance(each, ast.Import)
        for alias in each.names
    ]
    assert imported == ["sys", "numpy"]


def test_a_file_that_is_nested_too_deep_leaves_the_others(tmp_path: Path) -> None:
    mechanism = "def private(x{}, epsilon):\n    return x + np.random.laplace(1 / epsilon)\n"
    (tmp_path / "deep.py").write_text(mechanism.format(": a" + ".b" * 1_500))
    (tmp_path / "plain.py").write_text(mechanism.format(""))
    folder = tmp_path / "wrappers"
    run = CliRunner().invoke(audit_repo_command, [str(tmp_path), "--wrappers", str(folder)])
    assert run.exit_code == 0, run.exception
    assert "deep.py: what is in it is nested too deep to be wrapped" in run.stderr
    assert [each.name for each in folder.iterdir()] == ["plain.py"]


def test_wrappers_of_deep_checkouts_have_names_that_fit(tmp_path: Path) -> None:
    sources = [tmp_path / "source" / ("α" * 100) / folder / ("c" * 90) / "x.py" for folder in "ab"]
    for source in sources:
        source.parent.mkdir(parents=True)
        source.write_text("def private(x, epsilon):\n    return x + np.random.laplace(1 / epsilon)\n")
    folder = tmp_path / "wrappers"
    run = CliRunner().invoke(audit_repo_command, [str(tmp_path / "source"), "--wrappers", str(folder)])
    assert run.exit_code == 0, run.exception
    assert len(list(folder.iterdir())) == len(sources)
