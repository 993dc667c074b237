"""What a service is put together of: parts, each with operations of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element

from starlette.responses import Response

from accountant.gates.lineage import RecordId
from accountant.service.keys import KeyScope
from accountant.service.metrics import Gauge

Body = Mapping[str, Any]


@dataclass(frozen=True)
class Operation:
    """Something that may be asked for.

    Attributes
    ----------
    path, method
        Where it is asked for.
    scope
        What a key must allow; None if it takes no key.
    answer
        What is done, in a thread, with the key's name and the body; it returns JSON-able data or a response.
    words
        What it does, for OpenAPI.
    takes, answers
        The names of the schemas of body and answer; the answer's may be a media type, if it is not JSON.
    browsers
        Whether a browser's own question for a name and a password (HTTP Basic) may present the key, too.
    run
        The run that it is of, if it is of one: keys may be for some runs only.
    form
        Whether the body is what a browser sends of a form, and not JSON.
    """

    path: str
    method: str
    scope: KeyScope | None
    answer: Callable[[str, Body], Mapping[str, Any] | Response]
    words: str
    takes: str | None = None
    answers: str | None = None
    browsers: bool = False
    run: str | None = None
    form: bool = False


@dataclass(frozen=True)
class ServicePart:
    """Operations that belong together.

    Attributes
    ----------
    operations
        What may be asked for.
    schemas
        Those that the operations name, as OpenAPI has them.
    name
        What it is called on the page.
    shown
        What the page shows of it, to the key of this name.
    check
        Raises `Problem` if what it serves cannot be read, or is shut.
    gauges
        What Prometheus is told beside counts, for the key of this name.
    show_record
        What the page shows of a record that is searched for, to the key of this name; None if none can be.
    """

    operations: Sequence[Operation]
    schemas: Mapping[str, Any]
    name: str
    shown: Callable[[str], Sequence[Element]]
    check: Callable[[], None]
    gauges: Callable[[str], Sequence[Gauge]]
    show_record: Callable[[str, RecordId], Sequence[Element]] | None = None
