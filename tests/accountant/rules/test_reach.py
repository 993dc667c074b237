"""Knowledge of tenants: games in which one tenant's questions depend on another's answers, and the stated bounds."""

import itertools
import math
import random
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from accountant import (
    Accountant,
    AdvancedComposition,
    BasicComposition,
    Budget,
    BudgetExceeded,
    Composition,
    GaussianComposition,
    Refusal,
    RenyiComposition,
    Rule,
    ZeroConcentratedComposition,
    spending_on,
)
from accountant.rules.reach import words_of_rule
from accountant.stores.opening import open_store
from mechanisms import Categories, NumpyNoise, ParameterError, RandomizedResponse
from verify.commands.command_group import cli

BIT = Categories(2)
QUESTIONS = {epsilon: RandomizedResponse(size=2, epsilon=epsilon) for epsilon in (0.25, 0.5, 1.0, 4.0)}


class Script(NumpyNoise):
    """Noise that answers what was written before: the probability of that is computed, not sampled."""

    def __init__(self, bits: Sequence[int]) -> None:
        super().__init__(np.random.default_rng(0))
        self._bits = iter(bits)

    def randomized_response(self, category: Any, size: int, epsilon: float) -> Any:
        return np.full_like(category, next(self._bits))


@dataclass(frozen=True)
class Game:
    """Tenants in turn ask about one bit; what each asks follows from all that it and those who reach it were told."""

    limits: dict[str, float]
    reach: dict[str, frozenset[str]]
    turns: tuple[str, ...]
    seed: int

    def question(self, turn: int, known: tuple[Any, ...]) -> float | None:
        return random.Random(f"{self.seed} {turn} {known}").choice((None, 0.25, 0.5, 1.0, 4.0))

    def rules(self, *, told: bool = True) -> list[Rule]:
        return [
            Rule(
                Budget(limit),
                tenant=name,
                reached_by=tuple(sorted(self.reach[name] - {name})) if told else None,
            )
            for name, limit in self.limits.items()
        ]

    def played(
        self, budget: float, bits: Sequence[int], *, told: bool = True
    ) -> list[tuple[str, float, int | str]]:
        """Return who was told what at which epsilon; 0 where it was refused, in these words."""
        gate = Accountant(Budget(budget), rules=self.rules(told=told), noise=Script(bits))
        bit, log = gate.private([1], BIT, record="ann"), list[tuple[str, float, int | str]]()
        for turn, name in enumerate(self.turns):
            known = tuple((at, *line) for at, line in enumerate(log) if line[0] in self.reach[name])
            epsilon = self.question(turn, known)
            answer: int | str = -1
            if epsilon is not None:
                try:
                    with spending_on(tenant=name):
                        answer = int(gate.release(QUESTIONS[epsilon], bit)[0, 0])
                except BudgetExceeded as refused:
                    epsilon, answer = None, refused.message  # the tenant sees that
            log.append((name, epsilon or 0.0, answer))
        return log

    def losses(self, budget: float, *, told: bool = True) -> dict[str, float]:
        """Return what each tenant's view tells of the bit: the largest log ratio of its probabilities, exactly."""
        views: dict[str, dict[Any, list[float]]] = {name: {} for name in self.limits}
        scripts = {}
        for bits in itertools.product((0, 1), repeat=len(self.turns)):
            log = self.played(budget, bits, told=told)
            scripts[tuple(log)] = log  # answers that nobody was given make no difference
        for log in scripts.values():
            chances = [
                math.prod(
                    1 / (1 + math.exp(-epsilon if answer == bit else epsilon))
                    for _, epsilon, answer in log
                    if epsilon
                )
                for bit in (0, 1)
            ]
            for name, view in views.items():
                seen = tuple((epsilon, answer) for each, epsilon, answer in log if each == name)
                both = view.setdefault(seen, [0.0, 0.0])
                both[0] += chances[0]
                both[1] += chances[1]
        for view in views.values():
            np.testing.assert_allclose(np.sum(list(view.values()), axis=0), 1.0)
        return {
            name: max(abs(math.log(one / other)) for one, other in view.values())
            for name, view in views.items()
        }


def random_game(seed: int) -> Game:
    draw, names = random.Random(seed), ("a", "b", "c")
    reach = {name: {name} | {other for other in names if draw.random() < 0.3} for name in names}
    for _ in names:
        for name in names:
            reach[name] = set().union(*(reach[other] for other in reach[name]))
    return Game(
        {name: draw.choice((0.25, 0.5, 1.0)) for name in names},
        {name: frozenset(each) for name, each in reach.items()},
        tuple(draw.choice(names) for _ in range(4)),
        seed,
    )


