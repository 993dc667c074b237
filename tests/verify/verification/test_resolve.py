"""Resolution of subjects: objects that count as functions, and the precedence of declared neighbours."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

import pytest

from algorithms import CUCBLDP1
from mechanisms import Interval, Laplace, Neighbouring
from verify import AddOrRemoveOne, ReplaceOne, SubjectError, claimed
from verify.functions.function_subject import FunctionSubject
from verify.learners.learner_subject import LearnerSubject
from verify.verification.resolve import resolve
from verify.verification.verify_mechanism import MechanismSubject

UNIT = Interval(0, 1)
FUNCTIONS = Path(__file__).parents[1] / "subjects" / "functions.py"


def plain(data: float, rng: Any, scale: float = 1.0) -> float:
    return data + float(rng.laplace(scale=scale))


class Noisy:
    def __call__(self, data: float, rng: Any) -> float:
        return plain(data, rng)

    def batch(self, data: float, rng: Any, lanes: int) -> Any:
        return data + rng.laplace(size=lanes)


@pytest.mark.parametrize(
    ("function", "name", "lanes"),
    [
        (plain, "plain", False),
        (Noisy(), "Noisy", False),
        (Noisy().batch, "Noisy.batch", True),
        (functools.partial(plain, scale=2.0), "partial", False),
    ],
)
def test_anything_that_can_be_called(function: Any, name: str, lanes: bool) -> None:
    found = resolve(function, UNIT)
    assert isinstance(found, FunctionSubject)
    assert (found.name, found.takes_lanes, found.takes_gate) == (name, lanes, False)
    with pytest.raises(SubjectError, match="no claim"):
        resolve(function)


def test_other_neighbours_leave_the_rest_of_a_claim() -> None:
    marked = claimed(data=UNIT, model="local")(lambda data, rng: plain(data, rng))
    found = resolve(marked, Interval(0, 5))
    assert isinstance(found, FunctionSubject)
    assert found.form.model == "local"
    assert "5" in found.neighbours.description
    assert "5" in found.form.differ


def test_what_is_no_function_takes_no_neighbours() -> None:
    with pytest.raises(SubjectError, match="takes no neighbours"):
        resolve(Laplace(scale=1.0), UNIT)
    with pytest.raises(SubjectError, match=r"\(obj\); must be \(data, rng\)"):
        resolve(len, UNIT)


def test_subjects_are_classified() -> None:
    assert isinstance(resolve("cucb"), LearnerSubject)
    assert isinstance(resolve(f"{FUNCTIONS}:MECHANISM"), MechanismSubject)
    function = resolve(f"{FUNCTIONS}:through_the_gate")
    assert isinstance(function, FunctionSubject)
    assert function.takes_gate
    assert not function.takes_lanes


def test_functions_that_lack_their_neighbours_are_named_too(tmp_path: Path) -> None:
    file = tmp_path / "two.py"
    file.write_text(
        "import numpy as np\n"
        "def noisy(data, rng): return data + rng.laplace()\n"
        "def mean(values): return np.mean(values)\n"
        "def _hidden(data, rng): return data\n"
    )
    with pytest.raises(
        SubjectError, match=r"in it: none; given --data also noisy; its other callables: mean\(values\)$"
    ):
        resolve(f"{file}:absent")


def test_claims_name_the_relation_of_their_neighbours() -> None:
    for adjacency, relation in (
        (AddOrRemoveOne(UNIT, 3), Neighbouring.ADD_OR_REMOVE),
        (ReplaceOne(UNIT, 3), Neighbouring.REPLACE_ONE),
        (UNIT, Neighbouring.REPLACE_ONE),
    ):
        found = resolve(plain, adjacency)
        assert isinstance(found, FunctionSubject)
        assert found.form.neighbours is relation
        assert claimed(data=adjacency)(lambda data, rng: data).dpwitness_claim.form.neighbours is relation


def test_a_learner_that_claims_another_relation_is_refused() -> None:
    class Leaving(CUCBLDP1):
        claim = dataclasses.replace(CUCBLDP1.claim, neighbours=Neighbouring.ADD_OR_REMOVE)

    with pytest.raises(SubjectError, match="its claim is for neighbours 'add or remove one'"):
        resolve(Leaving)
