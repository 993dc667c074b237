"""Clients of a store in processes of their own."""

import os
import pickle
import select
from collections.abc import Callable
from typing import Any


def forked(act: Callable[..., Any], *arguments: Any) -> "Client":
    """Start a process that does this, and whose result `Client.result` returns; what it sends early comes first."""
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return Client(process, reading)
    os.close(reading)
    code = 1
    try:
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(act(pipe, *arguments), pipe)
        code = 0
    finally:
        os._exit(code)


class Client:
    """A process that was started."""

    def __init__(self, process: int, pipe: int) -> None:
        self.process = process
        self._pipe = os.fdopen(pipe, "rb")

    def wait(self, seconds: float) -> None:
        """Wait until it has sent something, this long at the most."""
        select.select([self._pipe], [], [], seconds)

    def sent(self) -> list[Any]:
        """Return all that it sent until it ended, however it did."""
        found = []
        with self._pipe:
            while True:
                try:
                    found.append(pickle.load(self._pipe))
                except (EOFError, pickle.UnpicklingError):
                    break
        os.waitpid(self.process, 0)
        return found
