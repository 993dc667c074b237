"""The service as a process: what it refuses to begin with, and what is left of it when it is killed."""

import asyncio
import http.client
import itertools
import json
import random
import shutil
import socket
import ssl
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from serving import Server, answered, killing, told
from uvicorn.server import ServerState

from accountant import Accountant, Budget
from accountant.service.keys import KeyFile, KeyScope
from accountant.service.server import Encryption, _Impatient, ledger_at, serve
from accountant.stores.database import Database
from accountant.stores.opening import begin_store, open_store, verify_store
from accountant.stores.store_refusals import StoreRefused
from mechanisms import Laplace, Sensitivity

EIGHTH = Laplace(scale=8.0, sensitivity=Sensitivity(1, 1, 1)).to_dict()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    Accountant(Budget(1.0), store=path).ledger.close()  # type: ignore[attr-defined]
    return path


@pytest.fixture
def keys(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "ledger.db.keys")


def test_it_does_not_start_without_a_key(store: Path, keys: KeyFile) -> None:
    with pytest.raises(ValueError, match=r"there is no key; make one with `dpwitness keys STORE --add"):
        serve([partial(ledger_at, str(store), None)], keys)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "example.org"])
def test_other_machines_do_not_ask_in_plain_words(store: Path, keys: KeyFile, host: str) -> None:
    keys.add("ann", [KeyScope.SPEND])
    with pytest.raises(ValueError, match=f"host = '{host}': other machines could ask"):
        serve([partial(ledger_at, str(store), None)], keys, host=host)
    with pytest.raises(ValueError, match="both or none"):
        serve([partial(ledger_at, str(store), None)], keys, host=host, tls=Encryption("x.pem"))


def test_files_that_are_no_certificate_are_named(store: Path, keys: KeyFile, tmp_path: Path) -> None:
    keys.add("ann", [KeyScope.SPEND])
    words = tmp_path / "words.pem"
    words.write_text("no certificate")
    for file in (words, tmp_path / "none.pem"):
        said = f"certfile .*{file.name}, keyfile .*words.pem: must be PEM"
        with pytest.raises(ValueError, match=said):
            serve([partial(ledger_at, str(store), None)], keys, port=0, tls=Encryption(str(file), str(words)))


def test_the_ledger_of_a_run_is_the_runs(keys: KeyFile, tmp_path: Path) -> None:
    keys.add("ann", [KeyScope.SPEND])
    begin_store(
        Database.from_location(tmp_path / "run.db"), Accountant(Budget(1.0)).terms(), holder="somebody"
    ).close()
    with pytest.raises(StoreRefused, match="is the ledger of a run"):
        serve([partial(ledger_at, str(tmp_path / "run.db"), None)], keys)


def test_a_store_must_exist_and_a_port_be_free(store: Path, keys: KeyFile) -> None:
    keys.add("ann", [KeyScope.SPEND])
    with pytest.raises(ValueError, match="holds no ledger"):
        serve([partial(ledger_at, str(store.with_name("other.db")), None)], keys)
    assert not store.with_name("other.db").exists()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"port {port}: cannot be listened on"):
            serve([partial(ledger_at, str(store), None)], keys, port=port)


Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def listening(
    app: Any, most: int, **options: Any
) -> AsyncIterator[tuple[ServerState, Callable[[], Awaitable[Pair]]]]:
    """Serve an app where so many connections may be open; yield what is open, and what opens another one."""
    config = uvicorn.Config(
        app, http=_Impatient, lifespan="off", limit_concurrency=most + 1, log_config=None, access_log=False
    )
    config.load()
    state, loop = ServerState(), asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Impatient(config, state, {}, **options), "127.0.0.1", 0)
    opened: list[Pair] = []

    async def connect() -> Pair:
        opened.append(await asyncio.open_connection(*server.sockets[0].getsockname()[:2]))
        return opened[-1]

    yield state, connect
    for each in list(state.connections):
        each.transport.abort()
    for _, writer in opened:
        writer.close()
    server.close()
    await asyncio.sleep(0.01)


