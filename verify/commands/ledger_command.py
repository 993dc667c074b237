"""The commands ``dpwitness ledger ...``: ledgers that last, for whoever runs accountants."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.text import Text

from verify.commands.command_options import json_option, rules_option, show
from verify.conduct.exit_codes import BAD
from verify.document.terminal_text import plain_table
from verify.printable import printable

if TYPE_CHECKING:
    from fractions import Fraction

    from accountant.budget import Amount
    from accountant.stores.store_verification import Verified

_store_argument = click.argument("store")
_anchor_option = click.option(
    "--anchor",
    type=click.Path(path_type=Path),
    help="The file outside that keeps how far the store has come.",
)


_names_option = click.option(
    "--names",
    help="The key's file, or env:VARIABLE, of a STORE that holds no names of records, but hashes under a key.",
)


@click.group("ledger")
def ledger_group() -> None:
    """Verify, show, export, import and mend ledgers that last: files made by Accountant(..., store=...), or URLs."""


@ledger_group.command("create")
@_store_argument
@click.option("--epsilon", required=True, type=float, help="What each record may lose in total.")
@click.option("--delta", default=0.0, show_default=True, help="Its delta.")
@click.option(
    "--composition",
    default="basic",
    show_default=True,
    type=click.Choice(["basic", "advanced", "zcdp", "renyi", "gaussian"]),
    help="The theorem that adds losses up.",
)
@click.option(
    "--trust",
    default="central",
    show_default=True,
    type=click.Choice(["central", "local", "shuffle"]),
    help="Whom records trust with their values.",
)
@click.option("--strict", is_flag=True, help="Refuse what rests on something that nobody checked.")
@rules_option
@_names_option
def create(
    store: str,
    epsilon: float,
    delta: float,
    composition: str,
    trust: str,
    strict: bool,
    rules: Path | None,
    names: str | None,
) -> None:
    """Make an empty STORE, for `dpwitness serve` or Accountant(..., store=STORE); its terms never change."""
    from accountant.budget import Budget
    from accountant.compositions import composition_named
    from accountant.rules.reach import check_reach
    from accountant.rules.rule import checked_rules, read_rules
    from accountant.stores.opening import existing, open_store
    from accountant.trust import Trust
    from accountant.written_terms import Terms

    theorem, budget = composition_named(composition), Budget(epsilon, delta)
    theorem.check(budget)
    given = None if rules is None else checked_rules(read_rules(rules), theorem)
    check_reach(given or (), theorem, budget)
    try:
        found = existing(store)
    except ValueError:  # there is none
        made = open_store(store, Terms(budget, theorem, Trust(trust), strict), rules=given, names=names)
        made.close()
    else:
        found.close()
        raise click.UsageError(f"{found.name}: holds a ledger already")
    left = theorem.remaining_spend(theorem.zero_spend, budget).words_left
    click.echo(f"{printable(made.name)}: each record may lose {left} ({theorem.name})")


@ledger_group.command("verify")
@_store_argument
@_anchor_option
@click.option(
    "--archive",
    "archives",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    multiple=True,
    help="A file that `dpwitness ledger fold --archive` wrote; once for each fold.",
)
@json_option
@click.pass_context
def verify_ledger(
    ctx: click.Context, /, store: str, anchor: Path | None, archives: tuple[Path, ...], as_json: bool
) -> None:
    """Recompute every hash, charge and total of STORE, or of a ledger in JSON; name the first that does not fit.

    What a fold says of the entries that it removed is believed, unless --archive has them.

    Exit codes: 0 everything fits; 1 something does not; 2 usage or input error.
    """
    from accountant.stores.archive import check_archives
    from accountant.stores.store_refusals import StoreRefused

    try:
        found = _verified(store, anchor)
        believed = check_archives(store, archives)
    except StoreRefused as refused:
        words = str(refused)
        show(
            as_json,
            lambda: {"fits": False, "reason": words},
            lambda console: console.print(Text(printable(words)), soft_wrap=True),
        )
        ctx.exit(BAD)
    show(as_json, partial(_verified_json, found, believed), partial(_render, found, believed))


def _verified(store: str, anchor: Path | None) -> Verified:
    from accountant.stores.export import verify_export
    from accountant.stores.opening import verify_store

    return verify_export(Path(store)) if store.endswith(".json") else verify_store(store, anchor)


def _verified_json(found: Verified, believed: int) -> dict[str, Any]:
    return {
        "fits": True,
        "entries": found.entries,
        "accounts": found.accounts,
        "epoch": found.head.epoch,
        "head": found.head.hash,
        "folded": found.replay.folds[-1]["after"] if found.replay.folds else 0,
        "believed": believed,
        "hashed_names": found.replay.names is not None,
        "erased_names": len(found.replay.erasures),
        "adopted": len(found.replay.adoptions),
        "on_trust": _on_trust(found, believed),
        "reserved": list(found.reserved),
    }


def _on_trust(found: Verified, believed: int) -> list[str]:
    """Return whose charges are on trust: of folded entries, too, whose kinds stay; their sums only while believed."""
    kinds, trusted = found.replay.kinds, found.replay.trusted
    return [repr(kinds[each].mechanism) for each in trusted if believed or each > 0]


def _render(found: Verified, believed: int, console: Console) -> None:
    console.print(f"{found.entries} entries, {found.accounts} accounts: all fit", highlight=False)
    console.print(f"head {found.head.hash} (epoch {found.head.epoch})", highlight=False, soft_wrap=True)
    if found.replay.lacking:
        console.print(Text(found.replay.lacking), soft_wrap=True)
    for fold in found.replay.folds:
        words = f"folded: the entries up to {fold['after']}, by {fold['by']}: {fold['reason']}"
        console.print(Text(printable(words)), soft_wrap=True)
    if found.replay.folds:
        words = (
            f"those up to {believed} are believed"
            if believed
            else "the archives lead to what the folds say; what cannot be rebuilt is on trust in them, too"
        )
        console.print(words, highlight=False, soft_wrap=True)
    if found.replay.names is not None:
        console.print("records are named by hashes under a key")
    if found.replay.erasures:
        words = "names were erased; whoever came back began anew, with a whole budget"
        console.print(f"{len(found.replay.erasures)} {words}", highlight=False, soft_wrap=True)
    for mechanism in _on_trust(found, believed):
        console.print(Text(f"on trust: the charge of {printable(mechanism)}"))
    if found.reserved:
        console.print(f"reserved, not drawn: {len(found.reserved)} (dpwitness ledger reservations)")


@ledger_group.command("left")
@_store_argument
@click.argument("records", nargs=-1)
@_names_option
@json_option
def left(store: str, records: tuple[str, ...], names: str | None, as_json: bool) -> None:
    """Say what RECORDS have spent in STORE, open reservations included, and have left; else, who has spent most.

    What is spent is rounded up and what is left down. Where STORE holds hashes of names, names are looked up under its
    key; a hash that is shown (hmac-sha256:...), and what is shown for an erased name, is found without. It only reads:
    STORE may be a copy, or in use.
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
        table = plain_table(("record", "of", "", "spent", "left"), rows)
        console.print(table if rows else "nobody has spent anything")

    show(
        as_json,
        lambda: {
            name: {
                "spent": _exact(total),
                "left": _exact(available),
                "rules": [
                    {"limit": str(rule), "spent": _exact(spent), "left": _exact(rest)}
                    for rule, spent, rest in counted
                ],
            }
            for name, (total, available, counted) in totals.items()
        },
        render,
    )


