"""The JSON schemas of release files, of results and of certificates, made of the types that write them.

``PYTHONPATH=tests/accountant/audit python tests/verify/published_schemas.py`` writes them to ``docs/schemas``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

from json_schema import Schema, nullable, object_schema, root_schema, schema_of
from release_schema import release_schema

from accountant.audit.audit_result import FORMAT as AUDIT
from accountant.audit.audit_result import ReleaseSummary
from accountant.proofs.proof_document import FORMAT as PROOF
from accountant.provenance import Provenance
from algorithms.claim import Claim
from mechanisms import Assumption, Neighbouring
from verify.certificates.certificate import SAID
from verify.experiments.reproduce import FORMAT as REPRODUCTION
from verify.experiments.simulation_result import FORMAT as SIMULATION
from verify.findings.finding import Finding, LowerBound, UpperBound, Witness
from verify.findings.sentences import Sentence
from verify.regret_claims.regret_report import FORMAT as REGRET
from verify.regret_claims.regret_report import (
    Checkpoint,
    CheckpointVerdict,
    ProofCheck,
    RegretReport,
    RegretVerdict,
)
from verify.verdict.result import FORMAT as VERIFICATION
from verify.verdict.subject_kind import SubjectKind
from verify.verdict.verdict import Verdict

_TEXT, _FLAG, _COUNT, _NUMBER = schema_of(str), schema_of(bool), schema_of(int), schema_of(float)
_TEXTS = schema_of(list[str])
_SENTENCES = schema_of(list[Sentence])
_RELATION = schema_of(Neighbouring)


def _finding() -> Schema:
    """Return the schema of a finding; its message is the text of its sentence."""
    found = schema_of(Finding)
    return object_schema({**found["properties"], "message": _TEXT})


def _verification() -> Schema:
    event = schema_of(Witness)
    return root_schema(
        "A verification: what `dpwitness verify --json` prints; further keys are details",
        object_schema(
            {
                "format": {"const": VERIFICATION},
                "subject": _TEXT,
                "kind": schema_of(SubjectKind),
                "claim": _claim(),
                "verdict": {"enum": list(get_args(Verdict))},
                "reasons": _SENTENCES,
                "upper": nullable(schema_of(UpperBound)),
                "lower": nullable(schema_of(LowerBound)),
                "witness": nullable(event),
                "best_event": nullable(event),
                "findings": {"type": "array", "items": _finding()},
                "assumptions": schema_of(list[Assumption]),
                "seed": _COUNT,
                **_provenance(),
            },
            open_ended=True,
        ),
    )


def _regret() -> Schema:
    hints = get_type_hints(RegretReport)
    own = {
        one.name: schema_of(hints[one.name]) for one in fields(RegretReport) if one.name not in _STATED_APART
    }
    return root_schema(
        "A regret report: what `dpwitness regret --json` prints",
        object_schema(
            {
                "format": {"const": REGRET},
                "verdict": {"enum": list(get_args(RegretVerdict))},
                **own,
                "neighbours": _RELATION,
                "proof": {"type": "array", "items": _with(schema_of(ProofCheck), violated=_FLAG)},
                "outcome": {
                    "type": "array",
                    "minItems": 1,
                    "items": _with(
                        schema_of(Checkpoint), verdict={"enum": list(get_args(CheckpointVerdict))}
                    ),
                },
                "reasons": _SENTENCES,
                **_provenance(),
            }
        ),
    )


_STATED_APART = ("provenance", "proof", "outcome")
"""The fields of a regret report that its JSON has in another form."""


def _audit() -> Schema:
    interval = object_schema(
        {
            "lower": nullable(_NUMBER),
            "upper": _NUMBER,
            "method": _TEXT,
            "lower_by": nullable(_TEXT),
            "upper_by": _TEXT,
        }
    )
    date = nullable({"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"})
    released = schema_of(ReleaseSummary)
    named = {
        "name": released["properties"]["name"],
        "count": _COUNT,
        "sensitivity": _TEXT,
        "mechanism": _TEXT,
    }
    return root_schema(
        "An audit: what `dpwitness audit --json` prints of one file",
        {
            **object_schema(
                {
                    "format": {"const": AUDIT},
                    "name": _TEXT,
                    "title": _TEXT,
                    "notes": _TEXT,
                    "date": date,
                    "first": date,
                    "last": date,
                    "neighbours": _RELATION,
                    "delta": {"anyOf": [{"type": "number", "minimum": 0, "exclusiveMaximum": 1}, interval]},
                    "epsilon": {"anyOf": [{"type": "number", "minimum": 0}, interval]},
                    "theorems": {"type": "object", "minProperties": 1, "additionalProperties": interval},
                    "best": _TEXT,
                    "worst": object_schema({"group": _TEXT, "alike": _COUNT, "groups": _COUNT}),
                    "released": {"type": "array", "items": object_schema(named)},
                    "group_size": {"type": "integer", "minimum": 1},
                    "complete": _FLAG,
                    "chosen_under": nullable(
                        object_schema({"theorem": _TEXT, "epsilon": _NUMBER, "delta": _NUMBER})
                    ),
                    "risk": nullable(
                        object_schema(
                            {
                                "advantage": interval,
                                "accuracy": interval,
                                "true_positive_rates": {
                                    "type": "array",
                                    "items": _with(interval, false_positive_rate=_NUMBER),
                                },
                                "profile": {
                                    "type": "array",
                                    "items": object_schema({"epsilon": _NUMBER, "delta": _NUMBER}),
                                },
                            }
                        )
                    ),
                    "remaining": nullable(
                        object_schema(
                            {
                                "budget": _NUMBER,
                                "within": nullable(_FLAG),
                                "epsilon": _NUMBER,
                                "more": schema_of(Mapping[str, float]),
                            }
                        )
                    ),
                    "repeat": _TEXT,
                    "made": schema_of(Provenance),
                }
            ),
            "oneOf": [{"properties": {one: {"type": "object"}}} for one in ("delta", "epsilon")],
        },
    )


def _proof(tested: Schema) -> Schema:
    """Return the schema of a proof; numbers are whole, fractions or symbols in text, or formulas."""
    exact: Schema = {"$ref": "#/$defs/number"}
    amounts: Schema = {"type": "object", "additionalProperties": exact}
    domain = object_schema({"kind": _TEXT, "low": exact, "high": exact, "size": exact})
    step = {
        "type": "object",
        "properties": {"op": _TEXT, "into": domain},
        "required": ["op", "into"],
    }
    release = object_schema(
        {
            "domain": domain,
            "steps": {"type": "array", "items": step},
            "terms": exact,
            "mechanism": {"type": "object", "properties": {"kind": _TEXT}, "required": ["kind"]},
            "charged": amounts,
        }
    )
    symbol = object_schema({"least": exact, "whole": _FLAG})
    claim: Schema = {
        "type": "object",
        "properties": {
            "relation": _RELATION,
            "unit": {"enum": ["one report", "one person"]},
            **dict.fromkeys(("epsilon", "delta", "mu_squared", "rho"), exact),
        },
        "required": ["relation", "unit"],
        "additionalProperties": False,
    }
    return {
        **object_schema(
            {
                "format": {"const": PROOF},
                "claim": claim,
                "symbols": {"type": "object", "additionalProperties": symbol},
                "releases": {"type": "object", "additionalProperties": release},
                "records": {"type": "object", "additionalProperties": amounts},
                "theorem": {"type": "object", "properties": {"name": _TEXT}, "required": ["name"]},
                "tested": tested,
            }
        ),
        "$defs": {
            "number": {
                "anyOf": [
                    {"type": "integer"},
                    {"type": "string"},
                    {"type": "array", "minItems": 3, "maxItems": 3},
                ]
            }
        },
    }


def _certificate() -> Schema:
    options: Schema = {"type": "object", "properties": {key: {} for key in SAID}, "required": ["seed"]}
    claim = _claim()
    tested = object_schema(
        {
            "subject": _TEXT,
            "kind": schema_of(SubjectKind),
            "claim": {**claim, "properties": {**claim["properties"], "epsilon": _TEXT, "delta": _TEXT}},
            "reasons": _SENTENCES,
            "options": {**options, "additionalProperties": False},
            "repeat": _TEXT,
            "flows": {"type": "object"},
            **_provenance(),
        }
    )
    return root_schema("A certificate: what `dpwitness verify --certificate` writes", _proof(tested))


def _proof_alone() -> Schema:
    return root_schema("A proof: what `dpwitness audit --proof` writes", _proof({"type": "object"}))


def _reproduction() -> Schema:
    seen = object_schema({"says": _TEXT, "holds": nullable(_FLAG), "words": _TEXT, "vacuous": _FLAG})
    files = dict.fromkeys(("name", "picture", "data", "report"), _TEXT)
    one = {"format": {"const": REPRODUCTION}, **files, "seconds": _NUMBER}
    return root_schema(
        "A reproduction: each of the experiments that `dpwitness reproduce --json` prints",
        object_schema({**one, "seen": {"type": "array", "items": seen}, "repeat": _TEXT, **_provenance()}),
    )


def _simulation() -> Schema:
    def listed(of: Schema) -> Schema:
        return {"type": "array", "minItems": 1, "items": of}

    value = {"type": ["number", "string"]}
    asked = object_schema({"learner": _TEXT, "problem": nullable(_TEXT), "checkpoints": _COUNT})
    return root_schema(
        "A simulation: what `dpwitness simulate --json` prints of one learner; further keys are details",
        object_schema(
            {
                "format": {"const": SIMULATION},
                **dict.fromkeys(("learner", "problem", "neighbours"), _TEXT),
                "asked": asked,
                "epsilon": _NUMBER,
                "delta": _NUMBER,
                "settings": {"type": "object", "additionalProperties": value},
                "rounds": listed({"type": "integer", "minimum": 1}),
                "regret_mean": listed(_NUMBER),
                "regret_sem": listed(nullable(_NUMBER)),
                "return_mean": listed(_NUMBER),
                "runs": _COUNT,
                "seed": _COUNT,
                "seconds": _NUMBER,
                "lane_rounds_per_second": _NUMBER,
                **_provenance(),
            },
            open_ended=True,
        ),
    )


def _claim() -> Schema:
    units = {"type": "string", "pattern": "^one (report|person(, at most [1-9][0-9]* rounds)?)$"}
    return _with(schema_of(Claim), unit=units, neighbours=_TEXT, relation=_RELATION)


def _provenance() -> dict[str, Any]:
    """Return the three keys of `Provenance.json`."""
    properties: dict[str, Any] = schema_of(Provenance)["properties"]
    return properties


def _with(schema: Schema, **further: Schema) -> Schema:
    """Return the schema of an object with more keys, or others of the same name."""
    return object_schema({**schema["properties"], **further})


SCHEMAS: Mapping[str, Callable[[], Schema]] = {
    "releases": release_schema,
    "verification": _verification,
    "regret": _regret,
    "audit": _audit,
    "certificate": _certificate,
    "proof": _proof_alone,
    "reproduction": _reproduction,
    "simulation": _simulation,
}
"""How the schema of each kind of file is made, by name."""

PUBLISHED = Path(__file__).parents[2] / "docs" / "schemas"


def schema_text(name: str) -> str:
    """Return the text of a published schema."""
    return json.dumps(SCHEMAS[name](), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name in SCHEMAS:
        (PUBLISHED / f"{name}.json").write_text(schema_text(name))
