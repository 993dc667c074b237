import math
from collections import Counter

import pytest

from algorithms import CUCBLDP1, ONE_REPORT, OnePerson
from algorithms.claim import Claim, ClaimForm, View
from mechanisms import Neighbouring


def test_a_form_becomes_a_claim_with_its_numbers():
    claim = CUCBLDP1.claim.with_parameters(0.5, 1e-6)
    assert (claim.model, claim.epsilon, claim.delta) == ("local", 0.5, 1e-6)
    assert claim.view == View.MESSAGE.value
    assert claim.neighbours is Neighbouring.REPLACE_ONE
    assert claim.neighbour_words == "one record replaced by any other"
    assert "Theorem 1" in claim.source


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_epsilon_is_a_finite_number_above_0(epsilon):
    with pytest.raises(ValueError, match="epsilon = "):
        CUCBLDP1.claim.with_parameters(epsilon)


@pytest.mark.parametrize("delta", [-0.1, 1.0, math.nan])
def test_delta_is_in_the_half_open_unit_interval(delta):
    form = ClaimForm("central", View.OUTPUT, "one report", "a test")
    with pytest.raises(ValueError, match="delta = "):
        form.with_parameters(1.0, delta)


@pytest.mark.parametrize("number", ["1", None, True, [0.5], 1j])
def test_what_is_no_number_is_refused(number):
    with pytest.raises(ValueError, match=r"epsilon = .*: must be a number"):
        CUCBLDP1.claim.with_parameters(number)
    with pytest.raises(ValueError, match=r"delta = .*: must be a number"):
        CUCBLDP1.claim.with_parameters(1.0, number)


def test_claims_are_values():
    assert CUCBLDP1.claim.with_parameters(1.0) == Claim(
        "local",
        1.0,
        0.0,
        CUCBLDP1.claim.unit,
        CUCBLDP1.claim.neighbours,
        "one user's message",
        CUCBLDP1.claim.source,
    )


@pytest.mark.parametrize(
    ("model", "meant"), [("Local", "'local'"), ("shuffled", "'shuffle'"), ("centralised", "'central'")]
)
def test_a_misspelt_model_is_refused_with_the_near_word(model, meant):
    with pytest.raises(ValueError, match=rf"model = '{model}'.*did you mean {meant}"):
        ClaimForm(model, View.ACTIONS, "one report", "a test")
    with pytest.raises(ValueError, match=rf"model = '{model}'.*did you mean {meant}"):
        Claim(model, 1.0, 0.0, "one report", Neighbouring.REPLACE_ONE, View.ACTIONS.value)


@pytest.mark.parametrize("model", [None, 1, ["local"], "", "x"])
def test_what_is_no_model_is_refused(model):
    with pytest.raises(ValueError, match=r"model = .*must be one of 'central', 'local', 'shuffle'$"):
        ClaimForm(model, View.ACTIONS, "one report", "a test")


class AlmostText(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


def test_a_model_that_only_claims_to_be_one_is_refused():
    with pytest.raises(ValueError, match="model = "):
        ClaimForm(AlmostText("mine"), View.ACTIONS, "one report", "a test")


def test_a_view_is_a_view():
    with pytest.raises(ValueError, match=r"view = 'View.RELEASE'.*did you mean 'View.RELEASES'"):
        ClaimForm("central", "View.RELEASE", "one report", "a test")
    with pytest.raises(ValueError, match=r"view = .*did you mean 'everything that is released'"):
        Claim("central", 1.0, 0.0, "one report", Neighbouring.REPLACE_ONE, "everything that was released")


@pytest.mark.parametrize(
    "unit",
    [
        "",
        "  ",
        None,
        3,
        "one user",
        "one person: all rounds that the person takes part in",
        "one person, at most 0 rounds",
        "one person, at most 2.5 rounds",
        "one person, at most 8",
    ],
)
def test_a_unit_is_one_of_a_few(unit):
    """In words of its author's own a claim said that it protects a person, and was held to one round."""
    words = "must be 'one report', 'one person, at most N rounds' or 'one person'.*beyond that is a comment"
    with pytest.raises(ValueError, match=f"unit = .*{words}"):
        ClaimForm("central", View.ACTIONS, unit, "a test")
    with pytest.raises(ValueError, match=f"unit = .*{words}"):
        Claim("central", 1.0, 0.0, unit, Neighbouring.REPLACE_ONE, View.ACTIONS.value)


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        (ONE_REPORT, " One  report"),
        (OnePerson(8), "one person, at most 8 rounds"),
        (OnePerson(1), "One person, at most 1 round"),
        (OnePerson(), "ONE PERSON"),
    ],
)
def test_a_unit_may_be_given_by_its_words(unit, said):
    form = ClaimForm("central", View.ACTIONS, said, "a test", comment="a user of the shop")
    assert form.unit == unit
    assert ClaimForm("central", View.ACTIONS, str(unit), "a test").with_parameters(1.0).unit == unit
    assert form.with_parameters(1.0).comment == "a user of the shop"
    assert "shop" not in form.unit.description


