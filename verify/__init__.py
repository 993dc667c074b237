"""What tries to break a privacy claim: accounting, coupled runs, replay and black-box tests, one verdict.

Names are loaded on first use: the pytest plugin lives in this package, and costs suites that do not audit nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verify.assertion import DPViolation, assert_dp
    from verify.bandits.calling.plain_bandit import PlainBandit
    from verify.findings import Finding, LowerBound, UpperBound, Witness
    from verify.functions.claimed import claimed
    from verify.neighbouring.add_or_remove_one import AddOrRemoveOne
    from verify.neighbouring.adjacency import Adjacency, Pair
    from verify.neighbouring.listed import Listed
    from verify.neighbouring.replace_one import ReplaceOne
    from verify.neighbouring.within import AnyTwo, Within
    from verify.subject_error import SubjectError
    from verify.verdict.result import Verification
    from verify.verification import verify

_HOMES = {
    "verify.assertion": ("DPViolation", "assert_dp"),
    "verify.neighbouring.adjacency": ("Adjacency", "Pair"),
    "verify.neighbouring.add_or_remove_one": ("AddOrRemoveOne",),
    "verify.neighbouring.listed": ("Listed",),
    "verify.neighbouring.replace_one": ("ReplaceOne",),
    "verify.neighbouring.within": ("AnyTwo", "Within"),
    "verify.bandits.calling.plain_bandit": ("PlainBandit",),
    "verify.functions.claimed": ("claimed",),
    "verify.subject_error": ("SubjectError",),
    "verify.findings": ("Finding", "LowerBound", "UpperBound", "Witness"),
    "verify.verdict.result": ("Verification",),
    "verify.verification": ("verify",),
}

__all__ = [
    "AddOrRemoveOne",
    "Adjacency",
    "AnyTwo",
    "DPViolation",
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
    "assert_dp",
    "claimed",
    "verify",
]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
