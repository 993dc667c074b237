"""Locks that end with a session of PostgreSQL's; the rest is tested with the runs that they hold."""

import fcntl
import os
import resource
import socket

import pytest

from accountant.stores.session_lock import _readable


def test_a_process_may_have_more_than_a_thousand_files_open() -> None:
    """``select`` refuses their numbers: every save of a run was refused in such a process."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] < 2_000:
        pytest.skip("this process may not have so many files open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (2_000, before[1]))
    one, other = socket.socketpair()
    try:
        number = fcntl.fcntl(one.fileno(), fcntl.F_DUPFD, 1_500)
        assert not _readable(number)
        other.send(b".")
        assert _readable(number)
        os.close(number)
    finally:
        one.close()
        other.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
