"""Requests a second and latency of a service, from this machine to itself.

``python tests/benchmarks/bench_service.py``: releases of a ledger, and rounds of a learner (act, observe), from 1, 8
and 32 clients with a connection each. Clients and service share the machine's cores. A release and each half of a
round wait for the disk once, but who asks at the same time waits together; ``--folder`` chooses the disk. Then two
services share a ledger, one of which after the other is killed (kill -9) and replaced, while 32 clients ask for more
than the budgets of their records allow: nobody may have more outputs than were paid for.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import multiprocessing
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from accountant import Accountant, Budget
from accountant.service.keys import KeyFile, KeyScope
from accountant.stores.opening import verify_store
from algorithms.catalogue.named_run import NamedLearner, begin_named_run
from mechanisms import Laplace, Sensitivity

SECONDS = 8.0
CLIENTS = (1, 8, 32)
NOISE = Laplace(scale=8.0, sensitivity=Sensitivity(1, 1, 1)).to_dict()
UNIT = {"kind": "Interval", "lower": 0, "upper": 1}
LEARNER = NamedLearner("cucb-batch", "top-k", 1.0, 10**6, settings={"arms": 50, "size": 5})

KILLING, RECORDS, PAID_FOR = 40.0, 1_000, 8
"""Seconds in which services are killed; of how many records is asked then, and how often each may be released."""

Ask = Callable[[str, Any], Any]


def release(ask: Ask, name: str) -> None:
    """Release a value of a new record."""
    data = [{"record": name, "value": 0.5}]
    ask("/v1/release", {"request": name, "mechanism": NOISE, "domain": UNIT, "data": data})


def play(ask: Ask, name: str) -> None:
    """Play a round."""
    shown = ask("/v1/runs/shop/act", {"request": f"act {name}", "record": name})
    feedback = [0.5] * len(shown["action"])
    body = {"request": f"observe {name}", "ticket": shown["ticket"], "record": name, "feedback": feedback}
    ask("/v1/runs/shop/observe", body)


def client(act: Callable[[Ask, str], None], port: int, key: str, number: int, seconds: float) -> list[float]:
    """Ask for so many seconds; return how long each request took."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    took: list[float] = []

    def ask(path: str, body: Any) -> Any:
        began = time.perf_counter()
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        found = json.loads(answer.read())
        took.append(time.perf_counter() - began)
        assert answer.status == 200, found
        return found

    until = time.monotonic() + seconds
    word = time.time_ns()
    for turn in itertools.count():
        if time.monotonic() > until:
            return took
        act(ask, f"{word}-{number}-{turn}")


def patient_client(
    ports: Sequence[int], key: str, number: int, seconds: float
) -> tuple[list[float], list[str]]:
    """Ask one service or the other until one of them answers; return how long that took, and whose outputs came."""
    choose, took, paid = random.Random(number), list[float](), list[str]()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        record = f"record {choose.randrange(RECORDS)}"
        data = [{"record": record, "value": 0.5}]
        asked = {"request": f"{number} {len(took)}", "mechanism": NOISE, "domain": UNIT, "data": data}
        began = time.perf_counter()
        while (status := answered(choose.choice(ports), key, asked)) in (None, 429, 503):
            time.sleep(0.01)
        took.append(time.perf_counter() - began)
        assert status in (200, 409), status
        if status == 200:
            paid.append(record)
    return took, paid


