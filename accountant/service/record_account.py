"""The account of one record, as the page of a service shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from accountant.gates.lineage import RecordId
from accountant.ledger.summary import Line


@dataclass(frozen=True)
class RecordAccount:
    """The standing of a record that was searched for.

    Attributes
    ----------
    record
        Its name.
    spent, left
        Its amounts in words.
    rules
        Each rule that counts it, and the remaining amount in words.
    lines
        Each kind of release.
    more
        The number of further releases of each that it can pay for, for the purpose and tenant of the key that asks;
        None if no rule permits those.
    """

    record: RecordId
    spent: str
    left: str
    rules: Sequence[tuple[str, str]]
    lines: Sequence[Line]
    more: Sequence[float] | None
