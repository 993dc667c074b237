"""The service as clients meet it: what it does for whom, and what it refuses."""

import base64
import json
import logging
import re
import resource
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest
from asking import Http, refused

from accountant import Accountant, Budget, Rule, ZeroConcentratedComposition
from accountant.place import Place
from accountant.rules import clock
from accountant.rules.scope import Scope
from accountant.service import app
from accountant.service.app import make_app
from accountant.service.desk import Desk
from accountant.service.keys import KeyFile, KeyScope
from accountant.service.ledger_part import ledger_part
from accountant.service.ledger_schemas import ledger_schemas
from accountant.service.problem_details import ServiceProblem
from accountant.service.request_bodies import check_value, read_object, read_release
from accountant.service.service_limits import ServiceLimits
from accountant.stores.file_lock import one_at_a_time
from accountant.stores.names import add_key
from accountant.stores.opening import adopt, open_store, verify_store
from accountant.stores.session import Session
from accountant.stores.store_refusals import LedgerDamaged, StoreMoved
from mechanisms import DiscreteLaplace, Gaussian, Laplace, RandomizedResponse, Sensitivity

HALF = Laplace(scale=2.0, sensitivity=Sensitivity(1, 1, 1)).to_dict()
UNIT = {"kind": "Interval", "lower": 0, "upper": 1}
SECRET = 0.8314159


def asks(request: str = "monday", record: Any = "ann", value: Any = SECRET, **other: Any) -> dict[str, Any]:
    data = [{"record": record, "value": value}]
    return {"request": request, "mechanism": HALF, "domain": UNIT, "data": data, **other}


def xml(html: str) -> str:
    return re.sub(r"<(meta|input)([^>]*)>", r"<\1\2/>", html.removeprefix("<!doctype html>"))


def without_values(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "data": [{"record": each["record"]} for each in body["data"]]}


class Client:
    """Somebody with keys."""

    def __init__(
        self, path: Path, limits: ServiceLimits | None = None, budget: Budget | None = None, **terms: Any
    ) -> None:
        Accountant(budget or Budget(1.0), store=path, **terms).ledger.close()  # type: ignore[attr-defined]
        self.path = path
        self.store = open_store(path, names=terms.get("names"))
        self.keys = KeyFile(path.with_suffix(".keys"))
        scopes = {
            "ann": [KeyScope.SPEND],
            "bob": [KeyScope.SPEND],
            "eve": [KeyScope.READ],
            "root": [KeyScope.ADMIN],
        }
        self.words = {name: self.keys.add(name, granted) for name, granted in scopes.items()}
        self.limits = limits or ServiceLimits()
        self.desk = Desk(self.store)
        self.http = Http(make_app([ledger_part(self.desk, self.limits)], self.keys, limits))

    def serve(self, desk: Desk) -> None:
        """Ask this desk from now on."""
        self.desk = desk
        self.http.close()
        self.http = Http(make_app([ledger_part(desk, self.limits)], self.keys, self.limits))

    def ask(self, path: str, body: Any = None, who: str | None = "ann", **options: Any) -> Any:
        headers = {} if who is None else {"Authorization": f"Bearer {self.words.get(who, who)}"}
        headers |= options.pop("headers", {})
        method = "GET" if body is None and "content" not in options else "POST"
        if "content" in options:
            headers.setdefault("Content-Type", "application/json")
        return self.http.request(method, path, json=body, headers=headers, **options)

    def spent(self, record: Any = "ann") -> float:
        found = self.ask("/v1/left", {"records": [record]}, "eve").json()["records"][0]
        return float(found["spent"]["epsilon"])


Opened = Callable[..., Client]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    clients: list[Client] = []

    def opened(**options: Any) -> Client:
        clients.append(Client(tmp_path / f"ledger{len(clients)}.db", **options))
        return clients[-1]

    yield opened
    for client in clients:
        client.http.close()
        client.store.close()


