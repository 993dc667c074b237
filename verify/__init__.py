"""Verification of privacy claims: accounting, coupled runs, replay and black-box tests, and one verdict from them.

The steps: resolve the subject (`verification`); collect the evidence of its layers (`learners`, `bandits`,
`functions`); test the worlds on which the claim may fail (`sampling`, `betting`); decide and report (`verdict`).
The terms:

- *subject*: the code whose claim is verified: a learner, a plain bandit, a mechanism, or a function (also a command).
- *claim*: (ε, δ)-differential privacy in a trust model, for a record, neighbours and a view.
- *view*: the part of a run that the adversary sees: an output, a user's message, all releases, the actions.
- *neighbours*, D and D′: two data sets that differ by one record, as the *adjacency* defines.
- *worlds*: two neighbouring data sets with a sampler of views on each, and a description (`events.worlds`).
- *event*: a set of views. A claim is refuted by an event that is too likely on D compared with D′.
- *column*: one number or word of a view; *reading*: a number made of columns; *score*: a fitted one.
- *transcript*: the actions of a run, round by round; *features* are numbers read from it.
- *effort*: the amount of draws and searches; *conduct*: effort, seed, time limit and progress together.
- *tester*: the test that draws from worlds: the *single look* at an event that was fixed before, or *bets* while
  drawing, which may stop at any time; their *wealth* is evidence against the claim.
- *false alarm*: a true claim is refuted. Its probability is bounded over all looks of a verification.
- *lower bound*, *upper bound*: on the ε that is true of the subject at the claim's δ.
- *witness*: D, D′ and the event that show a lower bound, with the line that repeats it.
- *finding*: an observation during the verification, of a *kind* and at a line of code; a *failing* one blocks a
  certificate (`findings`).
- *evidence*: bounds, witness and findings together; *verdict*: the conclusion from it: certified, refuted or unproven.

Names are loaded on first use: the pytest plugin lives in this package, and costs suites that do not audit nothing.
"""

from typing import TYPE_CHECKING, Any

from dpwitness import keep_apart, library_module

if TYPE_CHECKING:
    from verify.bandits.calling.plain_bandit import PlainBandit as PlainBandit
    from verify.bandits.canaries import CanaryAudit as CanaryAudit
    from verify.bandits.canaries import audit_canaries as audit_canaries
    from verify.certificates.certificate import Certificate as Certificate
    from verify.certificates.certificate_check import CertificateCheck as CertificateCheck
    from verify.certificates.certification import NotCertified as NotCertified
    from verify.certificates.certification import certify as certify
    from verify.findings.finding import (
        Finding as Finding,
    )
    from verify.findings.finding import (
        FindingKind as FindingKind,
    )
    from verify.findings.finding import (
        LowerBound as LowerBound,
    )
    from verify.findings.finding import (
        UpperBound as UpperBound,
    )
    from verify.findings.finding import (
        Witness as Witness,
    )
    from verify.findings.subject_error import SubjectError as SubjectError
    from verify.functions.claimed import claimed as claimed
    from verify.neighbouring.add_or_remove_one import AddOrRemoveOne as AddOrRemoveOne
    from verify.neighbouring.adjacency import Adjacency as Adjacency
    from verify.neighbouring.adjacency import Pair as Pair
    from verify.neighbouring.listed import Listed as Listed
    from verify.neighbouring.replace_one import ReplaceOne as ReplaceOne
    from verify.neighbouring.within import AnyTwo as AnyTwo
    from verify.neighbouring.within import Within as Within
    from verify.regret_claims.regret_report import RegretReport as RegretReport
    from verify.regret_claims.verify_regret import regret as regret
    from verify.verdict.result import Verification as Verification
    from verify.verification.assertion import DPViolation as DPViolation
    from verify.verification.assertion import assert_dp as assert_dp
    from verify.verification.verification import verify as verify

keep_apart()  # a user's packages of the same names may have been found before

_HOMES = {
    "verify.verification.assertion": ("DPViolation", "assert_dp"),
    "verify.neighbouring.adjacency": ("Adjacency", "Pair"),
    "verify.neighbouring.add_or_remove_one": ("AddOrRemoveOne",),
    "verify.neighbouring.listed": ("Listed",),
    "verify.neighbouring.replace_one": ("ReplaceOne",),
    "verify.neighbouring.within": ("AnyTwo", "Within"),
    "verify.bandits.calling.plain_bandit": ("PlainBandit",),
    "verify.bandits.canaries": ("CanaryAudit", "audit_canaries"),
    "verify.certificates.certificate": ("Certificate",),
    "verify.certificates.certificate_check": ("CertificateCheck",),
    "verify.certificates.certification": ("NotCertified", "certify"),
    "verify.functions.claimed": ("claimed",),
    "verify.regret_claims.verify_regret": ("regret",),
    "verify.regret_claims.regret_report": ("RegretReport",),
    "verify.findings.subject_error": ("SubjectError",),
    "verify.findings.finding": ("Finding", "FindingKind", "LowerBound", "UpperBound", "Witness"),
    "verify.verdict.result": ("Verification",),
    "verify.verification.verification": ("verify",),
}

__all__ = sorted(name for names in _HOMES.values() for name in names)


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(library_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
