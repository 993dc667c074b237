"""The contract of learners: a table with a row for each learner of the catalogue and a column for each property.

A test is a column. Which rows it has follows from their registration (family, claim, interface), so that a learner that
is added to the catalogue has its cells at once. Dear columns are thin: a part of their rows, in each column others, are
in the default tier.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accountant import (
    LONGEST_STREAM,
    Accountant,
    Budget,
    BudgetExceeded,
    Coupled,
    ForeignValue,
    GaussianComposition,
    ParticipationExceeded,
    RecordWaiting,
    Simulation,
    Trust,
    TrustViolation,
)
from algorithms import DPHedge, DurableRun, HorizonPassed, NothingPlayed, TicketRefused
from algorithms.blocks import identity
from algorithms.catalogue.contextual_entries import contextual_learners
from algorithms.catalogue.learner_entry import ANYTIME
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.catalogue.structured_entries import learners
from algorithms.claim import ClaimForm
from algorithms.durable.state import StateError
from algorithms.epochs import epoch_of
from algorithms.learner import needs_horizon, takes_horizon
from algorithms.linear.contextual_play import play_contexts, simulate_contexts
from algorithms.linear.elimination import Elimination
from algorithms.linear.linear_play import play_linear, simulate_phases
from algorithms.message_learner import MessageLearner, Question
from algorithms.play import play_fresh, play_phases, start_warm
from algorithms.problems import (
    Arms,
    Cascade,
    Experts,
    GraphicMatroid,
    LinearBandit,
    LinearContexts,
    ProblemError,
    SemiBandit,
    ShortestPath,
    TopK,
    UniformMatroid,
    contextual_problems,
    linear_problems,
    problems,
)
from algorithms.simulate import simulate
from algorithms.structured_learner import PLAYS, problem_kind
from algorithms.tickets import TicketedLearner
from mechanisms import (
    Box,
    DomainError,
    Gaussian,
    GaussianProfile,
    HorizonExceeded,
    LaneStreams,
    Laplace,
    OneHot,
)
from mechanisms.parameters import ParameterError

DELTA = 1e-3
PROBLEMS = {**problems, **linear_problems, **contextual_problems}
SETTINGS = {"error": 0.4, "fixed_clients": 7}
"""Values of settings that have no usable default, or one under which 60 rounds are too few."""


def small_problem(family: str, arms: int = 5, size: int = 2) -> Any:
    """Return a problem of a family; `arms` and `size` are those of super arms."""
    means = np.linspace(0.1, 0.9, arms)
    if family == "linear":
        return linear_problems["linear"].build(
            actions=8, dimension=3, length=0.6, sigma=0.1, population=1000, instance=5, rewards="signs"
        )
    if family == "contextual":
        return LinearContexts([0.6, 0.0, 0.8], 4)
    if family == "cascade":
        return Cascade(arms, size, means)
    structures = {"bandit": Arms(arms), "matroid": UniformMatroid(arms, size), "experts": Experts(arms)}
    return SemiBandit(structures.get(family, TopK(arms, size)), means)


@dataclasses.dataclass(frozen=True, eq=False)
class Row:
    """A learner of the catalogue, by its registration."""

    name: str
    entry: Any

    def __str__(self) -> str:
        return self.name

    @property
    def make(self) -> Any:
        return self.entry.make

    @property
    def family(self) -> str:
        return self.entry.family

    @property
    def model(self) -> str:
        return self.entry.claim.model

    @property
    def structured(self) -> bool:
        return self.name in learners

    @property
    def certified(self) -> bool:
        return self.entry.certified_form == self.name

    @property
    def phased(self) -> bool:
        return hasattr(self.make, "committed_rounds")

    @property
    def anytime(self) -> bool:
        return ANYTIME in self.entry.parameters

    @property
    def needed(self) -> str:
        """The reason why it must be given a horizon; empty if it need not."""
        return needs_horizon(self.make)

    @property
    def takes(self) -> dict[str, Any]:
        """The numbers that it is built with, at usual values."""
        numbers = {"epsilon": 1.0, "delta": DELTA, "horizon": 40}
        return {
            name: value
            for name, value in numbers.items()
            if (name == "horizon" and takes_horizon(self.make))
            or (name == "delta" and self.entry.takes_delta)
            or (name == "epsilon" and not self.entry.claim.is_none)
        }

    @property
    def delta(self) -> float:
        return DELTA if self.entry.takes_delta else 0.0

    @functools.cached_property
    def problem(self) -> Any:
        return small_problem(self.family)

    def build(self, problem: Any = None, **numbers: Any) -> Callable[[Any], Any]:
        asked = {parameter.name for parameter in self.entry.parameters}
        more = (
            {"index": "confidence"} if numbers.get("horizon", 0) is None else {}
        )  # of which epochs have their own
        settings = {name: value for name, value in (SETTINGS | more).items() if name in asked}
        given = {"epsilon": 1.0, "delta": DELTA, "horizon": 40} | numbers
        return self.entry.build(self.problem if problem is None else problem, settings=settings, **given)

    def accountant(
        self,
        epsilon: float = math.inf,
        delta: float | None = None,
        kind: type = Accountant,
        trust: str = "",
    ) -> Any:
        """Return an accountant, by default of the claim's trust; under the Gaussian filter where noise is Gaussian."""
        budget = Budget(epsilon, (1.0 if math.isinf(epsilon) else self.delta) if delta is None else delta)
        together = self.entry.takes_delta and self.model != "shuffle" and not math.isinf(epsilon)
        theorem = GaussianComposition() if together else None
        return kind(
            budget,
            composition=theorem,
            trust=Trust(trust or self.model),
            noise=np.random.default_rng(1),
            seed=2,
        )


ROWS = [Row(name, entry) for name, entry in {**learners, **linear_learners, **contextual_learners}.items()]
_columns = itertools.count()


def column(
    applies: Callable[[Row], bool] = lambda row: True,
    *,
    thin: int = 1,
    slow: Iterable[str] = (),
    **values: Callable[[Row], Iterable[Any]] | Iterable[Any],
) -> Any:
    """Return a decorator: ask a property of the rows that it applies to, for each of the further arguments' values.

    One in `thin` of the cells is in the default tier, in each column others; those of the rows named `slow` are not.
    """
    start, dear, cells = next(_columns), set(slow), []
    for row in filter(applies, ROWS):
        of_row = (each(row) if callable(each) else each for each in values.values())
        cells += [(row, *more) for more in itertools.product(*of_row)]
    return pytest.mark.parametrize(
        ("row", *values),
        [
            pytest.param(
                *cell,
                id="-".join(str(each[0] if isinstance(each, tuple) else each) for each in cell),
                marks=pytest.mark.slow if cell[0].name in dear or (number + start) % thin else (),
            )
            for number, cell in enumerate(cells)
        ],
    )


DEAR = [
    "dp-bandit-gaussian",
    "dp-bandit-shuffle",
    "dp-best-arm",
    "cascade-ucb-batch-shuffle",
    "dp-dpe-shuffle",
    "published/dp-dpe-shuffle",
]
"""Rows whose batches or prices take a tenth of a second to compute."""


