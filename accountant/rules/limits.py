"""Enforcement of rules: each record's counts, and the check of a charge; the same for every kind of ledger.

The functions are pure: ledgers keep the counts, pass the scope and the time, and store the results.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, NamedTuple

from accountant.filters.groups import spent_together
from accountant.filters.share import NEARLY_SPENT, share_spent
from accountant.filters.units import Limit, Units, Vector
from accountant.rules.clock import DAY, ClockAhead
from accountant.rules.rule import Rule
from accountant.rules.scope import Scope
from mechanisms.parameters import DPWitnessError, ParameterError

_TALLIED = 65_536
"""The number of different amounts that are collected before they are compared."""

_FOR_EVER = 0
"""The day of every charge that a rule without a window counts."""


class NotPermitted(DPWitnessError, ValueError):
    """No rule permits charges for this purpose or tenant; nothing was charged."""


@dataclass(frozen=True, slots=True)
class _RuleCount:
    """The charges of one record that one rule counts.

    Attributes
    ----------
    days
        The amounts charged, by day since 1970.
    held
        Open reservations, by position: they count on every day.
    """

    days: Mapping[int, Vector] = field(default_factory=dict)
    held: Mapping[int, Vector] = field(default_factory=dict)

    def with_charge(self, units: Units, price: Vector, day: int, since: int) -> _RuleCount:
        """Return the counts with a charge added on a day, and without the days before `since`."""
        days = {each: amount for each, amount in self.days.items() if each >= since}
        days[day] = units.add(days[day], price) if day in days else price
        return _RuleCount(days, self.held)

    def with_reservation(self, units: Units, price: Vector, position: int) -> _RuleCount:
        """Return the counts with a reservation added."""
        known = self.held.get(position)
        return _RuleCount(
            self.days, {**self.held, position: price if known is None else units.add(known, price)}
        )

    def without_reservation(self, position: int) -> _RuleCount:
        """Return the counts without a reservation."""
        return _RuleCount(self.days, {each: held for each, held in self.held.items() if each != position})

    def total(self, units: Units, since: int) -> Vector:
        """Return the total of the charges since a day, and of all reservations."""
        found = units.zero
        for day, amount in self.days.items():
            if day >= since:
                found = units.add(found, amount)
        for amount in self.held.values():
            found = units.add(found, amount)
        return found


Row = tuple[_RuleCount, ...]
"""The counts of one record, by rule."""


def renumber_row(row: Row, numbers: Mapping[int, int]) -> Row:
    """Return a record's counts for a ledger that has its reservations at other positions."""
    return tuple(
        _RuleCount(counted.days, {numbers[position]: held for position, held in counted.held.items()})
        for counted in row
    )


class _LimitRefusal(NamedTuple):
    """A charge that a rule refuses.

    Attributes
    ----------
    which
        The index of the charge among those of the request.
    rule
        The rule.
    spent
        The amount that it counts already.
    again
        The time at which there will be room, if nothing else is charged; None if time alone makes none.
    """

    which: int
    rule: Rule
    spent: Any
    again: datetime | None


class _NearestToLimit(NamedTuple):
    """The record, or the group, that is nearest to a rule's limit.

    Attributes
    ----------
    keys
        The record, or the members of a group; empty if the rule counts no charge.
    spent
        The amount that the rule counts of them.
    nearly
        The number of records or groups that have nearly spent the limit; None if there is no share of the limit.
    """

    keys: tuple[Any, ...]
    spent: Any
    nearly: int | None


@dataclass(slots=True)
class _Tally:
    """Records with the same amounts under a rule: one of them, the amounts, and the number of records."""

    key: Any
    amounts: Sequence[str]
    count: int = 0