def _exact(amount: Amount) -> dict[str, str | None]:
    """Return the parts of an amount as fractions; None where no finite number covers it, or none limits it."""
    return {name: None if value is None else str(value) for name, value in amount.parts()}


def _rounded(value: Fraction | None, rounding: str, endless: str) -> str:
    """Return six digits of a number, rounded one way."""
    if value is None:
        return endless
    digits = Context(prec=6, rounding=rounding).divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{float(digits):.6g}"


@ledger_group.command("rules")
@_store_argument
@click.option(
    "--set",
    "file",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="The rules that are to be in force from now on, all of them, in TOML; an empty file for none.",
)
@click.option("--by", default="", help="Who changes them; kept in the ledger.")
@click.option("--reason", default="", help="Why; kept in the ledger.")
@_names_option
@json_option
def rules(store: str, file: Path | None, by: str, reason: str, names: str | None, as_json: bool) -> None:
    """List the limits of STORE beside its budget, and who set them when and why; with --set, put others in force.

    They count what was charged before, too.
    """
    from accountant.rules.reach import words_of_rule
    from accountant.rules.rule import read_rules
    from accountant.stores.opening import open_store, verify_store

    if file is not None:
        with closing(open_store(store, names=names)) as opened:
            opened.change_rules(read_rules(file), by, reason)
    replay = verify_store(store).replay
    changes = [
        {key: body[key] for key in ("by", "reason", "at")} | {"entry": position}
        for position, body in replay.rule_changes
    ]
    found = () if replay.limits is None else replay.limits.rules
    terms = replay.terms

    def render(console: Console) -> None:
        rows = []
        for rule in found:
            groups = f" ({len(rule.groups)} groups)" if rule.groups else ""
            rows.append((f"{rule}{groups}", f"{rule.budget.epsilon:g}", f"{rule.budget.delta:g}"))
        table = plain_table(("limit", "epsilon", "delta"), rows)
        console.print(table if rows else "no rules: each record has its budget, and nothing else limits it")
        for rule in found:
            bounds = words_of_rule(rule, found, terms.composition, terms.budget)
            console.print(Text(printable(f"{rule}: {bounds}")), soft_wrap=True)
        for change in changes:
            when = datetime.fromtimestamp(change["at"] / 1_000, UTC)
            words = f"entry {change['entry']}, {when:%Y-%m-%d %H:%M} UTC, {change['by']}: {change['reason']}"
            console.print(Text(printable(words)), soft_wrap=True)

    show(as_json, lambda: {"rules": [rule.to_dict() for rule in found], "changes": changes}, render)