def test_connections_that_do_not_ask_make_room() -> None:
    """Four may be open: of five, the second, of the silent ones of their address the oldest, is closed."""

    async def answers(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/wait":
            await asyncio.sleep(0.05)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    async def open_five() -> list[bytes]:
        async with listening(answers, 4) as (state, connect):
            found = []
            for first in (b"GET /wait", b"", b"GET /half", b"GET /half", b"GET /quick"):
                pair = await connect()
                whole = first.endswith((b"wait", b"quick"))
                pair[1].write(first + b" HTTP/1.1\r\nHost: here\r\n" + b"\r\n" * whole if first else b"")
                found.append(pair)
                await asyncio.sleep(0.005)
            said = []
            for number in (0, 1, 4):
                try:
                    said.append((await found[number][0].read(12))[9:])
                except ConnectionResetError:
                    said.append(b"closed")
            assert len(state.connections) == 4
            return said

    assert asyncio.run(open_five()) == [b"200", b"", b"200"]


def opened_beyond_two(app: Any, requests: Sequence[bytes], **options: Any) -> list[bytes]:
    """Open a connection for each request where two may be open; return what each has read at the end of the last."""

    async def open_all() -> list[bytes]:
        async with listening(app, 2, **options) as (state, connect):
            found = []
            for request in requests:
                reader, writer = await connect()
                writer.write(request)
                found.append((reader, writer))
                for _ in range(20):  # turns of the loop, however busy the machine is
                    await asyncio.sleep(0.001)
            said = []
            for (reader, _), seconds in ((found[0], 0.05), (found[-1], 0.05 if options else 10.0)):
                try:
                    said.append((await asyncio.wait_for(reader.read(12), seconds))[9:])
                except (TimeoutError, ConnectionResetError) as error:
                    said.append(type(error).__name__.encode())
            assert len(state.connections) == 2
            return said

    return asyncio.run(open_all())


def test_connections_that_do_not_read_make_room() -> None:
    """An answer that its client does not read holds its connection for ever, once it was given up."""

    async def answers(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if scope["path"] == "/given-up":
            await send({"type": "http.response.body", "body": bytes(1 << 24), "more_body": True})
            return
        for _ in range(1 if scope["path"] == "/quick" else 100):
            await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})
        await send({"type": "http.response.body"})

    for path in ("given-up", "endless"):
        unread = f"GET /{path} HTTP/1.1\r\nHost: here\r\n\r\n".encode()
        quick = b"GET /quick HTTP/1.1\r\nHost: here\r\n\r\n"
        assert opened_beyond_two(answers, [unread, unread, quick])[1] == b"200"