@pytest.mark.parametrize("seeds", [range(10), pytest.param(range(10, 1_000), marks=pytest.mark.slow)])
def test_no_view_loses_more_than_its_rule_says(seeds: range) -> None:
    beyond_own = 0
    for game in map(random_game, seeds):
        budget = sum(game.limits.values())
        for name, loss in game.losses(budget).items():
            assert loss <= sum(game.limits[other] for other in game.reach[name]) + 1e-9
            beyond_own += loss > game.limits[name] + 1e-9
        rules = game.rules()
        for rule in rules:
            said = words_of_rule(rule, rules, BasicComposition(), Budget(budget))
            most = sum(game.limits[other] for other in game.reach[str(rule.tenant)])
            assert f"is at most epsilon = {most:g}:" in said
    assert beyond_own  # a tenant's own limit is no bound on what it learns


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(25), pytest.param(range(25, 500), marks=pytest.mark.slow)])
def test_where_nobody_says_who_reaches_whom_the_budget_is_the_bound(seeds: range) -> None:
    for game in map(random_game, seeds):
        budget = 0.6 * sum(game.limits.values())
        assert max(game.losses(budget, told=False).values()) <= budget + 1e-9
        with pytest.raises(
            ValueError, match=r"reached_by: the limits of all tenants, .*, do not fit the budget"
        ):
            Accountant(Budget(budget), rules=game.rules())


