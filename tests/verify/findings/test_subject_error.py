"""The line of code that an error is attributed to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mechanisms import Laplace
from verify.conduct.time_limit import TimeLimitReached, time_limit
from verify.findings.subject_error import blamed_place, describe_error_with_location, failing_place
from verify.verification.resolve import load_object

RAISES = """
def raises():
    raise KeyError(7)
"""


@pytest.mark.parametrize("folder", ["accountant", "mechanisms/numpy"])
def test_a_users_line_is_named_whatever_its_folders_are_called(tmp_path: Path, folder: str) -> None:
    file = tmp_path / folder / "mine.py"
    file.parent.mkdir(parents=True)
    file.write_text(RAISES)
    raises = load_object(f"{file}:raises")
    with pytest.raises(KeyError) as error:
        raises()
    assert failing_place(error.value) == (str(file), 3)


def test_lines_of_this_librarys_mechanisms_are_not_blamed() -> None:
    with pytest.raises(ValueError, match="scale") as error:
        Laplace(scale=-1.0)
    assert Path(failing_place(error.value).file) == Path(__file__)


def test_without_a_traceback_there_is_no_line() -> None:
    assert failing_place(KeyError(7)) == ("", 0)


def test_who_raises_stop_iteration_is_blamed_and_not_the_generator_that_called_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def raises():\n    raise StopIteration('enough')\n")
    raises = load_object(f"{file}:raises")

    def played() -> Iterator[None]:
        yield raises()

    with pytest.raises(RuntimeError) as error:
        list(played())
    assert describe_error_with_location(error.value) == f"StopIteration: enough (at {file}:2)"
    with pytest.raises(RuntimeError) as other:
        raise RuntimeError("mine") from KeyError(7)
    assert describe_error_with_location(other.value).startswith("RuntimeError: mine (at ")


def test_no_line_of_this_library_is_blamed_for_a_subject() -> None:
    with pytest.raises(TimeLimitReached) as error, time_limit(0.01):
        wait_for([])
    assert Path(failing_place(error.value).file) == Path(__file__)
    tail = error.tb
    while tail is not None and Path(tail.tb_frame.f_code.co_filename) == Path(__file__):
        tail = tail.tb_next
    within = error.value.with_traceback(tail)  # as where a command is waited for
    assert failing_place(within) == ("", 0)
    assert blamed_place(within).file.endswith("time_limit.py")


def wait_for(never: list[int]) -> None:
    while not never:
        pass
