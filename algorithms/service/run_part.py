"""A learner's run as a part of the service."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from typing import Any
from xml.etree.ElementTree import Element

from accountant.service.keys import KeyScope, check_name
from accountant.service.ledger_schemas import ledger_schemas
from accountant.service.metrics import Gauge
from accountant.service.openapi import (
    NAME,
    NUMBER,
    RECORD,
    REQUEST,
    TEXT,
    WHOLE,
    array_of,
    object_of,
    reference,
)
from accountant.service.page import missing_section, run_section
from accountant.service.part import Body, Operation, ServicePart
from accountant.service.problem_details import ServiceProblem, invalid
from accountant.service.request_bodies import read_record, read_records
from accountant.service.rules_shown import rule_gauges
from accountant.service.service_limits import ServiceLimits
from algorithms.durable.open_tickets import Run
from algorithms.service.run_desk import Feedback, RunDesk

_ARMS = array_of(WHOLE)
_QUESTION = {
    **object_of(mechanism={"type": "object"}, domain={"type": "object"}, about=array_of(_ARMS)),
    "description": "Of a run of local trust: what the record's device is to draw its message through, from what.",
}
_MOST_LISTED = 1000
_LONGEST = 10**9
"""Seconds: 30 years."""
_OPEN = object_of(
    ticket=TEXT,
    action=_ARMS,
    record={"anyOf": [RECORD, {"type": "null"}], "description": "null: handed out in Python"},
    since={"type": ["string", "null"], "description": "UTC, as ISO 8601 has it; null: not known"},
)


def _schemas(limits: ServiceLimits) -> dict[str, Any]:
    """Return the schemas of a run's operations under the limits of its service, by name."""
    most = limits.numbers
    arms = array_of(WHOLE, maxItems=most, title=f"a list of at most {most} arms, which are whole numbers")
    numbers = array_of(NUMBER, maxItems=most, title=f"a list of numbers, at most {most}")
    available = {**arms, "description": "Public: the arms that are there in this round; all by default."}
    contexts = {
        **array_of(numbers, title="a list of vectors"),
        "description": "Private, for a contextual learner: the vectors of the record's actions, of which one is "
        "played.",
    }
    features = {
        **numbers,
        "description": "Private, for a contextual learner: the vector of the action that was shown.",
    }
    feedback = {**numbers, "description": "Private: one for each arm of the action."}
    seconds = {**NUMBER, "minimum": 0, "maximum": _LONGEST, "title": f"a number from 0 to {_LONGEST:,}"}
    ledger = ledger_schemas(limits)
    return {
        "Lapse": object_of(request=REQUEST, seconds=seconds),
        "Lapsed": object_of(request=TEXT, withdrawn=WHOLE, open=WHOLE),
        "Tickets": object_of(run=TEXT, open=WHOLE, tickets=array_of(_OPEN)),
        "Act": object_of({"available": available, "contexts": contexts}, request=REQUEST, record=RECORD),
        "Acted": object_of({"question": _QUESTION}, request=TEXT, ticket=TEXT, action=_ARMS),
        "Message": object_of(request=REQUEST, ticket=NAME, record=RECORD, message=numbers),
        "Observe": object_of(
            {"features": features}, request=REQUEST, ticket=NAME, record=RECORD, feedback=feedback
        ),
        "Withdraw": object_of(request=REQUEST, ticket=NAME),
        "Used": object_of(request=TEXT, ticket=TEXT, state={"enum": ["observed", "withdrawn"]}),
        "Run": object_of(
            run=TEXT, learner=TEXT, tickets=object_of(issued=WHOLE, open=WHOLE), summary=reference("Summary")
        ),
        **{name: ledger[name] for name in ("Records", "Left", "Summary")},
    }


