"""Blocks are the same wherever they are done, and none is lost or done twice."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from algorithms.blocks import (
    Arrays,
    Blocks,
    BlockStore,
    DamagedBlock,
    Executor,
    Finished,
    Processes,
    Serial,
    Tell,
    Workers,
    run_blocks,
)
from mechanisms import ParameterError


def draw(seed: int, numbers: range, tell: Tell) -> list[Arrays]:
    """Draw three numbers a block."""
    found: list[Arrays] = []
    for number in numbers:
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        found.append({"normal": rng.standard_normal(3), "whole": rng.integers(9, size=(1, 2))})
        tell(len(found) / len(numbers))
    return found


def work(count: int, seed: int = 5, together: int = 4) -> Blocks:
    return Blocks(functools.partial(draw, seed), count, together, {"what": "three numbers"})


def same(one: Finished, other: Finished) -> bool:
    return [len(blocks) for blocks in one.results] == [len(blocks) for blocks in other.results] and all(
        a.keys() == b.keys() and all(a[name].tobytes() == b[name].tobytes() for name in a)
        for left, right in zip(one.results, other.results, strict=True)
        for a, b in zip(left, right, strict=True)
    )


class StopsAfter:
    """An executor that is interrupted after so many results."""

    parallel_tasks = 1

    def __init__(self, stop_after: int) -> None:
        self._left = stop_after

    @contextmanager
    def open(self, work: Any, most: int | None = None) -> Iterator[Workers]:
        executor = self

        class Stopping(Workers):
            def completed(self, tasks: Any) -> Iterator[tuple[int, Any]]:
                for number, task in enumerate(tasks):
                    if executor._left == 0:
                        raise KeyboardInterrupt
                    executor._left -= 1
                    yield number, work(task)

        yield Stopping()


WHOLE = run_blocks([work(10), work(3, seed=6)])


@pytest.mark.slow_cells("99-Processes(workers=5)")
@pytest.mark.few(3)
@pytest.mark.parametrize("executor", [Serial(), Processes(1), Processes(2), Processes(5)], ids=str)
@pytest.mark.parametrize("together", [1, 4, 99])
def test_results_depend_on_no_executor_and_on_no_grouping(executor: Executor, together: int) -> None:
    again = run_blocks([work(10, together=together), work(3, seed=6, together=together)], executor)
    assert same(again, WHOLE)
    assert again.stored == 0.0


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stops=st.lists(st.integers(0, 6), max_size=4), together=st.integers(1, 4), seed=st.integers(0, 3))
def test_a_stopped_run_goes_on(stops: Sequence[int], together: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store, whole = BlockStore(Path(folder)), run_blocks([work(12, seed)])
        for stop_after in stops:
            try:
                run_blocks([work(12, seed, together)], StopsAfter(stop_after), store=store)
            except KeyboardInterrupt:
                continue
        stored = len(list(Path(folder).rglob("*.block")))
        assert stored >= min(12, together * max(stops, default=0))
        finished = run_blocks([work(12, seed)], store=store)
        assert same(finished, whole)
        assert finished.stored == pytest.approx(stored / 12)


@pytest.mark.parametrize("workers", ["two", None, 0, 1.5, True])
def test_a_refusal_names_the_workers(workers: Any) -> None:
    with pytest.raises(ParameterError, match=f"^workers = {workers!r}: must be "):
        run_blocks([work(1)], workers)


def test_a_number_of_workers_may_be_of_numpy() -> None:
    assert same(run_blocks([work(3)], np.int64(1)), run_blocks([work(3)]))


@pytest.mark.parametrize(("count", "stored"), [(0, 1.0), (1, 0.0)])
def test_of_no_blocks_all_are_stored(count: int, stored: float) -> None:
    assert run_blocks([work(count)]).stored == stored


def test_more_blocks_keep_the_first_ones(tmp_path: Path) -> None:
    store = BlockStore(tmp_path / "blocks")
    run_blocks([work(4)], store=store)
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.block")}
    longer = run_blocks([work(10), work(3, seed=6)], Processes(2), store=store)
    assert same(longer, WHOLE)
    assert longer.stored == pytest.approx(4 / 13)
    assert {file: file.stat().st_mtime_ns for file in before} == before
    assert same(run_blocks([work(2)], store=store), run_blocks([work(2)]))


def test_folders_of_several_machines_are_merged_by_copying(tmp_path: Path) -> None:
    """Two files of one name are the same, whichever machine wrote them."""
    for number, count in ((1, 4), (2, 7)):
        run_blocks([work(count)], store=BlockStore(tmp_path / str(number)))
    merged = tmp_path / "merged"
    for number in (2, 1):
        shutil.copytree(tmp_path / str(number), merged, dirs_exist_ok=True)
    done = run_blocks([work(7)], StopsAfter(0), store=BlockStore(merged))
    assert same(done, run_blocks([work(7)]))
    assert done.stored == 1.0


def die_at_times(folder: str, seed: int, numbers: range, tell: Tell) -> list[Arrays]:
    """Draw, unless the system ends the worker: each time the first worker who tries one of some cells."""
    died = Path(folder) / f"{seed}"
    if seed % 17 == 4 and not died.exists():
        died.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return draw(seed, numbers, tell)


@pytest.mark.slow  # test_executor kills workers in the default tier
def test_a_grid_of_a_hundred_cells_loses_nothing_when_workers_die(tmp_path: Path) -> None:
    (tmp_path / "died").mkdir()
    store = BlockStore(tmp_path / "store")
    cells = [Blocks(functools.partial(die_at_times, str(tmp_path / "died"), cell), 2) for cell in range(100)]
    found = run_blocks(cells, Processes(2), store=store)
    assert len(list((tmp_path / "died").iterdir())) == 6
    assert same(found, run_blocks([work(2, cell) for cell in range(100)]))
    assert len(list((tmp_path / "store").rglob("*.block"))) == 200
    assert same(run_blocks(cells, StopsAfter(0), store=store), found)


def test_other_parameters_are_other_blocks(tmp_path: Path) -> None:
    store = BlockStore(tmp_path)
    for seed in (1, 2, 3):
        assert run_blocks([work(2, seed)], store=store).stored == 0.0
    assert len({work(2, seed).identity for seed in (1, 2, 3)}) == 3
    assert len(list(tmp_path.iterdir())) == 3
    assert '"three numbers"' in next(tmp_path.rglob("work.json")).read_text()


def stored(tmp_path: Path) -> Path:
    run_blocks([work(2)], store=BlockStore(tmp_path))
    return next(tmp_path.rglob("1.block"))


def again(tmp_path: Path) -> None:
    run_blocks([work(2)], store=BlockStore(tmp_path))


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0), change=st.integers(1, 255))
def test_every_damaged_byte_is_noticed(tmp_path: Path, place: int, change: int) -> None:
    file = stored(tmp_path)
    whole = bytearray(file.read_bytes())
    whole[place % len(whole)] ^= change
    file.write_bytes(whole)
    try:
        with pytest.raises(DamagedBlock, match=r"1\.block: "):
            again(tmp_path)
    finally:
        file.unlink()


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (b"", "is no stored block"),
        (b"hello", "is no stored block"),
        (b"[1]\n", "is no stored block"),
        (b'{"dpwitness block": 99}\n', "another version of the block format"),
        (b'{"dpwitness block": 1}\n', "is block None of None"),
    ],
)
def test_foreign_files_are_refused(tmp_path: Path, contents: bytes, words: str) -> None:
    stored(tmp_path).write_bytes(contents)
    with pytest.raises(DamagedBlock, match=words):
        again(tmp_path)


def test_a_block_under_another_name_and_one_of_another_work_are_refused(tmp_path: Path) -> None:
    file = stored(tmp_path)
    mine = file.read_bytes()
    file.write_bytes((file.parent / "0.block").read_bytes())
    with pytest.raises(DamagedBlock, match="is block 0 of"):
        again(tmp_path)
    run_blocks([work(2, seed=77)], store=BlockStore(tmp_path))
    other = tmp_path / work(2, seed=77).identity / "1.block"
    file.write_bytes(other.read_bytes())
    with pytest.raises(DamagedBlock, match=rf"is block 1 of '{work(2, seed=77).identity}'"):
        again(tmp_path)
    file.write_bytes(mine)
    again(tmp_path)


def test_half_written_files_do_not_count(tmp_path: Path) -> None:
    file = stored(tmp_path)
    file.rename(file.with_name("1.block.x7.partial"))
    (file.parent / "notes.txt").write_text("mine")
    assert run_blocks([work(2)], store=BlockStore(tmp_path)).stored == 0.5


def test_a_store_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"store = '.*file': must be a folder"):
        BlockStore(tmp_path / "file")


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_ascends_to_one(workers: int) -> None:
    told: list[float] = []
    run_blocks([work(10), work(3)], Processes(workers), progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert len(told) >= 4