def test_connections_that_do_not_shake_hands_make_room() -> None:
    silent = opened_beyond_two(None, [b"", b"", b""], tls=ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    assert silent == [b"", b"TimeoutError"]


DIRECTLY = """
import sys, tomllib
from functools import partial
from pathlib import Path
from accountant.service.keys import KeyFile
from accountant.service.service_limits import ServiceLimits
from accountant.service.server import ledger_at, serve
options = tomllib.loads(Path(sys.argv[2]).read_text())
store = options["store"]
keys = KeyFile(Path(options.get("keys", f"{store}.keys")))
serve([partial(ledger_at, store, None)], keys, port=options["port"], limits=ServiceLimits(requests_per_second=1e6),
      ready=lambda address: print("serving on", address, flush=True))
"""  # without what other commands import


def asks(request: str, record: str, value: float = 0.5) -> dict[str, Any]:
    domain = {"kind": "Interval", "lower": 0, "upper": 1}
    data = [{"record": record, "value": value}]
    return {"request": request, "mechanism": EIGHTH, "domain": domain, "data": data}


def spends(pipe: Any, key: str, number: int, ports: Sequence[int]) -> None:
    """Ask for releases, some in two steps, and tell what was paid for, until killed."""
    choose = random.Random(number)
    for turn in itertools.count():
        request, record = f"{number}-{turn}", f"record-{choose.randrange(400)}"
        body = asks(request, record)
        path, status = "/v1/release", 200
        if choose.random() < 0.3:
            path = "/v1/commit"
            reserve = {**body, "data": [{"record": record}]}
            status, found = answered(ports, choose, key, "/v1/reserve", reserve)
        if status == 200:
            status, found = answered(ports, choose, key, path, body)
        if status == 200:
            told(pipe, request, record, found["outputs"])
        else:
            assert (status, found["error"]["kind"]) == (409, "budget-exceeded"), found


def check_killed(store: Any, servers: Sequence[Server], key: str, kills: int) -> None:
    """Kill services on a store and their clients, and compare what was acknowledged with what is in the store."""
    client = lambda pipe, number, ports: spends(pipe, key, number, ports)  # noqa: E731
    paid, clients = killing(servers, client, clients=8, kills=kills, seed=0)
    assert len(paid) > 2 * kills
    for request, record, outputs in random.Random(1).sample(paid, min(len(paid), 300)):
        status, found = servers[0].post(key, "/v1/release", asks(request, record))  # of whichever server
        assert (status, found["outputs"]) == (200, outputs)
    for server in servers:
        server.stop()
    verify_store(store)
    opened = open_store(store)
    charged = Counter(entry.records[0] for entry in opened.entries)
    shown = Counter(record for _, record, _ in paid)
    for record, count in charged.items():
        assert opened.spent(record).epsilon == Fraction(count, 8) <= 1
        assert shown[record] <= count
    assert sum(charged.values()) - len(paid) <= clients  # who was killed had asked for one more
    opened.close()


@pytest.mark.slow
def test_nothing_is_overspent_or_lost_in_two_hundred_kills(store: Path, keys: KeyFile) -> None:
    """Two servers on one store, eight clients that retry, and kill -9 of all of them at random moments."""
    key = keys.add("ann", [KeyScope.SPEND])
    config = f"store = '{store}'"
    check_killed(
        store, [Server(store.with_name("journal"), config, code=DIRECTLY) for _ in range(2)], key, 200
    )


@pytest.mark.slow
def test_nothing_is_overspent_or_lost_on_postgresql(keys: KeyFile, tmp_path: Path, url: str) -> None:
    key = keys.add("ann", [KeyScope.SPEND])
    Accountant(Budget(1.0), store=url).ledger.close()  # type: ignore[attr-defined]
    config = f"store = '{url}'\nkeys = '{keys.path}'"
    check_killed(url, [Server(tmp_path / "journal", config, code=DIRECTLY) for _ in range(2)], key, 40)


@pytest.mark.slow
def test_the_process_ends_when_it_is_told_and_says_nothing_private(store: Path, keys: KeyFile) -> None:
    key = keys.add("ann", [KeyScope.SPEND])
    server = Server(store.with_name("journal"), f"store = '{store}'")
    assert server.post(key, "/v1/release", asks("a", "the-record", 0.8314159))[0] == 200
    assert server.post(key, "/v1/release", asks("b", "the-record", 7.8314159))[0] == 422
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("GET", "/no/0.8314159")
    assert connection.getresponse().status == 404
    connection.close()
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(b"POST 0.8314159 nonsense\r\n\r\n")
        assert b"400" in raw.recv(1000)
    server.stop()
    journal = (store.parent / "journal").read_text()
    assert [json.loads(line)["event"] for line in journal.splitlines()].count("request") == 3
    assert "8314" not in journal
    assert "the-record" not in journal
    assert key not in journal


@pytest.mark.slow
def test_connections_that_do_not_ask_are_closed(store: Path, keys: KeyFile) -> None:
    key = keys.add("ann", [KeyScope.SPEND])
    server = Server(store.with_name("journal"), f"store = '{store}'\n[limits]\ntimeout = 1")
    with (
        socket.create_connection(("127.0.0.1", server.port)) as silent,
        socket.create_connection(("127.0.0.1", server.port)) as slow,
        socket.create_connection(("127.0.0.1", server.port)) as body,
    ):
        slow.sendall(b"POST /v1/release HTTP/1.1\r\nHost: x\r\n")
        head = f"Host: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n"
        body.sendall(f"POST /v1/release HTTP/1.1\r\n{head}\r\n{{".encode())
        for each in (silent, slow, body):
            each.settimeout(30)
        assert b"503" in body.recv(1000)
        assert silent.recv(1000) == b""
        assert slow.recv(1000) == b""
    asked = key, "/v1/release", asks("a", "ann")
    assert (
        answered([server.port], random.Random(0), *asked)[0] == 200
    )  # again, if a busy machine took too long
    server.stop()
    lines = [json.loads(line) for line in (store.parent / "journal").read_text().splitlines()]
    kinds = [line["kind"] for line in lines if line["event"] == "request"]
    assert set(kinds[:-1]) == {"too-slow"}
    assert kinds[-1] is None


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_with_a_certificate_it_speaks_tls(store: Path, keys: KeyFile, tmp_path: Path) -> None:
    key = keys.add("ann", [KeyScope.READ])
    certificate, private = tmp_path / "certificate.pem", tmp_path / "private.pem"
    make = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -out {certificate} -keyout {private}"
    subprocess.run(
        [*make.split(), "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True
    )
    tls = f"[tls]\ncertfile = '{certificate}'\nkeyfile = '{private}'"
    server = Server(store.with_name("journal"), f"store = '{store}'\n{tls}")
    trusting = ssl.create_default_context(cafile=certificate)
    connection = http.client.HTTPSConnection("localhost", server.port, context=trusting)
    connection.request("GET", "/v1/summary", headers={"Authorization": f"Bearer {key}"})
    assert connection.getresponse().status == 200
    connection.close()
    server.stop()
