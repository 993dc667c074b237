"""Mechanisms as a ledger describes them, rebuilt where their description allows it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy.typing as npt

from mechanisms import (
    DensityUnavailable,
    Mechanism,
    NoPrivacy,
    PrivacyProfile,
    Sensitivity,
    mechanism_from_dict,
)


@dataclass(frozen=True, slots=True)
class RecordedMechanism:
    """A mechanism of which only the description was saved; it promises no privacy and releases nothing.

    The costs of its releases are in their ledger entries.

    Parameters
    ----------
    description
        The saved description, as JSON text.
    """

    description: str
    sensitivity: ClassVar[Sensitivity] = Sensitivity(0.0, 0.0, 0.0)
    """Unknown, hence zero: no value may be released through it."""
    nominal_delta: ClassVar[float] = 0.0
    """0: there is no guarantee to read."""
    epsilon: ClassVar[float] = float("inf")
    """Infinity."""

    def __repr__(self) -> str:
        saved = json.loads(self.description)
        named = isinstance(saved, dict) and "recorded" in saved
        return str(saved["recorded"]) if named else self.description

    def profile(self, sensitivity: Sensitivity | None = None) -> PrivacyProfile:
        """Return `NoPrivacy` as a bound: nothing is known of a lower end either."""
        return NoPrivacy("an unknown mechanism")

    def release(self, value: npt.ArrayLike, noise: Any) -> NoReturn:
        """Raise `TypeError`: how it worked was not saved."""
        raise TypeError(f"{self!r} was loaded from a ledger and cannot release anything")

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> NoReturn:
        """Raise `DensityUnavailable`."""
        raise DensityUnavailable(f"{self!r} was loaded from a ledger: its density is unknown")

    def to_dict(self) -> dict[str, Any]:
        """Return the description that was saved."""
        saved: dict[str, Any] = json.loads(self.description)
        return saved


def describe(mechanism: Mechanism) -> str:
    """Return a mechanism's description as JSON text: its own, or its ``repr`` if it has none.

    A ledger with any user's mechanism has to be saved, so this never fails.
    """
    for _ in range(2):  # once more: a signal's handler may have raised, and not the mechanism
        try:
            return json.dumps(mechanism.to_dict(), sort_keys=True)
        except Exception:  # a user's mechanism may raise anything
            continue
    return json.dumps({"recorded": repr(mechanism)})


def recall(description: dict[str, Any]) -> Mechanism:
    """Rebuild a mechanism, or return a `RecordedMechanism` with its description: no total depends on the mechanism."""
    try:
        return mechanism_from_dict(description)
    except Exception:  # unknown here, or its parameters are no longer valid
        return RecordedMechanism(json.dumps(description, sort_keys=True))
