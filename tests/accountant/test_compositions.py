"""Composition theorems by name."""

import pytest

from accountant import AdvancedComposition, GaussianComposition, RenyiComposition, ZeroConcentratedComposition
from accountant.compositions import COMPOSITIONS, composition_named
from accountant.plans.plan import PlannedComposition


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
    with pytest.raises(ValueError, match=rf"composition=.*({why})"):
        composition_named(words)
