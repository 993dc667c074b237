"""Importing a user's file: what is wrong with it is said with its line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from verify.subject_error import SubjectError
from verify.subjects.python_file import import_file


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import numpy\n\nvalue = numpy.nothing\n", r"broken\.py:3 does not import: AttributeError"),
        ("def f(:\n", r"broken\.py:1 does not import: SyntaxError"),
        ("raise SystemExit(2)\n", r"broken\.py:1 does not import: SystemExit: 2"),
    ],
)
def test_a_file_that_does_not_import_names_its_line(tmp_path: Path, text: str, words: str) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(text)
    with pytest.raises(SubjectError, match=words):
        import_file(broken)


def test_a_file_imports_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside_a_subject.py").write_text("value = 3\n")
    file = tmp_path / "own.py"
    file.write_text("from beside_a_subject import value\n")
    before = list(sys.path)
    assert import_file(file).value == 3
    assert sys.path == before


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SubjectError, match="no such file"):
        import_file(tmp_path / "missing.py")
    (tmp_path / "text.txt").write_text("")
    with pytest.raises(SubjectError, match="not a Python file"):
        import_file(tmp_path / "text.txt")
