"""Seeded histories of commands, kills, power cuts, older copies, forks and wrong clocks over the ledger's own fold.

A history is played on a `Storage`: one of lists, on which a thousand histories a second are played, or the library's
own stores (`simulated_stores`). Few kinds of steps, records and amounts in each history find more than many.

What left the ledger is kept by the history itself, and every invariant is computed from that alone: nobody is over a
limit in any true interval of time, a request has one answer, and whoever opens the ledger later finds all that was
charged.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol

from accountant import BasicComposition, Budget, Cost, Entry, Place, Rule
from accountant.filters.units import UNIT, Limit, Units
from accountant.ledger.events import (
    Answered,
    Charge,
    Charged,
    KeepAnswer,
    LedgerCommand,
    LedgerEvent,
    Now,
    Ruled,
    Settle,
    Settlement,
)
from accountant.ledger.ledger_state import State, apply, decide, expire
from accountant.ledger.store import AnswerErased, CannotPay, KeyUsed, Receipt, Settled
from accountant.rules.clock import DAY, ClockAhead
from accountant.rules.limits import Limits, NotPermitted
from accountant.rules.scope import Scope
from mechanisms import Laplace, Sensitivity

REFUSALS = CannotPay, NotPermitted, ClockAhead, KeyUsed, Settled, AnswerErased
FAULTS = (
    "an older copy is gone on with",
    "nothing is synced",
    "a charge is given back twice",
    "a reservation that is drawn keeps its day",
    "a clock may creep",
    "a request has two answers",
    "there is no anchor",
    "what another wrote is believed",
    "a charge naming a record twice is looked at in parts",
    "rules forget reservations",
    "a deadline ends what is drawn",
    "a deadline is a matter of each process",
    "an anchor goes back",
)
_MOVED = Sensitivity(1, 1, 1)
_QUIET = Laplace(scale=1e9, sensitivity=_MOVED)  # costs less than whatever is charged for it
_HERE = Place("history.py", 1)
UNITS = Units(BasicComposition())


class Killed(Exception):
    """A process was killed."""


class Moved(Exception):
    """A process has found that the ledger is not the one that it has seen."""


class Process(Protocol):
    """One that has the ledger open."""

    def do(self, command: LedgerCommand) -> Receipt:
        """Let a command happen, durably; raises one of `REFUSALS`, `Killed` or `Moved`."""


class Storage(Protocol):
    """Where the ledger lies."""

    def open(self) -> Process:
        """Return a process that has opened it now."""

    def cut_power(self) -> None:
        """Lose any of what was not synced; no process is left."""

    def put_back(self) -> None:
        """Put an older copy under the processes that have it open."""

    def bring_back(self) -> bool:
        """Put the newer one back, unless somebody has gone on with the older one."""

    def spent(self) -> dict[str, int]:
        """Return what everybody has spent, in units, as a new process finds it, all of it verified."""


def entry(amount: int, records: tuple[str, ...]) -> Entry:
    """Return a release that costs so much."""
    return Entry(_QUIET, _MOVED, Cost(Fraction(amount), Fraction(0)), records, _HERE, "n")


class History:
    """One history, of a seed.

    Parameters
    ----------
    seed
        Of all that happens.
    storage
        Makes the storage of the history.
    fault
        What is wrong with the storage; None for nothing.
    """

    def __init__(self, seed: int, storage: Callable[[History], Storage], fault: str | None = None) -> None:
        self.chosen = chosen = random.Random(seed)
        self.fault = fault
        self._dying = chosen.choice((0.01, 0.03, 0.2))  # a process, at each of some moments of a command
        self.now = self.started = 20_000 * DAY
        self.ahead = 0  # of the true time, by the wall clocks
        self.budget = Budget(float(chosen.choice((4, 12))))
        self.rules: tuple[Rule, ...] = chosen.choice(
            (
                (),
                (Rule(Budget(2.0), days=30),),
                (Rule(Budget(2.0), purpose="ads"), Rule(Budget(3.0), purpose="care")),
                (Rule(Budget(3.0), days=30), Rule(Budget(5.0), groups=(("ann", "bob"),))),
            )
        )
        self.creeps = fault == "a clock may creep" or (
            bool(self.rules and self.rules[0].days) and chosen.random() < 0.5
        )
        self.jumps = (
            (0,) if any(rule.days for rule in self.rules) else chosen.choice(((0,), (-DAY, 0, 15 * DAY)))
        )
        self.limit = Limit(UNITS, self.budget)
        self.published: list[tuple[int, str, int, Scope]] = []
        self.kept_at: dict[str, int] = {}
        self._answers: dict[str, bytes] = {}
        self._shown: set[str] = set()
        self._processes: list[Process] = []
        self._older = False
        self._let_in: Callable[[Process], None] | None = None
        self.storage = storage(self)

    def clock_error(self) -> int:
        """Return by how much the clock of a process that begins now is wrong."""
        return self.chosen.choice((self.ahead, self.ahead, 0)) + self.chosen.choice(self.jumps)

    def may_die(self) -> None:
        """Kill the process that is at work, sometimes."""
        if self.chosen.random() < self._dying:
            raise Killed

    def let_in(self, waiting: Process) -> None:
        """Let another process go on, sometimes, while one waits for the disk."""
        others = [each for each in self._processes if each is not waiting]
        if self._let_in is not None and others and self.chosen.random() < 0.3:
            act, self._let_in = self._let_in, None
            act(self.chosen.choice(others))
            self._let_in = act

    def play(self, steps: int = 40) -> str | None:
        """Return what is wrong after so many steps; None if nothing is."""
        chosen = self.chosen
        kinds = ("hold", "draw", "return", "again", "time", "time", "power", "older", "fork")
        verbs = ("charge", *chosen.sample(kinds, chosen.randrange(2, 8)))
        waits = chosen.choice(((1, DAY // 2, DAY, 15 * DAY, 29 * DAY), (DAY, 29 * DAY), (2 * DAY, 29 * DAY)))
        names = chosen.choice((("ann",), ("ann", "bob")))
        held: list[tuple[int, Charge]] = []
        asked: list[Charge] = []

        def act(process: Process, verb: str, number: int) -> None:
            self._act(process, self._command(verb, names, number, held, asked), held)

        self._let_in = lambda process: act(process, chosen.choice(("charge", *kinds[:4])), -len(asked) - 1)
        for number in range(steps):
            verb = chosen.choice(verbs)
            if verb == "time":
                self.now += chosen.choice(waits)
            elif verb == "power":
                if not self._older and chosen.random() < 0.3:
                    self.storage.cut_power()
                    self._processes.clear()
            elif verb == "older":
                self._move()
            else:
                if not self._older and (verb == "fork" or not self._processes or chosen.random() < 0.1):
                    self._open()
                if self._processes:
                    act(chosen.choice(self._processes), verb, number)
                    wrong = self._over_a_limit()
                    if wrong is not None:
                        return wrong
                    if len(self._answers) < len({*self._answers} | self._shown):
                        return "a request has two answers"
        return self._lost()

    def _act(self, process: Process, command: LedgerCommand | None, held: list[tuple[int, Charge]]) -> None:
        if command is not None:
            try:
                self._do(process, command, held)
            except REFUSALS:
                pass
            except (Killed, Moved):
                self._processes.remove(process)

    def _open(self) -> None:
        if len(self._processes) < 5:
            if self.creeps:
                self.ahead += self.chosen.choice((0, 14 * DAY))
            self._processes.append(self.storage.open())

    def _move(self) -> None:
        if not self._older and self.chosen.random() < 0.3 and self._processes:
            self.storage.put_back()
            self._older = True
        elif self._older and self.storage.bring_back():
            self._older = False

    def _command(
        self,
        verb: str,
        names: tuple[str, ...],
        number: int,
        held: list[tuple[int, Charge]],
        asked: list[Charge],
    ) -> LedgerCommand | None:
        chosen = self.chosen
        if verb in ("charge", "hold"):
            records = tuple(chosen.sample(names, chosen.randrange(1, len(names) + 1)))
            entries = [entry(chosen.choice((1, 1, 2)), records) for _ in range(chosen.choice((1, 1, 1, 2)))]
            request = f"key {number}" if chosen.random() < 0.5 else None
            scope = Scope(chosen.choice(("ads", "care")))
            lasts = chosen.choice((None, DAY // 2, 2 * DAY)) if verb == "hold" else None
            command = Charge(entries, self.limit.holds, verb == "hold", request, scope, lasts)
            if request is not None:
                asked.append(command)
            return command
        if verb == "again" and asked:
            return chosen.choice(asked)._replace(hold=False, lasts=None)
        if verb in ("draw", "return") and held:
            return Settle(chosen.choice(held)[0], verb == "return")
        return None

    def _do(self, process: Process, command: LedgerCommand, held: list[tuple[int, Charge]]) -> None:
        found = process.do(command)
        if isinstance(command, Charge):
            if command.hold:
                held.append((found.position, command))
            elif command.request is None:
                self._publish(command, self.now)
            else:
                self.may_die()
                answer = bytes([self.chosen.randrange(256)])
                kept = process.do(KeepAnswer(command.request, answer)).answer
                assert kept is not None
                first = self._answers.setdefault(command.request, kept)
                if first != kept:
                    self._shown.add(f"another of {command.request}")
                elif command.request not in self._shown:
                    self._shown.add(command.request)
                    self._publish(command, self.kept_at.get(command.request, self.now))
        elif isinstance(command, Settle) and not command.returned:
            charge = next(each for position, each in held if position == command.position)
            if charge.request is None:
                self._publish(charge, self.now)

    def _publish(self, charge: Charge, at: int) -> None:
        for each in charge.entries:
            for record in each.records:
                self.published.append((at, str(record), int(each.charge.values[0] or 0), charge.scope))

    def _over_a_limit(self) -> str | None:
        spent: dict[str, int] = defaultdict(int)
        for _, record, amount, _ in self.published:
            spent[record] += amount
        for record, total in spent.items():
            if total > self.budget.epsilon:
                return f"{record} is over the budget"
        for rule in self.rules:
            if rule.groups:
                if sum(spent.values()) > rule.budget.epsilon:
                    return "a group is over its limit"
                continue
            length = None if rule.days is None else (rule.days - (rule.days // 2 if self.creeps else 0)) * DAY
            for record in spent:
                mine = [
                    (at, x) for at, name, x, scope in self.published if name == record and rule.counts(scope)
                ]
                for first, _ in mine:
                    inside = (x for at, x in mine if at >= first and (length is None or at < first + length))
                    if sum(inside) > rule.budget.epsilon:
                        return f"{record} is over {rule}"
        return None

    def _lost(self) -> str | None:
        if self._older and not self.storage.bring_back():
            return None
        try:
            found = self.storage.spent()
        except Moved:
            return "the ledger is behind its anchor"
        spent: dict[str, int] = defaultdict(int)
        for _, record, amount, _ in self.published:
            spent[record] += amount
        for record, total in spent.items():
            if found.get(record, 0) < total * UNIT:
                return f"{record} was charged {total}, and the ledger knows less"
        return None


# --- a storage of lists ---------------------------------------------------------------------------------


class Lines:
    """Lines that were written, how many of them are synced, and the anchor."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.lines: list[tuple[int, int, LedgerEvent]] = []
        self.synced = 0
        self.anchor = 0, 0
        self.tokens = 0
        self._newer: list[tuple[int, int, LedgerEvent]] | None = None

    def sync(self) -> None:
        if self.history.fault != "nothing is synced":
            self.synced = len(self.lines)

    def write(self, event: LedgerEvent) -> int:
        self.tokens += 1
        self.lines.append((self.tokens, self.lines[-1][0] if self.lines else 0, event))
        return self.tokens

    def open(self) -> Follower:
        return Follower(self)

    def cut_power(self) -> None:
        del self.lines[self.synced + self.history.chosen.randrange(len(self.lines) - self.synced + 1) :]
        self.synced = len(self.lines)

    def put_back(self) -> None:
        self._newer = list(self.lines)
        if self.lines:
            del self.lines[self.history.chosen.randrange(len(self.lines)) :]
        self.synced = self._left = len(self.lines)

    def bring_back(self) -> bool:
        if self._newer is None or len(self.lines) != self._left:
            return False
        self.lines, self._newer = self._newer, None
        self.synced = len(self.lines)
        return True

    def spent(self) -> dict[str, int]:
        process = self.open()
        process.follow()
        found = {str(name): account.spent[0] for name, account in process.accounts.items()}
        before = 0
        for token, named, _ in self.lines:
            assert named == before, "the chain is broken"
            before = token
        return found


