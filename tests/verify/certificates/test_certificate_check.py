"""A certificate is valid as it was written, with the code that it is about, and in no other way."""

from __future__ import annotations

import copy
import functools
import inspect
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from algorithms.catalogue.contextual_entries import contextual_learners
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.catalogue.structured_entries import learners
from mechanisms import Gaussian, Sensitivity
from verify import Certificate, NotCertified, SubjectError, certify
from verify.findings.proof_checker import check_proof_file, claim_as_data
from verify.verification.options import Options
from verify.verification.verification import run_verification

pytestmark = pytest.mark.usefixtures("small_searches")
QUICK: dict[str, Any] = {"effort": "quick", "samples": 5_000}
OWN = """
import numpy as np
from algorithms import ClaimForm, View
from mechanisms import Box, Laplace
from {helper} import FACTOR

class Greedy:
    family = "semi-bandit"
    claim = ClaimForm(model="local", view=View.MESSAGE, unit="one report", source="our notes")

    def __init__(self, structure, gate, *, epsilon, horizon):
        self.structure, self.gate = structure, gate
        self.feedback_domain = Box(0, 1, structure.size)
        self.noise = Laplace.for_epsilon(FACTOR * epsilon, sensitivity=self.feedback_domain.sensitivity)
        self.total = np.zeros((gate.lanes, structure.arms))
        self.lane = np.arange(gate.lanes)[:, None]

    def act(self):
        self.played = self.structure.solve(self.total)
        return self.played

    def observe(self, feedback):
        self.total[self.lane, self.played] += self.gate.release(self.noise, feedback)
"""


@functools.cache
def certificates() -> dict[str, Certificate]:
    noise = Gaussian(sigma=4.0, sensitivity=Sensitivity(1.0, 1.0, 1.0))
    return {
        "learner": certify(
            "cucb-ldp2", epsilon=1.0, horizon=4, settings={"arms": 4, "size": 2, "good": 1}, **QUICK
        ),
        "mechanism": certify(noise, epsilon=1.0, delta=1e-3, **QUICK),
    }


@pytest.fixture(params=["learner", "mechanism"])
def certificate(request: pytest.FixtureRequest) -> Certificate:
    return certificates()[request.param]


def test_it_is_valid_as_it_was_written(certificate: Certificate) -> None:
    checked = Certificate.loads(json.dumps(certificate.json())).check()
    assert (checked.verdict, checked.exit_code) == ("valid", 0)
    assert checked.json()["verdict"] == "valid"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("theorem", "epsilon"), 2),
        (("theorem", "name"), "plan"),
        (("releases", "release 1", "mechanism", "scale"), "1/2"),
        (("releases", "release 1", "terms"), 2),
        (("releases", "release 1", "charged", "epsilon"), "1/2"),
        (("releases", "release 1", "domain", "high"), 3),
        (("records", "like record 1", "release 1"), 2),
        (("records",), {}),
    ],
)
def test_a_claim_that_does_not_follow_is_invalid(path: tuple[str, ...], value: Any) -> None:
    data = copy.deepcopy(certificates()["learner"].json())
    functools.reduce(lambda node, key: node[key], path[:-1], data)[path[-1]] = value
    checked = Certificate.from_json(data).check()
    assert (checked.verdict, checked.exit_code) == ("invalid", 1)
    assert "does not follow from the proof" in checked.reasons[0].text


def test_a_claim_that_was_changed_in_both_places_does_not_follow() -> None:
    for name, epsilon in (("learner", 0.5), ("mechanism", 0.1)):
        certificate = certificates()[name]
        claim = replace(certificate.claim, epsilon=epsilon)
        proof = {**certificate.proof, "claim": claim_as_data(claim)}
        assert replace(certificate, claim=claim, proof=proof).check().verdict == "invalid"


@pytest.mark.parametrize("name", ["numpy", "dpwitness", "python"])
def test_versions_are_no_part_of_the_proof(certificate: Certificate, name: str) -> None:
    made = certificate.provenance
    other = replace(certificate, provenance=replace(made, versions={**made.versions, name: "0.0.1"}))
    assert other.check().verdict == "valid"


