"""The command ``dpwitness run``: learners in production, known by name, for `dpwitness serve`."""

from __future__ import annotations

from pathlib import Path

import click

from verify.commands.command_options import flags, rules_option, unique
from verify.printable import printable


@click.group("run")
def run_group() -> None:
    """Begin runs of learners that `dpwitness serve` serves."""


@run_group.command("create")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("learner")
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
@click.option("--horizon", required=True, type=int, help="For how many rounds its regret bound is.")
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
    folder: Path,
    learner: str,
    problem: str | None,
    settings: tuple[tuple[str, str], ...],
    epsilon: float,
    delta: float | None,
    trust: str,
    horizon: int,
    budget_epsilon: float | None,
    budget_delta: float | None,
    composition: str,
    rules: Path | None,
    purpose: str | None,
    tenant: str | None,
) -> None:
    """Begin a run of LEARNER in a new FOLDER, for `dpwitness serve --run NAME=FOLDER`.

    Of the problem only its structure is used: what can be played. One of your own, FILE.py:OBJECT, is read again
    whenever the run is served, so the file has to stay where it is; if what it says has changed, the run is refused
    until you say that it may go on. Feedback will reach the service as it is, whatever the learner, and FOLDER will
    hold raw data, unless the run is of local trust: then users' devices get questions, and send messages.
    """
    from accountant import Accountant, Budget, PurposeRefused, Trust
    from accountant.compositions import composition_named
    from accountant.rules import read_rules
    from algorithms.catalogue.named_run import NamedLearner, begin_named_run
    from algorithms.catalogue.structured_entries import learners
    from algorithms.message_learner import MessageLearner
    from algorithms.problems import known_name
    from verify.subjects.own_problem import own_structure, placed
    from verify.subjects.resolve import names_file

    entry = learners[known_name("learner", learner, learners)]
    played = problem or entry.default_problem
    own = own_structure(played) if names_file(played) else None
    named = NamedLearner(
        learner, played if own is None else placed(played), epsilon, horizon, delta, unique(settings), own
    )
    asking = sorted(name for name, each in learners.items() if issubclass(each.make, MessageLearner))
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
    begin_named_run(folder, named, accountant).close()
    left = accountant.composition.left(accountant.composition.zero, budget).words
    click.echo(
        f"{printable(str(folder))}: {learner}; each record may lose {left} ({accountant.composition.name})"
    )
    if entry.claim.model != trust:
        click.echo(
            f"{learner} is made for {entry.claim.model} trust: served, its messages are randomized in the service, "
            "which sees what they are of",
            err=True,
        )
