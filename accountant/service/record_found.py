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
    lines
        Each kind of release.
    more
        How many more of each it can pay for, by the purpose and tenant of who asks; None if no rule permits those.
    """

    record: RecordId
    spent: str
    left: str
    rules: Sequence[tuple[str, str]]
    lines: Sequence[Line]
    more: Sequence[float] | None