@pytest.fixture
def client(opened: Opened) -> Client:
    return opened()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Return a client of which all tests ask other records."""
    client = Client(tmp_path_factory.mktemp("shared") / "ledger.db", ServiceLimits(requests_per_second=1e6))
    yield client
    client.http.close()
    client.store.close()


# --- spending -----------------------------------------------------------------------------------


def test_a_release_is_charged_once_however_often_it_is_asked_for(client: Client) -> None:
    first = client.ask("/v1/release", asks())
    assert first.status_code == 200
    assert first.json()["request"] == "monday"
    assert isinstance(first.json()["outputs"][0][0], float)
    again = client.ask("/v1/release", asks())
    assert again.json() == first.json()
    assert client.spent() == 0.5
    assert client.ask("/v1/release", asks("tuesday")).json() != first.json()
    words = refused(client.ask("/v1/release", asks("wednesday")), 409, "budget-exceeded")
    assert "it charges record 'ann' epsilon = 0.5, and only epsilon = 0 is left" in words
    assert client.spent() == 1.0
    entries = client.store.entries
    assert [entry.where for entry in entries] == [Place("key ann", 0)] * 2


def test_what_two_clients_call_alike_are_two_requests(client: Client) -> None:
    shown = [client.ask("/v1/release", asks(), who).json()["outputs"] for who in ("ann", "bob", "ann")]
    assert shown[0] == shown[2] != shown[1]
    assert client.spent() == 1.0


def test_values_of_many_records_are_added_up(client: Client) -> None:
    data = [{"record": record, "value": [0.5, 0.25]} for record in ("ann", 17, "bob")]
    quiet = Laplace(scale=1e-3, sensitivity=Sensitivity(2, 2**0.5 * 1.001, 1)).to_dict()
    domain = {"kind": "Box", "lower": 0, "upper": 1, "size": 2}
    body = asks(mechanism=quiet, domain=domain, data=data)
    unlimited = client.ask("/v1/release", body)
    assert "record 'ann' epsilon = 2000" in refused(unlimited, 409, "budget-exceeded")
    loud = {**body, "mechanism": {**quiet, "scale": 4.0}}
    outputs = client.ask("/v1/release", loud).json()["outputs"]
    assert len(outputs[0]) == 2
    found = client.ask("/v1/left", {"records": ["ann", "17", "17b"]}, "eve").json()["records"]
    assert [each["spent"]["epsilon"] for each in found] == [0.5, 0.5, 0.0]
    assert [each["left"]["epsilon"] for each in found] == [0.5, 0.5, 1.0]


def test_the_sum_of_values_is_what_is_released(opened: Opened) -> None:
    client = opened(budget=Budget(1e6))
    data = [{"record": i, "value": i / 10} for i in range(5)]
    quiet = Laplace(scale=1e-4, sensitivity=Sensitivity(1, 1, 1)).to_dict()
    outputs = client.ask("/v1/release", asks(mechanism=quiet, data=data)).json()["outputs"]
    assert outputs[0][0] == pytest.approx(1.0, abs=0.01)


def test_a_reservation_is_charged_before_its_value_is_known(client: Client) -> None:
    reserve = without_values(asks())
    made = client.ask("/v1/reserve", reserve)
    assert made.json() == client.ask("/v1/reserve", reserve).json()
    assert client.spent() == 0.5
    shown = client.ask("/v1/commit", asks())
    assert client.ask("/v1/commit", asks()).json() == shown.json()
    assert client.spent() == 0.5
    refused(client.ask("/v1/cancel", {"request": "monday"}), 409, "settled")
    assert verify_store(client.path).reserved == ()


WIDE = Sensitivity(4, 4, 4)
RELEASABLE = [
    ({"kind": "Interval", "lower": 2, "upper": 3}, 2.5, Laplace(scale=8.0, sensitivity=WIDE)),
    ({"kind": "Box", "lower": -1, "upper": 0, "size": 2}, [-1, 0], Laplace(scale=8.0, sensitivity=WIDE)),
    ({"kind": "Ball", "radius": 1, "size": 2, "order": 1}, [0.5, 0.5], Laplace(scale=8.0, sensitivity=WIDE)),
    ({"kind": "Ball", "radius": 1, "size": 2, "order": "inf"}, [1, 1], Laplace(scale=8.0, sensitivity=WIDE)),
    ({"kind": "Integers", "lower": 3, "upper": 5}, [4], DiscreteLaplace(scale=8.0, sensitivity=WIDE)),
    ({"kind": "OneHot", "size": 3}, [0, 0, 0], Laplace(scale=8.0, sensitivity=WIDE)),
    ({"kind": "OneHot", "size": 3, "allow_none": False}, [0, 1, 0], Laplace(scale=8.0, sensitivity=WIDE)),
    ({"kind": "Categories", "size": 3}, 2, RandomizedResponse(epsilon=0.5, size=3)),
]  # fmt: skip


@pytest.mark.few(2)
@pytest.mark.parametrize(("domain", "value", "mechanism"), RELEASABLE, ids=lambda each: str(each)[:40])
def test_whatever_can_be_released_can_be_reserved_first(
    shared: Client, domain: dict[str, Any], value: Any, mechanism: Any
) -> None:
    body = asks(str(domain), str(domain), value, mechanism=mechanism.to_dict(), domain=domain)
    charged = []
    for path, sent in (("/v1/reserve", without_values(body)), ("/v1/commit", body), ("/v1/release", body)):
        answer = shared.ask(path, sent)
        assert answer.status_code == 200, answer.text
        charged.append(shared.spent(str(domain)))
    assert 0 < charged[0] == charged[1] == charged[2]


def test_a_reservation_that_is_cancelled_gives_its_charge_back(client: Client) -> None:
    client.ask("/v1/reserve", without_values(asks()))
    for _ in range(2):
        assert client.ask("/v1/cancel", {"request": "monday"}).json()["state"] == "returned"
    assert client.spent() == 0.0
    refused(client.ask("/v1/commit", asks()), 409, "settled")
    refused(client.ask("/v1/reserve", without_values(asks())), 409, "settled")


def test_a_reservation_waits_so_long_and_no_longer(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    client, now = opened(limits=ServiceLimits(reservation=60.0)), clock.wall()
    monkeypatch.setattr(clock, "wall", lambda: now)
    for seconds, status in ((0, 422), (61, 422), ("1", 422), (True, 422), (10, 200)):
        found = client.ask("/v1/reserve", {**without_values(asks()), "seconds": seconds})
        assert found.status_code == status
    refused(client.ask("/v1/release", asks("other", seconds=1)), 422, "invalid")
    assert client.ask("/v1/reserve", without_values(asks("tuesday"))).status_code == 200
    listed = client.ask("/v1/reservations", who="root").json()["reservations"]
    assert found.json()["until"] == listed[0]["until"]
    assert client.spent() == 1.0
    now += 10_000
    assert client.spent() == 0.5
    refused(client.ask("/v1/commit", asks()), 409, "settled")
    assert client.ask("/v1/cancel", {"request": "monday"}).json()["state"] == "returned"
    assert client.ask("/v1/commit", asks("tuesday")).status_code == 200
    now += 60_000
    assert client.spent() == 0.5
    assert verify_store(client.path).reserved == ()


def test_what_was_not_reserved_is_neither_committed_nor_cancelled(client: Client) -> None:
    refused(client.ask("/v1/commit", asks()), 404, "no-reservation")
    client.ask("/v1/release", asks("released"))
    refused(client.ask("/v1/commit", asks("released")), 404, "no-reservation")
    refused(client.ask("/v1/cancel", {"request": "released"}), 404, "no-reservation")
    client.ask("/v1/reserve", without_values(asks()))
    refused(client.ask("/v1/cancel", {"request": "monday"}, "bob"), 404, "no-reservation")
    refused(client.ask("/v1/commit", asks(record="bob")), 409, "key-used")
    assert client.spent() == 1.0


def test_an_administrator_gives_back_what_others_left(client: Client) -> None:
    client.ask("/v1/reserve", without_values(asks()))
    (listed,) = client.ask("/v1/reservations", who="root").json()["reservations"]
    answer = client.ask("/v1/give-back", {"reservation": listed["reservation"]}, "root")
    assert answer.json()["state"] == "returned"
    assert client.spent() == 0.0
    assert client.ask("/v1/give-back", {"reservation": listed["reservation"]}, "root").json() == answer.json()
    assert client.ask("/v1/cancel", {"request": "monday"}).json()["state"] == "returned"
    refused(client.ask("/v1/give-back", {"reservation": 10**6}, "root"), 409, "settled")


def test_what_is_cancelled_again_meanwhile_is_answered_alike(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.ask("/v1/reserve", without_values(asks()))
    give_back = client.store.give_back

    def twice(position: int) -> None:
        give_back(position)  # the same request, on another connection
        give_back(position)

    monkeypatch.setattr(client.store, "give_back", twice)
    answer = client.ask("/v1/cancel", {"request": "monday"})
    assert (answer.status_code, answer.json()) == (200, {"request": "monday", "state": "returned"})


def test_a_clock_that_runs_ahead_is_named(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    client = opened(budget=Budget(5.0), rules=[Rule(Budget(1.0), days=7)])
    assert client.ask("/v1/release", asks()).status_code == 200
    now = clock.wall()
    monkeypatch.setattr(clock, "wall", lambda: now + 30 * clock.DAY)
    for path, body in (("release", asks("b")), ("reserve", without_values(asks("c")))):
        words = refused(client.ask(f"/v1/{path}", body), 503, "clock-ahead")
        assert "dpwitness ledger amend --accept-clock" in words
    assert client.spent() == 0.5


def test_what_records_have_left_is_read_at_once(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    client = opened(rules=[Rule(Budget(1.0), groups=(("ann", "bob"),))])
    assert client.ask("/v1/release", asks()).status_code == 200
    statements = 0
    execute = Session.execute

    def counting(*given: Any) -> Any:
        nonlocal statements
        statements += 1
        return execute(*given)

    monkeypatch.setattr(Session, "execute", counting)
    asked = []
    for records in (["not charged yet"], ["ann"], ["ann", "bob", *range(200)]):
        statements = 0
        found = client.ask("/v1/left", {"records": records}, "eve").json()["records"]
        asked.append(statements)
    assert asked[2] <= asked[1]
    assert [each["left"]["epsilon"] for each in found[:3]] == [0.5, 1.0, 1.0]
    assert [[rule["left"]["epsilon"] for rule in each["rules"]] for each in found[:3]] == [[0.5], [0.5], []]


def test_a_restart_goes_on(client: Client) -> None:
    client.ask("/v1/reserve", without_values(asks()))
    shown = client.ask("/v1/release", asks("other"))
    client.serve(Desk(open_store(client.path)))
    assert client.ask("/v1/release", asks("other")).json() == shown.json()
    assert client.ask("/v1/commit", asks()).status_code == 200
    assert client.spent() == 1.0
    client.desk.store.close()


def test_a_key_spends_on_its_purpose_and_for_its_tenant(opened: Opened) -> None:
    rules = [
        Rule(Budget(0.5), purpose="ads"),
        Rule(Budget(1.0), purpose="safety"),
        Rule(Budget(0.5), tenant="acme"),
        Rule(Budget(2.0), tenant="us"),
    ]
    client = opened(budget=Budget(5.0), rules=rules)
    for name, purpose, tenant in (("ads", "ads", "us"), ("acme", "safety", "acme")):
        client.words[name] = client.keys.add(name, [KeyScope.SPEND], (), Scope(purpose, tenant))
    assert client.ask("/v1/release", asks(), "ads").status_code == 200
    words = refused(client.ask("/v1/release", asks("more"), "ads"), 409, "budget-exceeded")
    assert "'ads'" in words
    assert client.ask("/v1/reserve", without_values(asks()), "acme").status_code == 200
    assert client.ask("/v1/commit", asks(), "acme").status_code == 200
    refused(client.ask("/v1/release", asks("more"), "acme"), 409, "budget-exceeded")
    refused(
        client.ask("/v1/release", asks(), "ann"), 403, "purpose-refused"
    )  # it spends on nothing in particular
    (found,) = client.ask("/v1/left", {"records": ["ann"]}, "eve").json()["records"]
    assert {each["rule"]: each["left"]["epsilon"] for each in found["rules"]} == {
        str(rule): left for rule, left in zip(rules, (0.0, 0.5, 0.0, 1.5), strict=True)
    }
    assert found["spent"]["epsilon"] == 1.0


def test_a_tenant_s_key_is_answered_alike_whatever_others_were_charged(opened: Opened) -> None:
    """Also by a refusal, which costs nothing, and by numbers that would count others' entries."""
    rules = [
        Rule(Budget(1.5), purpose="ads"),
        Rule(Budget(0.5), tenant="care", reached_by=()),
        Rule(Budget(1.0), tenant="shop", reached_by=("care",)),
    ]

    def told(charges: int) -> list[Any]:
        client = opened(budget=Budget(1.5), rules=rules)
        for tenant in ("care", "shop", "nobody"):
            client.words[tenant] = client.keys.add(tenant, [KeyScope.SPEND], (), Scope("ads", tenant))
        for i in range(charges):
            assert client.ask("/v1/release", asks(f"shop {i}"), "shop").status_code == 200
        large = asks("large", mechanism={**HALF, "scale": 0.625})
        answers = [client.ask("/v1/release", large, who) for who in ("care", "nobody")]
        bob = without_values(asks("bob", record="bob"))
        answers.append(client.ask("/v1/reserve", bob, "care"))
        answers.append(client.ask("/v1/cancel", {"request": "bob"}, "care"))
        answers.append(
            client.ask("/v1/room", {"mechanism": HALF, "domain": UNIT, "records": ["ann", "bob"]}, "care")
        )
        answers.append(client.ask("/v1/reserve", without_values(asks("monday")), "care"))
        answers.append(client.ask("/v1/release", asks("tuesday"), "care"))
        return [(each.status_code, {**each.json(), "until": None}) for each in answers]

    without = told(0)
    assert [status for status, _ in without] == [409, 403, 200, 200, 200, 200, 409]
    assert told(1) == told(2) == without


