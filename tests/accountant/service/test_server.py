"""The service as a process: what it refuses to begin with, and what is left of it when it is killed."""

import http.client
import json
import random
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from accountant import Accountant, Budget
from accountant.service.keys import KeyFile, Scope
from accountant.service.server import ledger_at, serve
from accountant.stores.database import Database
from accountant.stores.opening import make_run, open_store, verify_store
from accountant.stores.refusals import StoreRefused
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
    with pytest.raises(ValueError, match=r"there is no key; make one with `dpwitness keys add"):
        serve([partial(ledger_at, str(store), None)], keys)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "example.org"])
def test_other_machines_do_not_ask_in_plain_words(store: Path, keys: KeyFile, host: str) -> None:
    keys.add("ann", [Scope.SPEND])
    with pytest.raises(ValueError, match=f"--host {host}: other machines could ask"):
        serve([partial(ledger_at, str(store), None)], keys, host=host)
    with pytest.raises(ValueError, match="both or none"):
        serve([partial(ledger_at, str(store), None)], keys, host=host, certificate=Path("x.pem"))


def test_the_ledger_of_a_run_is_the_runs(keys: KeyFile, tmp_path: Path) -> None:
    keys.add("ann", [Scope.SPEND])
    make_run(Database.at(tmp_path / "run.db"), Accountant(Budget(1.0)).terms()).close()
    with pytest.raises(StoreRefused, match="is the ledger of a run"):
        serve([partial(ledger_at, str(tmp_path / "run.db"), None)], keys)


def test_a_store_must_exist_and_a_port_be_free(store: Path, keys: KeyFile) -> None:
    keys.add("ann", [Scope.SPEND])
    with pytest.raises(ValueError, match="holds no ledger"):
        serve([partial(ledger_at, str(store.with_name("other.db")), None)], keys)
    assert not store.with_name("other.db").exists()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"--port {port}: cannot be listened on"):
            serve([partial(ledger_at, str(store), None)], keys, port=port)


COMMAND = "from verify.command_line import main; main()"
DIRECTLY = """
import sys
from functools import partial
from pathlib import Path
from accountant.service.keys import KeyFile
from accountant.service.limits import Limits
from accountant.service.server import ledger_at, serve
_, _, _, store, _, port = sys.argv
serve([partial(ledger_at, store, None)], KeyFile(Path(f"{store}.keys")), port=int(port), limits=Limits(rate=1e6),
      ready=lambda address: print("serving on", address, flush=True))
"""  # without what other commands import


