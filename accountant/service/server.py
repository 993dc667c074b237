"""The service as a process: its socket, TLS, and the checks before it starts."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import get_remote_addr

from accountant.service.app import make_app
from accountant.service.desk import Desk
from accountant.service.journal import JsonLines
from accountant.service.keys import KeyFile
from accountant.service.ledger_part import ledger_part
from accountant.service.part import ServicePart
from accountant.service.service_limits import ServiceLimits
from accountant.stores.opening import is_run, open_store
from accountant.stores.store_refusals import StoreRefused
from mechanisms.parameters import ParameterError

_HEADERS_WITHIN = 10.0  # seconds, from a connection's first byte to the end of a request's headers
_HEADERS = 16_384  # bytes


class _Impatient(H11Protocol):
    """HTTP/1.1 that closes connections on which no request comes to the end of its headers in time.

    If the limit of open connections is reached, a new one replaces a silent one, which has no request or does not read
    its answer: of the address with most of these, the one that has been silent longest. So a client that opens many
    without requests does not keep others out. With TLS they count before their handshakes, too: asyncio's own servers
    do not report those, and wait a minute for each.

    Parameters
    ----------
    given, named
        As `H11Protocol` takes them.
    tls
        The TLS context; None for plain HTTP.
    """

    _waiting: asyncio.TimerHandle | None = None
    _securing: asyncio.Task[None] | None = None
    _early = b""
    _silent_since = 0.0

    def __init__(self, *given: Any, tls: ssl.SSLContext | None = None, **named: Any) -> None:
        super().__init__(*given, **named)
        self._tls = tls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for the connection, and begin to wait for a request."""
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency - 1:
            self._make_room()
        self._silent_since = self.loop.time()
        if self._tls is None:
            self._begin_http(transport)
        else:
            self.connections.add(self)
            self.transport = transport
            self.client = get_remote_addr(transport)
            self._securing = self.loop.create_task(self._secure(transport, self._tls))

    async def _secure(self, transport: asyncio.Transport, tls: ssl.SSLContext) -> None:
        try:
            secured = await self.loop.start_tls(
                transport, self, tls, server_side=True, ssl_handshake_timeout=_HEADERS_WITHIN
            )
        except OSError:  # of SSL, and of time
            secured = None
        if secured is None:  # also if the connection was lost meanwhile
            self.connections.discard(self)
            return
        self._begin_http(secured)
        if self._early:
            self.data_received(self._early)

    def _begin_http(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._wait()

    def _make_room(self) -> None:
        opened = [each for each in self.connections if isinstance(each, _Impatient)]
        of = Counter(each._address for each in opened)
        silent = [each for each in opened if each._is_silent()]
        if silent:  # else uvicorn answers what comes on the new one with 503
            found = min(silent, key=lambda each: (-of[each._address], each._silent_since))
            self.connections.discard(found)  # the loop reports its loss only later
            found.transport.abort()

    @property
    def _address(self) -> str | None:
        return None if self.client is None else self.client[0]

    def on_response_complete(self) -> None:
        """Count the connection as silent from now on."""
        super().on_response_complete()
        self._silent_since = self.loop.time()

    def pause_writing(self) -> None:
        """Count the connection as silent from now on: its answer is not read."""
        super().pause_writing()
        self._silent_since = self.loop.time()

    def data_received(self, data: bytes) -> None:
        """Pass data on, and wait again for the end of the headers if they begin a request."""
        if self.flow is None:  # it came with the end of the handshake
            self._early += data
            return
        super().data_received(data)
        if self._waiting is None and self._is_idle():
            self._wait()

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(_HEADERS_WITHIN, self._end_if_idle)

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _is_silent(self) -> bool:
        """Return True if it has no request in work, or its answer is not read, also while it closes."""
        return self._is_idle() or self.flow.write_paused or self.transport.is_closing()

    def _end_if_idle(self) -> None:
        self._waiting = None
        if self._is_idle() and self.timeout_keep_alive_task is None:
            self.transport.close()


@dataclass(frozen=True)
class Encryption:
    """TLS of a service, as its configuration names it.

    Attributes
    ----------
    certfile, keyfile
        PEM files of the certificate and its key; both or none.
    behind_proxy
        True to listen to other machines without TLS: private values would cross the network as they are.
    """

    certfile: str | None = None
    keyfile: str | None = None
    behind_proxy: bool = False


def serve(
    parts: Sequence[Callable[[ServiceLimits], AbstractContextManager[ServicePart]]],
    keys: KeyFile,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    tls: Encryption = Encryption(),
    limits: ServiceLimits | None = None,
    ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve until the process gets a signal to end.

    Parameters
    ----------
    parts
        The parts: each opens one (`ledger_at`), which is closed in the end.
    keys
        The keys of clients; there must be one.
    host, port
        The address to listen on; port 0 is any that is free.
    tls
        The encryption.
    limits
        The limits of the service.
    ready
        Function that is called with the address once it listens.

    Raises
    ------
    ParameterError
        If there is no key, other machines could ask without TLS, or the certificate is none, or not of its key.
    accountant.stores.store_refusals.StoreRefused
        If a store is not opened.
    """
    if (tls.certfile is None) != (tls.keyfile is None):
        raise ParameterError("certfile and keyfile: both or none must be given")
    if not (_is_this_host(host) or tls.certfile is not None or tls.behind_proxy):
        raise ParameterError(
            f"host = {host!r}: other machines could ask, and private values would cross the network as they are; give "
            "certfile and keyfile, or behind_proxy if something in front of the service has TLS"
        )
    if not keys.load_keys():
        raise ParameterError(
            f"{keys.path}: there is no key; make one with `dpwitness keys STORE --add NAME --scope spend`"
        )
    limits = ServiceLimits() if limits is None else limits
    with ExitStack() as opened:
        served = [opened.enter_context(part(limits)) for part in parts]
        listening = opened.enter_context(_socket(host, port))
        _write_json_lines()
        config = uvicorn.Config(
            make_app(served, keys, limits),
            http=_Impatient,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=limits.connections + 1,
            h11_max_incomplete_event_size=_HEADERS,
            timeout_graceful_shutdown=10,
            ssl_certfile=tls.certfile,
            ssl_keyfile=tls.keyfile,
        )
        try:  # a wrong certificate is refused before the address is announced
            config.load()
        except OSError as error:
            raise ParameterError(
                f"certfile {tls.certfile}, keyfile {tls.keyfile}: must be PEM files of a certificate "
                f"and of its own private key ({error.strerror or error})"
            ) from None
        config.http_protocol_class = partial(_Impatient, tls=config.ssl)  # type: ignore[assignment]
        config.ssl = None
        bound = listening.getsockname()
        name = f"[{bound[0]}]" if ":" in bound[0] else bound[0]
        ready(f"{'http' if tls.certfile is None else 'https'}://{name}:{bound[1]}")
        uvicorn.Server(config).run(sockets=[listening])


@contextmanager
def ledger_at(
    store: str, anchor: Path | None, limits: ServiceLimits, *, names: str | None = None
) -> Iterator[ServicePart]:
    """Open a ledger to be served.

    Parameters
    ----------
    store, anchor, names
        As `open_store` takes them; the store must exist.
    limits
        The limits of the service.

    Raises
    ------
    accountant.stores.store_refusals.StoreRefused
        If the store is not opened, or is a run's.
    """
    with closing(open_store(store, anchor=anchor, names=names)) as opened:
        if is_run(opened.database):
            raise StoreRefused(f"{opened.name}: is the ledger of a run, which alone spends from it")
        yield ledger_part(Desk(opened), limits)


def _socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small answers at once only where the protocol is named; else they wait 40 ms
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
        return listening
    except OSError as error:
        listening.close()
        raise ParameterError(f"{host} port {port}: cannot be listened on ({error.strerror})") from None


def _is_this_host(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _write_json_lines() -> None:
    """Write the logs of all libraries as lines of the journal: their own formats would have errors' messages."""
    logging.captureWarnings(True)
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    everything = logging.getLogger()
    everything.handlers = [handler]
    everything.setLevel(logging.WARNING)
    logging.getLogger("dpwitness.service").setLevel(logging.INFO)
