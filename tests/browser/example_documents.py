"""A document of every kind, with numbers, names and findings as long as they get."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from accountant import Accountant, Budget, ZeroConcentratedComposition
from accountant.audit import AuditQuestion
from accountant.provenance import Provenance
from algorithms.claim import ClaimForm, View
from mechanisms import Assumption, AssumptionKind, Interval, Laplace
from verify import certify, claimed, verify
from verify.certificates.certificate_document import certificate_document
from verify.commands.audit_command import audit_file
from verify.document.elements import Document
from verify.experiments.configuration import Configuration
from verify.experiments.experiment import Seen
from verify.experiments.reproduce import Reproduced
from verify.experiments.reproduction_document import reproduction_document
from verify.experiments.simulation_document import simulation_document
from verify.experiments.simulation_result import SimulationResult
from verify.findings.finding import Finding, FindingKind, LowerBound, UpperBound, Witness
from verify.findings.sentences import confident, exact
from verify.regret_claims.regret_document import regret_document
from verify.regret_claims.regret_report import Checkpoint, ProofCheck, RegretReport, TheoremValue
from verify.sampling.evidence import Evidence
from verify.verdict.audit_document import audit_document
from verify.verdict.result import Verification
from verify.verdict.subject_kind import SubjectKind
from verify.verdict.verdict import decide
from verify.verdict.verification_document import verification_document

_LONG = "_".join(["a_name_that_does_not_end"] * 6)
_PATH = f"/home/somebody/{'/'.join(['folder'] * 20)}/mine.py"
MADE = Provenance(
    "2026-11-23T18:00:00+00:00",
    {"python": "3.11.7", "dpwitness": "0.1.0", "numpy": "2.4.6", "hypothesis": "6.170.15"},
    {
        "dpwitness": "69e4aec75ee8121987579157cca12c0e125eaec4ba3d2786a21ea9e7403ddbbf",
        "subject": "4af691a60d1921c9",
    },
)
_CLAIM = ClaimForm("local", View.MESSAGE, "one report", "Theorem 7 of the paper").with_parameters(1.0, 1e-5)
_BAND = {
    "said": confident("δ(0) ≥ 0.25 ({confidence} simultaneous confidence).", 0.95).to_dict(),
    "confidence": 0.95,
    "epsilon": [0.0, 0.5, 1.0, 1.5],
    "delta_lower": [0.25, 0.1, 1e-3, 0.0],
    "delta_upper": [0.5, 0.3, 0.1, 1e-6],
    "delta_upper_by": "the profile of the mechanism",
    "trade_off": {"alpha": [0.0, 0.3, 1.0], "beta_upper": [1.0, 0.3, 0.0]},
}  # fmt: skip
_FINDINGS = (
    Finding(FindingKind.RAW_READ, f"{_PATH}:3", exact("the learner reads a raw value " * 8)),
    Finding(FindingKind.CRASH, "", exact("raised")),
)
_QUIET = Assumption(AssumptionKind.CLAIM, "the privacy profile of your class is correct", f"{_PATH}:1")


def _verified(
    kind: SubjectKind, name: str, upper: UpperBound | None, lower: LowerBound | None, **more: Any
) -> tuple[Document, Verification]:
    findings, assumptions = more.get("findings", ()), more.get("assumptions", ())
    witness = Witness(
        {"data": "all 0", "data_prime": f"[{', '.join(['0.123456789'] * 30)}]"},
        "the output is at most 0",
        0.5,
        0.07,
        reproduce=f"dpwitness verify {more.get('path', _PATH)}:noisy --epsilon 1 --delta 1e-05 --seed 7",
        hits=500,
        hits_prime=70,
        trials=1000,
    )
    decision = decide(
        _CLAIM,
        Evidence(upper=upper, lower=lower, witness=witness, findings=findings, assumptions=assumptions),
    )
    details = {
        "detection_floor": exact(
            "On the tested data sets: an event of probability below 0.1 is too rare."
        ).to_dict(),
        "band": _BAND,
    }
    verified = Verification(
        name, kind, _CLAIM, decision, upper, lower, witness, findings, 7, MADE, details, assumptions
    )
    return verification_document(verified), verified


def _verification(
    kind: SubjectKind, name: str, upper: UpperBound | None, lower: LowerBound | None, **more: Any
) -> Document:
    return _verified(kind, name, upper, lower, **more)[0]


_PROVED = UpperBound(1.0, 0.0, "basic composition, under an accountant with this budget")
_SEEN = LowerBound(0.5, 1e-5, 0.95, "black-box test", 1000)
_BROKEN = LowerBound(1.8, 1e-5, 0.9999, "black-box test", 1000, decisive=True)


def verifications(path: str = _PATH) -> dict[str, Document]:
    """Return a verification of every verdict and kind of subject, whose file has this path."""
    quiet = replace(_QUIET, where=f"{path}:1")
    unknown = UpperBound(math.inf, 1.0, "black box")
    return {
        "certified learner": _verification(SubjectKind.LEARNER, "cucb-ldp-bit", _PROVED, _SEEN),
        "certified mechanism": _verification(SubjectKind.MECHANISM, "OpenDP's measurement", _PROVED, None),
        "refuted learner": _verification(SubjectKind.LEARNER, _LONG, None, _BROKEN, findings=_FINDINGS),
        "refuted function": _verification(SubjectKind.FUNCTION, f"{path}:noisy", unknown, _BROKEN, path=path),
        "black box that passed": _verification(SubjectKind.FUNCTION, "right", unknown, _SEEN),
        "unproven": _verification(
            SubjectKind.LEARNER,
            "mine",
            _PROVED,
            _SEEN,
            findings=_FINDINGS[:1],
            assumptions=(quiet,),
            path=path,
        ),
    }


def regret(name: str = _LONG) -> Document:
    """Return a report of the regret of a learner of this name."""
    outcome = tuple(
        Checkpoint(10**k, 5.0 * k + 1, 4.0 * k + 0.5, 6.0 * k + 2, 1234.56789, 0.9 * 10**k) for k in range(7)
    )
    checks = (ProofCheck("bookkeeping", 1.0, 1e-5, exact("exact in 256 rounds " * 6), True),)
    theorem = TheoremValue(
        "Theorem 3", "every ε > 0", True, 1234.5, 9e5, 364, "closed form", ("2*B_inf**2*x*(-1/R_max)", 106.47)
    )
    return regret_document(
        RegretReport(
            name, "two arms, far apart", 1.0, 1e-3, "replace one", True, 10**6, 64, 0, 1e-4, theorem, checks, outcome,
            f"dpwitness regret {name} --epsilon 1 --horizon 1000000", provenance=MADE,
        )
    )  # fmt: skip


RELEASES = f"""
title = "Search dashboard, first half of 2026"
date = 2026-07-02
notes = "Daily counts of every city.\\nMonthly updates of the model."
neighbours = "replace one"
[[release]]
name = "daily counts"
mechanism = "laplace"
scale = 40
count = 180
[[release]]
name = "{_LONG}"
mechanism = "gaussian"
sigma = 12
count = 6
"""


def audited(folder: Path, *, budget: float | None = 10.0) -> Document:
    """Return an audit of `RELEASES`."""
    file = folder / "releases.toml"
    file.write_text(RELEASES, encoding="utf-8")
    _, found = audit_file(file, AuditQuestion(delta=1e-6), budget)
    return audit_document(found)


def ledger(folder: Path) -> Document:
    """Return a report of an accountant's ledger."""
    accountant = Accountant(Budget(1.0, 1e-6), composition=ZeroConcentratedComposition())
    laplace = Laplace(scale=8.0)
    for record in ("ann", _LONG):
        accountant.release(laplace, accountant.private([0.5], Interval(0, 1), record=record))
    file = folder / "ledger.json"
    accountant.export(file)
    _, found = audit_file(file, AuditQuestion(delta=1e-6))
    return audit_document(found)


