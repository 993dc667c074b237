"""Messages that are drawn on devices: the learner learns the same, and its accountant charges the same."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from accountant import Accountant, Budget, BudgetExceeded, Simulation, Trust
from algorithms import CascadeUCBRR, CUCBLDPBit, DPBanditLDP, TicketRefused
from algorithms.message_learner import MessageLearner, Question
from algorithms.problems import Arms, MaximumCoverage, RankedLists, TopK
from mechanisms import AssumptionKind, DomainError

Made = Callable[[Any], MessageLearner[Any]]
LEARNERS: dict[str, Made] = {
    "bit": lambda gate: CUCBLDPBit(TopK(5, 3), gate, epsilon=1.0, horizon=100),
    "bits": lambda gate: CUCBLDPBit(MaximumCoverage(3, 2, 1), gate, epsilon=1.0, horizon=100),
    "bandit": lambda gate: DPBanditLDP(Arms(4), gate, epsilon=1.0, horizon=100),
    "cascade": lambda gate: CascadeUCBRR(RankedLists(5, 3), gate, epsilon=1.0, horizon=100),
}


def server(budget: float = 1.0) -> Accountant:
    return Accountant(Budget(budget), trust=Trust.LOCAL, noise=np.random.default_rng(1), seed=2)


def device(seed: int = 1, epsilon: float = 1.0) -> Accountant:
    return Accountant(Budget(epsilon), trust=Trust.LOCAL, noise=np.random.default_rng(seed))


def state(learner: MessageLearner[Any]) -> list[npt.NDArray[Any]]:
    found = learner.click_confidence() if isinstance(learner, CascadeUCBRR) else learner.confidence()  # type: ignore[attr-defined]
    return [np.asarray(getattr(found, each.name)) for each in dataclasses.fields(found)]


def test_questions_are_asked_while_others_wait_each_with_a_threshold_of_its_own() -> None:
    learner = CUCBLDPBit(TopK(5, 3), server(), epsilon=1.0, horizon=100)
    tickets = [learner.issue() for _ in range(3)]
    posed = [learner.pose(ticket) for ticket in tickets]
    thresholds = {each.mechanism.mechanism.transformation.threshold.item() for each in posed}  # type: ignore[attr-defined]
    assert len(thresholds) == 3
    for ticket, question in reversed(list(zip(tickets, posed, strict=True))):
        about = question.about.item()
        before = learner.confidence().count[0].copy()
        learner.observe_message(question, [1], ticket.name, ticket=ticket)
        before[about] += 1
        assert (learner.confidence().count[0] == before).all()


@pytest.mark.parametrize(
    ("name", "message"),
    [("bit", each) for each in ([2], [-1], [0.5], [1.0], [True], ["1"], [], [0, 0], [[1]] * 2, None, [10**400])]
    + [("cascade", [4]), ("bits", [8]), ("bits", [[1], [1]])],
)  # fmt: skip
def test_what_no_device_would_send_is_refused_and_costs_nothing(name: str, message: Any) -> None:
    learner = LEARNERS[name](server())
    ticket = learner.issue()
    question = learner.pose(ticket)
    before = state(learner)
    with pytest.raises(ValueError, match="message = "):
        learner.observe_message(question, message, "ann", ticket=ticket)
    assert learner.gate.spent("ann").epsilon == 0  # type: ignore[attr-defined]
    assert ticket.name == learner.waiting.find(ticket).name
    assert all(np.array_equal(one, other) for one, other in zip(before, state(learner), strict=True))


def test_who_cannot_pay_is_refused_and_the_ticket_stays_open() -> None:
    learner = LEARNERS["bit"](server())
    first, second = learner.issue(), learner.issue()
    asked = [learner.pose(first), learner.pose(second)]
    learner.observe_message(asked[0], [1], "ann", ticket=first)
    with pytest.raises(BudgetExceeded, match="'ann'"):
        learner.observe_message(asked[1], [1], "ann", ticket=second)
    learner.observe_message(asked[1], [0], "bob", ticket=second)
    with pytest.raises(TicketRefused):
        learner.observe_message(asked[1], [0], "cid", ticket=second)
    assert learner.gate.spent("cid").epsilon == 0  # type: ignore[attr-defined]


def test_a_device_answers_what_its_own_budget_covers() -> None:
    """Whoever asks: a question through quieter noise costs what that costs."""
    quiet = CUCBLDPBit(TopK(5, 3), server(9.0), epsilon=9.0, horizon=100)
    question = quiet.pose(quiet.issue())
    with pytest.raises(BudgetExceeded):
        question.answer(device(), [0.5] * 3, "me")
    asked = LEARNERS["bit"](server())
    with pytest.raises(DomainError):
        asked.pose(asked.issue()).answer(device(), [0.5, 1.5, 0.5], "me")


@pytest.mark.slow
def test_a_fraction_of_devices_says_what_randomized_response_says() -> None:
    """Of 4,000 seeded devices with value 0.7, the share of ones is within 5 standard deviations (error rate 6e-7)."""
    learner = DPBanditLDP(Arms(4), server(), epsilon=1.0, horizon=10_000)
    noise, ones = np.random.default_rng(3), 0
    own = Accountant(Budget.unlimited(), trust=Trust.LOCAL, noise=noise)
    for _ in range(4_000):
        ticket = learner.issue()
        ones += int(learner.pose(ticket).answer(own, [0.7], "me")[0, 0])
        learner.withdraw(ticket)
    flip = 1 / (1 + np.e)
    chance = flip + (1 - 2 * flip) * 0.7
    assert abs(ones - 4_000 * chance) < 5 * (4_000 * chance * (1 - chance)) ** 0.5


@pytest.mark.parametrize(
    "change", [{"mechanism": {}}, {"domain": {"kind": "Ball"}}, {"about": [["x"]]}, {"about": [[2**70]]}]
)
def test_what_is_no_question_is_refused(change: dict[str, Any]) -> None:
    learner = LEARNERS["bit"](server())
    saved = {**learner.pose(learner.issue()).to_dict(), **change}
    with pytest.raises(ValueError, match="is none that to_dict"):
        Question.from_dict(saved)


def test_only_an_accountant_receives_messages() -> None:
    learner = LEARNERS["bit"](Simulation(0, lanes=1))
    ticket = learner.issue()
    with pytest.raises(ValueError, match="must be an Accountant"):
        learner.observe_message(learner.pose(ticket), [1], "ann", ticket=ticket)


def test_what_devices_do_is_an_assumption() -> None:
    accountant = server()
    learner = LEARNERS["bit"](accountant)
    ticket = learner.issue()
    learner.observe_message(learner.pose(ticket), [1], "ann", ticket=ticket)
    [assumption] = [each for each in accountant.assumptions if each.kind is not AssumptionKind.SEEDED]
    assert "by its record's own device" in assumption.message
    assert [entry.note for entry in accountant.ledger.entries] == ["the record's device"]
