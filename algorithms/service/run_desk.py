"""The operations of a service on a learner's run, each within the permissions of its API key."""

from __future__ import annotations

import itertools
import json
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from accountant import Accountant, BudgetExceeded, GateClosed, PurposeRefused, Refusal, Trust
from accountant.gates.lineage import RecordId
from accountant.gates.messages import some_value
from accountant.ledger.summary import Summary
from accountant.rules import clock
from accountant.rules.clock import ClockAhead
from accountant.service.amounts_json import accounts_json, summary_json
from accountant.service.cached_value import CachedValue
from accountant.service.journal import note, place_of
from accountant.service.problem_details import Problems, ServiceProblem, answered_as, invalid
from accountant.service.rules_shown import RuleShown, rules_shown
from accountant.stored_accountant import ledger_of
from accountant.stores.group_commit import GroupCommit
from accountant.stores.store_refusals import InUse, LedgerDamaged, StoreRefused
from algorithms.durable.open_tickets import (
    AnyLearner,
    HandedOut,
    Run,
    kept_as,
    kept_by,
    open_tickets,
    stored_ticket,
    withdraw_older,
)
from algorithms.linear.contextual_learner import ContextualLearner
from algorithms.message_learner import MessageLearner, Question
from algorithms.problems import ProblemError
from algorithms.structured_learner import StructuredLearner
from algorithms.tickets import Ticket, TicketRefused
from mechanisms import DomainError, HorizonExceeded
from mechanisms.arrays import FloatArray
from mechanisms.parameters import ParameterError

_ROUNDING = 1e-9
"""The largest excess of a vector's length over 1 that is shortened and not refused."""


@dataclass(frozen=True)
class Feedback:
    """Feedback on an action that was shown.

    Attributes
    ----------
    ticket
        The action's.
    record
        The record to which the action was shown.
    values
        One for each of the action's arms. Never shown.
    features
        For a contextual learner, the vector of the action that was shown; it is never shown itself.
    """

    ticket: str
    record: RecordId
    values: tuple[float, ...]
    features: tuple[float, ...] | None = None

    def __repr__(self) -> str:
        return f"<feedback on ticket {self.ticket!r}>"