@ledger_group.command("clock")
@_store_argument
@click.option("--by", required=True, help="Who says so; kept in the ledger.")
@click.option("--reason", required=True, help="Why; kept in the ledger.")
def clock(store: str, by: str, reason: str) -> None:
    """Say that the clock is right, although it is far ahead of the last charge in STORE.

    Rules for any so many days rest on it: a clock that is set ahead forgets what was charged.
    """
    from accountant.stores.opening import open_store

    with closing(open_store(store)) as opened:
        now = opened.confirm_clock(by, reason)
    click.echo(f"charges go on from {datetime.fromtimestamp(now / 1_000, UTC):%Y-%m-%d %H:%M} UTC")


@ledger_group.command("reservations")
@_store_argument
@json_option
def reservations(store: str, as_json: bool) -> None:
    """List reservations in STORE that are neither drawn nor given back, and who holds them."""
    from accountant.stores.opening import open_store

    with closing(open_store(store)) as opened:
        found = opened.reservations()

    def render(console: Console) -> None:
        rows = [(str(position), holder) for position, holder in found.items()]
        console.print(plain_table(("reservation", "held by"), rows) if rows else "no open reservations")

    show(as_json, lambda: {"reservations": {str(key): value for key, value in found.items()}}, render)


@ledger_group.command("give-back")
@_store_argument
@click.argument("reservation", type=int)
def give_back(store: str, reservation: int) -> None:
    """Give the charge of a RESERVATION in STORE back: its holder can draw nothing on it any more.

    It is safe whatever the holder does: noise is drawn only after the reservation is final in the store, and then
    nothing is given back.
    """
    from accountant.stores.opening import open_store

    with closing(open_store(store)) as opened:
        opened.give_back(reservation)
    click.echo(f"reservation {reservation} is given back")


@ledger_group.command("adopt")
@_store_argument
@click.option("--reason", required=True, help="Why this copy goes on; kept in the ledger.")
@_anchor_option
def adopt(store: str, reason: str, anchor: Path | None) -> None:
    """Say that this copy of STORE goes on, and that no other will: after a move, a restore or a loss.

    What was spent after the copy was made is forgotten if it is not brought back. Never do this while the original is
    in use: both would spend the same budgets.
    """
    from accountant.stores.opening import adopt as adopted

    mark = adopted(store, reason, anchor)
    click.echo(f"epoch {mark.epoch} begins after entry {mark.position - 1}")


@ledger_group.command("fold")
@_store_argument
@click.option(
    "--before",
    required=True,
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M"]),
    help="Entries from before this time, in UTC, are removed.",
)
@click.option("--by", required=True, help="Who does so; kept in the ledger.")
@click.option("--reason", required=True, help="Why; kept in the ledger.")
@click.option(
    "--forget-requests",
    is_flag=True,
    help="Forget keys and answers of requests from before, too: who uses such a key again is charged again.",
)
@click.option(
    "--archive",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A new file for the entries that are removed, for `dpwitness ledger verify --archive`.",
)
@_anchor_option
def fold(
    store: str,
    before: datetime,
    by: str,
    reason: str,
    forget_requests: bool,
    archive: Path | None,
    anchor: Path | None,
) -> None:
    """Remove old entries of STORE; what everybody has spent, and what rules count, stays.

    STORE is verified first, and may be in use. What is removed cannot be audited any more: export it before, and keep
    the export. Verification begins at the fold, and believes it unless it is given the --archive.
    """
    from accountant.stores.folding import fold as folded
    from accountant.stores.opening import open_store

    with closing(open_store(store, anchor=anchor)) as opened:
        moment = int(before.replace(tzinfo=UTC).timestamp() * 1_000)
        found = folded(opened, moment, by, reason, forget_requests=forget_requests, archive=archive)
    click.echo(f"{found.removed} entries are gone; verification begins after entry {found.after}")
    click.echo(f"the head of an export made then: {found.hash}")


