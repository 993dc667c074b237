"""Refusals of a gate, one class per rule; a refusal changes nothing."""

from __future__ import annotations

from datetime import datetime

from accountant.place import Place
from mechanisms import Assumption, Neighbouring
from mechanisms.numerics.printed_numbers import counted_noun
from mechanisms.parameters import DPWitnessError


class Refusal(DPWitnessError, ValueError):
    """A gate refused an operation before it sampled or charged anything.

    Attributes
    ----------
    where
        The caller's line.
    """

    def __init__(self, message: str, where: Place) -> None:
        super().__init__(f"{message} (at {where})")
        self.message = message
        self.where = where


class RawRead(Refusal, TypeError):
    """A private value was read, compared, branched on or turned into an array."""


class BudgetExceeded(Refusal):
    """A release would take a record over its budget.

    Attributes
    ----------
    record
        The first record that cannot pay.
    others
        Further records of the same release that cannot, each by itself; rules for groups name none.
    asked, left
        The requested charge and the record's remaining amount, in words.
    neighbouring
        The relation of the data sets whose loss is charged.
    limit
        The exceeded limit in words: its budget, or a rule's limit.
    again
        The time at which there will be room, if nothing else is charged; None if time alone makes none.

    Parameters
    ----------
    amounts
        `asked` and `left`.
    bounds
        The quantity that the limit bounds, in words, where that is less than the name of the limit suggests.
    """

    def __init__(
        self,
        record: object,
        amounts: tuple[str, str],
        where: Place,
        neighbouring: Neighbouring = Neighbouring.REPLACE_ONE,
        limit: str = "its budget",
        again: datetime | None = None,
        bounds: str = "",
        others: tuple[object, ...] = (),
    ) -> None:
        self.asked, self.left = amounts
        room = "" if again is None else f"; there is room again from {again:%Y-%m-%d %H:%M} UTC"
        super().__init__(
            f"release refused: it charges record {record!r} {self.asked}, and only {self.left} is left of "
            f"{limit}{room}, neighbours: {neighbouring}{bounds and f' ({bounds})'}{_others_text(others)}",
            where,
        )
        self.neighbouring = neighbouring
        self.limit = limit
        self.again = again
        self.record = record
        self.others = others


_NAMED = 10
"""The most further records that are named in a message."""


def _others_text(records: tuple[object, ...]) -> str:
    if not records:
        return ""
    names, more = ", ".join(map(repr, records[:_NAMED])), len(records) - _NAMED
    who = counted_noun(len(records), "further record")
    return f"; {who} cannot pay either: {names}{f' and {more} more' if more > 0 else ''}"


class PurposeRefused(Refusal):
    """No rule permits charges for this purpose or tenant."""


class RecordWaiting(Refusal):
    """A record came back while its earlier contribution still waits, uncharged, for its release.

    Attributes
    ----------
    record
        The record.
    """

    def __init__(self, record: object, where: Place) -> None:
        super().__init__(
            f"record {record!r} is in these sums already and waits for its release: it cannot enter again before",
            where,
        )
        self.record = record


class ParticipationExceeded(Refusal):
    """A record came to a stream more often, or sooner again, than the stream's noise is calibrated for.

    Attributes
    ----------
    record
        The record.
    """

    def __init__(self, record: object, rule: str, where: Place) -> None:
        super().__init__(f"record {record!r} cannot enter this stream: {rule}", where)
        self.record = record


class SensitivityExceeded(Refusal):
    """One record moves the value further than the mechanism is calibrated for."""


class RoundingExceeded(SensitivityExceeded):
    """Floating point could move the value noticeably further than one record does in exact arithmetic."""


class TrustViolation(Refusal):
    """A release needs more trust than the trust model grants."""


class TheoremMissing(Refusal):
    """No composition theorem in use supports the number that was asked for."""


class OtherNeighbours(Refusal):
    """A mechanism's profile is for another neighbouring relation than the accounts."""


class AssumptionRefused(Refusal):
    """A strict gate refused a release that rests on an unchecked assumption.

    Attributes
    ----------
    assumption
        The assumption.
    """

    def __init__(self, assumption: Assumption, where: Place) -> None:
        super().__init__(f"refused by strict=True: rests on: {assumption}", where)
        self.assumption = assumption


class GateClosed(Refusal):
    """An earlier error revealed something about private data; nothing more is let in or out."""


class GateBusy(Refusal):
    """A gate was used inside a release, by a function that must see released values only."""


class ForeignValue(Refusal):
    """A private value was shown to a gate that it does not belong to."""
