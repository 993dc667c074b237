"""Certificates as values: what loads back, and what is refused."""

from __future__ import annotations

import copy
import functools
import json
from pathlib import Path
from typing import Any

import pytest

from mechanisms import Laplace
from verify import Certificate, certify
from verify.certificates.certificate import said_options
from verify.verification.options import Options

QUICK: dict[str, Any] = {"effort": "quick", "samples": 5_000}


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    return certify(Laplace(scale=0.5), epsilon=2.0, seed=3, **QUICK)


def test_it_loads_back_from_its_own_json(certificate: Certificate, tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(certificate.json()))
    assert Certificate.load(file) == certificate
    assert certificate.proof["claim"]["epsilon"] == 2
    assert certificate.options == {**QUICK, "seed": 3}
    assert repr(certificate).endswith("ε = 2, δ = 0, neighbours: replace one>")
    assert "Not checked for this page" in certificate._repr_html_()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"options": {"seed": 3, "anytime": True}},
            "options of the certificate has keys that are unknown: anytime",
        ),
        ({"options": {"seed": 3, "effort": "default"}}, "must be those that are not the default"),
        ({"options": {"seed": -1}}, "seed"),
        ({"more": 1}, "has keys that are unknown: more"),
        ({"date": "next tuesday"}, "date = 'next tuesday': must be a time in UTC"),
    ],
)
def test_what_is_no_certificate_is_refused(
    certificate: Certificate, changed: dict[str, Any], message: str
) -> None:
    data = certificate.json()
    with pytest.raises(ValueError, match=message):
        Certificate.from_json(data | {"tested": data["tested"] | changed})


def test_options_without_words_are_refused_before_any_work() -> None:
    with pytest.raises(ValueError, match="anytime = True: a certificate is about a proof"):
        certify(Laplace(scale=1.0), epsilon=1.0, anytime=True)
    with pytest.raises(ValueError, match="time_limit = inf: must be finite"):
        said_options(Options(time_limit=float("inf")))


def test_another_format_or_claim_is_refused(certificate: Certificate) -> None:
    data = certificate.json()
    with pytest.raises(ValueError, match="format of the certificate must be one of"):
        Certificate.from_json(data | {"format": "dpwitness certificate, version 1"})
    with pytest.raises(ValueError, match="claim of the certificate must be the claim of its proof"):
        Certificate.from_json(data | {"claim": data["claim"] | {"epsilon": 3}})


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("note",), "new", "the certificate has keys that are unknown: note"),
        (("releases",), None, "releases of the certificate is of type NoneType"),
        (("releases", "release 1"), [], "'release 1' of the certificate is no object"),
        (("releases", "release 1", "domain"), {}, "domain of 'release 1' has no kind"),
        (("releases", "release 1", "steps"), [{}], "one of steps has no op"),
        (("releases", "release 1", "mechanism", "kind"), 7, "kind"),
        (("records",), {"all": 3}, "'all' of the certificate is no object"),
        (("theorem",), {}, "theorem of the certificate has no name"),
        (("tested",), {}, "is the proof of an audit, for `dpwitness check`: must be a certificate"),
    ],
)
def test_a_proof_with_other_parts_is_refused(
    certificate: Certificate, path: tuple[str, ...], value: Any, message: str
) -> None:
    data = copy.deepcopy(certificate.json())
    functools.reduce(lambda node, key: node[key], path[:-1], data)[path[-1]] = value
    with pytest.raises(ValueError, match=message):
        Certificate.from_json(data)


@pytest.mark.parametrize("number", [["+", 1, ["*", 2, 3]], "1/0000000000000000", 10**400, None])
def test_a_page_shows_every_number_of_a_file(certificate: Certificate, number: Any) -> None:
    data = copy.deepcopy(certificate.json())
    data["releases"]["release 1"]["mechanism"]["scale"] = number
    data["theorem"]["epsilon"] = number
    assert "CERTIFICATE" in Certificate.from_json(data)._repr_html_()
