"""A learner over HTTP: each act, feedback and message counts once, and nothing is spent on what is refused."""

import json
import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asking import Http, refused

from accountant import Accountant, Budget, BudgetExceeded, Rule, Trust
from accountant.rules import clock
from accountant.service.app import make_app
from accountant.service.keys import KeyFile, KeyScope
from accountant.service.service_limits import ServiceLimits
from accountant.stores.database import _PRAGMAS
from accountant.stores.opening import verify_store
from algorithms import CUCBLDP1, CUCBBatch, CUCBLDPBit, DurableRun, Question
from algorithms.catalogue.named_run import NamedLearner, begin_named_run, load_named_run
from algorithms.problems import TopK
from algorithms.service.run_desk import RunDesk
from algorithms.service.run_part import run_at, run_part

SECRET = 0.8314159
LEARNER = NamedLearner("cucb-batch", "top-k", 1.0, 2, settings={"arms": 5, "size": 2})
"""With first batches of one outcome, as for two rounds: of more they have ln T."""

pytestmark = pytest.mark.filterwarnings("ignore::algorithms.structured_learner.HorizonPassed")
SCOPES = {"web": [KeyScope.ACT], "log": [KeyScope.OBSERVE], "eve": [KeyScope.READ], "ann": [KeyScope.SPEND]}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no disk: nothing is switched off here."""
    monkeypatch.setitem(_PRAGMAS, "synchronous", 0)


class Served:
    """A run that is served, to clients with keys."""

    def __init__(self, folder: Path, load: Callable[[], Any] | None = None, **limits: Any) -> None:
        self.folder = folder
        self.limits = ServiceLimits(**limits)
        self.keys = KeyFile(folder.with_suffix(".keys"))
        known = {key.name for key in self.keys.load_keys()}
        self.words = {
            name: self.keys.add(name, granted) for name, granted in SCOPES.items() if name not in known
        }
        self.desk = RunDesk("web", load or (lambda: load_named_run(folder)), self.limits.open_tickets)
        self.http = Http(make_app([run_part(self.desk, self.limits)], self.keys, self.limits))

    def ask(self, what: str, body: Any = None, who: str | None = "web") -> Any:
        headers = {} if who is None else {"Authorization": f"Bearer {self.words[who]}"}
        path = what if what.startswith("/") else f"/v1/runs/web{what and '/'}{what}"
        return self.http.request("GET" if body is None else "POST", path, json=body, headers=headers)

    def act(self, record: Any = "ann", request: str | None = None) -> Any:
        return self.ask("act", {"request": request or os.urandom(4).hex(), "record": record})

    def observe(
        self, ticket: str, record: Any = "ann", feedback: Any = (1, 0), request: str | None = None
    ) -> Any:
        request = request or os.urandom(4).hex()
        body = {"request": request, "ticket": ticket, "record": record, "feedback": feedback}
        return self.ask("observe", body, "log")

    def withdraw(self, ticket: str) -> Any:
        return self.ask("withdraw", {"request": f"withdraw {ticket}", "ticket": ticket}, "log")

    def state(self) -> Any:
        return self.ask("", who="eve").json()

    def spent(self, record: Any = "ann") -> float:
        found = self.ask("left", {"records": [record]}, "eve").json()["records"][0]
        return float(found["spent"]["epsilon"])

    def again(self) -> None:
        """Restart the service, as after a crash: nothing is saved at its end."""
        self.desk.close()
        self.desk = RunDesk("web", lambda: load_named_run(self.folder), self.limits.open_tickets)
        self.http.close()
        self.http = Http(make_app([run_part(self.desk, self.limits)], self.keys, self.limits))

    def close(self) -> None:
        self.desk.close()
        self.http.close()


Opened = Callable[..., Served]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    found: list[Served] = []

    def opened(
        learner: NamedLearner = LEARNER,
        budget: float | Budget = 1.0,
        rules: Sequence[Rule] = (),
        trust: Trust = Trust.CENTRAL,
        **limits: Any,
    ) -> Served:
        folder = tmp_path / f"run{len(found)}"
        most = budget if isinstance(budget, Budget) else Budget(budget)
        accountant = Accountant(most, rules=rules, tenant="shop", trust=trust)
        begin_named_run(folder, learner, accountant).close()
        found.append(Served(folder, **limits))
        return found[-1]

    yield opened
    for each in found:
        each.close()


@pytest.fixture
def served(opened: Opened) -> Served:
    return opened()


AT_ONCE = NamedLearner("cucb-ldp1", "top-k", 0.5, 10_000, settings={"arms": 5, "size": 2})


def test_rules_of_a_run_hold_for_whoever_asks(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    served = opened(AT_ONCE, 9.0, [Rule(Budget(0.5), tenant="shop", days=30)])

    assert served.observe(served.act("ann").json()["ticket"]).status_code == 200
    ticket = served.act("ann").json()["ticket"]
    words = refused(served.observe(ticket), 409, "budget-exceeded")
    assert re.search(r"the ticket stays open; there is room again from 20\d\d-\d\d-\d\d UTC", words)
    [found] = served.ask("left", {"records": ["ann"]}, "eve").json()["records"]
    assert [each["left"]["epsilon"] for each in found["rules"]] == [0.0]
    assert found["left"]["epsilon"] == 8.5
    metrics = served.ask("/metrics", who="eve").text
    assert '\ndpwitness_rule_nearly_spent{run="web",rule="1",tenant="shop",days="30"} 1\n' in metrics
    html = served.ask("/", who="eve").text
    assert "Rules of run web" in html
    assert "1: each record, for tenant &#x27;shop&#x27;, in any 30 days" in html.replace("'", "&#x27;")
    served.again()
    refused(served.observe(ticket), 409, "budget-exceeded")
    assert served.observe(served.act("bob").json()["ticket"], "bob").status_code == 200
    now = clock.wall() + 40 * clock.DAY
    monkeypatch.setattr(clock, "wall", lambda: now)
    served.desk.close()
    refused(served.act("bob"), 503, "clock-ahead")


def test_an_action_comes_with_a_ticket_and_its_feedback_is_paid_for_once(served: Served) -> None:
    shown = served.act("ann", "monday")
    assert shown.status_code == 200
    assert shown.json() == served.act("ann", "monday").json()
    assert sorted(shown.json()) == ["action", "request", "ticket"]
    assert len(set(shown.json()["action"])) == 2
    ticket = shown.json()["ticket"]
    assert served.state()["tickets"] == {"issued": 1, "open": 1}
    first = served.observe(ticket, request="tuesday")
    assert first.json() == {"request": "tuesday", "ticket": ticket, "state": "observed"}
    assert served.observe(ticket, request="tuesday").json() == first.json()
    assert served.state()["tickets"] == {"issued": 1, "open": 0}
    assert served.spent() == 1.0
    assert served.act("ann", "monday").json() == shown.json()  # also after its ticket was used


def test_an_action_is_of_arms_that_are_there(served: Served) -> None:
    def act(request: str, available: Any) -> Any:
        return served.ask("act", {"request": request, "record": "ann", "available": available})

    told = act("visit", [4, 2, 3]).json()
    assert told["action"] == [2, 3]
    for wrong, words in (
        ([1], "must hold a super arm"),
        ([], "0 arms"),
        ([1, 5], "5 is no arm: must be from 0 to 4"),
        ([1, 1], "given twice"),
        ([1, True], "whole numbers"),
        ([1.0, 2.0], "whole numbers"),
        ("12", "must be a list"),
        (None, "must be a list"),
    ):
        assert words in refused(act("wrong", wrong), 422, "invalid")
    assert served.state()["tickets"] == {"issued": 1, "open": 1}
    served.again()
    assert act("visit", [2, 3, 4]).json() == told
    refused(act("visit", [1, 2, 3, 4]), 409, "key-used")
    refused(served.act("ann", "visit"), 409, "key-used")
    assert served.observe(told["ticket"]).json()["state"] == "observed"


def test_a_learner_that_needs_all_arms_says_so_over_http(opened: Opened) -> None:
    lists = NamedLearner("cascade-ucb-batch", "cascade", 1.0, 1_000)
    served = opened(lists, open_tickets=1)
    served.act()
    body = {"request": "b", "record": "bob", "available": [0, 1, 2, 3, 4]}
    assert "CascadeUCBBatch plays with all arms" in refused(served.ask("act", body), 422, "invalid")
    assert served.state()["tickets"] == {"issued": 1, "open": 1}  # nobody's ticket made room for it


def test_a_restart_knows_what_was_answered_and_what_is_open(served: Served) -> None:
    ann, bob = served.act("ann", "a"), served.act("bob", "b")
    served.observe(ann.json()["ticket"], "ann", request="c")
    served.again()
    assert served.act("ann", "a").json() == ann.json()
    assert served.act("bob", "b").json() == bob.json()
    assert served.observe(ann.json()["ticket"], "ann", request="c").status_code == 200
    assert served.observe(bob.json()["ticket"], "bob", request="d").status_code == 200
    assert served.state()["tickets"] == {"issued": 2, "open": 0}
    assert [served.spent(record) for record in ("ann", "bob", "cid")] == [1.0, 1.0, 0.0]
    served.close()
    verify_store(served.folder / "ledger.db")


@pytest.mark.slow
def test_what_the_service_learns_is_what_the_learner_learns(tmp_path: Path) -> None:
    """With noise that cannot be told from none, late and out of order: the same counts and means as in Python."""

    def build(gate: Any) -> Any:
        return CUCBBatch(TopK(5, 2), gate, epsilon=1e7, horizon=10_000)

    runs = [DurableRun(build, Accountant(Budget(1e8))) for _ in range(2)]
    for number, each in enumerate(runs):
        each.save(tmp_path / str(number))
    runs[0].close()
    served = Served(tmp_path / "0", lambda: DurableRun.load(tmp_path / "0", build))
    here = runs[1].learner
    for turn in range(6):
        shown = [served.act(f"{turn}-{i}").json() for i in range(3)]
        issued = [here.issue() for _ in shown]
        assert [each["action"] for each in shown] == [each.action[0].tolist() for each in issued]
        for i in (2, 0, 1):
            # No two arms are alike: noise would say which of them is better.
            feedback = [arm / 4 for arm in shown[i]["action"]]
            name = f"{turn}-{i}"
            assert served.observe(shown[i]["ticket"], name, feedback).status_code == 200
            here.observe(runs[1].accountant.private(feedback, here.feedback_domain, name), ticket=issued[i])
    assert served.state()["summary"]["records"] == runs[1].accountant.summary().records > 0
    served.close()
    runs[1].close()


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("change", "status", "kind", "words"),
    [
        ({"ticket": "used"}, 409, "ticket-refused", "it was used or withdrawn"),
        ({"ticket": "withdrawn"}, 409, "ticket-refused", "it was used or withdrawn"),
        ({"ticket": "0123456789abcdef-1"}, 409, "ticket-refused", "it is not of this run"),
        ({"ticket": "next"}, 409, "ticket-refused", "it was never issued"),
        ({"ticket": "'; DROP TABLE kept; --"}, 409, "ticket-refused", "it is not of this run"),
        ({"ticket": "../../ledger.db"}, 409, "ticket-refused", "it is not of this run"),
        ({"ticket": ""}, 422, "invalid", "1 to 200 characters"),
        ({"ticket": 1}, 422, "invalid", "1 to 200 characters"),
        ({"record": "bob"}, 409, "ticket-refused", "was handed out for another record"),
        ({"record": None}, 422, "invalid", "64 bits"),
        ({"request": "taken"}, 409, "key-used", "something else"),
        ({"request": ""}, 422, "invalid", "1 to 200 characters"),
        ({"feedback": SECRET}, 422, "invalid", "a list"),
        ({"feedback": [SECRET]}, 422, "invalid", "must be 2 numbers"),
        ({"feedback": [SECRET] * 3}, 422, "invalid", "must be 2 numbers"),
        ({"feedback": [SECRET, 1 + SECRET]}, 422, "invalid", "must be 2 numbers"),
        ({"feedback": [SECRET, 10**400]}, 422, "invalid", "must be 2 numbers"),
        ({"feedback": [SECRET, True]}, 422, "invalid", "list of numbers"),
        ({"feedback": [SECRET, "0.8314159"]}, 422, "invalid", "list of numbers"),
        ({"extra": SECRET}, 422, "invalid", "1 unknown keys"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_wrong_is_refused_before_anything_is_spent(
    shared: Served,
    caplog: pytest.LogCaptureFixture,
    change: dict[str, Any],
    status: int,
    kind: str,
    words: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    mine = shared.act("ann").json()["ticket"]
    special = {"used": shared.used, "withdrawn": shared.gone, "next": f"{mine.rpartition('-')[0]}-9999"}  # type: ignore[attr-defined]
    body = {
        "request": os.urandom(4).hex(),
        "ticket": mine,
        "record": "ann",
        "feedback": [SECRET, SECRET],
        **change,
    }
    ticket = body["ticket"]
    body["ticket"] = special.get(ticket, ticket) if isinstance(ticket, str) else ticket
    assert words in refused(shared.ask("observe", body, "log"), status, kind)
    assert "8314" not in caplog.text
    assert shared.spent("ann") == shared.spent("bob") == 0.0
    assert shared.withdraw(mine).json()["state"] == "withdrawn"  # it was open


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Return a service with a used ticket, a withdrawn one, and a request that is taken."""
    folder = tmp_path_factory.mktemp("shared") / "run"
    begin_named_run(folder, LEARNER, Accountant(Budget(1.0))).close()
    served = Served(folder, requests_per_second=1e6, max_body=10_000, records=10)
    used, gone = (served.act("cid").json()["ticket"] for _ in range(2))
    assert served.observe(used, "cid", request="taken").status_code == 200
    served.withdraw(gone)
    served.used, served.gone = used, gone  # type: ignore[attr-defined]
    yield served
    served.close()


