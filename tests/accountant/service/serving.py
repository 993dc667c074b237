"""Services and their clients as real processes, all of which may be killed at any moment."""

import http.client
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from processes import Client, forked

COMMAND = "from verify.commands.command_line import main; main()"


class Server:
    """A real process that serves, started again on the same port after it was killed.

    Parameters
    ----------
    journal
        Where it writes its journal to.
    config
        What its file says but the port.
    code
        What the process runs.
    """

    def __init__(self, journal: Path, config: str, *, code: str = COMMAND) -> None:
        self.journal = journal
        self.config = config
        self.file = journal.with_name(f"{journal.name}-{id(self)}.toml")
        self.code = code
        self.port = 0
        self.start()

    def start(self) -> None:
        self.file.write_text(f"port = {self.port}\n{self.config}\n")
        command = [sys.executable, "-c", self.code, "serve", str(self.file)]
        with self.journal.open("ab") as journal:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=journal, text=True)
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        assert " on http" in said, self.journal.read_text()
        self.port = int(said.rstrip().rpartition(":")[2])

    def kill(self) -> None:
        self.process.kill()
        self.ended()

    def ended(self) -> int:
        with self.process:
            return self.process.wait(30)

    def stop(self) -> None:
        self.process.terminate()
        self.ended()

    def post(self, key: str, path: str, body: Any) -> tuple[int, Any]:
        return post(self.port, key, path, body)


def post(port: int, key: str, path: str, body: Any) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def answered(ports: Sequence[int], choose: random.Random, key: str, path: str, body: Any) -> tuple[int, Any]:
    """Ask one service or the other until one of them knows."""
    while True:
        try:
            status, found = post(choose.choice(ports), key, path, body)
        except (OSError, http.client.HTTPException, ValueError):
            time.sleep(0.02)
            continue
        if status not in (429, 503):
            return status, found
        time.sleep(0.02)


def told(pipe: Any, *facts: Any) -> None:
    """Tell the test something, now."""
    pickle.dump(facts, pipe)
    pipe.flush()


def killing(
    servers: Sequence[Server],
    client: Callable[[Any, int, Sequence[int]], Any],
    *,
    clients: int,
    kills: int,
    seed: int,
) -> tuple[list[tuple[Any, ...]], int]:
    """Kill and replace servers and clients at random moments, half of each; return what clients told, and their number.

    Parameters
    ----------
    servers
        Are asked by all clients.
    client
        Runs in a process of its own, with a number of its own and the servers' ports, until it is killed.
    clients
        How many at one time.
    kills
        How often something is killed.
    """
    choose = random.Random(seed)
    ports = [server.port for server in servers]
    running = [forked(client, number, ports) for number in range(clients)]
    started = list(running)

    def replaced(ended: Client) -> None:
        os.kill(ended.process, signal.SIGKILL)
        running.remove(ended)
        started.append(forked(client, len(started), ports))
        running.append(started[-1])

    for kill in range(kills):
        time.sleep(choose.random() * 0.3)
        if kill % 2:
            replaced(choose.choice(running))
        else:
            server = choose.choice(servers)
            server.kill()
            server.start()
    for each in running:
        os.kill(each.process, signal.SIGKILL)
    return [facts for each in started for facts in each.sent()], len(started)
