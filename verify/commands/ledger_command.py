"""The commands ``dpwitness ledger ...``: durable ledgers, for operators of accountants."""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.text import Text

from algorithms.problems import SettingError
from mechanisms.numerics.printed_numbers import counted_noun
from mechanisms.parameters import takes
from verify.commands.option_table import NO_ANCHOR
from verify.commands.shown_results import check_outputs, show
from verify.commands.verify_command import composed
from verify.document.terminal_text import plain_table
from verify.findings.printable import printable

if TYPE_CHECKING:
    from fractions import Fraction

    from accountant.budget import Amount


@dataclass(frozen=True, kw_only=True)
class _CreateOptions:
    """The arguments and options of ``dpwitness ledger create``."""

    store: str
    epsilon: float | None
    delta: float | None
    composition: str | None
    trust: str | None
    strict: bool
    rules: Path | None
    name_keys: str | None
    exported: Path | None
    learner: str | None
    problem: str | None
    settings: dict[str, str]


@takes(_CreateOptions)
def create_command(asked: _CreateOptions) -> None:
    """Make an empty store, import a ledger, or begin a run."""
    store, epsilon, rules = asked.store, asked.epsilon, asked.rules
    names = ("epsilon", "delta", "composition", "trust", "strict", "rules", "problem")
    given = {f"--{name}": getattr(asked, name) for name in names} | {
        "--set": " ".join(asked.settings) or None
    }
    theirs = composed(asked.composition or "basic", asked.settings)
    if asked.exported is not None:
        _refuse(given, list(given), "not with --from, whose ledger says it")
        _import(store, asked.exported, _made_keys(asked.name_keys))
        return
    if epsilon is None:
        raise SettingError("--epsilon: must be given: what each record may lose in total")
    if asked.learner is not None:
        keys = {"--strict": asked.strict, "--name-keys": asked.name_keys}
        _refuse(keys, list(keys), "not with --learner")
        from verify.commands.begun_run import begin_run

        begin_run(
            store,
            asked.learner,
            asked.problem,
            theirs["settings"],
            budget=(epsilon, asked.delta),
            trust=asked.trust or "central",
            composition=theirs["composition"],
            rules=rules,
        )
        return
    _refuse(given, ["--problem"], "only with --learner")
    if theirs["settings"]:
        raise SettingError(
            f"--set {next(iter(theirs['settings']))}: is no parameter of the composition theorem"
        )
    from accountant.budget import Budget
    from accountant.compositions import composition_named
    from accountant.rules.reach import check_reach
    from accountant.rules.rule import checked_rules, read_rules
    from accountant.stores.opening import open_store
    from accountant.terms import Terms

    theorem, budget = composition_named(theirs["composition"]), Budget(epsilon, asked.delta or 0.0)
    theorem.check(budget)
    limits = None if rules is None else checked_rules(read_rules(rules), theorem)
    check_reach(limits or (), theorem, budget)
    terms = Terms(budget, theorem, _trust(asked.trust), asked.strict)
    _check_new(store)
    with closing(open_store(store, terms, rules=limits, names=_made_keys(asked.name_keys))) as made:
        left = theorem.remaining_spend(theorem.zero_spend, budget).words_left
        click.echo(f"{printable(made.name)}: each record may lose {left} ({theorem.name})")


def _check_new(store: str) -> None:
    from accountant.stores.opening import find_database

    try:
        found = find_database(store)
    except ValueError:  # there is none
        return
    found.close()
    raise SettingError(f"{found.name}: holds a ledger already")


def _trust(word: str | None) -> Any:
    from accountant.trust import Trust

    if word == "none":
        raise SettingError(
            "--trust none: must be central, local or shuffle: a ledger is for learners with privacy"
        )
    return Trust(word or "central")


def _refuse(given: Mapping[str, object], flags: Sequence[str], rule: str) -> None:
    """Refuse options that would be passed over."""
    for flag in flags:
        if given[flag] is not None and given[flag] is not False:
            raise SettingError(f"{flag} {given[flag]}: {rule}")


def _check_signed(author: str, reason: str) -> None:
    for flag, value in (("--author", author), ("--reason", reason)):
        if not value.strip():
            raise SettingError(f"{flag} {value!r}: must say who makes the change, and why")


def _made_keys(name_keys: str | None) -> str | None:
    """Return the place of keys; a file that is not there yet is made, with a key."""
    from accountant.stores.names import add_key

    if name_keys is not None and not name_keys.startswith("env:") and not Path(name_keys).exists():
        add_key(Path(name_keys))
        click.echo(f"{printable(name_keys)}: a new key; keep a copy, not beside the ledger")
    return name_keys


def _import(store: str, file: Path, names: str | None) -> None:
    """Import a ledger in the name of the logged-in user."""
    from accountant.stores.imports import import_ledger

    reason = f"imported from {file}"
    with closing(import_ledger(file, store, _login_name(), reason, names=names)) as opened:
        said = f"{counted_noun(len(opened), 'charge')} imported into {printable(opened.name)}"
    click.echo(f"{said}; `dpwitness audit` reads {printable(str(file))}.imported")


