"""The interface of a part of the service, with operations of its own."""

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
    """An operation that clients may request.

    Attributes
    ----------
    path, method
        Its path and HTTP method.
    scope
        The scope that a key must have; None if it takes no key.
    answer
        Runs it, in a thread, with the key's name and the body; it returns JSON-able data or a response.
    words
        Its description, for OpenAPI.
    takes, answers
        The names of the schemas of body and answer; the answer's may be a media type, if it is not JSON.
    browsers
        True if the key may also come as the password of HTTP Basic, which browsers ask for.
    run
        The run that it belongs to, if any: keys may be for some runs only.
    form
        True if the body is a browser's form, and not JSON.
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
        Its operations.
    schemas
        The OpenAPI schemas that the operations name.
    name
        Its name on the page.
    sections
        Function that returns its sections of the page, for the key of this name.
    check
        Raises `ServiceProblem` if its ledger or run cannot be read, or is shut.
    gauges
        Function that returns its gauges for Prometheus, for the key of this name.
    show_record
        Function that returns the sections of a record that is searched for, for the key of this name; None if it has no
        search.
    """

    operations: Sequence[Operation]
    schemas: Mapping[str, Any]
    name: str
    sections: Callable[[str], Sequence[Element]]
    check: Callable[[], None]
    gauges: Callable[[str], Sequence[Gauge]]
    show_record: Callable[[str, RecordId], Sequence[Element]] | None = None