# --- abuse --------------------------------------------------------------------------------------

SCOPES = [
    ("post", "/v1/release", "spend"),
    ("post", "/v1/reserve", "spend"),
    ("post", "/v1/commit", "spend"),
    ("post", "/v1/cancel", "spend"),
    ("post", "/v1/room", "spend"),
    ("post", "/v1/left", "read"),
    ("get", "/v1/summary", "read"),
    ("get", "/v1/reservations", "admin"),
    ("post", "/v1/give-back", "admin"),
    ("get", "/", "read"),
    ("get", "/metrics", "read"),
    ("post", "/record", "read"),
]


def test_the_document_names_every_operation_and_its_scope(shared: Client) -> None:
    document = shared.ask("/openapi.json", who=None).json()
    documented = [
        (method, path, operation["summary"].rpartition("Scope: ")[2].rstrip("."))
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if operation["security"]
    ]
    assert documented == SCOPES
    named = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document)))
    assert named == document["components"]["schemas"].keys()


@pytest.mark.parametrize(("method", "path", "scope"), SCOPES)
def test_every_operation_needs_a_key_of_its_scope(shared: Client, method: str, path: str, scope: str) -> None:
    body = {} if method == "post" else None
    for who in (None, "dpw_wrong", ""):
        answer = shared.ask(path, body, who)
        refused(answer, 401, "no-key")
        assert answer.headers["WWW-Authenticate"].startswith(
            "Basic" if path in ("/", "/record") else "Bearer"
        )
    other = {"read": "ann", "spend": "eve", "admin": "ann"}[scope]
    assert repr(scope) in refused(shared.ask(path, body, other), 403, "wrong-scope")
    assert shared.ask(path, body, "root").status_code in (200, 415, 422)