def _login_name() -> str:
    """Return the name of this process's user, or the user's number if it has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def show_command(
    *,
    store: str,
    records: tuple[str, ...],
    name_keys: str | None,
    outputs: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Show the budgets of records; without records, the top spenders, limits, reservations and waiting actions."""
    check_outputs(outputs, ".json")
    for path in outputs:
        from accountant.stores.export import export_store

        export_store(store, path)
    data, render = _standing(store, records, name_keys)
    parts = [render]
    if not records:
        data["waiting"] = None
        further = [_limits(store), _reservations(store), *([_waiting(store)] if _is_run(store) else [])]
        for more, words in further:
            data |= more
            parts.append(words)

    def rendered(console: Console) -> None:
        for number, part in enumerate(parts):
            if number:
                console.print()
            part(console)

    show(as_json, lambda: data, rendered)


_Shown = tuple[dict[str, Any], Callable[[Console], None]]
"""JSON data, and the function that prints them."""


def _standing(store: str, records: Sequence[str], names: str | None) -> _Shown:
    """Return the spent and the remaining privacy of records, without writing; open reservations are spent.

    Spent amounts are rounded up, remaining ones down.
    """
    from accountant.record_name import canonical_name
    from accountant.stores.names import pseudonym
    from accountant.stores.opening import spent_in

    terms, found = spent_in(store, [pseudonym(record) or canonical_name(record) for record in records], names)
    totals = {
        json.dumps(name): (
            standing.spent,
            terms.composition.remaining_spend(standing.spent, terms.budget),
            [
                (rule, spent, terms.composition.remaining_spend(spent, rule.budget))
                for rule, spent in standing.counted
            ],
        )
        for name, standing in found.items()
    }

    def render(console: Console) -> None:
        rows = [
            (
                name,
                str(limit),
                part,
                _rounded(spent, ROUND_CEILING, "infinite"),
                _rounded(rest, ROUND_FLOOR, "unlimited"),
            )
            for name, (total, available, counted) in totals.items()
            for limit, paid, room in [("its budget", total, available), *counted]
            for (part, spent), (_, rest) in zip(paid.parts(), room.parts(), strict=True)
        ]
        console.print(plain_table(("record", "of", "", "spent", "left"), rows, "nobody has spent anything"))

    data = {
        name: {
            "spent": _exact(total),
            "left": _exact(available),
            "rules": [
                {"limit": str(rule), "spent": _exact(spent), "left": _exact(rest)}
                for rule, spent, rest in counted
            ],
        }
        for name, (total, available, counted) in totals.items()
    }
    return {"records": data}, render


def _exact(amount: Amount) -> dict[str, str | None]:
    """Return the parts of an amount as fractions; None where no finite number covers it, or none limits it."""
    return {name: None if value is None else str(value) for name, value in amount.parts()}


def _rounded(value: Fraction | None, rounding: str, endless: str) -> str:
    """Return six digits of a number, rounded one way."""
    if value is None:
        return endless
    digits = Context(prec=6, rounding=rounding).divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{float(digits):.6g}"


def _limits(store: str) -> _Shown:
    """Return the limits beside the budget, and the author, time and reason of each change."""
    from accountant.rules.reach import words_of_rule
    from accountant.stores.opening import verify_store

    replay = verify_store(store).replay
    changes: list[dict[str, Any]] = [
        {"by": each.by, "reason": each.reason, "at": each.at, "entry": position}
        for position, each in replay.rule_changes
    ]
    found = () if replay.limits is None else replay.limits.rules
    terms = replay.terms

    def render(console: Console) -> None:
        rows = []
        for rule in found:
            groups = f" ({counted_noun(len(rule.groups), 'group')})" if rule.groups else ""
            rows.append((f"{rule}{groups}", f"{rule.budget.epsilon:g}", f"{rule.budget.delta:g}"))
        none = "no rules: each record has its budget, and nothing else limits it"
        console.print(plain_table(("limit", "epsilon", "delta"), rows, none))
        for rule in found:
            bounds = words_of_rule(rule, found, terms.composition, terms.budget)
            console.print(Text(printable(f"{rule}: {bounds}")), soft_wrap=True)
        for change in changes:
            when = datetime.fromtimestamp(change["at"] / 1_000, UTC)
            words = f"entry {change['entry']}, {when:%Y-%m-%d %H:%M} UTC, {change['by']}: {change['reason']}"
            console.print(Text(printable(words)), soft_wrap=True)

    return {"rules": [rule.to_dict() for rule in found], "changes": changes}, render


def _reservations(store: str) -> _Shown:
    """Return reservations that are neither drawn nor given back, their holders and deadlines."""
    from accountant.stores.opening import find_database
    from accountant.stores.sql_store import open_reservations

    with closing(find_database(store)) as database:
        shown = {str(key): each._asdict() for key, each in open_reservations(database).items()}
    rows = [(key, each["held_by"], each["until"] or "no deadline") for key, each in shown.items()]
    table = plain_table(("reservation", "held by", "until"), rows, "no open reservations")
    return {"reservations": shown}, lambda console: console.print(table)