def known_or_not(row: Row) -> list[bool]:
    """Return whether the horizon is told: also that it is not, if the learner needs none."""
    return [True, False] if row.anytime else [True]


class Session:
    """A learner at work on a gate and the users that it meets, whatever its family."""

    def __init__(self, row: Row, gate: Any, problem: Any = None, learner: Any = None, **numbers: Any) -> None:
        self.row, self.gate = row, gate
        self.problem = row.problem if problem is None else problem
        self.learner = row.build(self.problem, **numbers)(gate) if learner is None else learner
        if learner is None:
            self.warm()

    def warm(self) -> None:
        if hasattr(self.learner, "observe_initial"):
            records = self.problem.draw_records(np.random.default_rng(3), self.gate.lanes)
            start_warm(self.learner, self.gate, self.problem, records)

    @property
    def domain(self) -> Any:
        """The domain of the next user's data."""
        if self.row.family != "linear":
            return self.learner.feedback_domain
        return self.learner.open_phase.domain

    def show(self) -> Any:
        """Return the next user's action as plain data, or the open phase; None when all rounds are played."""
        if self.row.structured:
            return self.learner.act().tolist()
        if self.row.family == "contextual":
            policy = self.learner.policy
            return [getattr(policy, each.name).tolist() for each in dataclasses.fields(policy)]
        phase = self.learner.open_phase or self.learner.act()
        if phase is None or not phase.clients:
            return None
        shown = [getattr(phase, each.name) for each in dataclasses.fields(phase)]
        return [
            each.tolist() if isinstance(each, np.ndarray) else each for each in [*shown, self.learner.active]
        ]

    def outcome(self, user: int) -> np.ndarray:
        """Return a user's data, whatever was played."""
        domain = self.domain
        if self.row.family == "contextual":
            action = np.random.default_rng(user).uniform(-0.5, 0.5, (1, domain.features))
            return domain.moments(action, [user % 3 - 1.0])[0]
        if self.row.family == "linear":
            return np.random.default_rng(user).uniform(-1, 1, domain.size)
        if isinstance(domain, OneHot):
            return np.eye(domain.size + 1, domain.size)[user % (domain.size + 1)]
        return (np.arange(domain.size) + user) % 3 / 2

    def private(self, user: int, record: Any = None) -> Any:
        """Return a user's data, the same in all lanes, under its own name or a record's."""
        values = np.tile(self.outcome(user), (self.gate.lanes, 1))
        return self.gate.private(values, self.domain, user if record is None else record)

    def answer(self, user: int, record: Any = None, **more: Any) -> None:
        self.learner.observe(self.private(user, record), **more)

    def users(self, rounds: int, first: int = 1) -> Iterator[tuple[int, Any]]:
        """Yield users as they come, with what they are shown, until all rounds are played."""
        for user in range(first, first + rounds):
            shown = self.show()
            if shown is None:
                return
            yield user, shown


