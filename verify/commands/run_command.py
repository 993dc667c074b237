"""The command ``dpwitness run``: learners in production, known by name, for `dpwitness serve`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from verify.commands.command_options import Read, flags, json_option, rules_option, show
from verify.commands.completed_names import LEARNER
from verify.commands.run_loader import run_loader
from verify.document.terminal_text import plain_table
from verify.printable import printable

if TYPE_CHECKING:
    from algorithms import DurableRun


@click.group("run")
def run_group() -> None:
    """Begin runs of learners that `dpwitness serve` serves."""


_where_argument = click.argument("where", metavar="WHERE")


@run_group.command("create")
@_where_argument
@click.argument("learner", type=LEARNER)
@flags("problem", "settings")
@click.option("--epsilon", required=True, type=float, help="The learner's epsilon.")
@click.option("--delta", type=float, help="The learner's delta, if its claim has one.")
@click.option(
    "--trust",
    type=click.Choice(["central", "local"]),
    default="central",
    show_default=True,
    help="Whether feedback reaches the service, or only messages that users' own devices draw.",
)
@click.option(
    "--horizon", type=int, help="For how many rounds its regret bound is [default: any, if the learner can]."
)
@click.option("--budget-epsilon", type=float, help="What each record may lose in total [default: --epsilon].")
@click.option("--budget-delta", type=float, help="Its delta [default: --delta, or 0].")
@click.option(
    "--composition",
    default="basic",
    show_default=True,
    help="The theorem that adds up losses of a record that takes part more than once.",
)
@rules_option
@click.option("--purpose", help="What the run's charges are for: rules count them by it.")
@click.option("--tenant", help="Who learns what the run releases.")
def create(
    where: str,
    learner: str,
    problem: str | None,
    settings: dict[str, str],
    epsilon: float,
    delta: float | None,
    trust: str,
    horizon: int | None,
    budget_epsilon: float | None,
    budget_delta: float | None,
    composition: str,
    rules: Path | None,
    purpose: str | None,
    tenant: str | None,
) -> None:
    """Begin a run of LEARNER at WHERE, for `dpwitness serve --run NAME=WHERE`.

    WHERE is a new folder, or the URL of an empty PostgreSQL database, which services on several machines can have.

    Of the problem only its structure is used: what can be played. One of your own, FILE.py:OBJECT, is read again
    whenever the run is served, so the file has to stay where it is; if what it says has changed, the run is refused
    until you say that it may go on. Feedback will reach the service as it is, whatever the learner, and WHERE will
    hold raw data, unless the run is of local trust: then users' devices get questions, and send messages.
    """
    from accountant import Accountant, Budget, PurposeRefused, Trust
    from accountant.compositions import composition_named
    from accountant.rules.rule import read_rules
    from algorithms.catalogue.named_run import RUN_LEARNERS, NamedLearner, begin_named_run
    from algorithms.durable.run_place import place, shown
    from algorithms.message_learner import MessageLearner
    from algorithms.problems import known_name
    from verify.subjects.own_problem import absolute_object_path, own_structure
    from verify.subjects.resolve import names_file

    if where in RUN_LEARNERS and learner not in RUN_LEARNERS:
        # What stands in the learner's place may be a URL with a password: it is not repeated.
        raise click.UsageError(f"WHERE stands before LEARNER: dpwitness run create WHERE {where} ...")
    entry = RUN_LEARNERS[known_name("learner", learner, RUN_LEARNERS)]
    played = problem or entry.default_problem
    own = own_structure(played) if names_file(played) else None
    named = NamedLearner(
        learner,
        played if own is None else absolute_object_path(played),
        epsilon,
        horizon,
        delta,
        settings,
        own,
    )
    asking = sorted(name for name, each in RUN_LEARNERS.items() if issubclass(each.make, MessageLearner))
    if trust == "local" and learner not in asking:
        raise click.UsageError(
            f"--trust local: {learner} asks no device for a single message; {', '.join(asking)} do"
        )
    most = epsilon if budget_epsilon is None else budget_epsilon
    budget = Budget(most, (delta or 0.0) if budget_delta is None else budget_delta)
    accountant = Accountant(
        budget,
        trust=Trust(trust),
        composition=composition_named(composition),
        rules=None if rules is None else read_rules(rules),
        purpose=purpose,
        tenant=tenant,
    )
    try:
        accountant.check_permitted()
    except PurposeRefused as refused:
        raise click.UsageError(f"--purpose, --tenant: {refused.message}") from None
    begin_named_run(where, named, accountant).close()
    left = accountant.composition.left(accountant.composition.zero, budget).words_left
    click.echo(
        f"{printable(shown(place(where)))}: {learner}; each record may lose {left} ({accountant.composition.name})"
    )
    if epsilon > most:
        click.echo(
            f"a round of {learner} may lose ε = {epsilon:g}, which is more than each record may lose: feedback that "
            "costs so much is refused",
            err=True,
        )
    if entry.claim.model != trust:
        click.echo(
            f"{learner} is made for {entry.claim.model} trust: served, its messages are randomized in the service, "
            "which sees what they are of",
            err=True,
        )


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_build_option = click.option(
    "--build", "builder", metavar="FILE.py:FUNCTION", help="What makes the learner, of a run begun in Python."
)


def _milliseconds(text: str, flag: str) -> float:
    """Read a time, a number and its unit."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)([smhd])", text.strip())
    if found is None:
        raise click.BadParameter(f"{text!r} must be a number with its unit: 90s, 30m, 12h or 2d")
    return 1000.0 * float(found[1]) * _UNITS[found[2]]


