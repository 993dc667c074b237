"""Trust models: whom a record's owner trusts with the raw value."""

from __future__ import annotations

from enum import Enum

from accountant.place import calling_place
from accountant.refusals import TrustViolation

_GATE = ("lanes", "private", "sums", "release")  # what tells a gate


class Trust(Enum):
    """Who sees raw data.

    CENTRAL
        A server collects raw records; a released value may hold many of them.
    LOCAL
        Nobody; every released value is one user's message and holds exactly one record.
    """

    CENTRAL = "central"
    LOCAL = "local"


def check_gate(gate: object, model: str, learner: str) -> None:
    """Refuse to build a learner on what is no gate, or on one that does not trust it.

    Parameters
    ----------
    gate
        What the learner is built on; gates without a `trust` grant every one.
    model
        The trust model of the learner's claim: ``"local"``, or another one, under which releases hold many records.
    learner
        Its name, for the message.

    Raises
    ------
    ValueError
        If it is no gate.
    TrustViolation
        If the gate's trust is `Trust.LOCAL` and the model is not ``"local"``.
    """
    if isinstance(gate, type) or not all(hasattr(gate, name) for name in _GATE):
        raise ValueError(f"gate={gate!r}: must be a gate, such as an Accountant or a Simulation")
    if model != "local" and getattr(gate, "trust", None) is Trust.LOCAL:
        raise TrustViolation(
            f"{learner} works in the {model} model, where releases hold many records: its gate's trust must be "
            "Trust.CENTRAL, not Trust.LOCAL",
            calling_place(),
        )