def test_the_file_alone_convinces_the_checker(certificate: Certificate, tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(certificate.json()))
    assert check_proof_file(file).follows


def test_a_replay_draws_its_own_seed_and_sees_the_same_releases(certificate: Certificate) -> None:
    checked = certificate.check(replay=True)
    assert (checked.verdict, "released nothing else" in checked.reasons[0].text) == ("valid", True)


def test_a_replay_that_releases_something_else_is_named() -> None:
    learner = certificates()["learner"]
    form = learner.proof["releases"]["release 1"]
    wider = {**form, "mechanism": {**form["mechanism"], "scale": 2}}
    checked = replace(learner, proof={**learner.proof, "releases": {"release 1": wider}}).check(replay=True)
    assert (checked.verdict, checked.exit_code) == ("unproven", 3)
    assert "releases a form that the proof does not list" in checked.reasons[0].text


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"subject": "cucb-batch"}, "model 'central', not 'local'"),
        ({"subject": "cucb-batch"}, "view 'the sequence of actions', not \"one user's message\""),
    ],
)
def test_a_replay_of_code_with_another_claim_is_not_valid(changed: dict[str, Any], said: str) -> None:
    checked = replace(certificates()["learner"], **changed).check(replay=True)
    assert (checked.verdict, checked.exit_code) == ("unproven", 3)
    assert "is about another claim" in checked.reasons[0].text
    assert said in checked.reasons[0].text


def test_a_black_box_gets_no_certificate_and_what_is_proved_of_it_is_nothing() -> None:
    result = run_verification("zoo/svt1", Options(effort="quick"), tests=False)
    assert (result.verdict, result.upper.epsilon) == ("unproven", math.inf)
    assert "black box" in result.decision.reasons[0].text


@pytest.mark.slow
def test_a_learner_of_ones_own_is_certified_with_its_file_and_what_it_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, helper = tmp_path / "code", f"helper_{tmp_path.name.replace('-', '_')}"
    folder.mkdir()
    (folder / f"{helper}.py").write_text("FACTOR = 1.0\n")
    file = folder / "greedy.py"
    file.write_text(OWN.format(helper=helper))
    certificate = certify(f"{file}:Greedy", epsilon=1.0, horizon=4, isolated=True, **QUICK)
    assert certificate.provenance.digests.keys() >= {"file", "module greedy", f"module {helper}"}

    moved = folder.rename(tmp_path / "elsewhere") / "greedy.py"
    assert certificate.check().verdict == "valid"
    with pytest.raises(SubjectError, match="no such file"):
        certificate.check(replay=True)
    assert certificate.check(f"{moved}:Greedy", replay=True).verdict == "valid"

    (moved.parent / f"{helper}.py").write_text("FACTOR = 0.50\n")
    checked = certificate.check(f"{moved}:Greedy", replay=True)
    assert checked.verdict == "unproven"
    assert "releases a form that the proof does not list" in checked.reasons[0].text


def test_what_cannot_be_read_gets_no_certificate_and_is_never_valid() -> None:
    namespace: dict[str, Any] = {"__name__": "__console__"}
    exec(OWN.replace("from {helper} import FACTOR", "FACTOR = 1.0"), namespace)
    with pytest.raises(NotCertified, match="the source of Greedy cannot be read; put it into a file"):
        certify(namespace["Greedy"], epsilon=1.0, horizon=4, **QUICK)


def test_a_class_is_found_by_no_name() -> None:
    lost = replace(certificates()["learner"], subject="Lost")
    with pytest.raises(SubjectError, match="Lost: its subject is not found"):
        lost.check(replay=True)


CERTIFIED = [
    (name, 1e-6 if "delta" in inspect.signature(entry.make).parameters else 0.0)
    for table in (learners, linear_learners, contextual_learners)
    for name, entry in table.items()
    if name == entry.certified_form
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "delta"), CERTIFIED)
def test_every_certified_learner_of_the_catalogue_gets_a_certificate_at_its_defaults(
    name: str, delta: float, tmp_path: Path
) -> None:
    made = certify(name, epsilon=1.0, delta=delta, effort="quick")
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(made.json()), encoding="utf-8")
    assert check_proof_file(file).follows
