"""The operations on a ledger, as a part of the service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from xml.etree.ElementTree import Element

from accountant.gates.lineage import RecordId
from accountant.service.desk import Desk
from accountant.service.keys import KeyScope
from accountant.service.ledger_schemas import ledger_schemas
from accountant.service.metrics import Gauge
from accountant.service.page import ledger_sections, record_section
from accountant.service.part import Body, Operation, ServicePart
from accountant.service.request_bodies import read_records, read_release, read_room
from accountant.service.rules_shown import rule_gauges
from accountant.service.service_limits import ServiceLimits

_SHOWN = 20


def ledger_part(desk: Desk, limits: ServiceLimits) -> ServicePart:
    """Return the routes of a ledger."""

    def remaining(client: str, body: Body) -> Mapping[str, Any]:
        return desk.remaining(client, read_records(body))

    def more(client: str, body: Body) -> Mapping[str, Any]:
        return desk.remaining_releases(client, *read_room(body, limits))

    def give_back(client: str, body: Body) -> Mapping[str, Any]:
        return desk.give_back(client, body["reservation"])

    def reservations(client: str, body: Body) -> Mapping[str, Any]:
        found = desk.reservations(client).items()
        return {"reservations": [{"reservation": position, **each._asdict()} for position, each in found]}

    def sections(client: str) -> list[Element]:
        found, most = desk.summary(client), desk.most_spent(_SHOWN, client)
        return ledger_sections(
            desk.store.name, found, most, desk.rules(client), len(desk.reservations(client))
        )

    def serve(do: Callable[..., Mapping[str, Any]], values: bool) -> Callable[[str, Body], Mapping[str, Any]]:
        return lambda client, body: do(client, read_release(body, limits, values=values))

    read, spend, admin = KeyScope.READ, KeyScope.SPEND, KeyScope.ADMIN
    operations = [
        Operation("/v1/release", "POST", spend, serve(desk.release, True),
                  "Charge, and draw the outputs. Asked again with the same request: the same outputs.",
                  "Release", "Released"),
        Operation("/v1/reserve", "POST", spend, serve(desk.reserve, False),
                  "Charge for a release before its values are known.", "Reserve", "Reserved"),
        Operation("/v1/commit", "POST", spend, serve(desk.commit, True),
                  "Draw what was reserved with this request.", "Release", "Released"),
        Operation("/v1/cancel", "POST", spend, lambda client, body: desk.cancel(client, body["request"]),
                  "Give a reservation's charge back.", "Cancel", "Cancelled"),
        Operation("/v1/room", "POST", spend, more, "Further such releases that records can pay for.", "Rooms", "Room"),
        Operation("/v1/left", "POST", read, remaining, "Spent and remaining amounts of records.", "Records", "Left"),
        Operation("/v1/summary", "GET", read, lambda client, _: desk.summary_json(client),
                  "The charges by release, and the worst record.", answers="Summary"),
        Operation("/v1/reservations", "GET", admin, reservations, "Open reservations.", answers="Reservations"),
        Operation("/v1/give-back", "POST", admin, give_back, "Give a reservation of any client back.",
                  "GiveBack", "GivenBack"),
    ]  # fmt: skip

    def gauges(client: str) -> list[Gauge]:
        most = desk.most_spent(1, client)
        share = most[0][3] if most else 0.0
        words = "Share of its budget that the worst record has spent."
        known = [] if share is None else [Gauge("dpwitness_largest_share_spent", words, share)]
        words = "Reservations that are neither drawn nor given back."
        known.append(Gauge("dpwitness_open_reservations", words, len(desk.reservations(client))))
        return [*known, *rule_gauges(desk.rules(client))]

    def show_record(client: str, record: RecordId) -> list[Element]:
        return [record_section(desk.find_record(client, record))]

    schemas, name = ledger_schemas(limits), desk.store.name
    return ServicePart(operations, schemas, name, sections, desk.check, gauges, show_record)