def certificate() -> Document:
    """Return a report of a mechanism's certificate."""
    found = certify(Laplace(scale=1.0), epsilon=1.0, effort="quick")
    return certificate_document(found, **{"certificate.json": MADE.digests["dpwitness"]})


def bets() -> Document:
    """Return a report of a black box that was tested by bets."""
    return verification_document(verify(_rounded, epsilon=1.0, anytime=True, seed=1, effort="quick"))


@claimed(data=Interval(0, 1))
def _rounded(value: float, rng: Any) -> float:
    return round(value + rng.laplace(scale=1.0), 1)


def simulations() -> Document:
    """Return a comparison of simulated learners."""
    rounds = tuple(range(1, 1001, 37))
    found = []
    for i, (name, epsilon) in enumerate([("cucb-batch", 0.5), (f"{_PATH}:Mine", 1.0), ("cucb", 1.0)]):
        asked = Configuration(name, rounds[-1], 20, None, {"arms": 12, "size": 3}, epsilon)
        means = tuple(float((i + 1) * t**0.6) for t in rounds)
        curves = (rounds, means, (1.5,) * len(rounds), (0.25,) * len(rounds))
        found.append(
            SimulationResult(name, "top-k", "replace one", asked, *curves, 1.0, 1e5, provenance=MADE)
        )
    return simulation_document(*found)


def reproduction(folder: Path) -> Document:
    """Return a reproduction with its picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 4.0))
    figure.subplots().plot([1, 2, 3])
    figure.savefig(folder / "figure.png")
    seen = (
        Seen(True, "the last doubling adds 12 ± 3", says="regret grows like log T"),
        Seen(None, "", says="Laplace is worst " * 6),
        Seen(False, _LONG, says="the learner is private"),
    )
    files = (folder / "figure.png", Path(_PATH), folder / "figure.md")
    return reproduction_document(
        Reproduced(
            "cascade/fig1a",
            *files,
            seen,
            "dpwitness reproduce cascade/fig1a --scale quick",
            MADE,
            seconds=12.0,
        )
    )
