"""A learner's service as a process: what is left of actions and feedback when it is killed."""

import itertools
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from serving import Server, answered, killing, told

from accountant import Accountant, Budget, Trust
from accountant.service.keys import KeyFile, KeyScope
from accountant.stores.opening import verify_store
from algorithms.catalogue.named_run import NamedLearner, begin_named_run, load_named_run

DIRECTLY = """
import sys, tomllib
from functools import partial
from pathlib import Path
from accountant.service.keys import KeyFile
from accountant.service.service_limits import ServiceLimits
from accountant.service.server import serve
from algorithms.catalogue.named_run import load_named_run
from algorithms.service.run_part import run_at
options = tomllib.loads(Path(sys.argv[2]).read_text())
load = partial(load_named_run, options["run"][0]["where"])
serve([partial(run_at, "web", load)], KeyFile(Path(options["keys"])), port=options["port"],
      limits=ServiceLimits(requests_per_second=1e6), ready=lambda address: print("serving on", address, flush=True))
"""  # without what other commands import


OBSERVES = {Trust.CENTRAL: "observe", Trust.LOCAL: "message"}


def visits(pipe: Any, key: str, number: int, ports: Sequence[int], trust: Trust) -> None:
    """Ask for actions, and send feedback or messages late, out of order, until killed; tell what was answered."""
    choose = random.Random(number)
    waiting: list[tuple[str, str]] = []
    for turn in itertools.count():
        request, record = f"act-{number}-{turn}", f"record-{number}-{turn}"
        body = {"request": request, "record": record}
        status, found = answered(ports, choose, key, "/v1/runs/web/act", body)
        assert status == 200, found
        told(pipe, "acted", body, found)
        waiting.append((found["ticket"], record))
        while len(waiting) > 3 or (waiting and choose.random() < 0.5):
            ticket, record = waiting.pop(choose.randrange(len(waiting)))
            bits = [int(choose.random() < 0.5) for _ in range(2)]
            sent = {"feedback": bits} if trust is Trust.CENTRAL else {"message": bits[:1]}
            body = {"request": f"observe-{ticket}", "ticket": ticket, "record": record, **sent}
            told(pipe, "observing", ticket)
            status, found = answered(ports, choose, key, f"/v1/runs/web/{OBSERVES[trust]}", body)
            assert status == 200, found
            told(pipe, "observed", body, found)


@pytest.mark.slow
@pytest.mark.parametrize(("trust", "kills"), [(Trust.CENTRAL, 200), (Trust.LOCAL, 60)], ids=str)
def test_no_ticket_and_no_feedback_is_lost_however_often_it_is_killed(
    tmp_path: Path, trust: Trust, kills: int
) -> None:
    check_killed(str(tmp_path / "run"), tmp_path, trust, kills)


@pytest.mark.slow
def test_no_ticket_and_no_feedback_is_lost_on_postgresql(tmp_path: Path, url: str) -> None:
    check_killed(url, tmp_path, Trust.CENTRAL, 60)


def check_killed(where: str, tmp_path: Path, trust: Trust, kills: int) -> None:
    """Two servers, of which one has the run and the other takes over, and kill -9 of them and of eight clients."""
    keys = KeyFile(tmp_path / "web.keys")
    learner = NamedLearner("cucb-ldp-bit", "top-k", 1.0, 10**6, settings={"arms": 5, "size": 2})
    begin_named_run(where, learner, Accountant(Budget(1.0), trust=trust)).close()
    key = keys.add("web", [KeyScope.ACT, KeyScope.OBSERVE])
    config = f"keys = '{keys.path}'\n[[run]]\nname = 'web'\nwhere = '{where}'"
    servers = [Server(tmp_path / "journal", config, code=DIRECTLY) for _ in range(2)]
    facts, clients = killing(
        servers,
        lambda pipe, number, ports: visits(pipe, key, number, ports, trust),
        clients=8,
        kills=kills,
        seed=0,
    )
    acted = [(body, found) for kind, body, found in (fact for fact in facts if fact[0] == "acted")]
    observed = [(body, found) for kind, body, found in (fact for fact in facts if fact[0] == "observed")]
    asked = {fact[1] for fact in facts if fact[0] == "observing"}
    assert len(observed) > kills
    choose, ports = random.Random(1), [server.port for server in servers]
    for path, answers in (("act", acted), (OBSERVES[trust], observed)):
        for body, found in choose.sample(answers, min(len(answers), 200)):
            assert answered(ports, choose, key, f"/v1/runs/web/{path}", body) == (200, found)
    for server in servers:
        server.stop()
    verify_store(where)
    with load_named_run(where, wait=60.0) as run:
        waiting = run.learner.waiting
        assert (
            len({found["ticket"] for _, found in acted})
            == len(acted)
            <= waiting.issued
            <= len(acted) + clients
        )
        still_open = {ticket.name for ticket in waiting.tickets.values()}
        assert {found["ticket"] for _, found in acted} - asked <= still_open
        assert not {body["ticket"] for body, _ in observed} & still_open
        paid = {entry.records[0] for entry in run.accountant.ledger.entries}
        assert len(run.accountant.ledger.entries) == len(paid)  # nobody paid twice
        assert {body["record"] for body, _ in observed} <= paid
        assert len(paid) - len(observed) <= clients  # who was killed had asked for one more
        assert waiting.issued == len(still_open) + len(paid)