class RunDesk:
    """The operations on a run, with plain data as arguments and results: each is saved before it is answered.

    Waiting requests are served together, by one save. After a failed save, or an unforeseen error, the store alone has
    the state: the run is closed, and loaded again by the next request. If another process has it open, each request
    tries to open it again, and takes it over when that process ends.

    Parameters
    ----------
    name
        The run's name for clients.
    load
        Function that opens the run.
    most_open
        The largest number of actions that wait for feedback, as each save writes them all. For one more, the oldest
        actions of the client with most are withdrawn: a client that never answers does not block others.

    Raises
    ------
    ParameterError
        If the run's trust is neither central nor, with a learner that asks for messages, local.
    """

    def __init__(self, name: str, load: Callable[[], Run], most_open: int) -> None:
        self.name = name
        self._most_open = most_open
        self._load = load
        self._run: Run | None = None
        self._queue: GroupCommit[_Task] = GroupCommit(self._do_batches)
        self._using = threading.RLock()
        self._rules = CachedValue(self._read_rules)
        with suppress(InUse):  # another service's, and ours once that ends
            self._open_run()

    def act(
        self,
        client: str,
        request: str,
        record: RecordId,
        available: Sequence[int] | None = None,
        contexts: Sequence[Sequence[float]] | None = None,
    ) -> dict[str, Any]:
        """Return an action for a record, with the ticket that its feedback is to come with.

        `available` are the arms that are there, all by default: public, as for `StructuredLearner.act`. `contexts` are
        the vectors of the actions that the record brings to a contextual learner: private, and forgotten.
        """

        def act(turn: _Turn) -> dict[str, Any]:
            ticket, arms = _issue_action(turn.run.learner, available, contexts)
            answer = {"request": request, "ticket": ticket.name, "action": arms}
            central = turn.run.accountant.trust is Trust.CENTRAL
            question = None if central else _pose(turn.run, ticket, record)
            known = HandedOut(record, client, question, clock.wall())
            turn.keep(kept_as(ticket.name), known.json())
            if len(turn.run.learner.waiting) > self._most_open:  # once nothing is refused any more
                _withdraw_oldest(turn, max(1, self._most_open // 100))
            return answer if question is None else {**answer, "question": question}

        terms = ["act", record] if available is None else ["act", record, sorted(available)]
        return self._once(client, request, terms, act)

    def observe(self, client: str, request: str, feedback: Feedback) -> dict[str, Any]:
        """Let the learner learn from feedback: a ticket's, once."""

        def observe(turn: _Turn) -> dict[str, Any]:
            learner, accountant = turn.run.learner, turn.run.accountant
            if accountant.trust is not Trust.CENTRAL:
                words = "this run is of local trust: feedback stays on the device, which sends its message instead"
                raise ServiceProblem(409, "other-trust", words)
            ticket, _ = _stored_ticket(turn, feedback.ticket, feedback.record)
            values: Any
            if isinstance(learner, ContextualLearner):
                values, rule = _moments(learner, feedback)
            else:
                values, rule = _outcomes(learner, ticket, feedback)
            try:
                private = accountant.private(values, learner.feedback_domain, feedback.record)
            except (DomainError, OverflowError):  # its words have the value
                raise invalid("feedback", rule) from None
            learner.observe(private, ticket=ticket)
            return {"request": request, "ticket": ticket.name, "state": "observed"}

        return self._once(client, request, ["observe", feedback.ticket, feedback.record], observe)

    def message(
        self, client: str, request: str, ticket: str, record: RecordId, message: Sequence[float]
    ) -> dict[str, Any]:
        """Let the learner learn from the message that a record's own device has drawn: a ticket's, once."""

        def hear(turn: _Turn) -> dict[str, Any]:
            learner = turn.run.learner
            if turn.run.accountant.trust is Trust.CENTRAL or not isinstance(learner, MessageLearner):
                raise ServiceProblem(
                    409, "other-trust", "this run is of central trust: it takes feedback, and no messages"
                )
            found, kept = _stored_ticket(turn, ticket, record)
            if kept is None or kept.question is None:
                words = f"ticket = {found.name!r}: nothing was asked with it"
                raise ServiceProblem(409, "ticket-refused", words, "ticket")
            question = Question.from_dict(kept.question)
            try:
                learner.observe_message(question, message, record, ticket=found)
            except Refusal:
                raise
            except ValueError:
                raise invalid("message", "must be an output of the question's mechanism") from None
            return {"request": request, "ticket": found.name, "state": "observed"}

        return self._once(client, request, ["message", ticket, record], hear)

    def withdraw(self, client: str, request: str, ticket: str) -> dict[str, Any]:
        """Forget an action for which feedback is no longer expected."""

        def withdraw(turn: _Turn) -> dict[str, Any]:
            turn.run.learner.withdraw(_open_ticket(turn, ticket))
            return {"request": request, "ticket": ticket, "state": "withdrawn"}

        return self._once(client, request, ["withdraw", ticket], withdraw)

    def lapse(self, client: str, request: str, seconds: float) -> dict[str, Any]:
        """Withdraw all actions that have waited at least `seconds` for their feedback, in one save."""

        def lapse(turn: _Turn) -> dict[str, Any]:
            gone = withdraw_older(turn.run, turn.stored_value, round(1000 * seconds))
            return {"request": request, "withdrawn": len(gone), "open": len(turn.run.learner.waiting)}

        return self._once(client, request, ["lapse", seconds], lapse)

    def _once(
        self, client: str, request: str, terms: list[Any], act: Callable[[_Turn], dict[str, Any]]
    ) -> dict[str, Any]:
        """Do something once for each key of a client's, and return its first answer."""

        def once(turn: _Turn) -> dict[str, Any]:
            name = json.dumps(["request", client, request])
            earlier = turn.stored_value(name)
            if earlier is None:
                answer = act(turn)
                turn.keep(name, [terms, answer])
                return answer
            if earlier[0] != terms:
                raise ServiceProblem(409, "key-used", "this key was used for something else", "request")
            found: dict[str, Any] = earlier[1]
            return found

        with _sendable_refusals():
            answer: dict[str, Any] = self._queue.do(once)
        return answer

    def _do_batches(self, batches: Iterator[Sequence[_Task]]) -> list[Any]:
        """Do all tasks, and save once."""
        with self._using, (run := self._loaded_run()).turn():
            turn, results = _Turn(run), list[Any]()
            try:
                for task in itertools.chain.from_iterable(batches):
                    charged = len(ledger_of(run.accountant).events)
                    try:
                        results.append(task(turn))
                    except (ServiceProblem, Refusal, HorizonExceeded) as refused:
                        if len(ledger_of(run.accountant).events) != charged:
                            raise self._interrupted_charge(run, refused) from None
                        results.append(refused)  # nothing was charged, and nothing has changed
                if turn.news:
                    run.save(keep={name: json.dumps(value).encode() for name, value in turn.news.items()})
                else:  # refusals and repeated answers: not from another's past
                    run.check_held()
            except BaseException:
                if run.accountant.closure is None:  # else it is to stay shut
                    self.close()
                raise
        return results

    def _interrupted_charge(self, run: Run, refused: Exception) -> RuntimeError:
        """Return the error of a user's own learner that is refused after it has charged: the turn is not saved."""
        kind, by = type(refused).__name__, type(run.learner).__name__
        note("refused after a charge", logging.ERROR, run=self.name, learner=by, refusal=kind)
        return RuntimeError(f"{by} was refused ({kind}) after it had charged")

    # --- reading ---------------------------------------------------------------------------------

    def standings(self, records: Sequence[RecordId]) -> dict[str, Any]:
        """Return the spent and remaining budgets of records, rounded up and down; None is no limit."""
        with self._reading() as run:
            standings = run.accountant.ledger.standings(records)
        return accounts_json(run.accountant, records, standings)

    def state(self) -> dict[str, Any]:
        """Return the run's identity, its progress, and a summary of charges."""
        with self._reading() as run:
            return {
                "run": self.name,
                "learner": type(run.learner).__name__,
                "tickets": {
                    "issued": run.learner.waiting.issued,
                    "open": len(run.learner.waiting),
                },
                "summary": summary_json(run.accountant),
            }

    def tickets(self, most: int) -> dict[str, Any]:
        """Return the oldest actions that wait for feedback, at most `most`, and the number of all."""
        with self._reading() as run:
            found = open_tickets(run, kept_by(run), most)
            return {
                "run": self.name,
                "open": len(run.learner.waiting),
                "tickets": [each.json() for each in found],
            }

    def summary(self) -> Summary:
        """Return a summary of charges by record and release."""
        with self._reading() as run:
            return run.accountant.summary()

    def rules(self) -> list[RuleShown]:
        """Return, for each rule, the budget left to the record that is nearest to its limit."""
        return self._rules.get()

    def _read_rules(self) -> list[RuleShown]:
        with self._reading() as run:
            held = run.accountant
            return rules_shown(held.composition, held.budget, held.ledger.rule_standings())

    def check(self) -> None:
        """Refuse if the run is another process's, or shut.

        Raises
        ------
        Problem
            With the reason.
        """
        with self._reading() as run:
            run.accountant.check_open()

    @contextmanager
    def _reading(self) -> Iterator[Run]:
        with _sendable_refusals(), self._using:
            run = self._loaded_run()
            try:
                run.check_held()
            except InUse:
                self.close()
                raise
            yield run

    def _loaded_run(self) -> Run:
        """Return the run, loaded again if it was closed; raise as for a store if it does not load any more."""
        try:
            return self._open_run()
        except (Refusal, StoreRefused, ClockAhead):
            raise
        except ValueError as error:  # its store is gone, or its code has changed
            note("not loaded", logging.ERROR, run=self.name, error=place_of(error))
            words = f"the run is not loaded again ({type(error).__name__}): a restart of the service says why"
            raise ServiceProblem(503, "store-refused", words) from None

    def _open_run(self) -> Run:
        if self._run is None:
            run = self._load()
            try:
                _check_served(run.accountant, run.learner, self.name)
            except BaseException:
                run.close()
                raise
            self._run = run
        return self._run

    def close(self) -> None:
        """Give the run free for others."""
        with self._using:
            run, self._run = self._run, None
            if run is not None:
                run.close()


class _Turn:
    """One save of a run: the values kept before, and those that it adds."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.news: dict[str, Any] = {}

    def stored_value(self, name: str) -> Any:
        """Return the value kept by a name; None if there is none."""
        return self.news[name] if name in self.news else kept_by(self.run)(name)

    def keep(self, name: str, value: Any) -> None:
        """Keep something, if the save succeeds."""
        self.news[name] = value


_Task = Callable[[_Turn], Any]


def _withdraw_oldest(turn: _Turn, count: int) -> None:
    """Withdraw actions of the client with most that are open, the newest of all left out.

    Several at once, as it reads the client of each: the lost feedback is chosen by numbers of actions alone, which are
    public.
    """
    waiting, clients = turn.run.learner.waiting, dict[str | None, list[Ticket]]()
    for ticket in list(waiting.tickets.values())[:-1]:
        known = stored_ticket(turn.stored_value, ticket.name)
        clients.setdefault(None if known is None else known.client, []).append(ticket)
    for ticket in max(clients.values(), key=len)[:count]:
        waiting.close(ticket)


def _open_ticket(turn: _Turn, name: str) -> Any:
    try:
        return turn.run.learner.waiting.find(name)
    except TicketRefused as refused:
        words = str(refused).rpartition(";")[0]
        raise ServiceProblem(409, "ticket-refused", words, "ticket") from None


def _stored_ticket(turn: _Turn, name: str, record: RecordId) -> tuple[Ticket, HandedOut | None]:
    """Return an open ticket, and its stored data; None if it was handed out in Python."""
    ticket = _open_ticket(turn, name)
    kept = stored_ticket(turn.stored_value, ticket.name)
    if kept is not None and kept.record != record:
        words = f"ticket = {ticket.name!r}: was handed out for another record"
        raise ServiceProblem(409, "ticket-refused", words, "ticket")
    return ticket, kept


def _issue_action(
    learner: AnyLearner, available: Sequence[int] | None, contexts: Sequence[Sequence[float]] | None
) -> tuple[Ticket, list[int]]:
    """Return a new ticket, and the action played."""
    if isinstance(learner, ContextualLearner):
        if available is not None:
            raise invalid("available", "leave out the contexts of what is not there")
        offered = _vectors(learner, "contexts", contexts)
        return learner.issue(), learner.policy.choose([offered]).tolist()
    if contexts is not None:
        raise invalid("contexts", f"{type(learner).__name__} plays without")
    if available is not None:
        try:
            learner.check_available(available)
        except ProblemError as error:
            raise invalid("available", str(error).removeprefix("available: ")) from None
    ticket = learner.issue(available=available)
    return ticket, [int(arm) for arm in ticket.action[0] if arm >= 0]


def _vectors(learner: ContextualLearner, name: str, given: Sequence[Sequence[float]] | None) -> FloatArray:
    """Return the vectors of actions."""
    d = learner.feedback_domain.features
    if given and all(len(vector) == d for vector in given):
        with suppress(OverflowError):  # of a whole number
            vectors = np.array(given, dtype=np.float64)
            if np.linalg.norm(vectors, axis=1).max() <= 1.0 + _ROUNDING:
                return vectors
    raise invalid(name, f"must be vectors of {d} numbers, of length 1 at most")


def _moments(learner: ContextualLearner, feedback: Feedback) -> tuple[FloatArray, str]:
    """Return a round's moments, and the rule for feedback."""
    rule = "must be one reward from -1 to 1"
    features = _vectors(learner, "features", None if feedback.features is None else [feedback.features])
    if len(feedback.values) != 1 or not abs(feedback.values[0]) <= 1:
        raise invalid("feedback", rule)
    return learner.feedback_domain.moments(features[0], feedback.values[0]), rule


def _outcomes(
    learner: StructuredLearner[Any], ticket: Ticket, feedback: Feedback
) -> tuple[tuple[float, ...], str]:
    """Return the outcomes of a ticket's action, padded with zeros, and the rule for feedback."""
    if feedback.features is not None:
        raise invalid("features", f"{type(learner).__name__} learns without")
    shown = int((ticket.action[0] >= 0).sum())
    rule = f"must be {shown} numbers, one for each arm of the action, padded with zeros in {learner.feedback_domain}"
    if len(feedback.values) != shown:
        raise invalid("feedback", rule)
    return (*feedback.values, *(0.0,) * (ticket.action.shape[-1] - shown)), rule


def _pose(run: Run, ticket: Ticket, record: RecordId) -> dict[str, Any]:
    """Return the question to a record's device, if the record can pay for the answer: else it would draw in vain."""
    learner, accountant = run.learner, run.accountant
    assert isinstance(learner, MessageLearner)
    try:
        question = learner.pose(ticket)
        private = accountant.private(some_value(question.domain), question.domain, record)
        affordable = accountant.price(question.mechanism, private).affordable
    except BaseException:
        learner.withdraw(ticket)
        raise
    if not affordable:
        learner.withdraw(ticket)
        words = f"record {record!r} has too little left: nothing is asked"
        raise ServiceProblem(409, "budget-exceeded", words)
    return question.to_dict()


def _check_served(accountant: Accountant, learner: object, name: str) -> None:
    if not isinstance(learner, StructuredLearner | ContextualLearner):
        raise ParameterError(
            f"run {name}: {type(learner).__name__} hands out no tickets, so it cannot be served"
        )
    if accountant.trust is Trust.CENTRAL:
        return
    if accountant.trust is Trust.SHUFFLE or not isinstance(learner, MessageLearner):
        raise ParameterError(
            f"run {name}: its ledger is of {accountant.trust.value} trust, and of {type(learner).__name__} no single "
            "message can be asked of a device: serve a run of central trust, or of a MessageLearner"
        )
    if accountant.strict:
        raise ParameterError(
            f"run {name}: its ledger is strict: what devices draw is on trust, so it would take no message"
        )


_PROBLEMS: Problems = {
    # The reason may tell of private data.
    GateClosed: (503, "closed", "the run's ledger is closed: nothing more is charged"),
    PurposeRefused: (403, "", "{0.message}"),
    ClockAhead: (
        *(503, "clock-ahead"),
        "the clock is far ahead of the last charge: `dpwitness ledger amend --accept-clock` says it is right",
    ),
    Refusal: (409, "", "{0.message}"),
    HorizonExceeded: (
        *(409, "horizon-exceeded"),
        "the run has observed all rounds of its horizon: nothing was charged, and the ticket stays open",
    ),
    InUse: (503, "held", "the run is held by {0.holder}: ask there, or again later"),
    LedgerDamaged: (503, "damaged", "the run is damaged: dpwitness check shows the place"),
    StoreRefused: (503, "store-refused", "the run does not go on ({1})"),
    # A save that failed may have been written.
    OSError: (503, "unknown", "it is unknown whether it was saved: repeat the request under its key"),
}


@contextmanager
def _sendable_refusals() -> Iterator[None]:
    """Raise refusals as `ServiceProblem`, in words that may be sent."""
    with answered_as(_PROBLEMS):
        try:
            yield
        except BudgetExceeded as refused:  # the remaining amount is for keys that may read
            words = f"record {refused.record!r} has too little left: nothing was charged, and the ticket stays open"
            if refused.again is not None:
                words += f"; there is room again from {refused.again:%Y-%m-%d} UTC"
            raise ServiceProblem(409, "budget-exceeded", words) from None
