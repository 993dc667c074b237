"""Written files keep to their schema, files that lack a key do not, and the published schemas are the package's."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from json_schema import schema_of
from jsonschema import Draft202012Validator
from published_schemas import PUBLISHED, SCHEMAS, schema_text

from accountant.audit import AuditQuestion, audit, from_mechanisms
from accountant.audit.release_tables import from_tables
from accountant.proofs.audit_proof import audit_proof
from accountant.provenance import Provenance
from mechanisms import Laplace
from verify import certify, verify
from verify.experiments.configuration import Configuration
from verify.experiments.experiment import Seen
from verify.experiments.reproduce import Reproduced
from verify.experiments.simulation_result import SimulationResult
from verify.findings.sentences import exact
from verify.regret_claims.regret_report import Checkpoint, ProofCheck, RegretReport, TheoremValue

MADE = Provenance("2026-11-23T18:00:00+00:00", {"python": "3.11.7"}, {"dpwitness": "69e4"})
QUICK: dict[str, Any] = {"effort": "quick", "samples": 5_000}
pytestmark = pytest.mark.usefixtures("small_searches")


def written(name: str) -> list[Any]:
    laplace, short = Laplace(scale=1.0), {**QUICK, "horizon": 4}
    match name:
        case "verification":
            return [verify(laplace, epsilon=0.5, **QUICK).json()]
        case "certificate":
            return [
                certify(laplace, epsilon=1.0, **QUICK).json(),
                certify("cucb-ldp2", epsilon=1.0, **short).json(),
            ]
        case "regret":
            theorem = TheoremValue("Theorem 3", "every T", True, math.inf, 90.0, dominant=("x/2", 10.0))
            check, point = (
                ProofCheck("radii", 1.0, 0.0, exact("all")),
                Checkpoint(10, 5.0, 4.0, 6.0, 20.0, 90.0),
            )
            asked = ("mine", "arms", 1.0, 0.1, "replace one", True, 10, 8, 0, 1e-4)
            return [RegretReport(*asked, theorem, (check,), (point,), "dpwitness regret mine").json()]
        case "reproduction":
            seen = (Seen(True, "3 of 3", says="regret grows"), Seen(None, "", says="by log T"))
            found = Reproduced(
                "fig1", Path("a.png"), Path("a.csv"), Path("a.md"), seen, "again", MADE, seconds=2.5
            )
            assert Reproduced.loads(json.dumps(found.json())) == found
            return [found.json()]
        case "simulation":
            asked_for = Configuration(
                "mine.py:Mine", 20, 3, "arms", {"arms": 3, "size": "all"}, 0.5, 0.01, 7, 2
            )
            curves = ((10, 20), (1.0, 2.5), (math.nan, 0.5), (0.25, 0.125))
            further = {"best_kept": 0.5}
            of = SimulationResult(
                "Mine", "arms", "replace one", asked_for, *curves, 0.5, 120.0, further, MADE
            )
            told = of.json()
            assert SimulationResult.loads(json.dumps(told)).json() == told
            assert of.repeat == (
                "dpwitness simulate mine.py:Mine --problem arms --set arms=3 --set size=all --epsilon 0.5 --delta 0.01 "
                "--horizon 20 --runs 3 --seed 7"
            )
            return [told]
        case "proof":
            tables = {
                "release": [{"mechanism": "laplace", "scale": 2.5}, {"mechanism": "pure", "epsilon": 1}]
            }
            return [audit_proof(from_tables("here", tables), 1.4, 0.0)]
        case "audit":
            releases = from_mechanisms([(laplace, 2)])
            asked = (
                audit(releases, AuditQuestion(delta=0.0), 1.0, risk=True),
                audit(releases, AuditQuestion(epsilon=1.0)),
            )
            return [each.json() for each in asked]
    return [{"release": [{"mechanism": "laplace", "scale": 1.0}]}]


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_is_written_keeps_to_its_schema_and_what_lacks_a_key_does_not(name: str) -> None:
    schema = SCHEMAS[name]()
    Draft202012Validator.check_schema(schema)
    keeps = Draft202012Validator(schema)
    for data in json.loads(json.dumps(written(name))):
        keeps.validate(data)
        for key in data:
            assert not keeps.is_valid({one: value for one, value in data.items() if one != key}) or (
                name in ("verification", "simulation") and key not in schema["required"]  # details
            )
            anything = (name, key) == ("proof", "tested")
            assert (
                anything or not keeps.is_valid({**data, key: {"other": [1]}}) or key not in schema["required"]
            )


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_published_schema_is_that_of_the_types(name: str) -> None:
    assert (PUBLISHED / f"{name}.json").read_text() == schema_text(name), (
        "PYTHONPATH=tests/accountant/audit python tests/verify/published_schemas.py"
    )


def test_a_type_without_a_schema_is_refused() -> None:
    with pytest.raises(TypeError, match="bytes"):
        schema_of(list[bytes])
