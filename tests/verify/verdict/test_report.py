"""The report says everything in words, fits into 80 columns, and draws the bounds where they are."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from accountant.provenance import Provenance
from algorithms.claim import Claim
from mechanisms import Neighbouring
from verify.document.characters import characters
from verify.document.drawings import LossInterval
from verify.document.markdown_text import markdown
from verify.document.terminal_text import print_document
from verify.findings.finding import Finding, FindingKind, LowerBound, UpperBound, Witness
from verify.findings.sentences import exact, remark
from verify.sampling.evidence import Evidence
from verify.sampling.likeliest_event import ratio_event
from verify.verdict.answer import SubjectKind
from verify.verdict.result import Verification
from verify.verdict.verdict import decide
from verify.verdict.verification_document import verification_document

CLAIM = Claim(
    model="local",
    epsilon=1.0,
    delta=0.0,
    unit="one report",
    neighbours=Neighbouring.REPLACE_ONE,
    view="one user's message",
    differ="one record is replaced by any other",
)


def verification(
    upper: UpperBound | None,
    lower: LowerBound | None,
    witness: Witness | None = None,
    findings: tuple[Finding, ...] = (),
    claim: Claim = CLAIM,
    **more: Any,
) -> Verification:
    decision = decide(claim, Evidence(upper=upper, lower=lower, witness=witness, findings=findings))
    more = {"provenance": Provenance(versions={"dpwitness": "0.1.0"}), **more}
    return Verification(
        "zoo/x", SubjectKind.FUNCTION, claim, decision, upper, lower, witness, findings, 7, **more
    )


COUNTED = Witness(
    {"data": "record 3 is [1, 0]", "data_prime": "record 3 is [0, 0]"},
    "action[1,0] is 0",
    0.32256,
    0.05022,
    reproduce="dpwitness verify zoo/x --seed 7",
    hits=96_758,
    hits_prime=15_064,
    trials=299_968,
)
CERTAIN = Witness(
    {"data": "the click was at position 1", "data_prime": "the click was at position 3"},
    "the number of reports sent is at most 1 (of 5 possible)",
    1.0,
    0.0,
    reproduce="dpwitness verify zoo/x --seed 7",
)
FINDING = Finding(
    FindingKind.SENSITIVITY,
    "learners/mine.py:123",
    exact("The value moves by 2.0; the mechanism allows 1.0."),
)
FLOOR = exact("An event of probability below 0.1 is too rare.")
CASES = {
    "certified": verification(
        UpperBound(1.0, 0.0, "ledger"), LowerBound(0.98, 0.0, 0.99, "black-box test", 10**6)
    ),
    "refuted": verification(
        UpperBound(2.0, 0.0, "ledger"),
        LowerBound(1.8326, 0.0, 0.99, "black-box test", 10**6, decisive=True),
        COUNTED,
        (FINDING,),
    ),
    "infinite": verification(
        UpperBound(math.inf, 1.0, "declassified"),
        LowerBound(math.inf, 0.0, 1.0, "enumeration of the view", 0, decisive=True),
        CERTAIN,
    ),
    "unproven": verification(UpperBound(math.inf, 1.0, "declassified"), None, None, (FINDING,)),
}


def shown(result: Verification, **options: Any) -> str:
    settings: dict[str, Any] = {"width": 80, "color_system": None, **options}
    file = settings.pop("file", io.StringIO())
    console = Console(file=file, **settings)
    print_document(verification_document(result), console)
    return str(file.getvalue())


def words(text: str) -> str:
    """The text on one line, as it is read."""
    return " ".join(text.split())


@pytest.mark.parametrize("name", CASES)
def test_the_report_fits_and_explains_the_claim(name: str) -> None:
    text = shown(CASES[name])
    assert max(len(line) for line in text.splitlines()) <= 80
    assert text.startswith(CASES[name].verdict.upper())
    assert (
        "zoo/x is (1, 0)-differentially private (local model). Unit of privacy: one report, which enters once."
        in words(text)
    )
    assert "Neighbours: one record is replaced by any other. The adversary sees" in words(text)
    assert "The adversary sees one user's message." in words(text)
    assert "seed 7; dpwitness 0.1.0" in text


def test_certified() -> None:
    lines = [line.rstrip() for line in shown(CASES["certified"]).splitlines()]
    start = lines.index("Privacy loss")
    assert lines[start + 1 : start + 7] == [
        "                                            claim 1 ▼",
        "  ├─────────┼─────────┼─────────┼─────────┼─────────┼─────────┼┄┄┄┄┄┤",
        "                                                   ██",
        "  0        0.2       0.4       0.6       0.8        1        1.2    ∞",
        "  - Upper bound: ε ≤ 1 at δ = 0 (ledger)",
        "  - Lower bound: ε ≥ 0.98 at δ = 0 (black-box test; 99 % confidence, 1,000,000",
    ]
    assert "Counterexample" not in lines
    assert "Findings" not in lines


@pytest.mark.parametrize(
    ("lower", "above"),
    [
        (LowerBound(1.007, 1e-6, 0.95, "test", 1_000), True),
        (LowerBound(0.99, 1e-6, 0.95, "test", 1_000), False),
        (LowerBound(1.007, 0.0, 0.95, "test", 1_000), False),  # at a smaller delta
        (LowerBound(1.007, 1e-6, 1.0, "coupled runs", 0), False),  # no chance in it
        (LowerBound(1.5, 1e-6, 0.999999, "test", 1_000, decisive=True), False),  # it refutes
    ],
)
def test_a_lower_bound_that_chance_put_above_a_proved_one_is_said_to_be_so(
    lower: LowerBound, above: bool
) -> None:
    proved = verification(UpperBound(1.0, 1e-6, "ledger"), lower)
    assert ("not significant at the level of a rejection" in words(shown(proved))) is above
    assert "not significant at the level of a rejection" not in words(shown(verification(None, lower)))


def test_refuted_with_counts() -> None:
    text = shown(CASES["refuted"])
    for line in (
        "  Data D            record 3 is [1, 0]",
        "  Data D′           record 3 is [0, 0]",
        "  Event             action[1,0] is 0",
        "  P(event | D)      32.3 % (96,758 of 299,968 draws)",
        "  P(event | D′)     5.02 % (15,064 of 299,968 draws)",
        "  dpwitness verify zoo/x --seed 7",
    ):
        assert line in text
    assert "P(D) / P(D′) = 6.423 (estimated); ≥ 6.25011 with 99 % confidence; claim: at most e^1" in words(
        text
    )
    assert "Likelihood ratio 6.423: an observer who held both data sets equally likely is right" in words(
        text
    )
    assert "86.5 % after seeing the event (estimated from 299,968 draws a side)." in words(text)
    (row,) = (line for line in text.splitlines() if line.startswith("  sensitivity"))
    assert row.split()[-1] == "learners/mine.py:123"
    assert "blocking" in row
    assert "exceeds the claim" in words(text)


def test_refuted_without_end() -> None:
    text = shown(CASES["infinite"])
    picture = [line.rstrip() for line in text.splitlines()]
    bar = next(line for line in picture if "█" in line)
    axis = next(line for line in picture if "├" in line)
    assert bar.index("█") == len(bar) - 1 == axis.index("┤"), "the interval is infinity alone"
    assert "Upper bound: none (declassified)" in text
    assert "Lower bound: ε = ∞ at δ = 0 (enumeration of the view; exact)" in text
    assert "P(event | D)      100 % (exact)" in text
    assert "P(event | D′)     0 % (exact)" in text
    assert "The event identifies D with certainty: δ = 1 at every ε." in words(text)


def test_unproven() -> None:
    text = shown(CASES["unproven"])
    assert "Open: neither proved nor disproved" in text
    assert "█" * 67 in text, "from 0 to infinity"
    assert "Lower bound: none; no test finished" in text
    assert "learners/mine.py:123" in text


def test_delta_is_part_of_the_ratio() -> None:
    result = verification(
        None, LowerBound(1.8, 0.01, 0.99, "x", 9, decisive=True), COUNTED, claim=replace(CLAIM, delta=0.01)
    )
    assert "(P(D) − δ) / P(D′) = 6.224 (estimated)" in words(shown(result))  # (0.32256 - 0.01) / 0.05022


def test_floor_and_coupled_loss_are_shown_when_known() -> None:
    details = {
        "detection_floor": FLOOR.to_dict(),
        "band": {
            "said": remark("The curve is flat.").to_dict(),
            "confidence": 0.95,
            "epsilon": [0.0, 1.0],
            "delta_lower": [0.5, 0.0],
            "delta_upper": None,
            "delta_upper_by": None,
            "trade_off": {"alpha": [0.0, 1.0], "beta_upper": [0.5, 0.0]},
        },
        "coupled": {"largest_loss": 1.0},
    }
    found = verification(UpperBound(1.0, 0.0, "ledger"), None, details=details)
    text = shown(found)
    assert str(FLOOR) in text
    assert "The curve is flat." not in text  # for specialists
    assert "The curve is flat." in markdown([verification_document(found)], "")
    assert "Largest privacy loss in coupled runs, all messages included: 1" in text
    del details["detection_floor"]  # then folds alone are left, which are for pages
    assert "Confidence and limits" not in shown(replace(found, details=details))


def test_a_claim_that_stays_in_doubt_is_said_to_be_near_unless_it_is_proved() -> None:
    details = {"detection_floor": FLOOR.to_dict(), "near_claim": remark("This is near the claim.").to_dict()}
    doubtful = verification(UpperBound(math.inf, 1.0, "none"), None, details=details)
    assert f"This is near the claim. {FLOOR}" in words(shown(doubtful))
    assert "near the claim" not in shown(
        replace(doubtful, decision=replace(doubtful.decision, verdict="certified"))
    )


def test_brackets_and_colons_of_the_user_are_printed_as_they_are() -> None:
    finding = Finding(FindingKind.WARNS, "[/]:1", exact("a[1,0] :smile: [bold]x[/bold]"))
    text = shown(verification(None, None, None, (finding,)))
    for part in ("warns", "[/]:1", "a[1,0] :smile: [bold]x[/bold]"):
        assert part in text


def test_colour_changes_no_word() -> None:
    for result in CASES.values():
        coloured = shown(result, color_system="standard", force_terminal=True)
        assert "\x1b[" in coloured
        assert Text.from_ansi(coloured).plain.split() == shown(result).split()


def test_an_ascii_terminal_gets_ascii() -> None:
    for result in CASES.values():
        raw = io.BytesIO()
        file = io.TextIOWrapper(raw, encoding="ascii")
        print_document(verification_document(result), Console(file=file, width=80))
        file.flush()
        text = raw.getvalue().decode("ascii")
        assert "epsilon" in text
        assert "|---" in text
        assert "?" not in text
        for lines in (text.splitlines(), shown(result).splitlines()):
            assert all(line == line.rstrip() for line in lines)
            assert max(len(line) for line in lines if "dpwitness verify" not in line) <= 80


@pytest.mark.parametrize("claim", [1e-3, 0.1, 0.35, 1.0, 2.0, 7.0, 10.0, 400.0])
@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (0.9, 1.1), (0.5, math.inf), (math.inf, math.inf), (3.0, 1.0)]
)
def test_the_picture_is_to_scale(claim: float, low: float, high: float) -> None:
    pointer, axis, bar, labels = characters(LossInterval(claim, low * claim, high * claim, ""))
    assert max(map(len, (pointer, axis, bar, labels))) <= 72
    at_claim = pointer.index("▼")
    for bound in (low, high):
        place = len(axis) - 1 if math.isinf(bound) else bound * at_claim
        filled = [i for i, character in enumerate(bar) if character != " "]
        assert (
            min(abs(i - place) for i in filled) <= 2.0 + 0.5 * bound
            if math.isfinite(bound)
            else place in filled
        )
    assert labels.startswith("0")
    assert labels.endswith("∞")


def test_the_picture_of_nothing_spent() -> None:
    assert characters(LossInterval(0.0, 0.0, 0.0, ""))[0].startswith("▼ claim 0")
    assert characters(LossInterval(0.0, 0.0, math.inf, ""))[2] == "█" * 67


def test_a_verification_prints_as_its_report_and_shows_itself_in_one_line() -> None:
    result = verification(None, LowerBound(1.8, 0.0, 0.95, "black box", 600_000), witness=COUNTED)
    out = io.StringIO()
    print_document(verification_document(result), Console(file=out, width=80, color_system=None))
    assert str(result) == out.getvalue().rstrip("\n")
    assert str(result).startswith("UNPROVEN  zoo/x")
    line = (
        "<Verification of zoo/x: unproven, claim ε = 1, δ = 0, epsilon at least 1.8, at most not known, "
        "neighbours: replace one>"
    )
    assert repr(result) == line


def test_a_share_of_lanes_is_no_certainty() -> None:
    """Raw values may be released by a coin: 256 of 256 lanes that tell D from D′ were printed as an exact 100 %."""
    witness = Witness(
        neighbours={"data": "D", "data_prime": "D′"},
        event=ratio_event("released values", math.inf),
        probability=1.0,
        probability_prime=0.0,
        reproduce="dpwitness verify zoo/x --seed 7",
        details={"record": 0, "largest_loss": math.inf},
        hits=256,
        trials=256,
    )
    lower = LowerBound(
        math.inf, 0.0, 1.0, "exact privacy losses of all releases (coupled run)", 0, decisive=True
    )
    text = words(shown(verification(None, lower, witness)))
    assert "P(event | D) 100 % (256 of 256 draws)" in text
    assert "P(event | D′) 0 % (from the densities)" in text
    assert "Likelihood ratio infinite (from the densities)" in text
    assert "seeing it identifies D." in text
    assert "with certainty" not in text


def test_the_interval_is_of_the_claim_s_adversary_and_of_every_run() -> None:
    """A bound for a stronger adversary, and one of the runs that were seen, were drawn and written as the claim's."""
    upper = UpperBound(1.0, 0.0, "ledger", every_run=False)
    lower = LowerBound(0.88, 0.0, 0.99, "played pairs", 40, in_view=False)
    result = verification(upper, lower)
    assert result.epsilon_interval == (0.0, math.inf)
    assert "epsilon at least 0, at most ∞" in repr(result)
    text = words(shown(result))
    assert "(does not count)" in text
    assert "Upper bound of these runs only: ε ≤ 1" in text
    seen = verification(replace(upper, every_run=True), replace(lower, in_view=True))
    assert seen.epsilon_interval == (0.88, 1.0)


def test_a_ratio_beside_a_claim_with_delta_is_the_one_that_the_claim_bounds() -> None:
    """P / P′ may exceed e^ε where δ is above 0: it stood beside the claim's limit as if it were refuted."""
    claim = replace(CLAIM, epsilon=43.0, delta=0.5)
    witness = replace(COUNTED, hits_prime=None, details={"largest_loss": 43.9564})
    lower = LowerBound(42.2225, 0.5, 0.9999, "exact privacy losses", 128)
    for known in (witness, replace(witness, hits=None)):  # counts on D, and no counts at all
        text = words(shown(verification(None, lower, known, claim=claim)))
        assert "(P(D) − δ) / P(D′) at least e^42.2225 (99.99 % confidence); claim: at most e^43" in text
        assert "43.9564 (from the densities); claim" not in text