class Recording(Accountant):
    """An accountant that keeps what it has released."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.outputs: list[Any] = []

    def release(self, mechanism: Any, private: Any, where: Any = None) -> Any:
        outputs = super().release(mechanism, private, where)
        self.outputs.append(outputs.tolist())
        return outputs

    @property
    def all_that_happened(self) -> list[Any]:
        """Return the charges in order, record and amount, and the values released."""
        paid = [(entry.mechanism, entry.charge, entry.records) for entry in self.ledger.entries]
        return [*paid, *self.outputs]


# --- registration, problems, parameters -------------------------------------------------------------


@column()
def test_an_entry_is_complete_and_its_certified_form_keeps_its_claim(row: Row) -> None:
    entry, published = row.entry, row.name.startswith("published/")
    assert entry.name == row.name
    assert entry.summary
    assert entry.source
    assert isinstance(entry.claim, ClaimForm)
    assert published == row.make.__module__.startswith("algorithms.published")
    assert entry.as_printed.startswith("makes no privacy claim") == entry.claim.is_none
    verdicts = ("FALSE", "holds") if published else ("certified",)
    assert entry.as_printed.startswith((*verdicts, "makes no privacy claim"))
    assert PROBLEMS[entry.default_problem].family in PLAYS[row.family]
    words = {"ldp": "local", "local": "local", "rr": "local", "shuffle": "shuffle"}
    parts = itertools.product(row.name.split("-"), words)
    assert row.model == next((words[word] for part, word in parts if part.startswith(word)), "central")
    if not entry.claim.is_none:
        form = next(each for each in ROWS if each.name == entry.certified_form)
        assert not form.name.startswith("published/")
        assert form.model == row.model
        assert set(PLAYS[row.family]) <= set(PLAYS[form.family])
        assert form.certified
    else:
        assert entry.certified_form == ""


@functools.cache
def default_problem(name: str) -> Any:
    return PROBLEMS[name].build()


@column(thin=5, slow=DEAR)
def test_it_plays_problems_of_its_families_and_refuses_all_others_by_name(row: Row) -> None:
    for name in PROBLEMS.keys() - {"movielens"}:  # it reads a folder
        problem = default_problem(name)
        if problem_kind(problem) not in PLAYS[row.family]:
            with pytest.raises(
                ProblemError, match=f"^{row.make.__name__} plays .*{row.family}.* problems, not a "
            ):
                row.build(problem)
            structure = getattr(problem, "structure", None)
            if row.structured and structure is not None:
                words = rf"^{row.make.__name__} plays .* structures, not a {type(structure).__name__}"
                with pytest.raises(ProblemError, match=words):
                    row.make(structure, row.accountant(), **row.takes)
            continue
        session = Session(row, Simulation(1, 1 if row.family == "linear" else 64), problem, horizon=50)
        assert type(session.learner) is row.make
        for user, shown in session.users(3):
            session.answer(user)
            if row.structured:
                assert session.learner.structure is problem.structure
                assert np.shape(shown) == (64, problem.structure.size)


@column()
def test_what_is_no_structure_or_no_gate_is_refused(row: Row) -> None:
    build: Any = row.build()
    (played,), gate = build.args, row.accountant()
    for wrong in (7, None, gate, TopK) if row.structured else ():
        with pytest.raises(ProblemError, match=r"structure = .*: must be a structure"):
            build.func(wrong, gate, **build.keywords)
    if row.structured:
        with pytest.raises(ProblemError, match="pass the problem's structure"):
            build.func(row.problem, gate, **build.keywords)
    with pytest.raises(ValueError, match=r"(?s)gate = .*: must be a gate"):
        build.func(played, played, **build.keywords)


NO_NUMBERS = [-1.0, math.nan, math.inf, -math.inf, "1", True, 10**400]
WRONG: dict[str, list[Any]] = {
    "epsilon": [*NO_NUMBERS, None, 0, 1e-300, 1e-8, 1e300],
    "delta": [*NO_NUMBERS, None, 0.0, 1.0, 1e-62],
    "horizon": [0, -3, 2.5, True, 10**5000, 2**63],
}


@column(thin=2)
def test_an_epsilon_delta_or_horizon_that_is_none_is_refused_by_name(row: Row) -> None:
    """By the entry before there is a gate, and by the class."""
    build: Any = row.build()
    for name in row.takes:
        for wrong in WRONG[name] + [None] * bool(name == "horizon" and row.needed):
            with pytest.raises(ValueError, match=f"^{name} = "):
                row.build(**{name: wrong})
            with pytest.raises(ValueError, match=f"^{name} = "):
                build.func(*build.args, row.accountant(), **build.keywords | {name: wrong})


@column(lambda row: bool(row.needed))
def test_only_learners_as_printed_need_a_horizon_and_they_say_why(row: Row) -> None:
    assert row.name.startswith("published/")
    with pytest.raises(ValueError, match=r"^horizon = None: must be given: its "):
        row.build(horizon=None)


@column(lambda row: row.structured and row.certified and takes_horizon(row.make))
def test_a_numpy_horizon_is_the_same_number(row: Row) -> None:
    """Its square does not fit into 64 bits."""
    long = LONGEST_STREAM if has_stream(row) else 10**12
    mine, theirs = (row.build(horizon=each)(row.accountant()) for each in (long, np.int64(long)))
    assert theirs.horizon == mine.horizon == long
    assert type(theirs.horizon) is int
    assert getattr(theirs, "exponent", None) == getattr(mine, "exponent", None)


@column()
def test_a_gate_that_trusts_nobody_takes_local_learners_only(row: Row) -> None:
    gate = Accountant(Budget(math.inf, 1.0), trust=Trust.LOCAL, noise=np.random.default_rng(0))
    if row.model == "local":
        row.build()(gate)
    else:
        with pytest.raises(TrustViolation, match=f"works in the {row.model} model"):
            row.build()(gate)
    row.build()(Simulation(0, 1))
    assert not len(gate.ledger)


# --- the smallest instances, the most extreme parameters ---------------------------------------------

SMALLEST: dict[str, list[Any]] = {
    "bandit": [
        SemiBandit(Arms(arms), means) for arms, means in ((1, [0.5]), (3, [0.5] * 3), (3, [0.0, 1.0, 0.0]))
    ],
    "semi-bandit": [
        SemiBandit(TopK(1, 1), [0.5]),
        SemiBandit(TopK(3, 3), [0.5, 0.1, 0.9]),
        SemiBandit(TopK(3, 1), [0.0, 1.0, 0.0]),
    ],
    "matroid": [
        SemiBandit(UniformMatroid(1, 1), [0.5]),
        SemiBandit(UniformMatroid(3, 3), [0.5, 0.1, 0.9]),
        SemiBandit(GraphicMatroid(2, [(0, 1), (1, 0)]), [0.0, 1.0]),  # two parallel edges
        SemiBandit(
            GraphicMatroid(2, [(0, 0), (0, 1)]), [1.0, 0.2]
        ),  # one edge and a self-loop, the better one
    ],
    "experts": [SemiBandit(Experts(1), [0.5]), SemiBandit(Experts(3), [0.0, 1.0, 0.0])],
    "cascade": [Cascade(1, 1, [0.5]), Cascade(3, 3, [0.5, 0.1, 0.9]), Cascade(3, 1, [0.0, 1.0, 0.0])],
    "linear": [
        LinearBandit(actions, [0.5] + [0.0] * (len(actions[0]) - 1), 0.1, 5000, "signs")  # type: ignore[arg-type]
        for actions in (
            [[1.0], [-1.0], [0.25]],  # one dimension
            [[0.6, 0.0]],  # one action
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.6, 0.6, 0.0], [-1.0, 0.0, 0.0]],  # a plane in space
            [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]],  # ties
            [[0.0, 0.0], [0.5, 0.0]],  # one of them zero
        )
    ],
    "contextual": [LinearContexts([0.5], 1), LinearContexts([0.0, 1.0], 1), LinearContexts([0.0], 3)],
}


def play(row: Row, problem: Any, lanes: int, **numbers: Any) -> tuple[Any, list[Any]]:
    """Play to the horizon on new users in simulation; return the learner and the actions, or phases, or rounds."""
    gate, horizon = Simulation(1, 1 if row.family == "linear" else lanes), numbers["horizon"]
    learner, environment = row.build(problem, **numbers)(gate), LaneStreams(1, lanes, key=(2,))
    if row.family == "linear":
        return learner, list(play_linear(learner, problem, gate, np.random.default_rng(3)))
    rounds = play_fresh if row.structured else play_contexts
    return learner, list(rounds(learner, problem, gate, environment, horizon))


@column(thin=11, slow=DEAR)
def test_it_plays_the_smallest_instances_to_any_horizon(row: Row) -> None:
    """Sets without repetition or loop, the optimum where there is one set only; linear learners keep a best action."""
    kinds = PLAYS[row.family][:2]
    for problem, horizon in itertools.product(
        [each for kind in kinds for each in SMALLEST[kind]],
        (1, 2, 3, 17, 300) if row.family == "linear" else (1, 2, 33),
    ):
        learner, played = play(
            row, problem, 64, horizon=horizon, epsilon=20.0 if row.family == "linear" else 1.0
        )
        if row.family == "linear":
            assert sum(phase.rounds for phase in played) == horizon
            assert problem.gaps[learner.active].min() == 0.0
            continue
        assert len(played) == horizon
        if row.family == "contextual":
            assert all(np.isfinite(each.regret).all() for each in played)
            continue
        structure = problem.structure
        loops = set(getattr(structure, "loops", ()))
        for action in np.concatenate(played).tolist():
            assert len(set(action) - loops) == structure.size
        ranks = isinstance(structure, Experts)  # all, and follows the first
        if structure.size + len(loops) == structure.arms and not ranks:
            assert all((problem.expected_reward(action) == problem.optimum).all() for action in played)


@column(
    lambda row: "epsilon" in row.takes,
    thin=8,
    slow=DEAR,
)
def test_it_plays_at_extreme_epsilons(row: Row) -> None:
    """No NaN reaches an oracle (they refuse it), and warnings are errors here.

    Protocols of linear learners that would take too many random bits are refused before anybody reports.
    """
    for epsilon in (1e-6, 700.0, 5e5):  # shuffled counts take no larger one
        refused, played = "", []
        try:
            _, played = play(row, SMALLEST[row.family][1], 64, horizon=40, epsilon=epsilon)
        except ParameterError as refusal:
            refused = str(refusal)
        if row.family != "linear":
            assert len(played) == 40
        elif not played:
            assert row.model == "shuffle"
            assert refused.startswith("epsilon = 1e-06, ") or not row.certified


@column(lambda row: "matroid" in PLAYS[row.family], thin=3)
def test_a_loop_is_never_played_however_large_its_mean(row: Row) -> None:
    _, played = play(row, SMALLEST["matroid"][-1], 64, horizon=60, epsilon=50.0)
    assert all((action == 1).all() for action in played)


# --- feedback: whose it is, what it may be, and when it comes ----------------------------------------


def has_act(row: Row) -> bool:
    return hasattr(row.make, "act")


def takes_tickets(row: Row) -> bool:
    return issubclass(row.make, TicketedLearner)


@column(has_act, thin=2, slow=DEAR)
def test_feedback_before_an_action_is_refused_and_spends_nothing(row: Row) -> None:
    session, twin = (Session(row, row.accountant()) for _ in range(2))
    paid, gate = len(session.gate.ledger), session.gate
    twin.show()
    early = gate.private(twin.outcome(7)[np.newaxis], twin.domain, "user-7")
    with pytest.raises((NothingPlayed, RuntimeError), match="call act"):
        session.learner.observe(early)
    assert len(gate.ledger) == paid
    assert gate.spent("user-7").epsilon == 0
    session.show()
    session.learner.observe(early)  # and nothing is wrong afterwards


@column(lambda row: row.structured, thin=3)
def test_numbers_of_rounds_that_are_none_are_refused_by_name(row: Row) -> None:
    session = Session(row, row.accountant())
    paid = len(session.gate.ledger)
    session.show()
    for wrong in (math.nan, "x", [[1], [1, 2]], object(), np.array([1.0])):
        with pytest.raises(ParameterError, match=r"^rounds"):
            session.learner.observe(session.private(1), wrong)
    assert len(session.gate.ledger) == paid


def unfit(session: Session) -> list[tuple[type[ValueError], Any]]:
    """Return what no learner takes, and how it is refused."""
    gate, domain, good = session.gate, session.domain, session.outcome(1)
    size, other = good.size, Accountant(Budget(1.0))
    return [
        (ForeignValue, good[np.newaxis]),
        (ForeignValue, good.tolist()),
        (ForeignValue, other.private(good, domain, "odd")),
        (DomainError, gate.private(np.zeros(size + 1), Box(0, 1, size + 1), "odd")),
        (DomainError, gate.private(np.full(size, 5.0), Box(0, 10, size), "odd")),
        (DomainError, gate.private(np.full(size, -1.5), Box(-1.5, 0.5, size), "odd")),
        (DomainError, gate.private(good, Box(-9, 9, size), "odd")),
        (DomainError, gate.private(good, domain, "odd") * 0.5),
        (ValueError, gate.private(good, domain, "odd") + gate.private(good, domain, "even")),
    ]


@column(thin=8, slow=DEAR)
def test_feedback_from_elsewhere_is_refused_and_changes_nothing(row: Row) -> None:
    def play(disturbed: bool) -> tuple[list[Any], list[Any]]:
        session, everything = Session(row, row.accountant(kind=Recording), horizon=100), []
        for user, shown in session.users(14):
            everything.append(shown)
            for error, value in unfit(session) if disturbed else ():
                with pytest.raises(error, match=r"feedback|report"):
                    session.learner.observe(value)
            session.answer(user)
        assert session.gate.closure is None
        return everything, session.gate.all_that_happened

    assert play(True) == play(False)


@column(thin=6, slow=DEAR)
def test_a_value_outside_its_domain_is_refused_before_anything_is_charged(row: Row) -> None:
    """One lane, 20 rounds under an accountant: actions have shape (1, size)."""
    session = Session(row, row.accountant())
    for user, shown in session.users(20):
        assert not row.structured or np.shape(shown) == (1, session.problem.structure.size)
        paid = len(session.gate.ledger)
        with pytest.raises(DomainError):
            session.gate.private(np.full_like(session.outcome(user), 1.0000001), session.domain, "outside")
        assert len(session.gate.ledger) == paid
        session.answer(user)
    assert session.gate.closure is None


REFUSED = RecordWaiting, ParticipationExceeded, BudgetExceeded


@column(lambda row: row.certified, thin=3)
def test_a_user_without_budget_and_one_who_comes_back_change_nothing(row: Row) -> None:
    def play(disturbed: bool) -> tuple[list[Any], list[Any]]:
        trust = "local" if row.model == "local" else "central"  # where everybody may spend elsewhere, too
        gate = row.accountant(1.0001 if row.delta else 1.0, kind=Recording, trust=trust)
        session, everything = Session(row, gate, horizon=120 if row.family == "linear" else 20), []
        one = Box(0, 1, 1)
        noise = (
            Gaussian.for_epsilon_delta(1.0, DELTA, sensitivity=one.sensitivity)
            if row.delta
            else Laplace.for_epsilon(1.0, sensitivity=one.sensitivity)
        )
        gate.release(noise, gate.private([1.0], one, "spent"))
        for user, shown in session.users(14):
            everything.append(shown)
            if disturbed:
                with pytest.raises(BudgetExceeded, match="'spent'"):
                    session.answer(0, "spent")
            session.answer(user)
            if disturbed and row.phased:
                session.show()  # a phase may be over
            if disturbed and (row.family != "linear" or session.learner.open_phase):
                for back in (1, user):
                    with pytest.raises(REFUSED, match=f"record {back} "):
                        session.answer(back)
        if disturbed and takes_tickets(row):
            ticket = session.learner.issue()
            with pytest.raises(REFUSED, match="record 1 "):
                session.answer(1, ticket=ticket)
            assert list(session.learner.tickets) == [ticket.number]
        return everything, gate.all_that_happened

    assert play(True) == play(False)


@column(lambda row: row.certified and row.family == "linear" and row.model != "local")
def test_a_phase_with_somebody_who_paid_elsewhere_is_lost_and_the_next_one_starts(row: Row) -> None:
    gate, one = row.accountant(1.0001, trust="central"), Box(0, 1, 1)
    session = Session(row, gate, horizon=120)
    session.show()
    first = session.learner.open_phase
    for user in range(first.clients - 1):
        session.answer(user)
    gate.release(
        Gaussian.for_epsilon_delta(1.0, DELTA, sensitivity=one.sensitivity), gate.private([1.0], one, 0)
    )
    with pytest.raises(BudgetExceeded, match="record 0 "):
        session.answer(first.clients - 1)
    assert session.learner.open_phase is None
    assert session.learner.active.size == 8
    session.show()
    phase, user = session.learner.open_phase, 1000
    assert phase.number == 2
    while session.learner.open_phase is phase:
        session.answer(user)
        user += 1
    assert 0.97 < gate.spent(1000).epsilon <= 1  # of shuffled bits there are whole numbers


@column(takes_tickets, thin=2)
def test_late_feedback_is_taken_once(row: Row) -> None:
    session, other = (Session(row, row.accountant(), horizon=50) for _ in range(2))
    learner, gate = session.learner, session.gate
    tickets = [learner.issue() for _ in range(6)]
    if has_act(row):
        with pytest.raises(NothingPlayed):
            session.answer(0, "nobody")
    for number in (4, 1, 5):
        session.answer(number, ticket=tickets[number])
    assert sorted(learner.tickets) == [1, 3, 4]
    paid = len(gate.ledger)
    learner.withdraw(tickets[0])
    for wrong, why in (
        (tickets[4], "used"),
        (tickets[0], "used or withdrawn"),
        ([other.learner.issue() for _ in range(3)][2], "not of this run"),  # of an open one's number
        (f"{tickets[0].word}-99", "never issued"),
        ("nonsense", "not of this run"),
        (f"{tickets[0].word}-{'1' * 5000}", "not of this run"),  # ended in Python's limit on digits
        (f"{tickets[0].word}-\N{ARABIC-INDIC DIGIT THREE}", "not of this run"),
    ):
        with pytest.raises(TicketRefused, match=why):
            session.answer(9, "late", ticket=wrong)
    with pytest.raises(ForeignValue):
        learner.observe(other.private(9, "late"), ticket=tickets[2])
    if row.structured:
        with pytest.raises(ValueError, match="one round"):
            learner.observe(session.private(9, "late"), np.array([1]), ticket=tickets[2])
    assert len(gate.ledger) == paid
    assert gate.spent("late").epsilon == 0
    assert sorted(learner.tickets) == [3, 4]
    session.answer(9, "late", ticket=tickets[2].name)
    assert sorted(learner.tickets) == [4]


def has_stream(row: Row) -> bool:
    """Return True if its running sums are of one stream, of a known length, which cannot be saved."""
    return issubclass(row.make, DPHedge)


def arms_come_and_go(row: Row) -> bool:
    return row.structured and not row.make.needs_all_arms


@column(arms_come_and_go, thin=3)
def test_only_arms_that_are_there_are_played_and_no_record_pays_more(row: Row) -> None:
    """The accountant's budget is the claim: what cost more would be refused."""
    session, rng, waiting = Session(row, row.accountant(1.0), horizon=1_000), np.random.default_rng(3), []
    learner, gate, played = session.learner, session.gate, set()
    size = session.problem.structure.size
    for user in range(60):
        there = rng.choice(5, rng.integers(size, 6), replace=False)
        ticket = learner.issue(available=there)
        shown = set(ticket.action[0].tolist())
        assert len(shown) == size
        assert shown <= set(there.tolist())
        played |= shown
        waiting.append((user, ticket))
        if user % 3:  # late, and out of order
            who, ticket = waiting.pop(int(rng.integers(len(waiting))))
            values = np.zeros(size)
            values[0] = float(ticket.action[0, 0] > 2)
            learner.observe(gate.private(values, learner.feedback_domain, who), ticket=ticket)
    assert played == set(range(5))
    assert gate.worst()[1].epsilon > 0
    assert row.certified


