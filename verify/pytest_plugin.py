"""The pytest plugin: the fixture `assert_dp`, its options, and a summary of all audits of a test run.

Nothing of this library is loaded before a test asks for the fixture: `dpwitness` loads this file by its place, and then
the rest, so that packages of the same names stay the tests' own. Subjects run in the process of the tests, unless a
test says ``isolated=True``.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from dpwitness import library_module

if TYPE_CHECKING:
    from verify.verdict.result import Verification

_PROPERTY = "dpwitness"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the plugin's options."""
    group = parser.getgroup("dpwitness", "differential privacy audits (dpwitness)")
    group.addoption(
        "--dp-seed", type=int, default=0, help="Seed of all audits; each test derives its own from it."
    )
    group.addoption(
        "--dp-effort",
        choices=("quick", "default", "thorough"),
        help="Effort of all audits, whatever the tests say.",
    )
    group.addoption(
        "--dp-report", action="store_true", help="List all audits at the end, with what they showed."
    )


@pytest.fixture
def assert_dp(request: pytest.FixtureRequest) -> Callable[..., Verification]:
    """`verify.assert_dp` with a seed that belongs to this test, and its result in the summary.

    The seed depends on ``--dp-seed``, the test's id and the number of the assertion in the test, so the result
    does not depend on which other tests run, in which order or in which process.
    """
    assertion = library_module("verify.verification.assertion")
    quick = library_module("verify.verification.options").Options.significance
    options = request.config.option
    number = 0

    def asserted(subject: object, **settings: Any) -> Verification:
        __tracebackhide__ = True
        nonlocal number
        own = zlib.crc32(f"{options.dp_seed}/{request.node.nodeid}/{number}".encode())
        number += 1
        settings.setdefault("seed", own)
        if options.dp_effort is not None:
            settings["effort"] = options.dp_effort
        significance = settings.get("significance", quick)
        try:
            result: Verification = assertion.assert_dp(subject, **settings)
        except assertion.DPViolation as violation:
            _record(request.node, violation.verification, significance)
            raise
        _record(request.node, result, significance)
        return result

    return asserted


def _record(node: pytest.Item, result: Verification, significance: float) -> None:
    """Hand a result to the summary, through the report: under pytest-xdist that crosses processes."""
    numbers, sentences = map(
        library_module, ("mechanisms.numerics.printed_numbers", "verify.findings.sentences")
    )
    lower, upper = result.lower, result.upper
    row = {
        "test": node.nodeid,
        "subject": result.subject,
        "claim": [result.claim.epsilon, result.claim.delta],
        "verdict": result.verdict,
        "lower": None if lower is None else numbers.at_least(lower.epsilon, 4),
        "upper": None if upper is None else numbers.at_most(upper.epsilon, 4),
        "significance": float(significance),
        "floor": str(sentences.sentence_of(result.details["detection_floor"]))
        if "detection_floor" in result.details
        else "",
    }
    node.user_properties.append((_PROPERTY, json.dumps(row)))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Report the number of audits, their joint false-alarm rate, and with ``--dp-report`` the result of each."""
    rows = [
        json.loads(text)
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, text in getattr(report, "user_properties", ())
        if name == _PROPERTY
    ]
    if not rows:
        return
    terminalreporter.section("differential privacy audits")
    terminalreporter.write_line(
        f"{len(rows)} audits; were all claims true, one of these tests would be refuted with probability at most "
        f"{sum(row['significance'] for row in rows):.3g}."
    )
    if config.option.dp_report:
        printable = library_module("verify.findings.printable").printable
        for row in sorted(rows, key=lambda row: str(row["test"])):
            epsilon, delta = row["claim"]
            line = (
                f"{row['test']}: {row['subject']} claims ({epsilon:g}, {delta:g}): {row['verdict']}, epsilon at least "
                f"{row['lower']}, at most {row['upper']}. {row['floor']}"
            )
            terminalreporter.write_line(printable(line))
    else:
        terminalreporter.write_line(
            "--dp-report lists their bounds and their smallest detectable probabilities."
        )