@contextmanager
def run_at(name: str, load: Callable[[], Run], limits: ServiceLimits) -> Iterator[ServicePart]:
    """Open a run to be served.

    Parameters
    ----------
    name
        The run's name for clients.
    load
        Opens the run, as `DurableRun.load`; if another process has it open, it is asked for again later.
    limits
        The limits of the service.

    Raises
    ------
    ParameterError
        If the name is none, or the run cannot be served: its trust is not central, or its learner hands out no
        tickets.
    accountant.stores.store_refusals.StoreRefused, OSError
        If the run is not opened.
    """
    check_name("run", name)
    with closing(RunDesk(name, load, limits.open_tickets)) as desk:
        yield run_part(desk, limits)


def run_part(desk: RunDesk, limits: ServiceLimits) -> ServicePart:
    """Return the service part with the requests about a run."""

    def act(client: str, body: Body) -> Mapping[str, Any]:
        record, contexts = read_record(body["record"], "record"), body.get("contexts")
        if contexts is not None and sum(map(len, contexts)) > limits.numbers:
            raise invalid("contexts", f"must hold at most {limits.numbers} numbers")
        return desk.act(client, body["request"], record, body.get("available"), contexts)

    def observe(client: str, body: Body) -> Mapping[str, Any]:
        record, values = read_record(body["record"], "record"), tuple(body["feedback"])
        features = tuple(body["features"]) if "features" in body else None
        return desk.observe(client, body["request"], Feedback(body["ticket"], record, values, features))

    def message(client: str, body: Body) -> Mapping[str, Any]:
        record = read_record(body["record"], "record")
        return desk.message(client, body["request"], body["ticket"], record, tuple(body["message"]))

    def withdraw(client: str, body: Body) -> Mapping[str, Any]:
        return desk.withdraw(client, body["request"], body["ticket"])

    def lapse(client: str, body: Body) -> Mapping[str, Any]:
        return desk.lapse(client, body["request"], float(body["seconds"]))

    path = f"/v1/runs/{desk.name}"
    operation = partial(Operation, run=desk.name)
    operations = [
        operation(f"{path}/act", "POST", KeyScope.ACT, act,
                  "Hand out an action, and the ticket that its feedback comes with.", "Act", "Acted"),
        operation(f"{path}/observe", "POST", KeyScope.OBSERVE, observe,
                  "Learn from the feedback on an action; its record pays.", "Observe", "Used"),
        operation(f"{path}/message", "POST", KeyScope.OBSERVE, message,
                  "Learn from a message that the record's own device has drawn; the record pays.", "Message", "Used"),
        operation(f"{path}/withdraw", "POST", KeyScope.OBSERVE, withdraw,
                  "Forget an action whose feedback will not come.", "Withdraw", "Used"),
        operation(f"{path}/lapse", "POST", KeyScope.OBSERVE, lapse,
                  "Forget all actions that have waited so long for their feedback.", "Lapse", "Lapsed"),
        operation(f"{path}/tickets", "GET", KeyScope.READ, lambda _, __: desk.tickets(_MOST_LISTED),
                  "The oldest actions that wait for their feedback, and since when.", answers="Tickets"),
        operation(f"{path}/left", "POST", KeyScope.READ, lambda _, body: desk.standings(read_records(body)),
                  "What records have spent and have left in this run.", "Records", "Left"),
        operation(path, "GET", KeyScope.READ, lambda _, __: desk.state(),
                  "The progress of the run, and its charges.", answers="Run"),
    ]  # fmt: skip

    def sections(_: str) -> list[Element]:
        try:
            state, rules, summary = desk.state(), desk.rules(), desk.summary()
        except ServiceProblem as problem:
            return [missing_section(desk.name, problem.message)]
        tickets = state["tickets"]
        return [run_section(desk.name, state["learner"], tickets["issued"], tickets["open"], rules, summary)]

    def gauges(_: str) -> list[Gauge]:
        try:
            tickets, rules = desk.state()["tickets"], desk.rules()
        except ServiceProblem:  # another process has it: there it is measured
            return []
        words = "Actions that were handed out and wait for their feedback."
        run = ("run", desk.name)
        return [Gauge("dpwitness_open_tickets", words, tickets["open"], (run,)), *rule_gauges(rules, run)]

    return ServicePart(operations, _schemas(limits), f"run {desk.name}", sections, desk.check, gauges)