@column(lambda row: row.structured and bool(row.make.needs_all_arms))
def test_who_needs_all_arms_refuses_others_and_nothing_changes(row: Row) -> None:
    session = Session(row, row.accountant())
    learner = session.learner
    with pytest.raises(ProblemError, match=f"{row.make.__name__} plays with all arms: ") as refusal:
        learner.act(available=range(4))
    assert str(refusal.value).rpartition(": ")[2]
    with pytest.raises(ProblemError, match="plays with all arms"):
        learner.issue(available=range(5))
    assert learner.waiting.issued == learner.waiting.asked == 0
    assert learner.act().shape == (1, learner.structure.size)


@column(lambda row: takes_horizon(row.make) and not issubclass(row.make, Elimination), thin=2)
def test_the_round_after_the_horizon_warns_once_or_is_refused(row: Row) -> None:
    """Refused where sums are of so many rounds: one more would cost more than epsilon."""
    session, rounds = Session(row, row.accountant(), SMALLEST[row.family][0], horizon=9), 9
    for user, _ in session.users(rounds):
        session.answer(user)
    session.show()
    paid = len(session.gate.ledger)
    if row.needed.startswith("its noise") or has_stream(row):
        with pytest.raises(HorizonExceeded):
            session.answer(rounds + 1)
        assert len(session.gate.ledger) == paid
        assert session.gate.spent(rounds + 1).epsilon == 0
        return
    late = session.private(rounds + 1)
    with pytest.warns(HorizonPassed, match="more rounds than horizon=9: it is as private") as given:
        session.learner.observe(late)
    assert [warning.filename for warning in given] == [__file__]
    session.show()
    session.answer(rounds + 2)