def _waiting(store: str) -> _Shown:
    """Return the actions of a run that wait for their feedback, the oldest first; nothing is charged for them yet."""
    from accountant.stores.store_refusals import StoreRefused
    from verify.commands.begun_run import waiting_actions

    try:
        waiting = waiting_actions(store)
    except (StoreRefused, ValueError) as refused:
        words = f"waiting actions are not known: {refused}"
        return {"waiting": None}, lambda console: console.print(Text(printable(words)), soft_wrap=True)
    actions = [each.json() for each in waiting]
    rows = []
    for each in actions:
        record, arms = each["record"], " ".join(map(str, each["action"]))
        said = "handed out in Python" if record is None else str(record)
        rows.append((each["ticket"], arms, said, each["since"] or "not known"))
    table = plain_table(("ticket", "action", "record", "since"), rows, "no action waits for its feedback")
    return {"waiting": actions}, lambda console: console.print(table)


def _is_run(store: str) -> bool:
    from accountant.stores.opening import find_database, is_run

    with closing(find_database(store)) as database:
        return is_run(database)


_CHANGES = ("rules", "erase", "rotate_keys", "accept_clock", "promote", "cancel", "expire")


def amend_command(
    *,
    store: str,
    author: str,
    reason: str,
    name_keys: str | None,
    anchor: Path | None,
    allow_return: bool,
    **changes: Any,
) -> None:
    """Make exactly one administrative change, and print its result."""
    asked = [name for name in _CHANGES if changes[name] is not None and changes[name] is not False]
    if anchor == NO_ANCHOR:
        asked.append("forget_anchor")
    flags = ", ".join([*(f"--{name.replace('_', '-')}" for name in _CHANGES), f"--anchor {NO_ANCHOR}"])
    if len(asked) != 1:
        raise SettingError(f"{flags}: exactly one must be given")
    (change,) = asked
    if allow_return and change != "erase":
        raise SettingError("--allow-return: only with --erase")
    if change == "erase" and not allow_return:
        raise SettingError(
            f"--erase {changes['erase']}: whoever comes back by this name afterwards begins with a new account and a "
            "full budget; say --allow-return if that is meant"
        )
    if change in ("cancel", "expire"):
        signed = {"--author": author or None, "--reason": reason or None}
        _refuse(signed, list(signed), f"not with --{change}, which the ledger keeps without them")
    else:
        _check_signed(author, reason)
    if change == "promote":
        from accountant.stores.opening import adopt

        mark = adopt(store, f"{reason} ({author})", anchor)
        said = f"epoch {mark.epoch} begins after entry {mark.position - 1}"
    elif change == "forget_anchor":
        from accountant.stores.opening import forget_anchor

        said = f"it needs no anchor from entry {forget_anchor(store, author, reason).position} on"
    elif change == "expire":
        said = _expire(store, changes["expire"])
    elif change == "rotate_keys":
        said = _rotate(store, changes["rotate_keys"], author, reason, anchor)
    else:
        from accountant.stores.opening import open_store

        with closing(open_store(store, anchor=anchor, names=name_keys)) as opened:
            said = _change_open(opened, change, changes[change], author, reason)
    click.echo(said)


def _change_open(opened: Any, change: str, value: Any, author: str, reason: str) -> str:
    """Make a change of an open store, and return its result in words."""
    if change == "rules":
        from accountant.rules.rule import read_rules

        rules = read_rules(value)
        opened.change_rules(rules, author, reason)
        return f"{counted_noun(len(rules), 'rule')} in force; what was charged before counts, too"
    if change == "accept_clock":
        now = opened.confirm_clock(author, reason)
        return f"charges go on from {datetime.fromtimestamp(now / 1_000, UTC):%Y-%m-%d %H:%M} UTC"
    if change == "cancel":
        opened.give_back(value)
        return f"reservation {value} is given back"
    from accountant.stores.names import pseudonym
    from accountant.stores.renaming import erase

    return f"the account is called {erase(opened, pseudonym(value) or value, author, reason)} from now on"


def _expire(store: str, age: float) -> str:
    from verify.commands.begun_run import expire_actions

    if not _is_run(store):
        raise SettingError(f"{printable(store)}: holds no run, so no action waits for its feedback")
    gone, left = expire_actions(store, round(age))
    return f"withdrawn: {gone}; open: {left}"


def _rotate(store: str, names: str, author: str, reason: str, anchor: Path | None) -> str:
    """Hash names under the newer keys of a file; add a key if the store knows all of them."""
    from accountant.stores.names import NameKey, add_key
    from accountant.stores.opening import open_store
    from accountant.stores.renaming import rotate

    with closing(open_store(store, anchor=anchor)) as opened:
        if not names.startswith("env:"):
            path = Path(names)
            if not path.exists():
                add_key(path)
            elif NameKey.from_source(names).split(opened.names.check)[1] is None:
                add_key(path, rotate=True)
        count = rotate(opened, NameKey.from_source(names), author, reason)
    return f"{counted_noun(count, 'account')} named by hashes under the newest key"