class Follower(State):
    """A process whose state follows the lines."""

    def __init__(self, lines: Lines) -> None:
        super().__init__(UNITS)
        self._lines, self._history = lines, lines.history
        self._seen, self._head = 0, 0
        self.next_position = self._seen + 1
        if self._history.rules:
            apply(self, Ruled(self._history.rules, "who made it", "so", self._history.started))
        self._since = self._history.now
        self._ahead = self._history.clock_error()

    def follow(self) -> None:
        lines, fault = self._lines.lines, self._history.fault
        place, token = self._lines.anchor
        anchored = fault not in ("an older copy is gone on with", "there is no anchor")
        if anchored and place and (len(lines) < place or lines[place - 1][0] != token):
            raise Moved
        if self._seen and (len(lines) < self._seen or lines[self._seen - 1][0] != self._head):
            if fault != "an older copy is gone on with":
                raise Moved
            self.__init__(self._lines)  # type: ignore[misc]
        new = lines[self._seen :]
        for head, _, event in new:
            apply(self, event)
            self._seen, self._head, self._since = self._seen + 1, head, self._history.now
            self.next_position = self._seen + 1
        if new and fault != "what another wrote is believed":
            self._lines.sync()
            self._lines.anchor = self._seen, self._head

    def do(self, command: LedgerCommand) -> Receipt:
        self.follow()
        history = self._history
        seen = history.now - self._since if self._seen else 0
        now = Now(history.now + self._ahead, None if history.fault == "a clock may creep" else seen)
        alone = history.fault == "a deadline is a matter of each process"
        expire(self, now, (lambda event: apply(self, event)) if alone else self._happen)
        found = self._decide(command, now)
        for event in found.events:
            self._happen(event, last=event is found.events[-1])
        return found

    def _happen(self, event: LedgerEvent, last: bool = False) -> None:
        history, lines = self._history, self._lines
        history.may_die()
        head = lines.write(event)
        if isinstance(event, Answered):
            history.kept_at[event.request] = history.now
        history.may_die()
        if last:  # who comes next does not wait for the disk
            history.let_in(self)
        lines.sync()
        history.may_die()
        apply(self, event)
        self._seen, self._head, self._since = self._seen + 1, head, history.now
        self.next_position = self._seen + 1
        if self._seen > lines.anchor[0] or history.fault == "an anchor goes back":
            lines.anchor = self._seen, head

    def due(self, at: int) -> int | None:
        if self._history.fault == "a deadline ends what is drawn":
            self.reservations.update({k: "reserved" for k, v in self.reservations.items() if v == "drawn"})
        return super().due(at)

    def _decide(self, command: LedgerCommand, now: Now) -> Receipt:
        """Decide, wrongly if that is the fault."""
        fault = self._history.fault
        again = isinstance(command, Settle) and command.returned and command.position in self.named
        if fault == "a charge is given back twice" and isinstance(command, Settle) and again:
            return Receipt(events=(Settlement(command.position, True, max(now.at, self.clock)),))
        if fault == "a request has two answers" and isinstance(command, KeepAnswer):
            return Receipt(answer=command.answer)
        if fault == FAULTS[8] and isinstance(command, Charge):
            for each in command.entries:
                if command.request is None or self.request(command.request) is None:
                    decide(self, command._replace(entries=[each], request=None), now)
            return decide(self, command._replace(holds=lambda _: True), now)
        return decide(self, command, now)

    def charge_at(self, position: int) -> Charged:
        return self.named[position]

    def set_rules(self, ruled: Ruled) -> None:
        self.limits = _Wrong(ruled.rules, UNITS, self._history.fault)


class _Wrong(Limits):
    """Rules at work, wrongly if that is the fault."""

    def __init__(self, rules: Any, units: Units, fault: str | None) -> None:
        super().__init__(rules, units)
        self._fault = fault
        self._day_of: dict[int, int] = {}

    def with_reservation(self, key: Any, row: Any, price: Any, counting: Any, position: int) -> Any:
        if self._fault == "rules forget reservations":
            return row
        return super().with_reservation(key, row, price, counting, position)

    def with_draw(self, row: Any, position: int, now: int) -> Any:
        if self._fault == "a reservation that is drawn keeps its day":
            now = 20_000 * DAY
        return super().with_draw(row, position, now)