@ledger_group.command("key")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--add", is_flag=True, help="Add a newer key to those of FILE, for `dpwitness ledger rotate`.")
def key(file: Path, add: bool) -> None:
    """Write a new key to FILE, under which a ledger holds hashes of names instead of names.

    Keep FILE, and a copy, where the ledger and its backups are not. Whoever has both can tell whose account is whose;
    without it nobody is charged any more, since everybody would be new.
    """
    from accountant.stores.names import add_key

    add_key(file, rotate=add)
    click.echo(f"{printable(str(file))}: a new key; keep a copy, not beside the ledger")


@ledger_group.command("rotate")
@_store_argument
@click.option(
    "--names",
    required=True,
    help="The file of its keys, oldest first, at least one of them new; or env:VARIABLE.",
)
@click.option("--by", required=True, help="Who does so; kept in the ledger.")
@click.option("--reason", required=True, help="Why; kept in the ledger.")
@_anchor_option
def rotate(store: str, names: str, by: str, reason: str, anchor: Path | None) -> None:
    """Hash what STORE calls its records under the newer keys of a file; names that were not hashed are from now on.

    Nobody has spent less. Whoever has STORE open is refused, and opens it again with the file. All keys of the file are
    needed from then on: a name is hashed under one after the other, so no list of names is needed. Exports and backups
    from before name records as STORE did then.
    """
    from accountant.stores.names import NameKey
    from accountant.stores.naming import rotate as rotated
    from accountant.stores.opening import open_store

    given = NameKey.read(names)
    with closing(open_store(store, anchor=anchor)) as opened:
        count = rotated(opened, given, by, reason)
    click.echo(f"{count} accounts are named by hashes under the newest key")


@ledger_group.command("erase")
@_store_argument
@click.argument("record")
@click.option("--by", required=True, help="Who does so; kept in the ledger.")
@click.option(
    "--reason", required=True, help="Why; kept in the ledger, so it must not say who the record is."
)
@click.option(
    "--begins-anew",
    is_flag=True,
    help="Yes: whoever comes back by this name begins with a new account and a whole budget.",
)
@_names_option
@_anchor_option
def erase(
    store: str,
    record: str,
    by: str,
    reason: str,
    begins_anew: bool,
    names: str | None,
    anchor: Path | None,
) -> None:
    """Forget which account of STORE is RECORD's; what was spent stays in force, and no name leads to it any more.

    So whoever comes back by this name is new to STORE: what they lose in all is bounded by the budget times one more
    than how often they were erased, and --begins-anew must say that this is meant. Exports, backups and keys of
    requests that hold the name are not changed. RECORD may be what STORE shows of it (hmac-sha256:...).
    """
    from accountant.stores.names import pseudonym
    from accountant.stores.naming import erase as erased
    from accountant.stores.opening import open_store

    if not begins_anew:
        raise click.UsageError(
            "erased, a name leads to nobody: whoever comes back by it begins with a new account and a whole budget; "
            "say --begins-anew if that is meant"
        )
    with closing(open_store(store, anchor=anchor, names=names)) as opened:
        shown = erased(opened, pseudonym(record) or record, by, reason)
    click.echo(f"the account is called {shown} from now on")


@ledger_group.command("export")
@_store_argument
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def export(store: str, file: Path) -> None:
    """Write STORE to FILE, a ledger in JSON for audits that cannot be spent from."""
    from accountant.stores.export import export_store

    export_store(store, file)


@ledger_group.command("import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--store", required=True, help="The new store.")
@_names_option
def import_(file: Path, store: str, names: str | None) -> None:
    """Make a store of FILE, a ledger in JSON of this or an earlier version; it is renamed to FILE.imported.

    With --names, the store holds hashes of names; those that are hashed in FILE stay so, under their key.
    """
    from accountant.stores.imports import import_ledger

    with closing(import_ledger(file, store, names)) as opened:
        said = f"{len(opened)} charges are in {printable(opened.name)}"
    click.echo(f"{said}; {printable(str(file))}.imported is for reading")