@run_group.command("tickets")
@_where_argument
@_build_option
@json_option
def tickets(where: str, builder: str | None, as_json: bool) -> None:
    """List the actions of the run at WHERE that wait for their feedback, the oldest first.

    Nothing is charged for them yet. A run that is being served is asked over HTTP: GET /v1/runs/NAME/tickets.
    """
    from algorithms.durable.open_tickets import kept_by, open_tickets

    with _opened(where, builder) as run:
        found = open_tickets(run, kept_by(run))

    def render(console: Console) -> None:
        rows = []
        for each in found:
            told = each.json()
            record, arms = told["record"], " ".join(map(str, told["action"]))
            said = "handed out in Python" if record is None else str(record)
            rows.append((each.name, arms, said, told["since"] or "not known"))
        table = plain_table(("ticket", "action", "record", "since"), rows)
        console.print(table if rows else "no action waits for its feedback")

    show(as_json, lambda: {"open": len(found), "tickets": [each.json() for each in found]}, render)


@run_group.command("lapse")
@_where_argument
@click.option(
    "--older-than",
    "age",
    required=True,
    type=Read("TIME", _milliseconds),
    help="How long they have waited at least: 90s, 30m, 12h, 2d.",
)
@_build_option
def lapse(where: str, age: float, builder: str | None) -> None:
    """Withdraw the actions of the run at WHERE whose feedback has not come for so long, all or none.

    Feedback that comes for one later is refused. Nothing that was charged is given back, and nothing is lost that was
    observed: a ticket charges nobody before its feedback. A run that is being served is asked over HTTP: POST
    /v1/runs/NAME/lapse.
    """
    from algorithms.durable.open_tickets import kept_by, withdraw_older

    with _opened(where, builder) as run:
        gone = withdraw_older(run, kept_by(run), round(age))
        left = len(run.learner.waiting)
        if gone:
            run.save()
    click.echo(f"withdrawn: {len(gone)}; open: {left}")


@contextmanager
def _opened(where: str, builder: str | None) -> Iterator[DurableRun[Any]]:
    """Open a run whose learner hands out tickets."""
    from algorithms.durable.run_place import place, shown

    with run_loader(where, builder, None)() as run:
        if not hasattr(run.learner, "waiting"):
            raise click.UsageError(
                f"{shown(place(where))}: {type(run.learner).__name__} hands out no tickets"
            )
        yield run