def test_basic_authentication_is_for_reading_in_browsers_only(client: Client) -> None:
    """A browser sends it by itself, also where another site makes it: it must not spend."""

    def basic(key: str) -> dict[str, str]:
        return {"Authorization": "Basic " + base64.b64encode(f"any:{key}".encode()).decode()}

    assert client.http.request("GET", "/", headers=basic(client.words["eve"])).status_code == 200
    assert client.http.request("GET", "/", headers={"Authorization": "Basic ?"}).status_code == 401
    refused(
        client.http.request("POST", "/v1/release", json=asks(), headers=basic(client.words["root"])),
        401,
        "no-key",
    )


def test_a_key_that_is_removed_is_refused_at_once(client: Client) -> None:
    client.keys.remove("ann")
    refused(client.ask("/v1/release", asks()), 401, "no-key")


def test_keys_that_cannot_be_read_let_nobody_in(client: Client) -> None:
    client.keys.path.write_text("{}")
    refused(client.ask("/v1/release", asks()), 503, "keys")


MALFORMED = [
    b"",
    b"[]",
    b"\xff",
    b'{"a": NaN}',
    b'{"a": 1, "a": 2}',
    b"[" * 100_000,
    b'{"a": ' + b"9" * 5000 + b"}",
    b'{"a": 1e999}',
    b'{"value": 0.8314159',
]


@pytest.mark.parametrize("body", MALFORMED, ids=range(len(MALFORMED)))
def test_bodies_that_are_no_json_objects(shared: Client, body: bytes) -> None:
    refused(shared.ask("/v1/release", content=body), 400, "malformed")


WRONG = [
    ({"request": ""}, "request", "1 to 200 characters"),
    ({"request": "x" * 201}, "request", "1 to 200 characters"),
    ({"request": "\ud800"}, "request", "1 to 200 characters"),
    ({"request": SECRET}, "request", "1 to 200 characters"),
    ({"extra": SECRET}, "body", "1 unknown keys"),
    ({"mechanism": "Laplace"}, "mechanism", "must be an object"),
    ({"mechanism": {"kind": "Nothing"}}, "mechanism", "kind = 'Nothing': must be one of Binomial, "),
    ({"mechanism": {"kind": "Laplace"}}, "mechanism", "Laplace: missing a required argument: 'scale'"),
    ({"mechanism": {**HALF, "shape": 1}}, "mechanism", "Laplace: got an unexpected keyword argument 'shape'"),
    ({"mechanism": {**HALF, "sensitivity": {"l1": 1, "l2": 1}}}, "mechanism", "required argument: 'linf'"),
    ({"domain": {"kind": "Interval", "lower": 0}}, "domain", "Interval: missing a required argument: 'upper'"),
    ({"mechanism": {**HALF, "scale": -1}}, "mechanism", "scale = -1: must be positive"),
    ({"mechanism": {**HALF, "scale": []}}, "mechanism", "scale"),
    ({"mechanism": {"kind": "Repeated", "mechanism": HALF, "count": 10**9}}, "mechanism", "at most 1000"),
    ({"mechanism": {"kind": "Repeated", "mechanism": HALF, "count": 0}}, "mechanism", "count: must be a whole"),
    ({"mechanism": {"kind": "Repeated", "mechanism": {"kind": "Repeated", "mechanism": HALF, "count": 40},
                    "count": 40}}, "mechanism", "at most 1000"),
    ({"mechanism": {"kind": "PostProcessed", "mechanism": HALF, "function": "f"}}, "mechanism",
     "functions cannot be sent"),
    ({"mechanism": {**HALF, "sensitivity": {"l1": 0.1, "l2": 0.1, "linf": 0.1}}}, "mechanism", "calibrated for"),
    ({"domain": {"kind": "Interval", "lower": 1, "upper": 0}}, "domain", "must not exceed"),
    ({"domain": {"kind": "Interval", "lower": 0, "upper": 1, "shape": 3}}, "domain", "lower, upper"),
    ({"domain": {"kind": "Box", "lower": 0, "upper": 1, "size": 10**9}}, "domain", "size: must be a whole"),
    ({"domain": {"kind": "Box", "lower": 0, "upper": 1, "size": True}}, "domain", "size: must be a whole number"),
    ({"domain": {"kind": "Interval", "lower": "0", "upper": 1}}, "domain", "lower = '0'"),
    ({"domain": {"kind": "__import__"}}, "domain", "must be one of Interval"),
    ({"data": []}, "data", "1 to 10000 records"),
    ({"data": [{"record": "ann"}]}, "data[0]", "record and value"),
    ({"data": [{"record": "ann", "value": "0.8314159"}]}, "data[0].value", "a number or a list"),
    ({"data": [{"record": "ann", "value": True}]}, "data[0].value", "a number or a list"),
    ({"data": [{"record": "ann", "value": [[SECRET]]}]}, "data[0].value", "a number or a list"),
    ({"data": [{"record": "ann", "value": 18.314159}]}, "data[0].value", "in the domain"),
    ({"data": [{"record": "ann", "value": [SECRET, SECRET]}]}, "data[0].value", "in the domain"),
    ({"data": [{"record": "ann", "value": 10**400}]}, "data[0].value", "in the domain"),
    ({"data": [{"record": True, "value": SECRET}]}, "data[0].record", "whole number of 64 bits"),
    ({"data": [{"record": 2**70, "value": SECRET}]}, "data[0].record", "whole number of 64 bits"),
    ({"data": [{"record": None, "value": SECRET}]}, "data[0].record", "whole number of 64 bits"),
]  # fmt: skip


