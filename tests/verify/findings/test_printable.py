"""Text of others, wherever it is shown."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from accountant.provenance import Provenance
from algorithms import ONE_REPORT
from algorithms.claim import ClaimForm, View
from mechanisms import Assumption, AssumptionKind
from verify.document.png import draw_png
from verify.document.terminal_text import print_document
from verify.findings.finding import Finding, FindingKind, LowerBound, UpperBound, Witness
from verify.findings.printable import printable
from verify.findings.sentences import remark
from verify.verdict.result import Verification
from verify.verdict.subject_kind import SubjectKind
from verify.verdict.verdict import Decision
from verify.verdict.verification_document import verification_document

BAD = "\x1b]0;title\x07\x1b[2K\u202e\r\n\x9b31m[/bold]$x_{$"


@given(st.text())
def test_every_character_is_seen_on_one_line(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert printable(shown) == shown
    assert text.isprintable() == (shown == text)


def test_long_texts_are_cut_in_the_middle() -> None:
    shown = printable("a" * 10**6 + "\x00z")
    assert len(shown) < 5_000
    assert shown.endswith("\\x00z")


def everywhere(text: str) -> Verification:
    """A result that holds a text wherever one can be."""
    quoting = remark("{text}", text=text)
    band = {
        "epsilon": [0.0, 1.0], "delta_lower": [0.1, 0.0], "delta_upper": [0.5, 0.2], "delta_upper_by": text,
        "confidence": 0.95, "said": quoting.to_dict(), "trade_off": {"alpha": [0.0, 1.0], "beta_upper": [1.0, 0.0]},
    }  # fmt: skip
    return Verification(
        subject=text,
        kind=SubjectKind.FUNCTION,
        claim=ClaimForm("local", View.MESSAGE, ONE_REPORT, text, differ=text, comment=text).with_parameters(
            1.0
        ),
        decision=Decision("unproven", (quoting,)),
        upper=UpperBound(2.0, 0.0, text),
        lower=LowerBound(0.5, 0.0, 0.95, text, 100),
        witness=Witness(
            {"data": text, "data_prime": text},
            text,
            0.5,
            0.25,
            hits=5,
            hits_prime=3,
            trials=10,
            reproduce=text,
        ),
        findings=(Finding(FindingKind.WARNS, text, quoting),),
        seed=0,
        provenance=Provenance(text, {text: text}, {text: text}),
        details={"detection_floor": quoting.to_dict(), "band": band, "anytime": {"said": quoting.to_dict()}},
        assumptions=(Assumption(AssumptionKind.CLAIM, text, text),),
    )


@pytest.mark.parametrize("colours", [None, "standard"])
def test_nothing_in_a_report_acts_on_the_terminal(colours: str | None) -> None:
    text = io.StringIO()
    console = Console(file=text, width=80, color_system=colours, force_terminal=colours is not None)
    print_document(verification_document(everywhere(BAD)), console)
    plain = io.StringIO()
    print_document(
        verification_document(everywhere("bad")),
        Console(file=plain, width=80, color_system=colours, force_terminal=colours is not None),
    )
    ours = {char for char in plain.getvalue() if not char.isprintable()}
    assert {char for char in text.getvalue() if not char.isprintable()} <= ours
    assert "\\x1b]0;title\\x07" in text.getvalue().replace("\n", "").replace(" ", "")
    assert "\x1b]" not in text.getvalue()
    assert "\x1b[2K" not in text.getvalue()


def test_str_and_repr_are_printable_and_json_keeps_the_text() -> None:
    result = everywhere(BAD)
    assert repr(result).isprintable()
    assert str(result).replace("\n", "").isprintable()
    assert result.json()["subject"] == BAD


def test_names_in_pictures_are_no_formulas(tmp_path) -> None:
    result = everywhere("$x_{$")
    picture = tmp_path / "band.png"
    draw_png(verification_document(result), picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
