"""What a service says of a record that somebody looks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from accountant.gates.lineage import RecordId
from accountant.ledger.summary import Line


@dataclass(frozen=True)
class RecordFound:
    """The standing of a record that was searched for.

    Attributes
    ----------
    record
        Its name.
    spent, left
        In words.
    rules
        What each rule that counts it leaves, in words.
    more
        Of each kind of release how many more it can pay for, under the budget and the rules for whatever purpose.
    """

    record: RecordId
    spent: str
    left: str
    rules: Sequence[tuple[str, str]]
    more: Sequence[tuple[Line, float]]