class Limits:
    """Rules under a composition theorem.

    Parameters
    ----------
    rules
        Checked by `accountant.rules.rule.checked_rules`.
    units
        The theorem's.

    Attributes
    ----------
    zero
        The counts of a record that was never charged.
    windows
        True if a rule counts the charges of a window of days.
    grouped
        True if a rule counts the charges of groups.
    longest_drift
        Milliseconds by which the clock may have run ahead unseen: half the shortest window, or a day if that is longer.
    """

    def __init__(self, rules: Sequence[Rule], units: Units) -> None:
        self.rules = tuple(rules)
        self._units = units
        self._limits = [Limit(units, rule.budget) for rule in self.rules]
        self.zero: Row = (_RuleCount(),) * len(self.rules)
        self._group = [{each: tuple(group) for group in rule.groups for each in group} for rule in self.rules]
        self._counting: dict[Scope, tuple[int, ...]] = {}
        days = [rule.days for rule in self.rules if rule.days is not None]
        self.windows = bool(days)
        self.grouped = any(self._group)
        self.longest_drift = max(DAY, min(days, default=0) * DAY // 2)

    # --- permission, and time -----------------------------------------------------------

    def counting(self, scope: Scope, *, windows_only: bool = False, strict: bool = True) -> tuple[int, ...]:
        """Return the indices of the rules that count charges of a scope: the only place that decides this.

        Where some rule names purposes, every charge has to be for one that is named, so that a misspelled purpose has
        no account of its own; and so for tenants. A rule that names both permits the two together. Charges from before
        the rules (not `strict`) need no permission.

        Raises
        ------
        NotPermitted
            If none permits it.
        """
        found = self._counting.get(scope)
        if found is None:
            found = tuple(i for i, rule in enumerate(self.rules) if rule.counts(scope))
            for name in ("purpose", "tenant") if strict else ():
                named = sorted({word for rule in self.rules if (word := getattr(rule, name)) is not None})
                if named and not any(getattr(self.rules[i], name) is not None for i in found):
                    given = " and ".join(f"{key}={getattr(scope, key)!r}" for key in ("purpose", "tenant"))
                    raise NotPermitted(
                        f"{given}: no rule permits charges for this; rules name {name}s {', '.join(map(repr, named))}: "
                        "say what is charged for by spending_on(...)"
                    )
            if strict and len(self._counting) < 1_000:  # scopes come from outside
                self._counting[scope] = found
        return tuple(i for i in found if self.rules[i].days is not None) if windows_only else found

    def drift(self, drift: int, last: int, now: int, witnessed: int) -> int:
        """Return the time by which the clock may have run ahead unseen: unwitnessed time adds up.

        Stamps of two releases at true times t < u differ by at most u - t + `longest_drift` then, so that in every true
        interval that is shorter than a window by that the window's limit holds; in the window, with a right clock.

        Parameters
        ----------
        drift
            The same at the last entry.
        last
            The time of that entry.
        now
            The time by the clock.
        witnessed
            The part of the time between them that was measured by a running clock, which cannot be set.

        Raises
        ------
        ClockAhead
            If it is more than `longest_drift`: a clock that runs ahead, in one leap or by and by, would empty windows.
        """
        found = drift + max(0, now - last - witnessed)
        if found > self.longest_drift:
            raise ClockAhead(
                f"the clock says {_utc_text(now)}, the last entry was made at {_utc_text(last)}, and {found / DAY:.3g} "
                "days passed that no running clock has seen: a clock that runs ahead would empty the rules' windows. "
                "If so much time has really passed, say so with `dpwitness ledger amend --accept-clock`"
            )
        return found

    def is_stale(self, stamped: int, now: int) -> bool:
        """Return True if the charge was stamped on another day than now and the rules count by days."""
        return self.windows and stamped // DAY != now // DAY

    # --- counting ----------------------------------------------------------------------------------

    def first_refusal(
        self,
        asked: Sequence[tuple[Any, Vector]],
        row_of: Callable[[Any], Row],
        counting: Sequence[int],
        now: int,
    ) -> _LimitRefusal | None:
        """Return the refusal of the first charge that has no room after those before it; None if all have room.

        Parameters
        ----------
        asked
            Records and the price of each.
        row_of
            Function that returns a record's counts; called for the records in `asked` and in their groups.
        counting
            The rules that count it.
        now
            The time.
        """
        rows: dict[Any, Row] = {}
        for which, (key, price) in enumerate(asked):
            before = rows[key] if key in rows else row_of(key)
            after = self.with_charge(key, before, price, counting, now)
            for i in counting:
                group = self._members(i, key)
                if group is None:
                    continue
                others = [(rows[each] if each in rows else row_of(each))[i] for each in group if each != key]
                limit = self.rules[i]
                since = _first_day(limit, now)
                if not self._fits(i, [*others, after[i]], since):
                    spent = self._spent([*others, before[i]], since)
                    at = self._room_day(i, [*others, before[i].with_reservation(self._units, price, -1)], now)
                    return _LimitRefusal(which, limit, spent, at)
            rows[key] = after
        return None

    def _members(self, i: int, key: Any) -> tuple[Any, ...] | None:
        """Return the group of a record under a rule, or the record alone; None if the rule does not count it."""
        return self._group[i].get(key) if self.rules[i].groups else (key,)

    def group_members(self, keys: Iterable[Any]) -> set[Any]:
        """Return all members of the records' groups: the counts of all of them decide on a charge."""
        return {each for groups in self._group for key in keys for each in groups.get(key, ())}

    def _spent(self, counted: Sequence[_RuleCount], since: int) -> Vector:
        totals = [each.total(self._units, since) for each in counted]
        return totals[0] if len(totals) == 1 else spent_together(self._units, totals)

    def _fits(self, i: int, counted: Sequence[_RuleCount], since: int) -> bool:
        return self._limits[i].holds(self._spent(counted, since))

    def _room_day(self, i: int, counted: Sequence[_RuleCount], now: int) -> datetime | None:
        """Return the time at which days have left the window and a charge, held in `counted`, has room.

        None if only a reservation that is given back makes room, or the charge is over the limit by itself.
        """
        days = self.rules[i].days
        if days is None:
            return None
        for day in sorted({day for each in counted for day in each.days if day >= now // DAY - days}):
            if self._fits(i, counted, day + 1):
                return datetime.fromtimestamp((day + days + 1) * 86_400, UTC)
        return None

    def with_charge(self, key: Any, row: Row, price: Vector, counting: Sequence[int], now: int) -> Row:
        """Return a record's counts after a charge."""
        return tuple(
            counted.with_charge(self._units, price, self._day(i, now), _first_day(self.rules[i], now))
            if counts
            else counted
            for i, counted, counts in self._rule_counts(key, row, counting)
        )

    def with_reservation(
        self, key: Any, row: Row, price: Vector, counting: Sequence[int], position: int
    ) -> Row:
        """Return a record's counts after a reservation."""
        return tuple(
            counted.with_reservation(self._units, price, position) if counts else counted
            for _, counted, counts in self._rule_counts(key, row, counting)
        )

    def _rule_counts(
        self, key: Any, row: Row, counting: Sequence[int]
    ) -> Iterator[tuple[int, _RuleCount, bool]]:
        """Yield the number of each rule, its count of a record, and True if it counts this charge of the record."""
        for i, counted in enumerate(row):
            yield i, counted, i in counting and self._members(i, key) is not None

    def with_draw(self, row: Row, position: int, now: int) -> Row:
        """Return a record's counts after a reservation is drawn: it becomes a charge of today."""
        return tuple(
            counted.without_reservation(position).with_charge(
                self._units, counted.held[position], self._day(i, now), _first_day(self.rules[i], now)
            )
            if position in counted.held
            else counted
            for i, counted in enumerate(row)
        )

    def without_old_days(self, row: Row, now: int) -> Row:
        """Return a record's counts without the days that have left the windows."""
        return tuple(
            _RuleCount(
                {day: amount for day, amount in counted.days.items() if day >= _first_day(rule, now)},
                counted.held,
            )
            for rule, counted in zip(self.rules, row, strict=True)
        )

    def without_reservation(self, row: Row, position: int) -> Row:
        """Return a record's counts after a reservation is given back."""
        return tuple(counted.without_reservation(position) for counted in row)

    def counts(self, key: Any, row_of: Callable[[Any], Row], now: int) -> list[tuple[Rule, Any]]:
        """Return the count of each rule that applies to a record: of its group, if it is in one."""
        found = []
        for i, rule in enumerate(self.rules):
            group = self._members(i, key)
            if group is not None:
                since = _first_day(rule, now)
                spent = self._spent([row_of(each)[i] for each in group], since)
                found.append((rule, self._units.amount(spent)))
        return found

    def nearest(
        self, texts: Iterable[tuple[Any, str | None, int]], row_of: Callable[[Any], Row], now: int
    ) -> list[_NearestToLimit]:
        """Return the record or group nearest to the limit of each rule.

        Parameters
        ----------
        texts
            A record, its counts as `text` returns them, and the number of records with these counts; every record
            with a count is covered. It is read once, so it need not fit in memory.
        row_of
            Function that returns a record's counts.
        now
            The time.
        """
        found = [
            self._nearer_to_limit(
                i, _NearestToLimit((), self._units.amount(self._units.zero), 0), (), self._units.zero, 0
            )
            for i in range(len(self.rules))
        ]
        since = [_first_day(rule, now) for rule in self.rules]
        alone = [i for i, rule in enumerate(self.rules) if not rule.groups]
        tally: dict[tuple[int, tuple[str, ...]], _Tally] = {}
        for key, text, count in texts:
            if text is None:
                continue
            written = json.loads(text)
            for i in alone:
                days, held = written[i]
                amounts = [*(each for day, each in days.items() if int(day) >= since[i]), *held.values()]
                if amounts:  # many records were charged the same on other days
                    equal = tally.setdefault((i, tuple(sorted(amounts))), _Tally(key, amounts))
                    equal.count += count
            if len(tally) > _TALLIED:
                self._scan(found, tally)
                tally.clear()
        self._scan(found, tally)
        for i, rule in enumerate(self.rules):
            for group in dict.fromkeys(self._group[i].values()) if rule.groups else ():
                spent = self._spent([row_of(each)[i] for each in group], since[i])
                found[i] = self._nearer_to_limit(i, found[i], group, spent, 1)
        return found

    def _scan(
        self, found: list[_NearestToLimit], tally: Mapping[tuple[int, tuple[str, ...]], _Tally]
    ) -> None:
        """Compare tallied amounts with the nearest records so far, which are replaced by nearer ones."""
        for (i, _), equal in tally.items():
            spent = self._units.zero
            for amount in map(self._units.parse_vector, equal.amounts):
                spent = self._units.add(spent, amount)
            found[i] = self._nearer_to_limit(i, found[i], (equal.key,), spent, equal.count)

    def _nearer_to_limit(
        self, i: int, found: _NearestToLimit, keys: tuple[Any, ...], total: Vector, count: int
    ) -> _NearestToLimit:
        """Return the nearer to a rule's limit of the nearest so far and the record or group `keys`."""
        composition, spent = self._units.composition, self._units.amount(total)
        share = share_spent(composition, spent, self.rules[i].budget)
        nearly = (
            None if share is None or found.nearly is None else found.nearly + count * (share >= NEARLY_SPENT)
        )
        if composition.exceeds(spent, found.spent):
            return _NearestToLimit(keys, spent, nearly)
        return _NearestToLimit(found.keys, found.spent, nearly)

    def _day(self, i: int, now: int) -> int:
        return _FOR_EVER if self.rules[i].days is None else now // DAY

    # --- as text ------------------------------------------------------------------------------

    def text(self, row: Row) -> str | None:
        """Return counts as text, exact; None if there are none."""
        if not any(counted.days or counted.held for counted in row):
            return None
        return json.dumps(
            [[self._format_amounts(counted.days), self._format_amounts(counted.held)] for counted in row],
            separators=(",", ":"),
        )

    def parse_row(self, text: str | None) -> Row:
        """Return the counts that `text` described."""
        if text is None:
            return ()
        row = tuple(_RuleCount(self._amounts(days), self._amounts(held)) for days, held in json.loads(text))
        if len(row) != len(self.rules):
            raise ParameterError(f"counts of {len(row)} rules, and there are {len(self.rules)}")
        return row

    def _format_amounts(self, amounts: Mapping[int, Vector]) -> dict[str, str]:
        return {str(key): self._units.format_vector(amounts[key]) for key in sorted(amounts)}

    def _amounts(self, written: Mapping[str, str | Sequence[str | None]]) -> dict[int, Vector]:
        return {int(key): self._parse_amount(amount) for key, amount in written.items()}

    def _parse_amount(self, written: str | Sequence[str | None]) -> Vector:
        if isinstance(written, str):
            return self._units.parse_vector(written)
        values = (None if value is None else Fraction(value) for value in written)  # of an earlier version
        return self._units.price(self._units.composition.amount(tuple(values)))


def _first_day(rule: Rule, now: int) -> int:
    """Return the first day that a rule counts: a day counts whole while any part of it may be in the window."""
    return _FOR_EVER if rule.days is None else now // DAY - rule.days


def _utc_text(now: int) -> str:
    return f"{datetime.fromtimestamp(now / 1_000, UTC):%Y-%m-%d %H:%M} UTC"
