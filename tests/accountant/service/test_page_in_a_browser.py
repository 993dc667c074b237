"""The service's page as people get it: with the server running, a key as the password, and no scripts."""

import threading
import urllib.request
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser
from seen_page import inaccessible, lost_on_paper, misplaced, opened, unreachable

from accountant import Accountant, Budget, Rule
from accountant.service.app import make_app
from accountant.service.desk import Desk
from accountant.service.keys import KeyFile, KeyScope
from accountant.service.ledger_part import ledger_part
from accountant.service.service_limits import ServiceLimits
from accountant.stores.opening import open_store
from mechanisms import Interval, Laplace


@pytest.mark.slow
def test_the_page_of_a_running_service(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    accountant = Accountant(Budget(1.0), store=path, rules=[Rule(Budget(1.0), days=30), Rule(Budget(0.95))])
    for record in ("ann", "bob", "a_record_with_a_name_that_does_not_end_" * 4):
        private = accountant.private([0.5], Interval(0, 1), record=record)
        accountant.release(Laplace(scale=1.1 if record == "ann" else 4.0), private)
    accountant.ledger.close()  # type: ignore[attr-defined]
    keys = KeyFile(tmp_path / "ledger.db.keys")
    key = keys.add("board", [KeyScope.READ])
    store = open_store(path)
    server = uvicorn.Server(
        uvicorn.Config(
            make_app([ledger_part(Desk(store), ServiceLimits())], keys),
            port=0,
            log_config=None,
            ws="none",
            lifespan="off",
        )
    )
    running = threading.Thread(target=server.run)
    running.start()
    try:
        while not server.started:
            running.join(0.01)
            assert running.is_alive()
        port = server.servers[0].sockets[0].getsockname()[1]
        address = f"http://127.0.0.1:{port}/"
        login = {"username": "board", "password": key}
        with urllib.request.urlopen(f"{address}health", timeout=10) as health:
            assert health.status == 200
        with opened(browser, address, http_credentials=login) as (seen, heard):
            assert seen.title().endswith("ledger.db")
            assert seen.locator("table").count() == 3
            assert misplaced(seen) == []
            assert unreachable(seen) == []
            assert lost_on_paper(seen) == []
            assert all(each.startswith(address) for each in heard)
        with opened(browser, address, http_credentials=login, scripts=True, bypass_csp=True) as (seen, _):
            assert inaccessible(seen) == []
    finally:
        server.should_exit = True
        running.join(10)
        store.close()
