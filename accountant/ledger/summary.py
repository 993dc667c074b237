"""A readable summary of a ledger."""

from __future__ import annotations

from dataclasses import dataclass

from accountant.budget import Amount, Budget, Cost
from accountant.filters.composition_theorem import Composition
from accountant.gates.lineage import RecordId
from accountant.ledger.store import Store
from accountant.trust import Trust
from mechanisms import Assumption, Neighbouring
from mechanisms.numerics.printed_numbers import as_given


@dataclass(frozen=True, slots=True)
class Line:
    """All releases of one mechanism from one line of code.

    Attributes
    ----------
    mechanism
        The mechanism in words, or the reason of a declassification.
    where
        The line that released.
    releases, records
        The numbers of ledger entries and of charged records, each record as often as it was charged.
    charge
        The largest single charge.
    noise
        The noise source.
    """

    mechanism: str
    where: str
    releases: int
    records: int
    charge: Amount
    noise: str


@dataclass(frozen=True, slots=True)
class Summary:
    """The charges by release and record, the worst record, and the remaining budget.

    ``str()`` of a summary is a table for people. `failures` is the share of delta that the theorem declares for
    releases that fail, 0 for one that has none.
    """

    budget: Budget
    composition: str
    trust: Trust
    records: int
    worst_record: RecordId | None
    worst_cost: Cost
    left: Amount
    lines: tuple[Line, ...]
    assumptions: tuple[Assumption, ...] = ()
    neighbouring: Neighbouring = Neighbouring.REPLACE_ONE
    failures: float = 0.0

    def __str__(self) -> str:
        limit = f"epsilon = {as_given(self.budget.epsilon)}" + (
            f", delta = {as_given(self.budget.delta)}" if self.budget.delta else ""
        )
        theorem = self.composition + (f", failures = {self.failures:g} of delta" if self.failures else "")
        head = [
            f"budget of each record   {limit} ({self.trust.value} trust, {theorem}), "
            f"neighbours: {self.neighbouring}",
            f"records charged         {self.records}",
        ]
        if self.worst_record is not None:
            left = "no limit" if self.left.values[0] is None else self.left.words_left
            head.append(
                f"worst record            {self.worst_record!r} lost {self.worst_cost.description}; left: {left}"
            )
        rows = [("releases", "records", "largest charge", "mechanism", "noise", "where")]
        rows += [
            (
                str(line.releases),
                str(line.records),
                line.charge.description,
                line.mechanism,
                line.noise,
                line.where,
            )
            for line in self.lines
        ]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        table = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        rests = [f"rests on: {each}" for each in self.assumptions]
        return "\n".join([*head, *rests, "", *table])


def summarise(
    ledger: Store,
    budget: Budget,
    composition: Composition,
    trust: Trust,
    assumptions: tuple[Assumption, ...] = (),
) -> Summary:
    """Group the kinds of a ledger's entries by mechanism and line of code."""
    groups: dict[tuple[str, str, str], tuple[int, int, Amount]] = {}
    for entry, releases, records in ledger.tallies():
        declassified = entry.mechanism is None
        key = (
            f"declassified: {entry.note}" if declassified else repr(entry.mechanism),
            str(entry.where),
            "none" if declassified else entry.note,
        )
        count, paid, largest = groups.get(key, (0, 0, entry.charge))
        if composition.exceeds(entry.charge, largest):
            largest = entry.charge
        groups[key] = (count + releases, paid + records, largest)
    worst_record, worst_total = ledger.worst()
    return Summary(
        budget=budget,
        composition=composition.name,
        trust=trust,
        records=ledger.count_records(),
        worst_record=worst_record,
        worst_cost=composition.guarantee(worst_total, budget),
        left=composition.remaining_spend(worst_total, budget),
        lines=tuple(
            Line(mechanism, where, count, paid, largest, noise)
            for (mechanism, where, noise), (count, paid, largest) in groups.items()
        ),
        assumptions=assumptions,
        neighbouring=ledger.neighbouring,
        failures=float(getattr(composition, "failures", 0.0)),
    )