@column(lambda row: issubclass(row.make, MessageLearner), thin=4, epsilon=[1.0, 10.0])
def test_what_is_learned_from_messages_is_what_is_learned_from_feedback(row: Row, epsilon: float) -> None:
    """The same noise, drawn on the device or by the learner's gate: equal messages, actions and charges."""
    inside, outside = (Session(row, row.accountant(epsilon), epsilon=epsilon, horizon=100) for _ in range(2))
    noise, learner = np.random.default_rng(1), outside.learner
    for user, shown in inside.users(30):
        inside.answer(user)
        ticket = learner.issue()
        assert ticket.action.tolist() == shown
        posed = learner.pose(ticket)
        asked = Question.from_dict(json.loads(json.dumps(posed.to_dict())))
        own = Accountant(Budget(epsilon), trust=Trust.LOCAL, noise=noise, strict=False)
        answer = asked.answer(own, outside.outcome(user).tolist(), "me")
        learner.observe_message(posed, json.loads(json.dumps(answer[0].tolist())), user, ticket=ticket)
        assert own.spent("me") == outside.gate.spent(user) == inside.gate.spent(user)
        assert own.spent("me").epsilon == epsilon
        for one, other in zip(statistics(inside.learner), statistics(learner), strict=True):
            np.testing.assert_array_equal(one, other)
    assert inside.learner.rounds.observed == learner.rounds.observed == 30
    assert len(learner.waiting) == 0


def statistics(learner: Any) -> list[Any]:
    found = (learner.click_confidence if hasattr(learner, "click_confidence") else learner.confidence)()
    return [getattr(found, each.name) for each in dataclasses.fields(found)]


# --- privacy: what a record pays, and the exact loss of coupled runs ---------------------------------

EPSILONS = [0.1, 1 / 3, 1.0, 2.0, 17.3]
CLAIMS: dict[str, list[tuple[float, float]]] = {
    "linear": [(1.0, 1e-4), (20.0, 0.25)],
    "contextual": [(4.0, 1e-3), (20.0, 0.1)],
}
"""Epsilon and delta; of other families all of `EPSILONS` and `DELTA`."""


def instances(row: Row) -> list[Any]:
    """Return problems with actions of 1, 2, 3, 4 and 7 arms, or with bounded rewards and others."""
    if row.family == "linear":
        rewards = ("signs", "gaussian") if "sigma" in inspect.signature(row.make).parameters else ("signs",)
        return [dataclasses.replace(row.problem, rewards=each) for each in rewards]
    if row.family == "contextual":
        return [LinearContexts([0.5], 3), row.problem]
    sizes = [each for each in (1, 2, 3, 4, 7) if each == 1 or row.family != "bandit"]
    return [small_problem(row.family, size + 2, size) for size in sizes]


def loose(row: Row, epsilon: float) -> float:
    """Return what may be left of epsilon: by rounding, by calibration, or of the law of whole shuffled bits."""
    return epsilon * (0.1 if row.model == "shuffle" else 2e-9 if row.delta else 2**-51)