BY_THE_DESK = ("calibrated for", "in the domain")


@pytest.mark.parametrize(
    ("change", "parameter", "words"), [row for row in WRONG if row[2] not in BY_THE_DESK]
)
def test_what_is_wrong_is_found_in_a_body(change: dict[str, Any], parameter: str, words: str) -> None:
    """But for what depends on the mechanism, the domain and the values together."""
    limits, body = ServiceLimits(), {**asks(), **change}

    def read() -> None:
        check_value(body, ledger_schemas(limits)["Release"])
        read_release(body, limits, values=True)

    with pytest.raises(ServiceProblem) as found:
        read()
    assert found.value.parameter == parameter
    assert words in found.value.message


@pytest.mark.few(10)
@pytest.mark.parametrize(("change", "parameter", "words"), WRONG)
def test_what_is_wrong_is_named_with_its_rule(
    shared: Client, caplog: pytest.LogCaptureFixture, change: dict[str, Any], parameter: str, words: str
) -> None:
    caplog.set_level(logging.DEBUG)
    body = json.dumps({**asks(), **change}).encode()
    answer = shared.ask("/v1/release", content=body)
    assert answer.status_code == 422, answer.text
    found = answer.json()["error"]
    assert found.get("parameter") == parameter
    assert words in found["message"]
    assert "8314" not in answer.text
    assert "8314" not in caplog.text
    assert shared.spent() == 0.0


def test_names_are_names_whatever_they_spell(client: Client) -> None:
    names = [
        "'; DROP TABLE entry; --",
        'x" OR 1=1',
        "<script>alert(1)</script>",
        "%s",
    ]
    for i, name in enumerate(names):
        assert client.ask("/v1/release", asks(f"{name} {i}", name)).status_code == 200
    assert [client.spent(name) for name in names] == [0.5] * len(names)
    for name in ("a\0b", "\u202eevil", "", "ann "):
        refused(client.ask("/v1/release", asks(f"{name} no", name)), 422, "invalid")
    found = verify_store(client.path)
    assert found.accounts == len(names)
    html = client.ask("/", who="eve").text
    assert "<script" not in html
    assert "\u202e" not in html
    assert "\0" not in html
    assert "&lt;script&gt;" in html


def test_bodies_that_are_too_large_are_not_read(opened: Opened) -> None:
    client = opened(limits=ServiceLimits(max_body=1000))
    many = [{"record": i, "value": SECRET} for i in range(100)]
    refused(client.ask("/v1/release", asks(data=many)), 413, "too-large")
    for headers, kind in (
        ({"Content-Type": "text/plain"}, "not-json"),
        ({"Content-Type": "application/json; charset=utf-16"}, "not-json"),
        ({"Content-Encoding": "gzip"}, "encoded"),
    ):
        refused(client.ask("/v1/release", content=json.dumps(asks()), headers=headers), 415, kind)
    headers = {"Content-Type": 'Application/JSON;x=y; charset="UTF-8"', "Content-Encoding": "identity"}
    assert client.ask("/v1/release", content=json.dumps(asks()), headers=headers).status_code == 200


def test_more_requests_than_a_key_may_make(opened: Opened) -> None:
    client = opened(limits=ServiceLimits(requests_per_second=1e-6))
    assert client.ask("/v1/left", {"records": ["ann"]}, "eve").status_code == 200
    answer = client.ask("/v1/left", {"records": ["ann"]}, "eve")
    refused(answer, 429, "too-many")
    assert answer.headers["Retry-After"] == "1"
    assert client.ask("/v1/release", asks()).status_code == 200  # another key
    assert [client.ask("/metrics", who=None).status_code for _ in range(2)] == [401, 429]


@pytest.mark.slow
def test_a_pool_of_64_connections_of_one_key_is_not_refused(client: Client) -> None:
    """What an honest client opens: 320 requests, 64 at one time, by the defaults."""
    headers = {"Authorization": f"Bearer {client.words['eve']}"}
    options = {"json": {"records": ["ann"]}, "headers": headers}
    for _ in range(5):
        answers = client.http.together(64, "POST", "/v1/left", **options)
        assert {each.status_code for each in answers} == {200}


