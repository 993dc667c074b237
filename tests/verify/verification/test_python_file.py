"""Importing a user's file: what is wrong with it is said with its line."""

from __future__ import annotations

import os
import py_compile
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from verify import verify
from verify.commands.command_group import cli
from verify.findings.subject_error import SubjectError
from verify.verification.python_file import import_file


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import numpy\n\nvalue = numpy.nothing\n", r"broken\.py:3 does not import: AttributeError"),
        ("def f(:\n", r"broken\.py:1 does not import: SyntaxError"),
        (
            "from .other import x\n",
            r"broken\.py:1 does not import: ImportError.*; name the object in a file outside",
        ),
        ("raise SystemExit(2)\n", r"broken\.py:1 does not import: SystemExit: 2"),
    ],
)
def test_a_file_that_does_not_import_names_its_line(tmp_path: Path, text: str, words: str) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(text)
    with pytest.raises(SubjectError, match=words):
        import_file(broken)


def test_a_file_imports_what_lies_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "beside_a_subject.py").write_text("value = 3\n")
    file = tmp_path / "own.py"
    file.write_text("from beside_a_subject import value\n")
    before = list(sys.path)
    assert import_file(file).value == 3
    assert sys.path == [*before, str(tmp_path)], "what others import keeps its place"


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SubjectError, match="no such file"):
        import_file(tmp_path / "missing.py")
    (tmp_path / "text.txt").write_text("")
    with pytest.raises(SubjectError, match="is no Python file"):
        import_file(tmp_path / "text.txt")


def kept_of_another_version(path: Path) -> None:
    """Leave byte code of another version beside a file, as copying with time stamps does."""
    kept = path.read_text()
    path.write_text(kept.replace("1", "2"))
    stamp = path.stat()
    py_compile.compile(str(path), doraise=True)
    path.write_text(kept)
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def test_a_notebook_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "some.ipynb").write_text("{}")
    with pytest.raises(SubjectError, match=r"some\.ipynb: is no Python file; put what is verified into one"):
        verify(f"{tmp_path / 'some.ipynb'}:noisy")


def test_what_is_run_is_what_the_file_says(tmp_path: Path) -> None:
    path = tmp_path / "subject.py"
    path.write_text("NUMBER = 1\n")
    kept_of_another_version(path)
    assert import_file(path).NUMBER == 1


@pytest.mark.usefixtures("helper_forgotten")
def test_byte_code_of_another_version_beside_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "helper_of_test.py").write_text("NUMBER = 1\n")
    path = tmp_path / "subject.py"
    path.write_text("from helper_of_test import NUMBER\n")
    assert import_file(path).NUMBER == 1
    del sys.modules["helper_of_test"]
    kept_of_another_version(tmp_path / "helper_of_test.py")
    with pytest.raises(
        SubjectError, match=r"helper_of_test\.py: was run from byte code of another version; remove"
    ):
        import_file(path)


def test_byte_code_of_a_package_with_a_name_of_the_librarys_is_looked_at_too(tmp_path: Path) -> None:
    (tmp_path / "mechanisms.py").write_text("NUMBER = 1\n")
    kept_of_another_version(tmp_path / "mechanisms.py")
    (tmp_path / "subject.py").write_text("from mechanisms import NUMBER\n")
    with pytest.raises(
        SubjectError, match=r"mechanisms\.py: was run from byte code of another version; remove"
    ):
        import_file(tmp_path / "subject.py")


@pytest.fixture
def helper_forgotten() -> Iterator[None]:
    yield
    sys.modules.pop("helper_of_test", None)


@pytest.mark.slow
def test_functions_may_import_what_lies_beside_their_file_when_they_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "lazy_beside_a_subject.py").write_text("SCALE = 1.0\n")
    (tmp_path / "subject.py").write_text(
        "from algorithms import CUCB\nfrom mechanisms import Interval\nfrom verify import claimed\n"
        "@claimed(data=Interval(0, 1))\ndef noisy(data, rng, lanes):\n"
        "    from lazy_beside_a_subject import SCALE\n    return data + rng.laplace(scale=SCALE, size=lanes)\n"
        "class Mine(CUCB):\n    def choose(self):\n        import lazy_beside_a_subject\n"
        "        return super().choose()\n"
    )
    file = tmp_path / "subject.py"
    assert verify(f"{file}:noisy", epsilon=1.0, effort="quick", samples=20_000).verdict == "unproven"
    for command, code in (("simulate", 0), ("regret", 3)):  # in so few rounds the bound says nothing
        said = CliRunner().invoke(cli, [command, f"{file}:Mine", "--runs", "4", "--horizon", "20"])
        assert said.exit_code == code, said.exception
    del sys.modules["lazy_beside_a_subject"]
