"""The service as an ASGI application: it checks a request, runs the operation of one of its parts, and answers.

A request passes, in this order: a deadline, its key, the key's scope, its rate, the size of its body, JSON read
strictly. Every refusal is one JSON object. An unforeseen error is logged by class and line only: its message may hold
private values.
"""

from __future__ import annotations

import base64
import binascii
import logging
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import anyio
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as AsgiScope

from accountant.rules.scope import Scope, spending_on
from accountant.service.cached_value import CachedValue
from accountant.service.journal import note, place_of
from accountant.service.keys import ApiKey, KeyFile, KeyScope
from accountant.service.metrics import CONTENT_TYPE, Metrics
from accountant.service.openapi import RECORD, object_of, openapi
from accountant.service.page import CONTENT_SECURITY, page, search_section
from accountant.service.part import Body, Operation, ServicePart
from accountant.service.problem_details import ServiceProblem
from accountant.service.request_bodies import check_value, read_form, read_object, read_record
from accountant.service.service_limits import Places, Rate, ServiceLimits

_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", CONTENT_SECURITY.encode()),
)

_HEALTH_LASTS = 1.0
"""Seconds for which an answer to a health check serves all callers, at no further cost for the stores."""
_CHARSETS = frozenset({"utf-8", "utf8", "us-ascii"})
"""Charsets of bodies, which are read as UTF-8."""
_SEARCH = "/record"
_FORM = "application/x-www-form-urlencoded"
_ROUTE, _CLIENT, _KIND = "dpwitness.route", "dpwitness.client", "dpwitness.kind"


def make_app(parts: Sequence[ServicePart], keys: KeyFile, limits: ServiceLimits | None = None) -> ASGIApp:
    """Return the application: the routes of its parts, and the checks that all of them share."""
    limits = ServiceLimits() if limits is None else limits
    schemas = {name: schema for part in parts for name, schema in part.schemas.items()}
    metrics, front = Metrics(), _Front(keys, limits, schemas)
    own = _common_operations(parts, metrics, schemas)
    operations = [each for part in parts for each in part.operations] + own
    routes = [Route(each.path, partial(front.answer, each), methods=[each.method]) for each in operations]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _http_problem})
    app.router.redirect_slashes = False  # a redirect would take the body to any host that Host names
    return _Guard(app, metrics, limits)


def _common_operations(
    parts: Sequence[ServicePart], metrics: Metrics, schemas: Mapping[str, Any]
) -> list[Operation]:
    """Return the operations that every service has."""

    def check() -> ServiceProblem | None:
        try:
            for part in parts:
                part.check()
        except ServiceProblem as problem:
            return problem
        return None

    healthy = CachedValue(check, lasts=_HEALTH_LASTS)

    def health(client: str, body: Body) -> Mapping[str, Any]:
        problem = healthy.get()
        if problem is not None:
            raise problem.with_traceback(None)  # a traceback would grow with every answer
        return {"status": "ok"}

    def show_metrics(client: str, body: Body) -> Response:
        gauges = [gauge for part in parts for gauge in part.gauges(client)]
        return PlainTextResponse(metrics.text(gauges), media_type=CONTENT_TYPE)

    searched = [part for part in parts if part.show_record is not None]
    first = [search_section(_SEARCH)] if searched else []

    def show_page(client: str, body: Body) -> Response:
        sections = [section for part in parts for section in part.sections(client)]
        return HTMLResponse(page([part.name for part in parts], [*first, *sections]))

    def show_record(client: str, body: Body) -> Response:
        check_value(body, object_of(record=RECORD))
        record = read_record(body["record"], "record")
        sections = [
            section for part in searched if part.show_record for section in part.show_record(client, record)
        ]
        return HTMLResponse(page([part.name for part in searched], [*first, *sections]))

    def show_schema(client: str, body: Body) -> Mapping[str, Any]:
        return openapi([*(each for part in parts for each in part.operations), *own], schemas)

    for_people = "A page for people; also with the key as the password of HTTP Basic."
    words = "Metrics for Prometheus; also with HTTP Basic."
    own = [
        Operation("/", "GET", KeyScope.READ, show_page, for_people, answers="text/html", browsers=True),
        Operation("/metrics", "GET", KeyScope.READ, show_metrics, words, answers="text/plain", browsers=True),
        Operation("/health", "GET", None, health, "200 if all that is served can be spent from.", answers="Health"),
        Operation("/openapi.json", "GET", None, show_schema, "This document."),
    ]  # fmt: skip
    if searched:
        words = "The remaining amount of a record, for people: record=NAME as a browser sends a form."
        ask = Operation(
            _SEARCH, "POST", KeyScope.READ, show_record, words, None, "text/html", browsers=True, form=True
        )
        own.append(ask)
    return own