ACT = {"request": "a", "record": "ann"}
ABUSE = {
    "no key": (401, "no-key", "act", ACT, None, {}),
    "a made-up key": (401, "no-key", "act", ACT, "dpw_made-up", {}),
    "a key in the address": (401, "no-key", "act?key=dpw_made-up", ACT, None, {}),
    "the wrong scope": (403, "wrong-scope", "act", ACT, "log", {}),
    "spending with a ledger's key": (403, "wrong-scope", "observe", ACT, "ann", {}),
    "another method": (405, "method", "act", None, "web", {}),
    "a form of another site's": (415, "not-json", "act", b"request=a", "web", {"Content-Type": "text/plain"}),
    "no JSON": (400, "malformed", "act", b"{", "web", {}),
    "no object": (400, "malformed", "act", b"[]", "web", {}),
    "a key twice": (400, "malformed", "act", b'{"request": "a", "request": "b"}', "web", {}),
    "deep nesting": (400, "malformed", "act", b"[" * 5_000, "web", {}),
    "no number": (400, "malformed", "observe", b'{"feedback": [NaN]}', "log", {}),
    "a body beyond measure": (413, "too-large", "act", b" " * 20_000, "web", {}),
    "a path out of the run": (404, "unknown-path", "/v1/runs/web/../../ledger", ACT, "web", {}),
    "a coded path": (404, "unknown-path", "/v1/runs/web%2f..%2fact", ACT, "web", {}),
    "SQL in a run's name": (404, "unknown-path", "/v1/runs/web';DROP TABLE kept;--/act", ACT, "web", {}),
    "a name beyond measure": (422, "invalid", "act", {**ACT, "record": "x" * 201}, "web", {}),
    "half a surrogate": (422, "invalid", "act", b'{"request": "a", "record": "\\ud800"}', "web", {}),
    "an object for a name": (422, "invalid", "act", {**ACT, "record": {"$ne": 1}}, "web", {}),
    "too many records": (422, "invalid", "left", {"records": ["a"] * 11}, "eve", {}),
}


