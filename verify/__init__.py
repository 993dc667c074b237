"""What tries to break a privacy claim: accounting, coupled runs, replay and black-box tests, one verdict."""

from verify.adjacency import AddOrRemoveOne, Adjacency, AnyTwo, Listed, Pair, ReplaceOne, Within
from verify.plain_bandit import PlainBandit
from verify.subject import SubjectError, claimed
from verify.verdict import Finding, LowerBound, UpperBound, Verification, Witness
from verify.verification import verify

__all__ = [
    "AddOrRemoveOne",
    "Adjacency",
    "AnyTwo",
    "Finding",
    "Listed",
    "LowerBound",
    "Pair",
    "PlainBandit",
    "ReplaceOne",
    "SubjectError",
    "UpperBound",
    "Verification",
    "Within",
    "Witness",
    "claimed",
    "verify",
]
