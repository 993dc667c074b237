"""Every kind of result is read by its format, and shown, by the names in one table."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module

import pytest

from accountant.audit import AuditQuestion, audit, from_mechanisms
from accountant.files.json_object import FromJson
from mechanisms import Laplace
from verify.verdict.result_kinds import KINDS, document_of, read_result


@pytest.mark.parametrize("written_as", KINDS)
def test_a_format_names_the_class_that_writes_it_and_the_function_that_shows_it(written_as: str) -> None:
    result, document = KINDS[written_as]
    module, _, name = result.partition(":")
    assert written_as == import_module(module).FORMAT
    assert issubclass(getattr(import_module(module), name), FromJson)
    assert callable(getattr(import_module(document), document.rpartition(".")[2]))


def test_when_a_result_was_made_makes_no_other_of_it() -> None:
    """But of one with a verdict, and of a proof, whoever compares them wants to know of what code they are."""
    dated = set()
    for result, _ in KINDS.values():
        module, _, name = result.partition(":")
        (provenance,) = (
            each for each in fields(getattr(import_module(module), name)) if each.name == "provenance"
        )
        if provenance.compare:
            dated.add(name)
    assert dated == {"Verification", "Certificate"}


def test_what_is_read_is_shown_as_what_was_written() -> None:
    audited = audit(from_mechanisms([(Laplace(scale=1.0), 2)]), AuditQuestion(delta=0.0), 1.0)
    read = read_result(audited.json())
    assert type(read) is type(audited)
    assert document_of(read) == document_of(audited)
