"""Composition theorems by name."""

from fractions import Fraction

import pytest

from accountant import AdvancedComposition, GaussianComposition, RenyiComposition, ZeroConcentratedComposition
from accountant.compositions import COMPOSITIONS, composition_named
from accountant.filters.failures import DeclaredFailures
from accountant.plans.plan import PlannedComposition
from mechanisms import Gaussian, Laplace, RandomizedResponse
from mechanisms.domains.sensitivity import UNIT


@pytest.mark.parametrize(
    ("words", "theorem"),
    [
        ("zcdp", ZeroConcentratedComposition()),
        (" ZCDP ", ZeroConcentratedComposition()),
        ("zCDP filter", ZeroConcentratedComposition()),
        ("Rényi, failures=0.25", RenyiComposition(failures=0.25)),
        ("renyi", RenyiComposition()),
        ("gaussian, failures = 0.5", GaussianComposition(failures=0.5)),
        ("advanced", AdvancedComposition()),
    ],
)
def test_a_theorem_is_found_by_its_first_word_and_its_settings(words, theorem):
    found = composition_named(words)
    assert type(found) is type(theorem)
    assert found.settings() == theorem.settings()


def test_every_theorem_but_a_plans_has_one_word():
    for name, theorem in COMPOSITIONS.items():
        if theorem is not PlannedComposition:
            assert type(composition_named(name)) is type(composition_named(name.split()[0])) is theorem


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("zcd", "one of basic, advanced, zcdp, renyi, gaussian"),
        ("", "one of"),
        ("declared plan", "one of"),
        (3, "must be text"),
        (ZeroConcentratedComposition(), "must be text"),
        ("zcdp, failures=2", "failures = 2.0: a share"),
        ("zcdp, failures", "must be name=number"),
        ("zcdp, share=0.5", "share"),
        ("basic, failures=0.5", "failures|arguments"),
    ],
)
def test_what_names_no_theorem_is_refused(words, why):
    with pytest.raises(ValueError, match=rf"composition = .*({why})"):
        composition_named(words)


TINY = [Laplace(scale=scale) for scale in (1e155, 1e200, 1.7e308)]
TINY += [RandomizedResponse(size=2, epsilon=epsilon) for epsilon in (1e-155, 1e-200, 5e-324)]
TINY += [Gaussian(sigma=sigma, sensitivity=UNIT, delta=1e-9) for sigma in (1e200, 1e308)]


@pytest.mark.parametrize("mechanism", TINY, ids=repr)
@pytest.mark.parametrize(
    "theorem", sorted(set(COMPOSITIONS.values()) - {PlannedComposition}, key=lambda each: each.name)
)
def test_whatever_loses_something_costs_something(theorem, mechanism):
    """Charges that vanished, or lost digits, between the smallest floats would let any number of releases pass."""
    charge = theorem(failures=0.5) if issubclass(theorem, DeclaredFailures) else theorem()
    cost = charge.charge(mechanism, mechanism.sensitivity).values
    assert any(value != 0 for value in cost)
    loss = mechanism.profile().pure_epsilon
    if theorem is ZeroConcentratedComposition and loss is not None:
        least = loss**2 / 2 * (1 - Fraction(1, 10**12))  # ε²/2 - ε³/6 <= ε + e^{-ε} - 1 <= ε tanh(ε/2)
        assert cost[0] >= least
    elif theorem is GaussianComposition and loss is not None:
        assert cost[0] >= Fraction(1.25) ** 2 * loss**2  # √(π/2) = 1.2533
