"""Every theorem that a result can name says where it is from."""

from __future__ import annotations

import pytest

from accountant import THEOREMS
from accountant.compositions import COMPOSITIONS
from verify.findings.references import BETS, COUNTS, PUBLICATIONS, references


@pytest.mark.parametrize("name", [*THEOREMS, *COMPOSITIONS])
def test_every_theorem_of_composition_has_its_own_references(name: str) -> None:
    (line,) = references([f"{name}, as declared", "none: nothing is known of a black box"])
    assert line.lower().startswith(f"{name.lower()}: ")
    assert all(source in line for source in PUBLICATIONS[name])


def test_names_are_matched_whole_and_the_longest_wins() -> None:
    assert references(["", "the sum of it", "optimal compositions"]) == ()
    closed, exact = references(["optimal composition, closed bound", "optimal composition"])
    assert ("Murtagh" in closed, "Murtagh" in exact) == (False, True)


def test_tests_have_theirs_and_nothing_stands_twice() -> None:
    bets, counts = references([BETS, COUNTS, BETS])
    assert "Waudby-Smith" in bets
    assert "Clopper" in counts