def spend(row: Row, problem: Any, epsilon: float, delta: float, budget: float | None = None) -> Session:
    """Play under a budget, by default of the claim, until a record has paid that; return the session."""
    rounds = 15 if row.model == "local" and row.structured else 400
    gate = row.accountant(epsilon if budget is None else budget, delta)
    session = Session(row, gate, problem, epsilon=epsilon, delta=delta, horizon=rounds)
    for user, _ in session.users(rounds):
        session.answer(user)
        if user % 50 == 0 and gate.worst()[1].epsilon >= epsilon - loose(row, epsilon):
            break
    return session


def pays_its_claim(row: Row) -> bool:
    """Return True if it is certified, or proved as printed and not loosely."""
    return row.certified or row.entry.as_printed.startswith("holds, tight")


@column(
    pays_its_claim,
    thin=17,
    claim=lambda row: CLAIMS.get(row.family, [(epsilon, row.delta) for epsilon in EPSILONS]),
)
def test_a_run_fits_in_a_budget_of_its_claim_and_its_worst_record_pays_it(
    row: Row, claim: tuple[float, float]
) -> None:
    """At most epsilon as a fraction; a user of a local learner pays for one message."""
    epsilon, delta = claim
    for problem in instances(row):
        session = spend(row, problem, epsilon, delta)
        _, worst = session.gate.worst()
        if not row.certified and not worst.epsilon:  # rounds of its first phases are too many
            continue
        assert worst.delta == Fraction(delta)
        assert Fraction(epsilon) - Fraction(loose(row, epsilon)) <= worst.epsilon <= Fraction(epsilon)
        if row.model == "local":
            records = [entry.records for entry in session.gate.ledger.entries]
            assert records == [(record,) for record in range(1, len(records) + 1)]
            for (record,) in records:
                paid = session.gate.spent(record).epsilon
                assert epsilon * (1 - 1e-9) <= paid <= Fraction(epsilon)


@column(lambda row: row.certified, thin=2)
def test_a_run_fits_in_no_smaller_budget_than_its_claim(row: Row) -> None:
    epsilon, problem = 4.0 if row.family == "contextual" else 0.3, small_problem(row.family, 6, 3)
    spend(row, problem, epsilon, row.delta)
    with pytest.raises(BudgetExceeded):
        spend(row, problem, epsilon, row.delta, epsilon - max(1.01 * loose(row, epsilon), 0.003))


@column(lambda row: row.certified and row.model == "local" and bool(row.delta))
def test_one_gaussian_message_needs_no_filter(row: Row) -> None:
    """Basic composition charges the claim, too, but for rounding."""
    gate = Accountant(Budget(1.5, DELTA), trust=Trust.LOCAL, noise=np.random.default_rng(5))
    session = Session(row, gate, epsilon=1.5, horizon=20)
    for user, _ in session.users(9):
        session.answer(user)
    _, worst = gate.worst()
    assert worst.delta == Fraction(DELTA)
    assert 1.5 * (1 - 1e-9) <= worst.epsilon <= 1.5


@column(lambda row: row.entry.claim.is_none, thin=2)
def test_learners_without_privacy_declassify_what_they_read(row: Row) -> None:
    session = Session(row, row.accountant(), horizon=60)
    users = [user for user, _ in session.users(60) if not session.answer(user)]
    entries = session.gate.ledger.entries
    assert all(entry.mechanism is None for entry in entries)
    declassified = [record for entry in entries for record in entry.records]
    if row.structured and not row.phased:
        assert declassified == [0] * hasattr(session.learner, "observe_initial") + users
    else:  # sums, of which the last is open
        assert set(declassified) <= set(users)
        assert len(set(declassified)) > len(users) / 2


def coupled(
    row: Row,
    epsilon: float,
    record: int,
    size: int = 3,
    *,
    blocks: int = 80,
    rounds: int = 60,
    delta: float = DELTA,
    equal: bool = False,
) -> Any:
    """Return the losses of: all outcomes 1 against all 0, or a click at the top against the last; or equal ones."""
    gate = Coupled(8, 64 * blocks, 1)
    learner = row.build(small_problem(row.family, 6, size), epsilon=epsilon, delta=delta, horizon=rounds)(
        gate
    )
    for t in range(1, (7 if row.model == "local" else rounds) + 1):
        width = learner.act().shape[1]
        values = np.zeros((2, gate.lanes, width))
        if t == record and row.family == "cascade":
            values[0, :, 0], values[1, :, width - 1] = 1, 1 if width > 1 else 0
        elif t == record:
            values[0] = 1
        values = np.stack([values[0]] * 2) if equal else values
        learner.observe(gate.private(values, learner.feedback_domain, t))
    assert not gate.divergences
    return gate.loss[0]


def certified_sets(row: Row) -> bool:
    return row.structured and row.certified


@column(
    lambda row: certified_sets(row) and not row.delta,
    thin=11,
    slow=DEAR,
    epsilon=[0.3, 2.0, 10.0],
    record=[1, 4],
)
def test_the_largest_loss_is_epsilon(row: Row, epsilon: float, record: int) -> None:
    """Attained when every moved noise falls beyond both locations: in one of 64 of 1,280 lanes at least."""
    loss = coupled(row, epsilon, record, blocks=20)
    assert loss.max() <= epsilon * (1 + 1e-9)
    assert loss.max() == pytest.approx(epsilon, rel=1e-9)


@column(certified_sets, thin=4)
def test_a_record_that_is_replaced_by_its_equal_loses_nothing(row: Row) -> None:
    assert not coupled(row, 1.0, 2, blocks=1, equal=True).any()


@column(
    lambda row: certified_sets(row) and bool(row.delta) and row.model != "shuffle",
    thin=11,
    slow=["dp-hedge"],
    epsilon=[0.3, 2.0],
    size=[1, 3],
)
def test_the_loss_of_gaussian_noise_is_normal_with_the_calibrated_mean(
    row: Row, epsilon: float, size: int
) -> None:
    """N(mu^2 / 2, mu^2) with delta_mu(epsilon) = delta: mean and variance within 5 s.e., false alarm 1e-6."""
    loss = coupled(row, epsilon, 4, size)
    mu = loss.std()
    assert abs(loss.mean() - mu * mu / 2) < 5 * mu / np.sqrt(len(loss)) + 5 * mu * mu / np.sqrt(2 * len(loss))
    wider, narrower = (mu * (1 + sign * 5 / np.sqrt(2 * len(loss))) for sign in (1, -1))
    assert GaussianProfile(narrower).delta(epsilon) < DELTA < GaussianProfile(wider).delta(epsilon)


@column(
    lambda row: certified_sets(row) and row.model == "shuffle",
    thin=3,
    slow=["cascade-ucb-batch-shuffle"],
    epsilon=[0.3, 2.0],
    size=[1, 3],
)
def test_the_loss_of_shuffled_bits_is_that_of_their_exact_law(row: Row, epsilon: float, size: int) -> None:
    """E (1 - e^(epsilon - loss))+ is delta at most, and not half of it: within 6 s.e. of 15,360 lanes, 2e-9 each."""
    lost = np.maximum(
        0.0, -np.expm1(epsilon - coupled(row, epsilon, 4, size, blocks=240, rounds=30, delta=0.05))
    )
    error = 6 * lost.std() / math.sqrt(len(lost))
    assert lost.mean() - error <= 0.05
    assert lost.mean() + error >= 0.025


