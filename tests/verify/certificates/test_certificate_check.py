"""A certificate is valid as it was written, with the code that it is about, and in no other way."""

from __future__ import annotations

import copy
import functools
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mechanisms import Gaussian, Sensitivity
from verify import Certificate, NotCertified, SubjectError, certify
from verify.certificates import certificate_check
from verify.certificates.certificate import certifying
from verify.certificates.proof_code import is_of_proof_code
from verify.options import Options
from verify.verification import run_verification

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


def paths(data: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value that holds no others."""
    if not isinstance(data, (dict, list)) or not data:
        yield ()
        return
    for key in data if isinstance(data, dict) else range(len(data)):
        yield from ((key, *rest) for rest in paths(data[key]))


def others(value: Any) -> list[Any]:
    """Return other values in place of one."""
    match value:
        case str():
            return [f"{value} ", value[1:] + "?", None]
        case float() | int():
            return [value * (1 + 2**-20) + 1e-300, value + 1, -1, "inf"]
        case None:
            return [{}, "x"]
    return [True, {"x": "y"}, ["x"]]


@pytest.mark.slow_cells("learner")
def test_no_value_can_be_changed(certificate: Certificate, monkeypatch: pytest.MonkeyPatch) -> None:
    proofs: dict[str, Any] = {}

    def once(
        subject: object, options: Any, *, tests: bool
    ) -> Any:  # the proof of one question is always the same
        key = f"{subject} {options} {tests}"
        proofs[key] = proofs.get(key) or run_verification(subject, options, tests=tests)
        return proofs[key]

    monkeypatch.setattr(certificate_check, "run_verification", once)
    data = certificate.json()
    code = [path for path in paths(data) if path[0] == "digests" and is_of_proof_code(path[1])]
    assert len(code) > 100
    for path in (*code[::50], *(path for path in paths(data) if path not in code)):
        for value in others(functools.reduce(lambda node, key: node[key], path, data)):
            changed = copy.deepcopy(data)
            functools.reduce(lambda node, key: node[key], path[:-1], changed)[path[-1]] = value
            try:
                verdict = Certificate.from_json(changed).check().verdict
            except ValueError:
                continue
            assert verdict != "valid" or path[0] in ("date", "versions"), (path, value)


def test_a_claim_that_was_changed_with_its_command_is_that_of_another_certificate() -> None:
    learner = certificates()["learner"]
    claim = replace(learner.claim, epsilon=2.0)
    changed = replace(learner, claim=claim, repeat=certifying(learner.subject, claim, learner.options))
    checked = changed.check()
    assert (checked.verdict, checked.exit_code) == ("invalid", 1)
    assert "proof.upper.epsilon is 1.0 in the certificate" in checked.reasons[0].text


def test_a_mechanism_that_costs_more_than_is_certified_is_refuted() -> None:
    mechanism = certificates()["mechanism"]
    claim = replace(mechanism.claim, epsilon=0.1)
    changed = replace(mechanism, claim=claim, repeat=certifying(mechanism.subject, claim, mechanism.options))
    assert changed.check().verdict == "invalid"


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["numpy", "dpwitness", "python"])
def test_other_versions_that_change_no_figure_are_named(certificate: Certificate, name: str) -> None:
    made = certificate.provenance
    other = replace(certificate, provenance=replace(made, versions={**made.versions, name: "0.0.1"}))
    checked = other.check()
    assert (checked.verdict, checked.exit_code) == ("valid", 0)
    assert f"which change no figure: {name} is '0.0.1' in the certificate" in checked.reasons[1].text


@pytest.mark.slow
def test_a_line_may_have_another_number_and_no_other_file() -> None:
    data = certificates()["learner"].json()
    where = data["proof"]["accounted"]["payers"][0]["charges"][0]["where"]
    file, _, line = where.rpartition(":")
    for other, verdict in ((f"{file}:{int(line) + 3}", "valid"), (f"other_{where}", "invalid")):
        changed = json.loads(json.dumps(data).replace(f'"{where}"', f'"{other}"'))
        assert Certificate.from_json(changed).check().verdict == verdict


def test_figures_may_end_with_other_digits_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = certificates()["mechanism"]
    upper, path = certificate.proof.upper, "proof.upper.epsilon"
    for change, verdict in ((1 + 1e-12, "valid"), (1 - 1e-12, "valid"), (1 - 1e-7, "invalid")):
        moved = replace(upper, epsilon=upper.epsilon * change)
        checked = replace(certificate, proof=replace(certificate.proof, upper=moved)).check()
        assert checked.verdict == verdict
        assert (path in checked.reasons[0].text) == (verdict == "invalid")


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
    with pytest.raises(SubjectError, match="no such file"):
        certificate.check()
    assert certificate.check(f"{moved}:Greedy").verdict == "valid"

    (moved.parent / f"{helper}.py").write_text(
        "FACTOR = 0.50\n"
    )  # of another size: byte code is known by that and the second
    checked = certificate.check(f"{moved}:Greedy")
    assert checked.verdict == "unproven"
    assert f"the digest of module {helper} is" in checked.reasons[0].text

    moved.write_text("raise RuntimeError('other code is not imported')\n")
    checked = certificate.check(f"{moved}:Greedy")
    assert (checked.verdict, len(checked.reasons)) == ("unproven", 2)
    assert "the digest of file is" in checked.reasons[0].text


def test_a_mechanism_has_no_other_name() -> None:
    mechanism = certificates()["mechanism"]
    for name in ("Gaussian(sigma=0.01)", "the production recommender"):
        other = replace(
            mechanism, subject=name, repeat=certifying(name, mechanism.claim, mechanism.options)
        ).check()
        assert other.verdict == "invalid"
        assert "subject is" in other.reasons[0].text


@pytest.mark.slow
def test_an_object_of_a_file_is_no_other_object_of_it(tmp_path: Path) -> None:
    code = OWN.replace("from {helper} import FACTOR", "FACTOR = 1.0") + "\n\nclass Other(Greedy):\n    pass\n"
    file = tmp_path / "two.py"
    file.write_text(code)
    certificate = certify(f"{file}:Greedy", epsilon=1.0, horizon=4, isolated=True, **QUICK)
    assert certificate.check(f"{file}:Other").verdict != "valid"


def test_what_cannot_be_read_gets_no_certificate_and_is_never_valid() -> None:
    namespace: dict[str, Any] = {"__name__": "__console__"}
    exec(OWN.replace("from {helper} import FACTOR", "FACTOR = 1.0"), namespace)
    with pytest.raises(NotCertified, match="the source of Greedy cannot be read; put it into a file"):
        certify(namespace["Greedy"], epsilon=1.0, horizon=4, **QUICK)
    learner = certificates()["learner"]
    assert learner.check(namespace["Greedy"]).verdict == "unproven"


def test_a_class_is_found_by_no_name() -> None:
    learner = certificates()["learner"]
    lost = replace(learner, subject="Lost", repeat=certifying("Lost", learner.claim, learner.options))
    with pytest.raises(SubjectError, match="Lost: is found by no name"):
        lost.check()
