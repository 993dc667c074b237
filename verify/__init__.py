"""What tries to break a privacy claim: accounting, coupled runs, replay and black-box tests, one verdict."""

from verify.subject import SubjectError, claimed
from verify.verdict import Finding, LowerBound, UpperBound, Verification, Witness
from verify.verification import verify

__all__ = [
    "Finding",
    "LowerBound",
    "SubjectError",
    "UpperBound",
    "Verification",
    "Witness",
    "claimed",
    "verify",
]