@pytest.mark.parametrize("rounds", [0, -1, 1.5, True, "8"])
def test_a_person_takes_part_in_a_whole_number_of_rounds(rounds):
    with pytest.raises(ValueError, match="rounds = "):
        OnePerson(rounds)


@pytest.mark.parametrize(
    ("unit", "rounds", "most"),
    [
        (ONE_REPORT, 40, 1),
        (OnePerson(1), 40, 1),
        (OnePerson(8), 40, 8),
        (OnePerson(8), 41, 7),
        (OnePerson(3), 2, 2),
    ],
)
def test_names_take_turns_so_that_each_comes_as_often_as_it_may(unit, rounds, most):
    names = [unit.names(rounds)(t) for t in range(1, rounds + 1)]
    times = Counter(names)
    assert max(times.values()) == most
    assert min(times.values()) >= most - 1
    assert set(names) == set(range(1, len(times) + 1))
    assert unit.names(rounds)(0) == 0  # what is observed before the first round


def test_a_person_without_limit_comes_eight_times_or_in_every_round():
    assert max(Counter(map(OnePerson().names(64), range(1, 65))).values()) == 8
    assert set(map(OnePerson().everyone(64), range(1, 65))) == {1}
    assert ONE_REPORT.everyone(64)(5) == 5


@pytest.mark.parametrize(
    "neighbours", ["replace one", "one record replaced by any other", None, 1, View.ACTIONS]
)
def test_neighbours_are_a_relation(neighbours):
    words = r"neighbours = .*: must be a Neighbouring; one of Neighbouring.REPLACE_ONE"
    with pytest.raises(ValueError, match=words):
        ClaimForm("central", View.ACTIONS, "one report", "a test", neighbours)
    with pytest.raises(ValueError, match=words):
        Claim("central", 1.0, 0.0, "one report", neighbours, View.ACTIONS.value)


def test_a_subject_may_say_more_closely_how_neighbours_differ():
    form = ClaimForm(
        "central", View.OUTPUT, "one report", "a test", Neighbouring.ADD_OR_REMOVE, "one row of 3 less"
    )
    assert form.with_parameters(1.0).neighbour_words == "one row of 3 less"
    assert form.with_parameters(1.0).neighbours is Neighbouring.ADD_OR_REMOVE
    with pytest.raises(ValueError, match="differ = 3"):
        ClaimForm("central", View.OUTPUT, "one report", "a test", differ=3)


@pytest.mark.parametrize(
    ("model", "view"),
    [("central", View.SHUFFLED), ("local", View.SHUFFLED), ("central", View.MESSAGE)],
    ids=str,
)
def test_a_view_that_nobody_has_in_the_model_is_refused(model, view):
    with pytest.raises(ValueError, match=rf"view = View.{view.name}: nobody sees .* in the {model} model"):
        ClaimForm(model, view, "one report", "a test")
    with pytest.raises(ValueError, match=rf"view = View.{view.name}: nobody sees .* in the {model} model"):
        Claim(model, 1.0, 0.0, "one report", Neighbouring.REPLACE_ONE, view.value)
    assert ClaimForm("shuffle", view, "one report", "a test").view is view