@pytest.mark.parametrize("case", ABUSE)
def test_abuse_is_refused_and_logged(shared: Served, caplog: pytest.LogCaptureFixture, case: str) -> None:
    status, kind, what, body, who, headers = ABUSE[case]
    before = shared.state()
    caplog.set_level(logging.INFO)
    caplog.clear()
    key = shared.words.get(who, who) if who else None
    headers = {"Content-Type": "application/json", **headers} | (
        {"Authorization": f"Bearer {key}"} if key else {}
    )
    content = json.dumps(body) if isinstance(body, dict) else body
    path = what if what.startswith("/") else f"/v1/runs/web/{what}"
    answer = shared.http.request("GET" if body is None else "POST", path, content=content, headers=headers)
    refused(answer, status, kind)
    (line,) = (vars(line)["facts"] for line in caplog.records if line.name == "dpwitness.service")
    named = who in shared.words and status not in (404, 405)  # where nothing is, no key is looked at
    assert (line["status"], line["kind"], line["key"]) == (status, kind, who if named else None)
    assert not any(word in json.dumps(line) for word in ("made-up", "DROP", "xxx", "ledger"))
    assert shared.state() == before


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("POST", "/v1/runs/web/act", "act"),
        ("POST", "/v1/runs/web/observe", "observe"),
        ("POST", "/v1/runs/web/message", "observe"),
        ("POST", "/v1/runs/web/withdraw", "observe"),
        ("POST", "/v1/runs/web/left", "read"),
        ("GET", "/v1/runs/web", "read"),
    ],
)
def test_every_operation_needs_a_key_of_its_scope(shared: Served, method: str, path: str, scope: str) -> None:
    body = {} if method == "POST" else None
    refused(shared.ask(path, body, None), 401, "no-key")
    others = [name for name, granted in SCOPES.items() if scope not in [each.value for each in granted]]
    for who in others:
        assert repr(scope) in refused(shared.ask(path, body, who), 403, "wrong-scope")