@column(lambda row: certified_sets(row) and row.model == "local", thin=5, epsilon=[0.5, 3.0])
def test_the_loss_of_one_message_has_the_profile_of_its_mechanism(row: Row, epsilon: float) -> None:
    """E[(1 - e^{x - L})+] = delta(x): 5 s.e. at 4 points each, false alarm below 3e-6."""
    for size in (1, 3):
        session = Session(
            row, row.accountant(kind=Recording), small_problem(row.family, 6, size), epsilon=epsilon
        )
        session.show()
        session.answer(1)
        (entry,), (message,) = session.gate.ledger.entries, session.gate.outputs
        if np.size(message) > 1:  # whose values are released together
            continue
        loss = coupled(row, epsilon, 1, size)
        for x in (-epsilon / 2, 0.0, epsilon / 2, 0.9 * epsilon):
            excess = np.maximum(0.0, 1 - np.exp(x - loss))
            error = 5 * excess.std() / np.sqrt(len(loss)) + 1e-12
            assert abs(excess.mean() - entry.mechanism.profile().delta(x)) < error


# --- runs that are stopped, saved, loaded and gone on with -------------------------------------------


@pytest.fixture
def short_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let epochs of learners without a horizon begin after 8 rounds, or restarts after 16."""
    monkeypatch.setattr("algorithms.epochs.FIRST_EPOCH", 8)
    monkeypatch.setattr("algorithms.restarts.FIRST_RUN", 16)


@column(thin=29, slow=DEAR, told=known_or_not)
@pytest.mark.filterwarnings("ignore::algorithms.structured_learner.HorizonPassed")
def test_a_run_that_was_saved_and_loaded_is_the_run_that_never_stopped(
    row: Row, told: bool, tmp_path: Path, short_epochs: None
) -> None:
    """Stopped before a round, between an action and its feedback, and at ends of epochs; shown and charged the same."""
    stops, rounds = (0, 1, 7, 8, 15, 16, 17), 23
    horizon = None if not told else 60 if row.family == "linear" else rounds + 2
    build = row.build(horizon=horizon, epsilon=20.0)

    def play(interrupted: bool) -> tuple[list[Any], Any]:
        run = DurableRun(build, row.accountant())
        session, everything = Session(row, run.accountant, learner=run.learner), []
        session.warm()
        waiting = [run.learner.issue() for _ in range(2)] if takes_tickets(row) else []

        def stop() -> None:
            nonlocal run
            run.save(tmp_path / "run")
            run.close()
            run = DurableRun.load(tmp_path / "run", build, noise=np.random.default_rng(99))
            session.learner, session.gate = run.learner, run.accountant

        for user in range(rounds):
            if interrupted and user in stops:
                stop()
            everything.append(session.show())
            if interrupted and user in stops:
                stop()
            if everything[-1] is not None:
                session.answer(user)
        for ticket in reversed(waiting):
            assert run.learner.tickets[ticket.number].action.tolist() == ticket.action.tolist()
            session.answer(rounds + ticket.number, ticket=ticket.name)
        assert len(run.accountant.ledger) or row.name in NEVER_LEARN
        everything += [session.show(), getattr(session.learner, "exponent", None)]
        return everything, run.accountant.to_dict()

    if has_stream(row):
        with pytest.raises(
            StateError, match=r"_sums is a PrivateStream, which cannot be saved.* is no DurableRun"
        ):
            play(False)
        return
    assert play(False) == play(True)


# --- learners that hold their actions ----------------------------------------------------------------


def in_phases(row: Row) -> bool:
    return row.phased


@column(in_phases, thin=6, slow=["cucb-kl"])
def test_phases_have_the_law_of_single_rounds(row: Row) -> None:
    """Mean regret at 4 checkpoints within 5 s.e. of the difference, 20 comparisons: false alarm 1.2e-5 at most."""
    horizon, lanes = 300, 64 * 16
    build = row.build(epsilon=8.0, horizon=horizon)
    trace = simulate(build, row.problem, horizon=horizon, runs=lanes, seed=3, checkpoints=4)
    gate = Simulation(4, lanes)
    total, kept = np.zeros(lanes), []
    fresh = play_fresh(build(gate), row.problem, gate, LaneStreams(4, lanes, key=(2,)), horizon)
    for played, action in enumerate(fresh, start=1):
        total += row.problem.benchmark - row.problem.expected_reward(action)
        if played in trace.rounds:
            kept.append(total.copy())
    assert len(kept) == len(trace.rounds)
    for phased, single in zip(trace.regret, kept, strict=True):
        error = math.sqrt((phased.var() + single.var()) / lanes)
        assert abs(phased.mean() - single.mean()) <= 5 * error + 1e-9
    assert np.std(kept[-1]) > 0


@column(in_phases, thin=6, slow=["cucb-batch-gaussian"])
def test_an_action_is_held_for_exactly_as_long_as_single_rounds_repeat_it(row: Row) -> None:
    """Round by round, `committed_rounds` counts down to 1 while the action stays; then the lane may change."""
    gate, rng = Simulation(5, 64), LaneStreams(5, 64, key=(2,))
    learner = row.build(epsilon=8.0, horizon=200)(gate)
    before, action_before = None, None
    for t in range(1, 201):
        action = learner.act()
        held = learner.committed_rounds.copy()
        assert (held >= 1).all()
        if before is not None:
            inside = before > 1
            left = np.where(before < 2**40, before - 1, before)  # once it has found the best arm, for ever
            np.testing.assert_array_equal(held[inside], left[inside])
            np.testing.assert_array_equal(action[inside], action_before[inside])
        before, action_before = held, action.copy()
        learner.observe(gate.private(row.problem.draw_feedback(action, rng), learner.feedback_domain, t))


@column(in_phases, thin=7, slow=DEAR, told=known_or_not)
@pytest.mark.filterwarnings("ignore::algorithms.structured_learner.HorizonPassed")
def test_totals_of_records_under_an_accountant_are_single_rounds(
    row: Row, told: bool, short_epochs: None
) -> None:
    """The same users one by one and as totals: the same actions and charges, at most once epsilon; over epochs, too."""
    problem, rounds, budget = row.problem, 150, math.inf if row.entry.claim.is_none else 2.0
    single, together = (
        Session(row, row.accountant(budget, trust="central"), epsilon=2.0, horizon=rounds if told else None)
        for _ in range(2)
    )
    one, many = single.learner, together.learner
    records = (np.random.default_rng(1).random((rounds, 1, problem.structure.arms)) < problem.means) * 1.0

    def outcome(session: Session, user: int, action: Any) -> Any:
        return session.gate.private(problem.feedback(records[user], action), one.feedback_domain, user)

    actions = []
    for user in range(rounds):
        actions.append(one.act().copy())
        one.observe(outcome(single, user, actions[-1]))
    user = 0
    while user < rounds:
        action, held = many.act().copy(), np.minimum(many.committed_rounds, rounds - user)
        parts = [outcome(together, each, action) for each in range(user, user + int(held[0]))]
        many.observe(sum(parts[1:], parts[0]), held)
        for _ in parts:
            np.testing.assert_array_equal(action, actions[user])
            user += 1
        known = told and takes_horizon(row.make)
        assert not hasattr(many, "epoch") or (many.epoch == (0 if known else epoch_of(user))).all()
    np.testing.assert_array_equal(one.act(), many.act())
    for ours, theirs in zip(statistics(one), statistics(many), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert [together.gate.spent(each) for each in range(rounds)] == [
        single.gate.spent(each) for each in range(rounds)
    ]
    if row.certified:
        assert max(single.gate.spent(each).epsilon for each in range(rounds)) >= 2.0 - loose(row, 2.0)


@column(in_phases)
def test_a_total_of_more_rounds_than_committed_is_refused(row: Row) -> None:
    gate = Simulation(5, 64)
    learner = row.build(epsilon=8.0, horizon=100)(gate)
    nothing = gate.private(np.zeros(learner.act().shape), learner.feedback_domain, 1)
    for rounds, message in (
        (learner.committed_rounds + 1, "must be from 0 to the"),
        (learner.committed_rounds * 0 - 1, r"rounds\[0\] = -1"),
        (np.ones(64), "must be whole numbers"),
        (np.ones((64, 1), dtype=np.int64), "must be whole numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            learner.observe(nothing, rounds)


@column(in_phases, thin=19, slow=DEAR, told=known_or_not)
def test_lanes_do_not_depend_on_each_other(row: Row, told: bool) -> None:
    horizon = 9000
    build = row.build(epsilon=2.0, horizon=horizon if told else None)
    few, many = (
        simulate(build, row.problem, horizon=horizon, runs=64 * blocks, seed=3, checkpoints=6)
        for blocks in (1, 5)
    )
    np.testing.assert_array_equal(few.regret, many.regret[:, :64])


@column(in_phases, thin=12)
def test_a_billion_rounds_are_played_in_phases(row: Row) -> None:
    """Round by round they would take days."""
    build = row.build(epsilon=2.0, horizon=10**9)
    trace = simulate(build, row.problem, horizon=10**9, runs=8, seed=3, checkpoints=10)
    assert (np.diff(trace.regret_mean) >= -1e-3).all()
    assert trace.regret_mean[-1] - trace.regret_mean[-2] < 1e-3 * trace.rounds[-1]


@column(in_phases)
def test_the_shortest_runs(row: Row) -> None:
    for horizon in (1, 2, 7):
        gate, played = Simulation(1, 64), np.zeros(64, dtype=np.int64)
        learner = row.build(epsilon=2.0, horizon=horizon)(gate)
        for action, held in play_phases(learner, row.problem, gate, LaneStreams(1, 64, key=(2,)), horizon):
            assert action.shape == (64, row.problem.structure.size)
            played += held
        assert (played == horizon).all()


# --- simulations -------------------------------------------------------------------------------------


def trace(row: Row, runs: int, build: Any = None, **settings: Any) -> Any:
    """Return a simulation of 60 rounds with little noise, or of a learner that was built for its row's problem."""
    given = {"runs": runs, "seed": 3, **settings}
    problem = PATHS if row.family == "semi-bandit" and build is None else row.problem
    horizon = given.pop("horizon", 400 if row.family == "linear" else 60)
    build = build or row.build(problem, epsilon=100.0, horizon=horizon)
    if row.family == "linear":
        return simulate_phases(build, problem, **given)
    several = simulate if row.structured else simulate_contexts
    return several(build, problem, **{"checkpoints": 8, "horizon": horizon, **given})


