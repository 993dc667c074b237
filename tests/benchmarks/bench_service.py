"""How many requests a second a service answers, from this machine to itself, and how long each takes.

``python tests/benchmarks/bench_service.py``: releases of a ledger, and rounds of a learner (act, observe), from 1, 8
and 32 clients with a connection each. Clients and service share the machine's cores. A release and each half of a
round wait for the disk once, but who asks at the same time waits together; ``--folder`` chooses the disk.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from accountant import Accountant, Budget
from accountant.service.keys import KeyFile, Scope
from accountant.stores.opening import verify_store
from algorithms.catalogue.named_run import NamedLearner, begin_named_run
from mechanisms import Laplace, Sensitivity

SECONDS = 8.0
CLIENTS = (1, 8, 32)
NOISE = Laplace(scale=8.0, sensitivity=Sensitivity(1, 1, 1)).to_dict()
UNIT = {"kind": "Interval", "lower": 0, "upper": 1}
LEARNER = NamedLearner("cucb-batch-least", "top-k", 1.0, 10**6, settings={"arms": 50, "size": 5})

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


@contextmanager
def serving(*options: object) -> Iterator[int]:
    """Run the command, and yield its port."""
    command = [sys.executable, "-c", "from verify.command_line import main; main()", "serve", "--port", "0"]
    with subprocess.Popen(
        [*command, "--rate", "1e6", *map(str, options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        try:
            yield int(said.rstrip().rpartition(":")[2])
        finally:
            process.terminate()


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
        keys = KeyFile(Path(folder) / "keys")
        key = keys.add("bench", [Scope.SPEND, Scope.ACT, Scope.OBSERVE])
        ledger, run = Path(folder) / "ledger.db", Path(folder) / "run"
        Accountant(Budget(1.0), store=ledger).ledger.close()  # type: ignore[attr-defined]
        begin_named_run(run, LEARNER, Accountant(Budget(1.0))).close()
        with serving("--store", ledger, "--run", f"shop={run}", "--keys", keys.path) as port:
            measure("releases", release, port, key)
            measure("acts and observations", play, port, key)
        for store in (ledger, run / "ledger.db"):
            verify_store(store)


if __name__ == "__main__":
    main()