@pytest.mark.parametrize("name", ["other", "..", "web%2F..", "%2e%2e/ledger", "web;id", "web'--", "", "WEB"])
def test_there_is_no_run_of_another_name(shared: Served, name: str) -> None:
    answer = shared.ask(f"/v1/runs/{name}/act", {"request": "a", "record": "ann"})
    assert (answer.status_code, answer.json()["error"]["kind"]) == (404, "unknown-path")


@pytest.mark.parametrize("name", ["", "..", "a/b", "-a", "a b", "x" * 65])
def test_a_run_is_called_by_a_name(name: str) -> None:
    with (
        pytest.raises(ValueError, match="must be 1 to 64 letters"),
        run_at(name, lambda: None, ServiceLimits()),
    ):  # type: ignore[arg-type,return-value]
        pass


def test_who_has_nothing_left_is_refused_and_the_ticket_stays_open(opened: Opened) -> None:
    served = opened(NamedLearner("cucb-ldp-bit", "top-k", 1.0, 100, settings={"arms": 5, "size": 2}))
    first, second = (served.act("ann").json()["ticket"] for _ in range(2))
    assert served.observe(first).status_code == 200
    words = refused(served.observe(second), 409, "budget-exceeded")
    assert words == "record 'ann' has too little left: nothing was charged, and the ticket stays open"
    assert served.state()["tickets"] == {"issued": 2, "open": 1}
    assert served.spent() == 1.0
    assert served.withdraw(second).status_code == 200


def test_a_second_service_is_told_who_has_the_run_and_takes_over(served: Served) -> None:
    shown = served.act("ann", "a").json()
    other = Served(served.folder)
    other.words = served.words
    assert f"held by this process, in another object (process {os.getpid()} on" in refused(
        other.act("ann", "a"), 503, "held"
    )
    refused(other.ask("/health", who=None), 503, "held")
    served.desk.close()
    assert other.act("ann", "a").json() == shown
    assert other.observe(shown["ticket"]).status_code == 200
    refused(served.act("ann", "a"), 503, "held")
    other.close()
    assert served.spent() == 1.0


def test_who_lost_a_run_without_a_word_refuses_nothing_from_its_past(served: Served) -> None:
    """As where a server ends the session that holds a run: what another has handed out since is no unknown ticket."""
    served.act("ann")
    (served.folder / "ledger.db.held").unlink()
    other = Served(served.folder)
    other.words = served.words
    ticket = other.act("bob").json()["ticket"]
    for _ in range(2):
        refused(served.observe(ticket, record="bob"), 503, "held")
        refused(served.ask("left", {"records": ["bob"]}, "eve"), 503, "held")
        refused(served.ask("/health", who=None), 503, "held")
    assert other.observe(ticket, record="bob").status_code == 200
    other.close()
    assert served.spent("bob") == 1.0


