"""Runs of learners in production for `dpwitness serve`: begun or opened by name, with their waiting actions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from algorithms.problems import SettingError
from verify.commands.verify_command import pop_horizon
from verify.findings.printable import printable

if TYPE_CHECKING:
    from accountant.rules.scope import Scope
    from algorithms import DurableRun
    from algorithms.durable.open_tickets import OpenTicket


def begin_run(
    where: str,
    learner: str,
    problem: str | None,
    settings: Mapping[str, str],
    *,
    budget: tuple[float, float | None],
    trust: str,
    composition: str,
    rules: Path | None,
) -> None:
    """Begin a run in a new folder or an empty PostgreSQL database.

    Of the problem only its structure is used: the actions that can be played. One of the user's own, FILE.py:OBJECT, is
    read again whenever the run is served. Raw feedback will reach the service, and the run will hold raw data, unless
    its trust is local: then users' devices get questions, and send messages.

    Parameters
    ----------
    settings
        The settings of the problem and the learner, its own epsilon, delta and horizon among them; epsilon and delta
        are by default the budget's.
    budget
        The largest loss of each record in total.
    """
    from accountant import Accountant, Budget, Trust
    from accountant.compositions import composition_named
    from accountant.rules.rule import read_rules
    from algorithms.catalogue.named_run import RUN_LEARNERS, NamedLearner, begin_named_run, run_learner
    from algorithms.message_learner import MessageLearner
    from verify.verification.own_problem import absolute_object_path, own_structure
    from verify.verification.resolve import names_file

    if "://" in learner:  # a URL may have a password: it is not repeated
        raise SettingError("--learner: must be the name of a learner, not where the run is kept")
    if trust not in ("central", "local"):
        raise SettingError(f"--trust {trust}: must be central or local for a run")
    entry = run_learner(learner)
    if entry.claim.is_none and budget[0] < math.inf:
        raise SettingError(
            f"--learner {learner}: has no privacy: its records would pay ε = ∞, beyond --epsilon"
        )
    played = problem or entry.default_problem
    own = own_structure(played) if names_file(played) else None
    others, epsilon, delta, horizon = _own_numbers(
        settings, budget if entry.takes_delta else (budget[0], None)
    )
    named = NamedLearner(
        learner, played if own is None else absolute_object_path(played), epsilon, horizon, delta, others, own
    )
    asking = sorted(name for name, each in RUN_LEARNERS.items() if issubclass(each.make, MessageLearner))
    if trust == "local" and learner not in asking:
        raise SettingError(
            f"--trust local: {learner} asks no device for a single message; {', '.join(asking)} do"
        )
    most = Budget(budget[0], budget[1] or 0.0)
    accountant = Accountant(
        most,
        trust=Trust(trust),
        composition=composition_named(composition),
        rules=None if rules is None else read_rules(rules),
    )
    begin_named_run(where, named, accountant).close()
    left = accountant.composition.remaining_spend(accountant.composition.zero_spend, most).words_left
    click.echo(
        f"{printable(_shown_place(where))}: {learner}; each record may lose {left} ({accountant.composition.name})"
    )
    if epsilon > most.epsilon:
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


def _own_numbers(
    settings: Mapping[str, str], budget: tuple[float, float | None]
) -> tuple[dict[str, str], float, float | None, int | None]:
    """Return the settings that are left, and the learner's own epsilon, delta and horizon."""
    others, found = dict(settings), dict[str, Any](zip(("epsilon", "delta"), budget, strict=True))
    for name in found.keys() & others.keys():
        text = others.pop(name)
        try:
            found[name] = float(text)
        except ValueError:
            raise SettingError(f"--set {name}={text}: must be a number") from None
    horizon = pop_horizon(others)
    return others, found["epsilon"], found["delta"], horizon


def run_loader(
    where: str, builder: str | None = None, code: str | None = None, scope: Scope | None = None
) -> Callable[[], DurableRun[Any]]:
    """Return a function that opens a run; a user's file is read once, as a run may be opened again.

    With a scope, it is that of all the run's charges: the first opening writes it to the run. Nobody changes it later.
    """
    if builder is None:
        from algorithms.catalogue.named_run import load_named_run
        from verify.verification.own_problem import own_structure

        load: Callable[[], Any] = partial(load_named_run, where, cache(own_structure), code=code)
    else:
        from algorithms import DurableRun
        from verify.verification.resolve import load_object

        build = cast("Callable[[Any], Any]", load_object(builder))
        load = partial(DurableRun.load, where, build, code=code)
    return load if scope is None else partial(_open_for, load, where, scope)


def _open_for(load: Callable[[], DurableRun[Any]], where: str, scope: Scope) -> DurableRun[Any]:
    """Open a run with a scope for its charges."""
    from accountant.stored_accountant import settle_scope

    with ExitStack() as opened:
        run = opened.enter_context(load())
        try:
            new = settle_scope(run.accountant, scope)
        except ValueError as refused:
            said = getattr(refused, "message", refused)
            raise SettingError(f"{_shown_place(where)}: {said}") from None
        if new:
            run.save()
        opened.pop_all()
    return run


def _shown_place(where: str) -> str:
    """Return a run's place without the password that a URL may have."""
    from algorithms.durable.run_place import absolute_location, location_name

    return location_name(absolute_location(where))


def waiting_actions(where: str) -> list[OpenTicket]:
    """Return the actions of a run that wait for their feedback, the oldest first."""
    from algorithms.durable.open_tickets import kept_by, open_tickets

    with _open_ticket_run(where) as run:
        return list(open_tickets(run, kept_by(run)))


def expire_actions(where: str, age: int) -> tuple[int, int]:
    """Withdraw the actions without feedback from `age` milliseconds on; return their number, and that of the others.

    Later feedback on one is refused. No charge is given back, and no observed feedback is lost: a ticket charges no
    record before its feedback.
    """
    from algorithms.durable.open_tickets import kept_by, withdraw_older

    with _open_ticket_run(where) as run:
        gone = withdraw_older(run, kept_by(run), age)
        left = len(run.learner.waiting)
        if gone:
            run.save()
    return len(gone), left


@contextmanager
def _open_ticket_run(where: str) -> Iterator[DurableRun[Any]]:
    """Open a run of a learner that issues tickets; refuse any other."""
    with run_loader(where)() as run:
        if not hasattr(run.learner, "waiting"):
            raise SettingError(f"{_shown_place(where)}: {type(run.learner).__name__} hands out no tickets")
        yield run
