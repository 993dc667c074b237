"""The privacy profile of a ledger's charges: an upper curve, beside the band of lower bounds of a learner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from accountant import Entry, RecordId, compose
from mechanisms import Mechanism, Sensitivity
from verify.sampling.evidence import UpperProfile

MovedMechanism = tuple[Mechanism, Sensitivity]
"""A mechanism, and the largest move of its input by one record."""

_MOST_KINDS = 16
"""Kinds of releases above which no curve is computed."""
_MOST_RELEASES = 32
"""Releases of one record above which none is: a point of it may take seconds."""


def largest_counts(entries: Iterable[Entry]) -> dict[MovedMechanism, int] | None:
    """For each kind of release, the largest number of them that any one record entered in a run.

    None if a record entered releases of several kinds, or anything was declassified.
    """
    paid: dict[RecordId, tuple[MovedMechanism, int]] = {}
    for entry in entries:
        if entry.mechanism is None or entry.sensitivity is None:
            return None
        kind = (entry.mechanism, entry.sensitivity)
        for record in entry.records:
            known, count = paid.get(record, (kind, 0))
            if known != kind:
                return None
            paid[record] = kind, count + 1
    largest: dict[MovedMechanism, int] = {}
    for kind, count in paid.values():
        largest[kind] = max(largest.get(kind, 0), count)
    return largest


def ledger_profile(counts: Mapping[MovedMechanism, int] | None, how: str) -> UpperProfile | None:
    """An upper bound on δ at every ε ≥ 0 from the records' releases; None if none is known.

    All releases that a record enters have one and the same profile, so that their number's fold composition
    dominates them for any adaptive choices (Zhu, Dong and Wang 2022, theorem 10); a record that stops earlier
    only leaves some out. Records' kinds may differ: the curve is the largest of theirs. `how` describes what
    enforces it for the learner.
    """
    if not counts or len(counts) > _MOST_KINDS or max(counts.values()) > _MOST_RELEASES:
        return None
    composed = [
        compose([(mechanism.profile(sensitivity), n)]) for (mechanism, sensitivity), n in counts.items()
    ]
    releases = "the one release" if max(counts.values()) == 1 else f"up to {max(counts.values())} releases"
    return UpperProfile(
        lambda epsilon: max(float(one.delta(epsilon).upper) for one in composed),
        f"privacy profile of {releases} of a record, {how}",
    )


def larger(
    counts: Mapping[MovedMechanism, int] | None, others: Mapping[MovedMechanism, int] | None
) -> dict[MovedMechanism, int] | None:
    """The larger count of each kind, of two runs; None if one of them is."""
    if counts is None or others is None:
        return None
    return {kind: max(counts.get(kind, 0), others.get(kind, 0)) for kind in dict.fromkeys((*counts, *others))}