def test_what_takes_too_long_is_answered_and_may_be_asked_again(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = opened(limits=ServiceLimits(timeout=0.2, at_once=2, each_at_once=1))
    begun, go_on, done = threading.Event(), threading.Event(), threading.Event()
    release = client.desk._accountant.release

    def slow(*given: Any, **options: Any) -> Any:
        outputs = release(*given, **options)
        begun.set()
        go_on.wait(10)
        done.set()
        return outputs

    monkeypatch.setattr(client.desk._accountant, "release", slow)
    assert "ask again with the same request" in refused(client.ask("/v1/release", asks()), 503, "too-slow")
    assert begun.wait(10)
    refused(client.ask("/v1/release", asks()), 503, "busy")
    assert client.ask("/v1/left", {"records": ["ann"]}, "eve").status_code == 200  # another key
    go_on.set()
    assert done.wait(10)
    monkeypatch.undo()
    while client.desk and (answer := client.ask("/v1/release", asks())).status_code == 503:
        pass  # the thread that was given up has not ended yet
    assert answer.status_code == 200
    assert client.store.spent("ann").epsilon == 0.5


def test_bodies_are_read_in_threads(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def reading(body: bytes) -> Any:
        threads.append(threading.get_ident())
        return read_object(body)

    monkeypatch.setattr(app, "read_object", reading)
    assert client.ask("/v1/left", {"records": ["ann"]}, "eve").status_code == 200
    assert len(threads) == 1
    assert threads[0] != threading.get_ident()  # the event loop's


def test_nobody_is_sent_elsewhere(client: Client) -> None:
    answer = client.ask("/v1/release/", asks(), headers={"Host": "elsewhere.example"})
    refused(answer, 404, "unknown-path")
    assert "Location" not in answer.headers


def test_paths_and_methods_that_are_not_there(client: Client) -> None:
    refused(client.ask("/v2/0.8314159", who=None), 404, "unknown-path")
    refused(client.ask("/v1/release"), 405, "method")


def test_a_closed_ledger_charges_nothing(client: Client) -> None:
    client.desk._accountant.close("a value was 0.8314159", Place("secret.py", 1))
    refused(client.ask("/v1/release", asks()), 503, "closed")
    refused(client.ask("/health", who=None), 503, "closed")
    again = Desk(open_store(client.path))
    client.serve(again)
    refused(client.ask("/v1/release", asks()), 503, "closed")
    again.store.close()


def test_a_store_that_is_replaced_charges_nothing(client: Client) -> None:
    assert client.ask("/v1/release", asks()).status_code == 200
    client.path.rename(client.path.with_suffix(".moved"))
    refused(client.ask("/v1/release", asks("tuesday")), 503, "store-refused")


@pytest.mark.parametrize("step", ["price", "release"])
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (LedgerDamaged("account 1 is not what was written"), "damaged"),
        (StoreMoved("adopted elsewhere"), "store-refused"),
        (OSError("the connection is lost"), "unknown"),
    ],
)
def test_trouble_with_the_store_is_no_fault_of_the_clients(
    step: str, error: Exception, kind: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(client.desk._accountant, step, fails)
        refused(client.ask("/v1/release", asks()), 503, kind)
    assert client.ask("/v1/release", asks()).status_code == 200


def test_an_error_of_its_own_tells_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError(f"by {SECRET}")

    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(client.desk._accountant, "release", fails)
    refused(client.ask("/v1/release", asks()), 500, "failed")
    assert "8314" not in caplog.text
    assert any("ZeroDivisionError at test_app.py:" in str(vars(line).get("facts")) for line in caplog.records)


def test_the_journal_names_who_asked_for_what_and_no_more(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client.ask("/v1/release", asks("the-request", "the-record"))
    client.ask("/v1/release?value=0.8314159", asks("other", "the-record", 7.8314))
    lines = [vars(line)["facts"] for line in caplog.records if line.name == "dpwitness.service"]
    assert [(line["key"], line["route"], line["status"], line["kind"]) for line in lines] == [
        ("ann", "/v1/release", 200, None),
        ("ann", "/v1/release", 422, "invalid"),
    ]
    assert not re.search("8314|the-re|dpw_", json.dumps(lines))


# --- reading ------------------------------------------------------------------------------------


def test_health_needs_no_key(client: Client) -> None:
    answer = client.ask("/health", who=None)
    assert answer.json() == {"status": "ok"}
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


def test_nobody_keeps_a_load_balancer_from_the_health(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "_HEALTH_LASTS", 1e6)
    monkeypatch.setattr(app.Places, "take", lambda *_: None)
    client, looks = opened(limits=ServiceLimits(requests_per_second=1e-6)), list[None]()
    check = client.store.check
    monkeypatch.setattr(client.store, "check", lambda: looks.append(check()))
    refused(client.ask("/v1/release", asks()), 503, "busy")
    assert [client.ask(path, who=None).status_code for path in ("/health", "/openapi.json") * 5] == [200] * 10
    assert len(looks) == 1


def test_a_ledger_that_somebody_else_has_locked_is_not_healthy(client: Client) -> None:
    with one_at_a_time(f"{client.path}.lock"):  # and hangs
        refused(client.ask("/health", who=None), 503, "store-refused")


def test_a_ledger_that_cannot_be_written_or_is_not_spent_from_is_not_healthy(client: Client) -> None:
    """A disk that took no more was found by the first release: nothing had been written to look."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, before[1]))
    try:
        answer = client.ask("/health", who=None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    refused(answer, 503, "unknown")
    client.serve(client.desk)  # what was found lasts
    assert client.ask("/health", who=None).json() == {"status": "ok"}
    adopt(client.path, "a test")
    client.serve(client.desk)
    refused(client.ask("/health", who=None), 503, "store-refused")
    refused(client.ask("/v1/release", asks()), 503, "store-refused")


def test_the_summary(client: Client) -> None:
    client.ask("/v1/release", asks())
    client.ask("/v1/release", asks(record="eve"), "bob")
    client.ask("/v1/release", asks("tuesday"), "bob")
    found = client.ask("/v1/summary", who="eve").json()
    assert found["budget"] == {"epsilon": 1.0, "delta": 0.0}
    assert found["worst"] == {
        "record": "ann",
        "spent": {"epsilon": 1.0, "delta": 0.0},
        "left": {"epsilon": 0.0, "delta": 0.0},
        "rules": [],
    }
    assert [(line["asked_by"], line["releases"], line["records"]) for line in found["releases"]] == [
        ("key ann", 1, 1),
        ("key bob", 2, 2),
    ]


def test_other_currencies_are_named(opened: Opened) -> None:
    client = opened(budget=Budget(1.0, 1e-6), composition=ZeroConcentratedComposition())
    noise = Gaussian(sigma=10.0, sensitivity=Sensitivity(1, 1, 1)).to_dict()
    assert client.ask("/v1/release", asks(mechanism=noise)).status_code == 200
    (found,) = client.ask("/v1/left", {"records": ["ann"]}, "eve").json()["records"]
    assert found["spent"]["rho"] == pytest.approx(0.005)
    assert found["left"]["rho"] > 0
    assert client.ask("/", who="eve").status_code == 200


def test_how_many_more_releases_records_can_pay_for(opened: Opened) -> None:
    """Exactly so many: what is asked is what the check that refuses says."""
    client = opened(budget=Budget(1.0), rules=[Rule(Budget(0.75), groups=(("cat", "dan"),))])
    quarter = Laplace(scale=4.0, sensitivity=Sensitivity(1, 1, 1)).to_dict()
    about = {"mechanism": quarter, "domain": {"kind": "Interval", "lower": 0, "upper": 1}}
    names = ["ann", "bob", "cat", "dan", "é"]
    assert client.ask("/v1/release", asks(mechanism=quarter)).status_code == 200
    found = client.ask("/v1/room", {**about, "records": names}).json()
    assert found == {
        "records": [{"record": n, "room": r} for n, r in zip(names, (3, 4, 3, 3, 4), strict=True)]
    }
    for i in range(3):
        assert client.ask("/v1/release", asks(f"more-{i}", mechanism=quarter)).status_code == 200
    assert client.ask("/v1/release", asks("one too many", mechanism=quarter)).status_code == 409
    (left,) = client.ask("/v1/room", {**about, "records": ["ann"]}).json()["records"]
    assert left["room"] == 0
    half = {"kind": "Interval", "lower": 0, "upper": 0.5}
    (left,) = client.ask("/v1/room", {**about, "domain": half, "records": ["bob"]}).json()["records"]
    assert left["room"] == 8
    wide = {"kind": "Interval", "lower": 0, "upper": 2}
    answer = client.ask("/v1/room", {**about, "domain": wide, "records": ["bob"]})
    assert (answer.status_code, answer.json()["error"]["kind"]) == (422, "sensitivity-exceeded")
    assert client.ask("/v1/room", {**about, "records": []}).status_code == 422
    assert client.ask("/v1/room", {**about, "records": list(range(101))}).status_code == 422
    assert client.ask("/v1/room", {**about, "records": ["ann"]}, "eve").status_code == 403
    free = opened(budget=Budget(float("inf")))
    (left,) = free.ask("/v1/room", {**about, "records": ["ann"]}).json()["records"]
    assert left["room"] is None


def looked_for(client: Client, record: str, who: str = "eve", **options: Any) -> Any:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return client.ask("/record", who=who, content=urlencode({"record": record, **options}), headers=headers)


def test_the_page_and_the_room_agree(opened: Opened) -> None:
    """For members of groups, and for the purpose of the key that asks; and the refusal names whoever has no room."""
    rules = [Rule(Budget(0.75), groups=(("cat", "dan"),)), Rule(Budget(0.5), purpose="ads")]
    client = opened(budget=Budget(2.0), rules=rules)
    client.words["ads"] = client.keys.add("ads", [KeyScope.SPEND, KeyScope.READ], (), Scope("ads"))
    quarter = Laplace(scale=4.0, sensitivity=Sensitivity(1, 1, 1)).to_dict()
    about = {"mechanism": quarter, "domain": {"kind": "Interval", "lower": 0, "upper": 1}}
    for i in range(2):
        made = asks(f"{i}", record="cat", mechanism=quarter)
        assert client.ask("/v1/release", made, "ads").status_code == 200
    for record, left in (("cat", 0), ("dan", 1), ("ann", 2)):
        [found] = client.ask("/v1/room", {**about, "records": [record]}, "ads").json()["records"]
        text = " ".join(ElementTree.fromstring(xml(looked_for(client, record, "ads").text)).itertext())
        assert found["room"] == left
        assert text.endswith(f"epsilon = 0.25 {left}")
    assert "no rule permits charges" in looked_for(client, "cat").text  # of a key without a purpose
    assert client.ask("/v1/release", asks("dan", record="dan", mechanism=quarter), "ads").status_code == 200
    both = {**about, "request": "both", "data": [{"record": name, "value": 0.5} for name in ("cat", "dan")]}
    assert "1 further record cannot pay either: 'dan'" in refused(
        client.ask("/v1/release", both, "ads"), 409, "budget-exceeded"
    )


def test_a_record_is_looked_for_on_the_page(opened: Opened) -> None:
    client = opened(rules=[Rule(Budget(0.75), days=30)])
    assert client.ask("/v1/release", asks(record="Zoë")).status_code == 200
    page = client.ask("/", who="eve")
    assert '<form method="post" action="/record" role="search">' in page.text
    assert "form-action &#x27;self&#x27;" not in page.text
    assert "form-action 'self'" in page.headers["content-security-policy"]
    assert "&quot;Zoë&quot;" in page.text or '"Zoë"' in page.text
    found = looked_for(client, "Zoë")
    assert (found.status_code, found.headers["content-type"]) == (200, "text/html; charset=utf-8")
    text = " ".join(ElementTree.fromstring(xml(found.text)).itertext())
    assert 'Record "Zoë"' in text
    assert "Left of its limit in any 30 days" in text
    assert "Laplace" in text
    assert text.count("epsilon = 0.5") >= 3  # spent, left, charged
    assert text.endswith("epsilon = 0.5 0")  # no more: the rule has 0.25 left
    assert looked_for(client, "7").status_code == 200  # who paid for nothing has the whole budget
    assert looked_for(client, "a\u200bb").status_code == 422
    assert looked_for(client, "ann", "ann").status_code == 403
    assert looked_for(client, "ann", more="1").status_code == 422
    assert client.ask("/record", {"record": "ann"}, "eve").status_code == 415
    assert client.ask("/record?record=ann", who="eve").status_code == 405


def test_metrics_are_what_prometheus_reads(client: Client) -> None:
    client.ask("/v1/release", asks())
    client.ask("/v1/release", asks(), "eve")
    client.ask("/v1/reserve", without_values(asks("kept", "bob")))
    answer = client.ask("/metrics", who="eve")
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = answer.text.splitlines()
    assert 'dpwitness_requests_total{route="/v1/release",status="200"} 1' in lines
    assert 'dpwitness_requests_total{route="/v1/release",status="403"} 1' in lines
    assert 'dpwitness_problems_total{kind="wrong-scope"} 1' in lines
    assert 'dpwitness_request_seconds_bucket{route="/v1/release",le="+Inf"} 2' in lines
    assert "dpwitness_largest_share_spent 0.5" in lines
    assert "dpwitness_open_reservations 1" in lines
    for line in lines:
        assert re.fullmatch(r"# (HELP|TYPE) \w+ .+|\w+(\{(\w+=\"[^\"]*\",?)+\})? [-+.e0-9]+", line), line


def test_the_page_shows_budgets_and_who_paid(client: Client) -> None:
    client.ask("/v1/release", asks(record="a&b <i>"))
    client.ask("/v1/reserve", without_values(asks("kept", 17)))
    html = client.ask("/", who="eve").text
    tree = ElementTree.fromstring(xml(html))
    tables = {table.findtext("caption", "")[:12]: table for table in tree.iter("table")}
    nearly = [["".join(cell.itertext()) for cell in row] for row in tables["The 2 record"].iter("tr")]
    assert nearly[1:] == [
        ['"a&b <i>"', "epsilon = 0.5", "epsilon = 0.5", " 50 %"],
        ["17", "epsilon = 0.5", "epsilon = 0.5", " 50 %"],
    ]
    paid = [["".join(cell.itertext()) for cell in row] for row in tables["All releases"].iter("tr")]
    assert paid[1][0] == "key ann"
    assert paid[1][2:5] == ["2", "2", "epsilon = 0.5"]
    assert [cell.get("scope") for cell in tables["All releases"].iter("th")] == ["col"] * 6 + ["row"]
    assert "<script" not in html
    assert "http" not in html  # nothing from outside


RULES = [
    Rule(Budget(0.6), purpose="ads", tenant="acme"),
    Rule(Budget(2.0), days=30),
    Rule(Budget(1.25), groups=(("ann", "bob", "cat", "dan", "eve"),)),
    Rule(Budget.unlimited(), purpose='"care"'),
]


def test_rules_are_on_the_page_and_in_metrics_without_names_that_are_hashed(
    opened: Opened, tmp_path: Path
) -> None:
    add_key(tmp_path / "names.key")
    client = opened(budget=Budget(5.0), rules=RULES, names=tmp_path / "names.key")
    client.words["ads"] = client.keys.add("ads", [KeyScope.SPEND], (), Scope("ads", "acme"))
    for request, record in (("a", "ann"), ("b", "bob"), ("c", "zoe")):
        assert client.ask("/v1/release", asks(request, record), "ads").status_code == 200
    lines = client.ask("/metrics", who="eve").text.splitlines()
    assert [line for line in lines if line.startswith("dpwitness_rule")] == [
        'dpwitness_rule_largest_share_spent{rule="1",purpose="ads",tenant="acme"} 0.8333333333333334',
        'dpwitness_rule_largest_share_spent{rule="2",days="30"} 0.25',
        'dpwitness_rule_largest_share_spent{rule="3"} 0.8',
        'dpwitness_rule_least_left{rule="1",purpose="ads",tenant="acme",amount="epsilon"} 0.09999999999999998',
        'dpwitness_rule_least_left{rule="1",purpose="ads",tenant="acme",amount="delta"} 0.0',
        'dpwitness_rule_least_left{rule="2",days="30",amount="epsilon"} 1.5',
        'dpwitness_rule_least_left{rule="2",days="30",amount="delta"} 0.0',
        'dpwitness_rule_least_left{rule="3",amount="epsilon"} 0.25',
        'dpwitness_rule_least_left{rule="3",amount="delta"} 0.0',
        'dpwitness_rule_nearly_spent{rule="1",purpose="ads",tenant="acme"} 3',
        'dpwitness_rule_nearly_spent{rule="2",days="30"} 0',
        'dpwitness_rule_nearly_spent{rule="3"} 1',
        "dpwitness_rules 4",
        "dpwitness_rules_nearly_spent 2",
    ]
    assert len([line for line in lines if line.startswith("# TYPE dpwitness_rule")]) == 5
    html = client.ask("/", who="eve").text
    tree = ElementTree.fromstring(xml(html))
    table = next(
        table for table in tree.iter("table") if table.findtext("caption", "").startswith("The 4 rules")
    )
    shown = [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")]
    hashed = '"hmac-sha256:[0-9a-f]{64}"'
    assert shown[1][0] == "1: each record, for purpose 'ads' and tenant 'acme'"
    assert shown[1][2].startswith(
        "a quota of what is charged for tenant 'acme'; what it learns is bounded by the budget"
    )
    assert re.fullmatch(hashed, shown[1][3])
    assert shown[1][4:] == ["epsilon = 0.5", "epsilon = 0.0999999", " 83.33 %", "3"]
    assert shown[2][:2] == ["3: one group", "ε = 1.25"]
    assert re.fullmatch(f"{hashed}, {hashed}, {hashed} and 2 more", shown[2][3])
    assert shown[3][0] == "2: each record, in any 30 days"
    assert shown[4] == ["4: each record, for purpose '\"care\"'", "no limit", "nothing: it permits charges",
                        "no record", "epsilon = 0", "epsilon = ∞, delta = 1", "no limit", ""]  # fmt: skip
    assert not re.search("ann|bob|cat|dan|zoe", html)


def test_the_document_names_every_operation_and_fits_what_is_answered(client: Client) -> None:
    document = client.ask("/openapi.json", who=None).json()
    app = client.http.app
    routes = {
        (route.path, method.lower()) for route in app._app.routes for method in route.methods - {"HEAD"}
    }  # type: ignore[attr-defined]
    assert routes == {(path, method) for path, methods in document["paths"].items() for method in methods}
    schemas = document["components"]["schemas"]
    assert set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document))) == set(schemas)
    client.ask("/v1/reserve", without_values(asks("left", record="bob")))
    (left,) = client.ask("/v1/reservations", who="root").json()["reservations"]
    client.ask("/v1/reserve", without_values(asks("kept")))
    for path, body, who, name in (
        ("/v1/release", asks(), "ann", "Released"),
        ("/v1/reserve", without_values(asks("kept")), "ann", "Reserved"),
        ("/v1/cancel", {"request": "kept"}, "ann", "Cancelled"),
        ("/v1/left", {"records": ["ann"]}, "eve", "Left"),
        ("/v1/summary", None, "eve", "Summary"),
        ("/v1/reservations", None, "root", "Reservations"),
        ("/v1/give-back", {"reservation": left["reservation"]}, "root", "GivenBack"),
        ("/health", None, None, "Health"),
        ("/v1/release", {}, "ann", "Problem"),
    ):
        answer = client.ask(path, body, who).json()
        schema = schemas[name]
        assert set(schema["required"]) <= set(answer) <= set(schema["properties"]), name