class Server:
    """A real process that serves, started again on the same port after it was killed."""

    def __init__(self, store: Path, *options: str, code: str = COMMAND) -> None:
        self.store = store
        self.options = options
        self.code = code
        self.port = 0
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-c", self.code, "serve", "--store", str(self.store)]
        with (self.store.parent / "journal").open("ab") as journal:
            self.process = subprocess.Popen(
                [*command, "--port", str(self.port), *self.options],
                stdout=subprocess.PIPE,
                stderr=journal,
                text=True,
            )
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        assert " on http" in said, (self.store.parent / "journal").read_text()
        self.port = int(said.rstrip().rpartition(":")[2])

    def kill(self) -> None:
        self.process.kill()
        self.ended()

    def ended(self) -> int:
        with self.process:
            return self.process.wait(30)

    def post(self, key: str, path: str, body: Any) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
            connection.request("POST", path, json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()


def asks(request: str, record: str, value: float = 0.5) -> dict[str, Any]:
    domain = {"kind": "Interval", "lower": 0, "upper": 1}
    data = [{"record": record, "value": value}]
    return {"request": request, "mechanism": EIGHTH, "domain": domain, "data": data}


@pytest.mark.slow
def test_nothing_is_overspent_or_lost_when_servers_are_killed(store: Path, keys: KeyFile) -> None:
    """Two servers on one store, eight clients that retry, and kill -9 at random moments."""
    key = keys.add("ann", [Scope.SPEND])
    servers = [Server(store, code=DIRECTLY) for _ in range(2)]
    stop = threading.Event()
    paid: dict[str, list[Any]] = {}
    spread = random.Random(0)

    def client(number: int) -> None:
        choose = random.Random(number)
        for turn in range(10**6):
            if stop.is_set():
                return
            request, record = f"{number}-{turn}", f"record-{choose.randrange(40)}"
            two_steps = choose.random() < 0.3
            while True:  # until somebody knows
                server = servers[choose.randrange(2)]
                try:
                    if two_steps:
                        reserve = asks(request, record)
                        status, found = server.post(
                            key, "/v1/reserve", {**reserve, "data": [{"record": record}]}
                        )
                        if status == 200:
                            status, found = server.post(key, "/v1/commit", reserve)
                    else:
                        status, found = server.post(key, "/v1/release", asks(request, record))
                except (OSError, http.client.HTTPException, ValueError):
                    time.sleep(0.02)
                    continue
                if status == 200:
                    paid[request] = [record, found["outputs"]]
                    break
                if status == 409:
                    assert found["error"]["kind"] == "budget-exceeded"
                    break
                assert status == 503, found

    clients = [threading.Thread(target=client, args=(number,)) for number in range(8)]
    for each in clients:
        each.start()
    for _ in range(10):
        time.sleep(0.2 + spread.random())
        killed = servers[spread.randrange(2)]
        killed.kill()
        killed.start()
    stop.set()
    for each in clients:
        each.join()
    assert len(paid) > 50
    for request, (record, outputs) in paid.items():  # a retry, of whichever server, gets the same answer
        status, found = servers[0].post(key, "/v1/release", asks(request, record))
        assert (status, found["outputs"]) == (200, outputs)
    for server in servers:
        server.process.terminate()
        server.ended()
    verify_store(store)
    opened = open_store(store)
    charged: dict[Any, int] = {}
    for entry in opened.entries:
        charged[entry.records[0]] = charged.get(entry.records[0], 0) + 1
    shown: dict[Any, int] = {}
    for record, _ in paid.values():
        shown[record] = shown.get(record, 0) + 1
    for record, count in charged.items():
        assert opened.spent(record).epsilon == Fraction(count, 8) <= 1
        assert shown.get(record, 0) <= count
    assert sum(charged.values()) - len(paid) <= 8  # who was told to stop had asked for one more each
    opened.close()


@pytest.mark.slow
def test_the_process_ends_when_it_is_told_and_says_nothing_private(store: Path, keys: KeyFile) -> None:
    key = keys.add("ann", [Scope.SPEND])
    server = Server(store)
    assert server.post(key, "/v1/release", asks("a", "the-record", 0.8314159))[0] == 200
    assert server.post(key, "/v1/release", asks("b", "the-record", 7.8314159))[0] == 422
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("GET", "/no/0.8314159")
    assert connection.getresponse().status == 404
    connection.close()
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(b"POST 0.8314159 nonsense\r\n\r\n")
        assert b"400" in raw.recv(1000)
    server.process.terminate()
    server.ended()
    journal = (store.parent / "journal").read_text()
    assert [json.loads(line)["event"] for line in journal.splitlines()].count("request") == 3
    assert "8314" not in journal
    assert "the-record" not in journal
    assert key not in journal


@pytest.mark.slow
def test_connections_that_do_not_ask_are_closed(store: Path, keys: KeyFile) -> None:
    key = keys.add("ann", [Scope.SPEND])
    server = Server(store, "--seconds", "1")
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
    assert server.post(key, "/v1/release", asks("a", "ann"))[0] == 200
    server.process.terminate()
    server.ended()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_with_a_certificate_it_speaks_tls(store: Path, keys: KeyFile, tmp_path: Path) -> None:
    key = keys.add("ann", [Scope.READ])
    certificate, private = tmp_path / "certificate.pem", tmp_path / "private.pem"
    make = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -out {certificate} -keyout {private}"
    subprocess.run(
        [*make.split(), "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True
    )
    server = Server(store, "--certificate", str(certificate), "--certificate-key", str(private))
    trusting = ssl.create_default_context(cafile=certificate)
    connection = http.client.HTTPSConnection("localhost", server.port, context=trusting)
    connection.request("GET", "/v1/summary", headers={"Authorization": f"Bearer {key}"})
    assert connection.getresponse().status == 200
    connection.close()
    server.process.terminate()
    server.ended()