def test_what_could_not_be_saved_was_not_answered(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    ticket = served.act("ann").json()["ticket"]

    def fails(*_: Any, **__: Any) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as broken:
        broken.setattr(DurableRun, "save", fails)
        refused(served.observe(ticket, request="a"), 503, "unknown")
        refused(served.act("bob", "b"), 503, "unknown")
    assert served.state()["tickets"] == {"issued": 1, "open": 1}
    assert served.spent() == 0.0
    assert served.observe(ticket, request="a").status_code == 200
    assert served.spent() == 1.0


def test_an_error_nobody_foresaw_leaves_the_run_as_it_was(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticket = served.act("ann").json()["ticket"]
    with monkeypatch.context() as broken:
        broken.setattr("algorithms.tickets.OpenActions.close", lambda *_: 1 / 0)
        refused(served.observe(ticket, request="a"), 500, "failed")
    assert served.spent() == 0.0
    assert served.observe(ticket, request="a").status_code == 200


class Twice(CUCBLDP1):
    """Somebody's own learner, which releases what it learns from twice."""

    def learn(self, action: Any, feedback: Any) -> None:
        self.gate.release(self.randomizer, feedback)
        super().learn(action, feedback)


def test_what_is_refused_half_way_charged_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The second release of one round is refused: the first is as if it had not been, as it was not saved."""

    def build(gate: Any) -> Twice:
        return Twice(TopK(5, 2), gate, epsilon=1.0, horizon=9)

    folder = tmp_path / "run"
    with DurableRun(build, Accountant(Budget(1.5))) as run:
        run.save(folder)
    served = Served(folder, load=lambda: DurableRun.load(folder, build))
    ticket = served.act("ann").json()["ticket"]
    for _ in range(2):
        refused(served.observe(ticket), 500, "failed")
        assert served.spent() == 0.0
    assert "refused after a charge" in caplog.text
    assert served.state()["tickets"] == {"issued": 1, "open": 1}
    served.close()


def test_a_round_beyond_the_horizon_of_a_tree_is_refused_and_its_ticket_stays_open(opened: Opened) -> None:
    served = opened(replace(LEARNER, learner="published/cucb-dp", epsilon=0.5, horizon=2))
    *early, last = ((served.act(record).json()["ticket"], record) for record in ("ann", "bob", "cid"))
    assert all(served.observe(*each).status_code == 200 for each in early)
    for _ in range(2):
        refused(served.observe(*last), 409, "horizon-exceeded")
    assert served.state()["tickets"] == {"issued": 3, "open": 1}
    assert served.spent("cid") == 0.0


@pytest.mark.slow_cells("changed")
@pytest.mark.parametrize("cause", ["gone", "changed"])
def test_a_run_that_does_not_load_again_keeps_no_other_part_from_answering(
    served: Served, monkeypatch: pytest.MonkeyPatch, cause: str
) -> None:
    shown = served.act("ann", "a").json()
    served.desk.close()  # as after a save that failed
    with monkeypatch.context() as broken:
        if cause == "gone":
            broken.setattr("algorithms.durable.run_place.RUN_STORE", "none.db")
        else:
            broken.setattr("algorithms.durable.durable_run.fingerprint", lambda _: "other")
            broken.setattr(
                "algorithms.durable.durable_run._differing", lambda one, other: ["code"] * (one is not other)
            )
        for what in ("act", "", "/health"):
            body = {"request": "a", "record": "ann"} if what == "act" else None
            refused(served.ask(what, body, "web" if body else "eve"), 503, "store-refused")
        for page in ("/metrics", "/"):
            assert served.ask(page, who="eve").status_code == 200
    assert served.act("ann", "a").json() == shown


def test_a_gate_that_was_shut_stays_shut(served: Served) -> None:
    shown = served.act("ann", "a")
    from accountant.place import Place

    served.desk._run.accountant.close("a value was 0.8314159", Place("secret.py", 1))  # type: ignore[union-attr]
    refused(served.observe(shown.json()["ticket"]), 503, "closed")
    refused(served.act("bob"), 503, "closed")
    refused(served.ask("/health", who=None), 503, "closed")
    assert served.act("ann", "a").json() == shown.json()


def test_who_never_answers_keeps_nobody_else_out(opened: Opened) -> None:
    served = opened(open_tickets=4)
    served.words["app"] = served.keys.add("app", [KeyScope.ACT])
    body = {"request": "first", "record": "ann"}
    (app,) = [served.ask("act", body, "app").json()["ticket"]]
    web = [served.act(f"visitor {i}", f"visit {i}").json()["ticket"] for i in range(3)]
    served.again()
    for i in range(3, 6):  # each takes the place of the oldest of the key that has most
        web.append(served.act(f"visitor {i}", f"visit {i}").json()["ticket"])
    assert served.state()["tickets"] == {"issued": 7, "open": 4}
    assert "it was used or withdrawn" in refused(served.observe(web[2], "visitor 2"), 409, "ticket-refused")
    assert served.act("visitor 0", "visit 0").json()["ticket"] == web[0]  # the answer of the first time
    assert served.observe(app, "ann").status_code == 200
    assert served.observe(web[3], "visitor 3").status_code == 200
    assert served.spent("visitor 2") == 0.0


def test_a_ticket_has_one_name(served: Served) -> None:
    ticket = served.act().json()["ticket"]
    run, _, number = ticket.rpartition("-")
    for alias in (f"{run}-0{number}", f"{run}-\N{ARABIC-INDIC DIGIT ONE}"):
        assert "it is not of this run" in refused(served.observe(alias), 409, "ticket-refused")
    assert served.observe(ticket).status_code == 200


def test_runs_of_local_trust_without_questions_are_not_served(tmp_path: Path) -> None:
    def build(gate: Any) -> Any:
        return CUCBLDP1(TopK(5, 2), gate, epsilon=1.0, horizon=100)

    run = DurableRun(build, Accountant(Budget(1.0), trust=Trust.LOCAL))
    run.save(tmp_path / "local")
    run.close()
    with pytest.raises(ValueError, match="of CUCBLDP1 no single message can be asked"):
        RunDesk("web", lambda: DurableRun.load(tmp_path / "local", build), 10)
    DurableRun.load(tmp_path / "local", build).close()  # it was given free

    strict = Accountant(Budget(1.0), trust=Trust.LOCAL, strict=True)
    run = DurableRun(lambda gate: CUCBLDPBit(TopK(5, 2), gate, epsilon=1.0, horizon=100), strict)
    with pytest.raises(ValueError, match="strict: what devices draw is on trust"):
        RunDesk("web", lambda: run, 10)


def test_metrics_and_the_document_know_the_run(served: Served) -> None:
    served.act()
    lines = served.ask("/metrics", who="eve").text.splitlines()
    assert 'dpwitness_open_tickets{run="web"} 1' in lines
    assert 'dpwitness_requests_total{route="/v1/runs/web/act",status="200"} 1' in lines
    document = served.ask("/openapi.json", who=None).json()
    assert document["paths"]["/v1/runs/web/act"]["post"]["summary"].endswith("Scope: act.")
    text = json.dumps(document)
    for name in {each.partition('"')[0] for each in text.split("#/components/schemas/")[1:]}:
        assert name in document["components"]["schemas"]


def test_a_key_of_one_run_is_for_nothing_else(served: Served) -> None:
    body = {"request": "a", "record": "ann"}
    for name, run, status in (("mine", "web", 200), ("other", "shop", 403)):
        served.words[name] = served.keys.add(name, [KeyScope.ADMIN], [run])
        answer = served.ask("act", body, name)
        assert answer.status_code == status
        refused(served.ask("/metrics", who=name), 403, "wrong-run")
    assert "for shop only" in refused(answer, 403, "wrong-run")


def test_the_page_shows_runs_and_who_has_them(served: Served) -> None:
    served.observe(served.act().json()["ticket"])
    served.act("bob")
    html = served.ask("/", who="eve").text
    assert "<title>Privacy budgets: run web</title>" in html
    assert "<dd>2, of which 1 wait for their feedback</dd>" in html
    assert "<dd>CUCBBatch</dd>" in html
    with_ids = re.findall(r' id="([^"]*)"', html)
    assert len(with_ids) == len(set(with_ids))
    assert set(re.findall(r'aria-labelledby="([^"]*)"', html)) <= set(with_ids)
    other = Served(served.folder)
    other.words = served.words
    assert (
        f"the run is held by this process, in another object (process {os.getpid()}"
        in other.ask("/", who="eve").text
    )
    other.close()


# --- messages of devices -------------------------------------------------------------------------

BIT = NamedLearner("cucb-ldp-bit", "top-k", 0.5, 10_000, settings={"arms": 5, "size": 2})
RANKED = NamedLearner("cascade-ucb-rr", "cascade", 1.0, 10_000)


def device(epsilon: float = 1.0, **options: Any) -> Accountant:
    return Accountant(Budget(epsilon), trust=Trust.LOCAL, **options)


def send(asking: Served, ticket: str, message: Any, record: Any = "ann", request: str = "m") -> Any:
    body = {"request": f"{request} {ticket}", "ticket": ticket, "record": record, "message": message}
    return asking.ask("message", body, "log")


@pytest.fixture
def asking(opened: Opened) -> Served:
    return opened(BIT, 1.0, trust=Trust.LOCAL)


@pytest.mark.parametrize("learner", [BIT, RANKED], ids=["sets", "lists"])
def test_a_device_answers_and_nothing_but_its_message_reaches_the_service(
    opened: Opened,
    learner: NamedLearner,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    served, own = opened(learner, 1.0, trust=Trust.LOCAL), device()
    acted = served.act().json()
    question = Question.from_dict(acted["question"])
    feedback = [0.0] * len(acted["action"])
    feedback[0] = 1.0
    message = question.answer(own, feedback, "me", request=acted["ticket"])[0].tolist()
    assert message == question.answer(own, feedback, "me", request=acted["ticket"])[0].tolist()
    first = send(served, acted["ticket"], message)
    assert first.json()["state"] == "observed"
    assert send(served, acted["ticket"], message).json() == first.json()
    refused(send(served, acted["ticket"], message, request="again"), 409, "ticket-refused")
    assert served.spent() == learner.epsilon == own.spent("me").epsilon
    assert "local trust" in served.ask("/", who="eve").text
    assert served.state()["summary"]["assumptions"] == [
        "a message was drawn by its record's own device, through the mechanism that was asked for"
    ]
    assert json.dumps(message) not in caplog.text


def test_a_question_is_the_same_after_a_restart_and_answers_come_in_any_order(asking: Served) -> None:
    asked = [asking.act(f"user {i}", f"a{i}").json() for i in range(4)]
    assert len({json.dumps(each["question"]["mechanism"]) for each in asked}) == 4
    asking.again()
    assert [asking.act(f"user {i}", f"a{i}").json() for i in range(4)] == asked
    for i in (2, 0, 3):
        assert send(asking, asked[i]["ticket"], [1], f"user {i}").status_code == 200
    assert asking.state()["tickets"] == {"issued": 4, "open": 1}
    with asking.desk._reading() as run:
        learner = run.learner
        assert isinstance(learner, CUCBLDPBit)
        counts = learner.confidence().count[0].tolist()
    about = [asked[i]["question"]["about"][0][0] for i in (2, 0, 3)]
    assert counts == [about.count(arm) for arm in range(5)]


def test_what_the_mechanism_does_not_output_is_refused_and_logged(
    asking: Served, caplog: pytest.LogCaptureFixture
) -> None:
    ticket = asking.act().json()["ticket"]
    caplog.set_level(logging.INFO)
    caplog.clear()
    no_bits = [[2], [-1], [0.5], [1.0], [], [0, 0], [True], ["1"], [[1]], 1, None, [10**400]]
    for message in no_bits:
        refused(send(asking, ticket, message), 422, "invalid")
    logged = [vars(line)["facts"] for line in caplog.records if line.name == "dpwitness.service"]
    assert [(each["key"], each["kind"]) for each in logged] == [("log", "invalid")] * len(no_bits)
    assert asking.spent() == 0
    assert send(asking, ticket, [0], request="right").status_code == 200


def test_a_message_is_of_whom_was_asked(asking: Served) -> None:
    ticket = asking.act().json()["ticket"]
    refused(send(asking, ticket, [1], "bob"), 409, "ticket-refused")
    refused(send(asking, "made-up-1", [1]), 409, "ticket-refused")
    assert asking.spent() == asking.spent("bob") == 0


def test_feedback_does_not_come_to_a_run_of_messages_nor_messages_to_one_of_feedback(
    asking: Served,
    opened: Opened,
) -> None:
    assert "stays on the device" in refused(asking.observe(asking.act().json()["ticket"]), 409, "other-trust")
    central = opened(BIT)
    acted = central.act().json()
    assert "question" not in acted
    refused(send(central, acted["ticket"], [1]), 409, "other-trust")
    assert central.observe(acted["ticket"]).status_code == 200


def test_who_cannot_pay_is_not_asked(asking: Served) -> None:
    """Epsilon 0.5 each, and a budget of 1: two messages, and a third is not asked for."""
    late = asking.act().json()["ticket"]
    for i in range(2):
        assert send(asking, asking.act(request=f"a{i}").json()["ticket"], [1]).status_code == 200
    assert "nothing is asked" in refused(asking.act(request="third"), 409, "budget-exceeded")
    refused(send(asking, late, [1]), 409, "budget-exceeded")
    assert asking.state()["tickets"]["open"] == 1
    assert asking.spent() == 1.0


def test_who_is_not_asked_takes_no_place(opened: Opened) -> None:
    served = opened(BIT, 0.5, trust=Trust.LOCAL, open_tickets=1)  # one message each
    assert send(served, served.act().json()["ticket"], [1]).status_code == 200
    waiting = served.act("bob").json()["ticket"]
    refused(served.act(), 409, "budget-exceeded")
    assert send(served, waiting, [1], "bob").status_code == 200


def test_a_service_that_asks_for_more_than_the_device_gives_gets_nothing(opened: Opened) -> None:
    loud = NamedLearner("cucb-ldp-bit", "top-k", 9.0, 10_000, settings={"arms": 5, "size": 2})
    acted = opened(loud, 9.0, trust=Trust.LOCAL).act().json()
    own = device(strict=True)
    with pytest.raises(BudgetExceeded):
        Question.from_dict(acted["question"]).answer(own, [1.0, 0.0], "me")
    assert own.spent("me").epsilon == 0


def test_the_folder_of_such_a_run_holds_no_feedback(asking: Served) -> None:
    own = device(noise=None)
    acted = asking.act().json()
    message = Question.from_dict(acted["question"]).answer(own, [0.8314159, 0.8314159], "me")[0].tolist()
    assert send(asking, acted["ticket"], message).status_code == 200
    assert all(
        b"8314159" not in path.read_bytes() for path in Path(asking.folder).iterdir() if path.is_file()
    )


def test_tickets_are_listed_with_their_time_and_lapse_by_it(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = clock.wall()
    first = served.act("ann").json()["ticket"]
    served.act(7)
    monkeypatch.setattr(clock, "wall", lambda: begun + 2 * clock.DAY)
    last = served.act("bob").json()["ticket"]
    assert served.observe(served.act("eve").json()["ticket"], "eve").status_code == 200
    listed = served.ask("tickets", who="eve").json()
    assert (listed["run"], listed["open"]) == ("web", 3)
    assert [each["record"] for each in listed["tickets"]] == ["ann", 7, "bob"]
    assert all(
        re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", each["since"]) for each in listed["tickets"]
    )
    assert listed["tickets"][0]["ticket"] == first
    assert served.ask("tickets", who="log").status_code == 403

    def lapse(seconds: Any, request: str = "monday") -> Any:
        return served.ask("lapse", {"request": request, "seconds": seconds}, "log")

    for wrong in (-1, "2d", None, True, 10**10):
        refused(lapse(wrong), 422, "invalid")
    assert served.ask("lapse", {"request": "x", "seconds": 1}, "eve").status_code == 403
    assert lapse(3 * 86_400, "early").json() == {"request": "early", "withdrawn": 0, "open": 3}
    spent = served.spent("eve")
    assert lapse(86_400).json() == {"request": "monday", "withdrawn": 2, "open": 1}
    served.again()
    assert lapse(86_400).json() == {"request": "monday", "withdrawn": 2, "open": 1}  # what was answered then
    refused(lapse(1), 409, "key-used")
    refused(served.observe(first), 409, "ticket-refused")
    assert served.spent("ann") == 0.0
    assert served.spent("eve") == spent
    assert served.observe(last, "bob").status_code == 200


def test_a_clock_that_was_set_back_lapses_nothing(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = clock.wall()
    served.act("ann")
    monkeypatch.setattr(clock, "wall", lambda: begun - clock.DAY)
    assert served.ask("lapse", {"request": "x", "seconds": 0}, "log").json()["withdrawn"] == 0


def test_tickets_of_python_have_no_time_and_stay(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    begin_named_run(folder, LEARNER, Accountant(Budget(1.0))).close()
    with load_named_run(folder) as run:
        ticket = run.learner.issue()
        run.save()
    served = Served(folder)
    listed = served.ask("tickets", who="eve").json()["tickets"]
    assert [(each["ticket"], each["record"], each["since"]) for each in listed] == [(ticket.name, None, None)]
    assert served.ask("lapse", {"request": "x", "seconds": 0}, "log").json() == {
        "request": "x",
        "withdrawn": 0,
        "open": 1,
    }
    served.close()


CONTEXTUAL = NamedLearner("dp-linucb", "contexts", 1.0, 1_000, 1e-5, {"dimension": 2, "norm": 1.0})
OFFERED = [[0.6, 0.8], [-0.28, 0.96], [SECRET, 0.1]]


@pytest.fixture
def contextual(opened: Opened) -> Served:
    return opened(CONTEXTUAL, budget=Budget(1.0, 1e-5))


def shown(served: Served, contexts: Any, record: Any = "ann", request: str | None = None, **more: Any) -> Any:
    body = {"request": request or os.urandom(4).hex(), "record": record, "contexts": contexts, **more}
    return served.ask("act", body)


def earned(served: Served, ticket: str, features: Any, reward: Any, record: Any = "ann", **more: Any) -> Any:
    body = {"request": os.urandom(4).hex(), "ticket": ticket, "record": record, "feedback": reward, **more}
    return served.ask("observe", body if features is None else {**body, "features": features}, "log")


def test_a_contextual_learner_is_told_contexts_and_learns_what_it_would_in_python(
    opened: Opened,
) -> None:
    budget = Budget(1e6, 1e-5)  # noise that cannot be told from none
    clear = replace(CONTEXTUAL, epsilon=budget.epsilon)
    contextual, rng, twin = (
        opened(clear, budget=budget),
        np.random.default_rng(3),
        DurableRun(clear, Accountant(budget)),
    )
    waiting = []
    for user in range(60):
        offered = rng.uniform(-0.7, 0.7, (4, 2))
        told = shown(contextual, offered.tolist(), user).json()
        assert told["action"] == contextual.desk._run.learner.policy.choose([offered]).tolist()
        waiting.append((user, told["ticket"], offered[told["action"][0]], float(rng.uniform(-1, 1))))
    for user, ticket, features, reward in reversed(waiting):  # late, and in any order
        assert earned(contextual, ticket, features.tolist(), [reward], user).json()["state"] == "observed"
        domain = twin.learner.feedback_domain
        twin.learner.observe(twin.accountant.private(domain.moments(features, reward), domain, user))
        if user % 20 == 0:
            contextual.again()
    learner = contextual.desk._run.learner
    assert learner.rounds.observed == 60
    assert (learner.releases, learner.released) == (twin.learner.releases, twin.learner.released)
    assert learner.releases >= 1
    assert contextual.spent(59) == pytest.approx(1e6, rel=1e-9)
    np.testing.assert_allclose(learner.policy.estimate, twin.learner.policy.estimate, atol=0.01)
    assert np.abs(learner.policy.estimate).max() > 0.03
    assert contextual.state()["tickets"] == {"issued": 60, "open": 0}


def test_a_contextual_answer_is_given_once_and_no_vector_is_kept(
    contextual: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    told = shown(contextual, OFFERED, request="visit").json()
    contextual.again()
    assert shown(contextual, OFFERED, request="visit").json() == told
    listed = contextual.ask("tickets", who="eve").json()
    assert [each["action"] for each in listed["tickets"]] == [
        []
    ]  # who reads it does not see what ann was shown
    assert earned(contextual, told["ticket"], OFFERED[2], [SECRET]).status_code == 200
    again = earned(contextual, told["ticket"], OFFERED[2], [SECRET])
    assert "used or withdrawn" in refused(again, 409, "ticket-refused")
    kept = b"".join(each.read_bytes() for each in contextual.folder.iterdir() if each.is_file())
    assert b"8314159" not in kept
    assert "8314" not in caplog.text


def test_contexts_that_are_none_are_refused(contextual: Served) -> None:
    for wrong in (
        *([], [[]], [[0.1, 0.2, 0.3]], [[0.1, 0.2], [0.1]], [[0.8, 0.7]], [[10**400, 0]], [["0.1", 0.2]]),
        *([0.1, 0.2], "contexts", None),
    ):
        refused(shown(contextual, wrong), 422, "invalid")
    assert "leave out the contexts" in refused(shown(contextual, OFFERED, available=[0, 1]), 422, "invalid")
    assert contextual.state()["tickets"] == {"issued": 0, "open": 0}


def test_a_reward_without_its_action_s_vector_is_refused_and_the_ticket_stays_open(
    contextual: Served,
) -> None:
    assert "vectors of 2 numbers" in refused(contextual.act(), 422, "invalid")
    ticket = shown(contextual, OFFERED).json()["ticket"]
    for features, reward, words in (
        (None, [1], "vectors of 2 numbers"),
        ([0.1], [1], "vectors of 2 numbers"),
        ([0.8, 0.7], [1], "length 1 at most"),
        ([0.1, 0.2], [1.01], "one reward from -1 to 1"),
        ([0.1, 0.2], [10**400], "one reward from -1 to 1"),
        ([0.1, 0.2], [0.1, 0.2], "one reward"),
        ([0.1, 0.2], [], "one reward"),
        ([0.1, True], [0.5], "list of numbers"),
    ):
        assert words in refused(earned(contextual, ticket, features, reward), 422, "invalid")
    assert "another record" in refused(
        earned(contextual, ticket, [0.1, 0.2], [0.5], "bob"), 409, "ticket-refused"
    )
    assert contextual.spent() == 0.0
    assert earned(contextual, ticket, [0.6, 0.8], [-1]).status_code == 200
    assert contextual.spent() == pytest.approx(0.0)  # pays when its batch is released


def test_contexts_and_vectors_are_for_contextual_learners(shared: Served) -> None:
    assert "plays without" in refused(shown(shared, OFFERED), 422, "invalid")
    ticket = shared.act("ann").json()["ticket"]
    assert "learns without" in refused(earned(shared, ticket, [0.1, 0.2], [1, 0]), 422, "invalid")
    shared.withdraw(ticket)
