"""Standard output and error of the command: whatever happens to them, nothing raises."""

from __future__ import annotations

import io
import os

import pytest

from verify.conduct.standard_streams import _Outlet


def outlet(number: int) -> _Outlet:
    return _Outlet(io.FileIO(number, "w", closefd=False))


def test_what_is_written_arrives() -> None:
    reading, writing = os.pipe()
    with outlet(writing) as out:
        assert out.writable()
        assert not out.isatty()
        assert out.fileno() == writing
        assert out.write(b"abc") == 3
        assert os.read(reading, 10) == b"abc"
        assert out.write_error == ""
    os.close(reading)
    os.close(writing)


def test_a_reader_who_has_gone_has_read_enough() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    out = outlet(writing)
    assert [out.write(b"abc"), out.write(b"de")] == [3, 2]
    assert isinstance(out.error, BrokenPipeError)
    assert out.write_error == ""
    os.close(writing)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk that is full")
def test_a_full_disk_is_remembered() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    out = outlet(full)
    assert out.write(b"abc") == 3
    assert out.write_error == "No space left on device"
    os.close(full)


def test_a_terminal_that_does_not_block_is_waited_for() -> None:
    class Reluctant(io.RawIOBase):
        calls = 0

        def write(self, data):
            self.calls += 1
            return None if self.calls == 1 else len(data)

        def fileno(self):
            return writing

    reading, writing = os.pipe()
    assert _Outlet(Reluctant()).write(b"abc") == 3
    os.close(reading)
    os.close(writing)
