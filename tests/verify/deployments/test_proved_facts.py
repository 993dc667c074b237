"""Mechanisms that contradict a declaration of pure differential privacy: those without a finite ε at δ = 0."""

import math

import pytest
from test_release_schema import PLAIN

from accountant.audit import AuditQuestion, audit
from accountant.audit.release_tables import from_tables
from mechanisms.composition.enclosure import lower_end
from verify.deployments.proved_facts import _RAW, _UNBOUNDED, _kind


@pytest.mark.parametrize("name", sorted(PLAIN.keys() - {_RAW}))
def test_a_mechanism_is_listed_if_and_only_if_its_loss_has_no_finite_bound(name: str) -> None:
    releases = from_tables("it", {"release": [{"mechanism": name, **PLAIN[name]}]})
    found = audit(releases, AuditQuestion(delta=0.0))
    listed = _kind(found.released[0]) in _UNBOUNDED
    if lower_end(found.answer) == math.inf:
        assert listed
    if listed:
        assert found.answer.upper == math.inf