class _Front:
    """The entry of all operations: it checks a request's key, scope and rate, and the requests in work."""

    def __init__(self, keys: KeyFile, limits: ServiceLimits, schemas: Mapping[str, Any]) -> None:
        self._keys = keys
        self._limits = limits
        self._schemas = schemas
        self._rate = Rate(limits.requests_per_second)
        self._places = Places(limits.at_once, limits.each_at_once)
        self._threads = CapacityLimiter(limits.at_once)
        self._keyless = CapacityLimiter(limits.at_once)

    async def answer(self, operation: Operation, request: Request) -> Response:
        """Return the response of an operation, or of its refusal."""
        request.scope[_ROUTE] = operation.path
        try:
            return await self._answer(operation, request)
        except ServiceProblem as error:
            problem = error
        except ClientDisconnect:
            problem = ServiceProblem(400, "disconnected", "the client went away")
        except Exception as error:
            note("failed", logging.ERROR, route=operation.path, error=place_of(error))
            problem = ServiceProblem(500, "failed", "an error of the service's own; see its journal")
        return _refusal(problem, request.scope)

    async def _answer(self, operation: Operation, request: Request) -> Response:
        key = self._key(operation, request)
        # Operations without a key are for load balancers, which no caller may keep out: their answers are cached.
        if key is None:
            return await to_thread.run_sync(
                _answer_for, None, operation, "", {}, abandon_on_cancel=True, limiter=self._keyless
            )
        client = key.name
        if not self._rate.admits(client):
            raise ServiceProblem(
                429, "too-many", f"more than {self._limits.requests_per_second:g} requests a second"
            )
        scope = None if operation.run is not None else key.spends_on
        end = self._places.take(client)
        if end is None:
            most, each = self._limits.at_once, self._limits.each_at_once
            words = f"{most} requests are in work, or {each} of this key: ask again later"
            raise ServiceProblem(503, "busy", words)
        begun = threading.Event()

        def work(content: bytes) -> Response:
            begun.set()
            try:
                read = read_form if operation.form else read_object
                body = read(content) if operation.method == "POST" else {}
                if operation.takes is not None:
                    check_value(body, self._schemas[operation.takes])
                return _answer_for(scope, operation, client, body)
            finally:
                end()  # one that is given up after the deadline counts until it ends

        try:
            content = await self._content(operation, request) if operation.method == "POST" else b""
            return await to_thread.run_sync(work, content, abandon_on_cancel=True, limiter=self._threads)
        finally:
            if not begun.is_set():  # it never will
                end()

    def _key(self, operation: Operation, request: Request) -> ApiKey | None:
        if operation.scope is None:
            return None
        try:
            key = self._presented_key(operation, request)
        except ValueError as error:
            note("keys", logging.ERROR, reason=str(error))
            raise ServiceProblem(503, "keys", "the service cannot read its keys") from None
        if key is None:
            if not self._rate.admits(""):
                raise ServiceProblem(429, "too-many", "too many requests without a key")
            raise ServiceProblem(
                401, "no-key", "a key of this service must be in the header: Authorization: Bearer KEY"
            )
        request.scope[_CLIENT] = key.name
        if not key.allows(operation.scope):
            scope = operation.scope.value
            raise ServiceProblem(
                403, "wrong-scope", f"this key does not allow requests that need the scope {scope!r}"
            )
        if not key.reaches(operation.run):
            raise ServiceProblem(403, "wrong-run", f"this key is for {', '.join(sorted(key.runs))} only")
        return key

    def _presented_key(self, operation: Operation, request: Request) -> ApiKey | None:
        kind, _, word = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self._keys.find(word.strip())
        if kind.lower() == "basic" and operation.browsers:
            try:
                return self._keys.find(base64.b64decode(word, validate=True).decode().partition(":")[2])
            except (binascii.Error, UnicodeDecodeError):
                return None
        return None

    async def _content(self, operation: Operation, request: Request) -> bytes:
        media, *parameters = (
            part.strip().lower() for part in request.headers.get("content-type", "").split(";")
        )
        charsets = {
            each.removeprefix("charset=").strip('"') for each in parameters if each.startswith("charset=")
        }
        expected = _FORM if operation.form else "application/json"
        if media != expected or charsets - _CHARSETS:
            raise ServiceProblem(415, "not-json", f"Content-Type must be {expected}, its charset UTF-8")
        if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise ServiceProblem(415, "encoded", "the body must come as it is, without a Content-Encoding")
        most = self._limits.max_body
        read = bytearray()
        async for chunk in request.stream():
            read += chunk
            if len(read) > most:
                raise ServiceProblem(413, "too-large", f"the body must have at most {most} bytes")
        return bytes(read)


