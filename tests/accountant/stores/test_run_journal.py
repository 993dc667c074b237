"""Lines of a run's journal in a file: complete ones are kept, half of one is put over, and nobody else writes there."""

from pathlib import Path

import pytest

from accountant.stores.run_journal import _FileLines
from accountant.stores.store_refusals import InUse, StoreMoved


def test_half_a_line_that_was_left_is_put_over(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b"one\ntw")  # as a process that was killed leaves it
    lines = _FileLines(path)
    assert lines.read_lines() == [("one", 4)]
    assert lines.append("three", 4) == 10
    assert path.read_bytes() == b"one\nthree\n"
    assert lines.read_lines() == [("one", 4), ("three", 10)]
    lines.close()


def test_lines_of_another_process_and_files_that_are_gone_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    lines = _FileLines(path)
    end = lines.append("one", 0)
    path.write_bytes(path.read_bytes() + b"two\n")
    with pytest.raises(InUse, match="another process has written to it"):
        lines.append("three", end)
    path.unlink()
    with pytest.raises(StoreMoved, match="was deleted"):
        lines.append("three", end)
    lines.close()
