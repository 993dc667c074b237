"""The access log of a service: one JSON object a line, without any client data but the name of its key."""

from __future__ import annotations

import json
import logging
import re
import time
from typing import Any

_LOGGER = logging.getLogger("dpwitness.service")
"""The logger of requests and failures."""


class JsonLines(logging.Formatter):
    """One JSON object a line; never a traceback, nor arguments of a message: they may hold private values."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        facts: dict[str, Any] = getattr(record, "facts", {})
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
        event = str(record.msg).partition("\n")[0]  # below the first line asyncio has the error's message
        if record.name == "py.warnings":
            event = _warning(event)
        line = {"time": at, "level": record.levelname.lower(), "event": event, **facts}
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = place_of(record.exc_info[1])
        return json.dumps(line)


def _warning(line: str) -> str:
    """Return place and category of a warning as Python writes it: "file:line: category: message"."""
    found = re.match(r".*?:\d+: \w+(?=:)", line)
    return "a warning" if found is None else found[0]


def note(event: str, level: int = logging.INFO, **facts: Any) -> None:
    """Write a line of the journal."""
    _LOGGER.log(level, event, extra={"facts": facts})


def place_of(error: BaseException) -> str:
    """Return class and innermost line of an error: all of it that is public, without its message."""
    trace = error.__traceback__
    where = "?"
    while trace is not None:
        where = f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__} at {where}"