def _answer_for(scope: Scope | None, operation: Operation, client: str, body: Body) -> Response:
    """Return the response of an operation; its charges are for this purpose and tenant.

    A run has no such scope: it charges once for the requests of many keys.
    """
    with nullcontext() if scope is None else spending_on(scope.purpose, tenant=scope.tenant):
        found = operation.answer(client, body)
    return found if isinstance(found, Response) else JSONResponse(dict(found))


class _Guard:
    """The outermost application: it gives each request a deadline, headers, a line in the journal, and no traceback."""

    def __init__(self, app: ASGIApp, metrics: Metrics, limits: ServiceLimits) -> None:
        self._app = app
        self._metrics = metrics
        self._limits = limits

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        began, identity = time.monotonic(), secrets.token_hex(8)
        status = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS, (b"x-request-id", identity.encode())]
            await send(message)

        with anyio.move_on_after(self._limits.timeout) as deadline:
            await self._app(scope, receive, send_with_headers)
        if deadline.cancelled_caught and not status:
            words = "it took too long: a charge may have been made; ask again with the same request"
            await _refusal(ServiceProblem(503, "too-slow", words), scope)(scope, receive, send_with_headers)
        seconds = time.monotonic() - began
        route, kind = scope.get(_ROUTE, "unknown"), scope.get(_KIND)  # never a text of the client's
        self._metrics.count_request(route, status, kind, seconds)
        facts: dict[str, Any] = {"id": identity, "key": scope.get(_CLIENT), "route": route, "status": status}
        level = logging.WARNING if kind is not None else logging.INFO
        note("request", level, **facts, kind=kind, ms=round(1000 * seconds, 1))


def _refusal(problem: ServiceProblem, scope: AsgiScope) -> Response:
    """Return the response of a refusal, and note its kind."""
    scope[_KIND] = problem.kind
    headers = {}
    if problem.status == 401:
        # a browser asks its user for a key only where Basic is offered
        basic = scope.get(_ROUTE) in ("/", _SEARCH)
        headers["WWW-Authenticate"] = 'Basic realm="dpwitness", charset="UTF-8"' if basic else "Bearer"
    if problem.status in (429, 503):
        headers["Retry-After"] = "1"
    return JSONResponse(problem.to_dict(), problem.status, headers)


async def _http_problem(request: Request, error: Exception) -> Response:
    """Return the response of a refusal by the framework: of an unknown path or method."""
    assert isinstance(error, HTTPException)
    kind, words = {
        404: ("unknown-path", "there is no such path"),
        405: ("method", "this path takes another method"),
    }.get(error.status_code, ("http", error.detail))
    answer = _refusal(ServiceProblem(error.status_code, kind, words), request.scope)
    answer.headers.update(error.headers or {})
    return answer