def answered(port: int, key: str, body: Any) -> int | None:
    """Return the status of the answer; None if there was none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    try:
        connection.request("POST", "/v1/release", json.dumps(body), headers)
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    return answer.status


def measure_killed(ledger: Path, keys: Path, key: str, clients: int) -> None:
    """Report what so many clients get while services are killed, and that nobody gets what was not paid for."""
    config = f"store = '{ledger}'\nkeys = '{keys}'\n"
    ports = [free_port(), free_port()]
    with multiprocessing.Pool(clients) as pool:
        services = [started(port, config) for port in ports]
        asked = [(ports, key, number, KILLING) for number in range(clients)]
        began, kills = time.perf_counter(), 0
        found = pool.starmap_async(patient_client, asked)
        while not found.ready():
            found.wait(1.0)
            which = kills % 2
            services[which].kill()
            services[which].communicate()
            services[which], kills = started(ports[which], config), kills + 1
        seconds = time.perf_counter() - began
        for service in services:
            service.terminate()
            service.communicate()
    took = [each for times, _ in found.get() for each in times]
    paid = Counter(record for _, records in found.get() for record in records)
    assert max(paid.values()) <= PAID_FOR, paid.most_common(3)
    spent = verify_store(ledger)
    middle, late, worst = np.quantile(took, [0.5, 0.99, 1.0]) * 1e3
    words = f"p50 {middle:7.1f} ms  p99 {late:7.1f} ms  max {worst:7.1f} ms"
    print(f"{'releases, services killed':30} {clients:3} clients {len(took) / seconds:7.0f}/s  {words}")
    words = f"{sum(paid.values())} outputs of {spent.accounts} records, none more than {PAID_FOR} times"
    print(f"{kills} kills in {seconds:.0f} s; {len(took)} answers; {words}; the ledger verifies")


def free_port() -> int:
    """Return a port that nobody listens to."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(config: str) -> Iterator[int]:
    """Run the command, and yield its port."""
    port = free_port()
    with started(port, config) as process:
        try:
            yield port
        finally:
            process.terminate()


def started(port: int, config: str) -> subprocess.Popen[str]:
    """Run the command until it listens."""
    file = Path(tempfile.mkstemp(suffix=".toml")[1])
    file.write_text(f"port = {port}\n{config}[limits]\nrequests_per_second = 1e6\n")
    command = [
        sys.executable,
        "-c",
        "from verify.commands.command_line import main; main()",
        "serve",
        str(file),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    assert process.stdout.readline()
    file.unlink()
    return process


def measure(name: str, act: Callable[[Ask, str], None], port: int, key: str) -> None:
    """Report what so many clients get."""
    for clients in CLIENTS:
        with multiprocessing.Pool(clients) as pool:
            began = time.perf_counter()
            asked = [(act, port, key, number, SECONDS) for number in range(clients)]
            took = [each for found in pool.starmap(client, asked) for each in found]
            seconds = time.perf_counter() - began
        middle, late, worst = np.quantile(took, [0.5, 0.99, 1.0]) * 1e3
        words = f"p50 {middle:7.1f} ms  p99 {late:7.1f} ms  max {worst:7.1f} ms"
        print(f"{name:30} {clients:3} clients {len(took) / seconds:7.0f}/s  {words}", flush=True)


def main() -> None:
    """Measure, and verify what was written."""
    parser = argparse.ArgumentParser(description="Measure a service under load.")
    parser.add_argument("--folder", help="Where stores lie [default: temporary files].")
    with tempfile.TemporaryDirectory(dir=parser.parse_args().folder) as folder:
        keys = KeyFile(Path(folder) / "bench.keys")
        key = keys.add("bench", [KeyScope.SPEND, KeyScope.ACT, KeyScope.OBSERVE])
        ledger, run = Path(folder) / "ledger.db", Path(folder) / "run"
        Accountant(Budget(1.0), store=ledger).ledger.close()  # type: ignore[attr-defined]
        begin_named_run(run, LEARNER, Accountant(Budget(1.0))).close()
        own = f"[[run]]\nname = 'shop'\nwhere = '{run}'\n"
        with serving(f"store = '{ledger}'\nkeys = '{keys.path}'\n{own}") as port:
            measure("releases", release, port, key)
            measure("acts and observations", play, port, key)
        for store in (ledger, run / "ledger.db"):
            verify_store(store)
        shared = Path(folder) / "shared.db"
        Accountant(Budget(PAID_FOR / 8), store=shared).ledger.close()  # type: ignore[attr-defined]
        measure_killed(shared, keys.path, key, max(CLIENTS))


if __name__ == "__main__":
    main()
