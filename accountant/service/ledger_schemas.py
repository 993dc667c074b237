"""The schemas of the bodies and answers of a ledger's operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accountant.service.openapi import (
    ACCOUNT,
    NUMBER,
    POSITION,
    RECORD,
    REQUEST,
    TEXT,
    TIME,
    VALUE,
    WHOLE,
    array_of,
    object_of,
    reference,
)
from accountant.service.request_bodies import DOMAINS
from accountant.service.service_limits import SHORTEST, ServiceLimits

_MOST_ROOMS = 100
"""The most records of one request for remaining releases: each takes some forty evaluations of its account."""


def _records(item: Mapping[str, Any], most: int) -> dict[str, Any]:
    return array_of(item, minItems=1, maxItems=most, title=f"a list of 1 to {most} records")


def ledger_schemas(limits: ServiceLimits) -> dict[str, Any]:
    """Return the schemas of a ledger's operations under the limits of its service, by name."""
    seconds = {
        **NUMBER,
        "minimum": SHORTEST,
        "maximum": limits.reservation,
        "title": f"a number from {SHORTEST:g} to {limits.reservation:g}",
        "description": "After so long without values it is given back.",
    }
    drawn = {"mechanism": reference("Mechanism"), "domain": reference("Domain")}
    alone, with_value = object_of(record=RECORD), object_of(record=RECORD, value=VALUE)
    return {
        "Mechanism": {
            "type": "object",
            "description": "As to_dict() of a mechanism of dpwitness returns it.",
            "properties": {"kind": TEXT},
            "required": ["kind"],
            "examples": [
                {"kind": "Laplace", "scale": 4.0, "sensitivity": {"l1": 1.0, "l2": 1.0, "linf": 1.0}}
            ],
        },
        "Domain": {
            "type": "object",
            "description": "Where the value of ONE record may lie: a kind and its parameters.",
            "properties": {
                "kind": {"enum": list(DOMAINS)},
                **{name: {} for name in sorted({name for _, names in DOMAINS.values() for name in names})},
            },
            "required": ["kind"],
            "additionalProperties": False,
            "examples": [
                {"kind": "Interval", "lower": 0, "upper": 1},
                {"kind": "Box", "lower": 0, "upper": 1, "size": 3},
            ],
        },
        "Release": object_of(request=REQUEST, **drawn, data=_records(with_value, limits.records)),
        "Reserve": object_of(
            {"seconds": seconds}, request=REQUEST, **drawn, data=_records(alone, limits.records)
        ),
        "Cancel": object_of(request=REQUEST),
        "GiveBack": object_of(reservation=POSITION),
        "Records": object_of(records=_records(RECORD, limits.records)),
        "Rooms": object_of(**drawn, records=_records(RECORD, _MOST_ROOMS)),
        "Room": object_of(
            records=array_of(
                object_of(
                    record=RECORD,
                    room={"type": ["integer", "null"], "description": "null: nothing limits it."},
                )
            )
        ),
        "Released": object_of(request=TEXT, outputs={"type": "array"}),
        "Reserved": object_of(request=TEXT, until=TIME),
        "Cancelled": object_of(request=TEXT, state={"const": "returned"}),
        "GivenBack": object_of(reservation=WHOLE, state={"const": "returned"}),
        "Left": object_of(neighbours=TEXT, records=array_of(ACCOUNT)),
        "Summary": object_of(
            budget=object_of(epsilon={"type": ["number", "null"]}, delta=NUMBER),
            composition=TEXT,
            trust=TEXT,
            neighbours=TEXT,
            records=WHOLE,
            worst={"anyOf": [ACCOUNT, {"type": "null"}]},
            releases=array_of(
                object_of(
                    asked_by=TEXT,
                    mechanism=TEXT,
                    releases=WHOLE,
                    records=WHOLE,
                    largest_charge=TEXT,
                    noise=TEXT,
                )
            ),
            assumptions=array_of(TEXT),
        ),
        "Reservations": object_of(
            reservations=array_of(object_of(reservation=WHOLE, held_by=TEXT, until=TIME))
        ),
    }