@pytest.mark.parametrize("asked", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("store", [False, True])
def test_refusals_tell_of_ones_own_charges_only(asked: float, store: bool, tmp_path: Path) -> None:
    """Refusals that a tenant reads are the same whatever others were charged to the budget and to a purpose's rule."""
    told = set()
    for spent in ((), (0.25,), (0.5,), (0.25, 0.5)):
        gate = Accountant(
            Budget(1.5),
            rules=[
                Rule(Budget(1.5), purpose="ads"),
                Rule(Budget(0.25), tenant="care", reached_by=()),
                Rule(Budget(1.0), tenant="shop", reached_by=("care",)),
            ],
            store=tmp_path / f"{len(spent)} {sum(spent)}.db" if store else None,
            purpose="ads",
        )
        bits = gate.private([1], BIT, "ann"), gate.private([0], BIT, "bob")
        with spending_on(tenant="shop"):
            for epsilon in spent:
                gate.release(QUESTIONS[epsilon], bits[0])
        for tenant in ("care", "nobody"):
            with spending_on(tenant=tenant), pytest.raises(Refusal) as refused:
                gate.release(QUESTIONS[asked], bits[0])
            told.add((tenant, refused.value.message))
            with spending_on(tenant=tenant), pytest.raises(Refusal) as refused:
                gate.release(QUESTIONS[asked], bits[1])
            told.add((tenant, refused.value.message.replace("bob", "ann")))
        with spending_on(tenant="care"):
            told.add((tenant, str(gate.remaining_releases(QUESTIONS[0.25], "ann"))))
    assert len(told) == 3
    assert any("only epsilon = 0.25 is left of its limit for tenant 'care'" in words for _, words in told)
    assert any("no rule permits charges for this" in words for _, words in told)


def test_a_question_that_another_answer_chose_tells_of_both() -> None:
    """From what b lets it ask, a learns what b was told, at epsilon = 1, however small its own questions are."""
    epsilon = 2.0**-4

    class Chosen(Game):
        def question(self, turn: int, known: tuple[Any, ...]) -> float | None:
            return 1.0 if turn == 0 else epsilon if known[0][3] == 1 else None

    QUESTIONS[epsilon] = RandomizedResponse(size=2, epsilon=epsilon)
    game = Chosen({"a": epsilon, "b": 1.0}, {"a": frozenset("ab"), "b": frozenset("b")}, ("b", "a"), 0)
    losses = game.losses(1.0 + epsilon)
    assert losses["a"] == pytest.approx(1.0 + epsilon)
    assert losses["b"] == pytest.approx(1.0)


LIMITS = Rule(Budget(0.5), tenant="a", reached_by=()), Rule(Budget(1.0), tenant="b", reached_by=("a",))


@pytest.mark.parametrize(
    ("rules", "budget", "words"),
    [
        (LIMITS, Budget(1.49), "do not fit the budget"),
        ((*LIMITS, Rule(Budget(1.0), purpose="ads")), Budget(2.0), "do not fit its quota for purpose 'ads'"),
        ((*LIMITS, Rule(Budget(2.0), groups=(("ann", "bob"),))), Budget(2.0), "of several records together"),
        (
            (*LIMITS, Rule(Budget(0.1), tenant="a", days=7)),
            Budget(2.0),
            "depends on the times of charges",
        ),
        ((*LIMITS, Rule(Budget(0.1), "ads", "c")), Budget(2.0), "tenant 'c' has no limit of its own"),
        ((*LIMITS, Rule(Budget.unlimited(), tenant="c")), Budget(2.0), "tenant 'c' has no limit of its own"),
        (
            (
                Rule(Budget(0.5), tenant="a"),
                Rule(Budget(1.0), tenant="b", reached_by=("a",)),
                Rule(Budget(0.1), None, "c"),
            ),
            Budget(2.0),
            "tenant 'a' is reached by 'c', who then reaches this one, too",
        ),
        ((Rule(Budget(0.5), tenant="a", reached_by=("z",)),), Budget(1.0), "no rule has a tenant 'z'"),
    ],
)
def test_what_could_not_be_kept_is_not_promised(rules: Sequence[Rule], budget: Budget, words: str) -> None:
    with pytest.raises(ValueError, match="reached_by") as refused:
        Accountant(budget, rules=rules)
    assert words in str(refused.value)


def test_deltas_of_several_records_are_not_counted_together_either() -> None:
    limits = [replace(one, budget=Budget(one.budget.epsilon, 1e-7)) for one in LIMITS]
    groups = Rule(Budget(math.inf, 1e-7), groups=(("ann", "bob"),))
    with pytest.raises(ParameterError, match="of several records together"):
        Accountant(
            Budget(9.0, 1e-5), composition=ZeroConcentratedComposition(failures=0.5), rules=[*limits, groups]
        )


@pytest.mark.parametrize("composition", [AdvancedComposition(), RenyiComposition()])
def test_a_theorem_without_sums_promises_nothing(composition: Composition) -> None:
    limits = [
        Rule(Budget(each.budget.epsilon, 1e-6), tenant=each.tenant, reached_by=each.reached_by)
        for each in LIMITS
    ]
    with pytest.raises(ValueError, match=r"reached_by: limits under the .* have no sum"):
        Accountant(Budget(10.0, 1e-5), composition=composition, rules=limits)


@pytest.mark.parametrize("composition", [ZeroConcentratedComposition(), GaussianComposition()])
def test_limits_are_added_up_in_the_theorems_own_numbers(composition: Composition) -> None:
    """Four of ε = 1 fit ε = 2.5: ρ and μ² grow faster than ε."""
    limits = [Rule(Budget(1.0, 1e-6), tenant=name, reached_by=()) for name in ("a", "b", "c", "d")]
    Accountant(Budget(2.5, 1e-6), composition=composition, rules=limits)
    with pytest.raises(ValueError, match="do not fit the budget"):
        Accountant(Budget(1.9, 1e-6), composition=composition, rules=limits)
    both = [limits[0], Rule(Budget(1.0, 1e-6), tenant="b", reached_by=("a",))]
    said = words_of_rule(both[1], both, composition, Budget(2.5, 1e-6))
    assert 1.0 < float(said.split("epsilon = ")[1].split(",")[0]) < 2.0


@pytest.mark.parametrize(
    "options",
    [
        {"reached_by": ()},
        {"reached_by": (), "tenant": "a", "purpose": "ads"},
        {"reached_by": (), "tenant": "a", "days": 3},
        {"reached_by": (), "tenant": "a", "groups": (("ann", "bob"),)},
        {"reached_by": ("a",), "tenant": "a"},
        {"reached_by": ("b", "b"), "tenant": "a"},
        {"reached_by": "b", "tenant": "a"},
        {"reached_by": (None,), "tenant": "a"},
        {"reached_by": (1,), "tenant": "a"},
    ],
)
def test_reached_by_is_other_tenants_of_a_limit_for_ever(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="reached_by"):
        Rule(Budget(1.0), **options)
    with pytest.raises(ValueError, match="reached_by"):
        Rule(Budget.unlimited(), tenant="a", reached_by=())


def test_a_ledger_keeps_what_it_promised_from_the_first_charge(tmp_path: Path) -> None:
    """Promised later, it would not hold of what was charged before; and nobody has to be told twice."""
    path = tmp_path / "ledger.db"
    gate = Accountant(Budget(2.0), rules=LIMITS, store=path)
    assert tuple(gate.rules) == LIMITS
    bit = gate.private([1], BIT, record="ann")
    with spending_on(tenant="a"):
        gate.release(QUESTIONS[0.5], bit)
        with pytest.raises(BudgetExceeded) as refused:
            gate.release(QUESTIONS[0.25], bit)
    said = "what tenant 'a' learns of a record is at most epsilon = 0.5: no other tenant reaches it"
    assert refused.value.limit == "its limit for tenant 'a'"
    assert f"is left of its limit for tenant 'a', neighbours: replace one ({said})" in refused.value.message
    gate.ledger.close()  # type: ignore[attr-defined]
    with closing(open_store(path)) as store:
        assert tuple(store.rules) == LIMITS
        with pytest.raises(ValueError, match="before anything is charged"):
            store.change_rules(LIMITS, "me", "again")
        store.change_rules(
            [Rule(Budget(0.5), tenant="a"), Rule(Budget(1.0), tenant="b")], "me", "to learn more"
        )
        assert all(rule.reached_by is None for rule in store.rules)
    shown = CliRunner().invoke(cli, ["ledger", "show", str(path)], env={"COLUMNS": "400"})
    assert (
        "a quota of what is charged for tenant 'a'; what it learns is bounded by the budget" in shown.output
    )
