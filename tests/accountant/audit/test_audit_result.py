"""Audits load back from their JSON, and what contradicts itself does not."""

from __future__ import annotations

import copy
import functools
import json
import math
from dataclasses import replace
from typing import Any

import pytest

from accountant.audit import Audit, AuditQuestion, FileMetadata, audit, from_mechanisms
from accountant.audit.releases import EnforcedBudget
from accountant.budget import Budget
from mechanisms import Gaussian, Laplace, Sensitivity

RELEASES = from_mechanisms(
    [(Laplace(scale=4.0), 2), (Gaussian(sigma=9.0, sensitivity=Sensitivity(1.0, 1.0, 1.0)), 1)]
)
PURE = from_mechanisms([(Laplace(scale=4.0), 2)])


@functools.cache
def audits() -> dict[str, Audit]:
    full = audit(PURE, AuditQuestion(delta=0.0), 1.0, risk=True)
    chosen = EnforcedBudget("basic composition", Budget.unlimited())
    return {
        "everything": replace(
            full, about=FileMetadata("a year", "line\nline"), chosen_under=chosen, name="y", repeat="again"
        ),
        "delta": audit(RELEASES, AuditQuestion(epsilon=1.0)),
        "infinite": audit(RELEASES, AuditQuestion(delta=0.0), 2.0),
    }


@pytest.mark.parametrize("name", ["everything", "delta", "infinite"])
def test_it_loads_back(name: str) -> None:
    audited = audits()[name]
    written = json.dumps(audited.json(), allow_nan=False)
    again = Audit.loads(written)
    assert again == audited
    assert again.provenance == audited.provenance
    assert again.json() == json.loads(written)


def test_it_says_what_was_released_and_when_it_was_made() -> None:
    audited = audits()["delta"]
    assert [(each.name, each.count) for each in audited.released] == [("1: Laplace", 2), ("2: Gaussian", 1)]
    assert "scale=4.0" in audited.released[0].mechanism
    assert audited.provenance.versions["dpwitness"]
    assert math.isinf(audits()["infinite"].answer.upper)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("format", "dpwitness audit, version 0", "format of the audit must be one of"),
        ("neighbours", "some", "neighbours of the audit must be one of"),
        ("epsilon.lower", 0.6, "lower and upper must be 0 <= lower <= upper"),
        ("epsilon.lower", -0.1, "lower and upper must be 0 <= lower <= upper"),
        ("epsilon.method", "by hand", "method of epsilon must be one of"),
        ("epsilon", 1.0, "epsilon is no object"),
        ("best", "no theorem", "best of the audit must follow"),
        ("theorems", {}, "theorems of the audit must be at least one"),
        ("worst.alike", -1, "alike of worst is negative"),
        ("remaining.within", False, "within of remaining must follow"),
        ("remaining.more", {}, "more of remaining must name what is released"),
        ("chosen_under.delta", 2.0, "chosen_under: delta = 2.0"),
        ("first", "yesterday", "first of the audit must be a date"),
        ("made.more", 1, "made has keys that are unknown"),
        ("more", 1, "the audit has keys that are unknown"),
        ("complete", 1, "complete of the audit is of type int"),
        ("group_size", 0, "group_size of the audit must be at least 1"),
        ("released", [{"name": "1", "count": 1}], "one of released has no sensitivity"),
    ],
)
def test_what_contradicts_itself_is_refused(path: str, value: Any, message: str) -> None:
    changed = copy.deepcopy(audits()["everything"].json())
    *way, last = path.split(".")
    functools.reduce(lambda node, key: node[key], way, changed)[last] = value
    with pytest.raises(ValueError, match=message):
        Audit.from_json(changed)