PATHS = SemiBandit(
    ShortestPath([("c", "t"), ("s", "b"), ("b", "t"), ("a", "c"), ("s", "a"), ("s", "t")], "s", "t"),
    [0.8, 0.6, 0.7, 0.9, 0.8, 0.3],
)
NEVER_LEARN = {"published/cucb-dp", "published/cucb-dp-least", "published/dp-se", "dp-best-arm"}
"""Within 60 rounds a radius leaves every index at 1, or no epoch ends, or no arm is out: no draw matters."""


@column(thin=25, slow=DEAR)
def test_a_run_depends_on_the_seed_and_its_own_number_only(row: Row) -> None:
    small, large = (2, 5) if row.family == "linear" else (65, 130)
    many = trace(row, large).regret
    np.testing.assert_array_equal(trace(row, small).regret, many[..., :small])
    np.testing.assert_array_equal(trace(row, large).regret, many)
    if row.family != "linear":
        np.testing.assert_array_equal(trace(row, 3).regret, many[:, :3])
    changed = (trace(row, large, seed=4).regret != many).any()
    no_draw_matters = row.name in NEVER_LEARN or (row.family == "linear" and (many == many[0]).all())
    assert changed or not many.any() or no_draw_matters


@column(lambda row: row.family != "linear", thin=6)
def test_regret_and_reward_add_up(row: Row) -> None:
    result = trace(row, 20)
    assert (np.diff(result.regret, axis=0) >= -1e-9).all()  # exact oracles: no round beats the benchmark
    if row.structured:
        benchmark = (PATHS if row.family == "semi-bandit" else row.problem).benchmark
        np.testing.assert_allclose(
            result.regret + result.reward, np.repeat(benchmark * result.rounds[:, None], 20, axis=1)
        )


@column(thin=9)
def test_one_round_can_be_simulated_and_changes_nothing_of_what_a_simulation_is_known_by(row: Row) -> None:
    build = row.build(horizon=1)
    before = identity((build, row.problem))
    result = trace(row, 2, build, horizon=1)
    assert row.family == "linear" or result.rounds.tolist() == [1]
    assert identity((build, row.problem)) == before


class Given:
    """The averages of a problem, from a stream that no order of clients is drawn from."""

    def __init__(self, problem: Any) -> None:
        self.problem, self.rng = problem, np.random.default_rng(5)
        self.population, self.replacement = problem.population, False

    def draw_averages(self, support: Any, counts: Any, clients: int, rng: Any) -> Any:
        return self.problem.draw_averages(support, counts, clients, self.rng)


@column(lambda row: row.family == "linear", thin=5)
def test_reports_that_come_together_teach_the_same(row: Row) -> None:
    def play(together: bool) -> Any:
        gate = Simulation(3, 1)
        learner = row.build(epsilon=5.0, delta=0.1, horizon=600)(gate)
        list(play_linear(learner, Given(row.problem), gate, np.random.default_rng(0), together=together))
        return learner

    one, many = play(False), play(True)
    assert many.learned.averages == pytest.approx(one.learned.averages, abs=1e-12)
    assert many.communication == one.communication
    assert many.active.tolist() == one.active.tolist()
