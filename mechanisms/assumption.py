"""One assumption that is not checked; `mechanisms.assumptions` finds those of a value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, unique


@unique
class AssumptionKind(Enum):
    """Reason why an assumption is not proved; the value is a short stable name used in reports and JSON."""

    FOREIGN_CLASS = "foreign-class"
    PATCHED = "patched"
    DECLARED_FUNCTION = "declared-function"
    DECLARED_STABILITY = "declared-stability"
    OPENDP = "opendp"
    CLAIM = "claim"
    INTERNALS = "internals"
    DEVICE = "device"
    SEEDED = "seeded"


@dataclass(frozen=True, slots=True)
class Assumption:
    """Unverified assumption on which a guarantee rests.

    Attributes
    ----------
    kind
        The reason why it is not proved.
    message
        The assumption, as a clause: "the privacy profile of your class TooQuiet is correct".
    where
        ``"file.py:12"``, or "" if there is no such line.
    """

    kind: AssumptionKind
    message: str
    where: str = ""

    def __str__(self) -> str:
        return f"{self.message}, {self.where}" if self.where else self.message
