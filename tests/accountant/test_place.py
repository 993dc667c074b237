"""Places name the caller's line, not the library's."""

import copy
import os
from pathlib import Path

import numpy as np
import pytest

import accountant
from accountant import Accountant, Budget, Place, RawRead, calling_place
from accountant.place import acting_for
from mechanisms import Box, Laplace


def test_the_line_of_the_release_is_on_the_record():
    gate = Accountant(Budget(1.0), noise=np.random.default_rng(0))
    private = gate.private([0.5], Box(0, 1, 1), 1)
    here = calling_place()
    gate.release(Laplace(scale=4.0), private)
    assert gate.ledger.entries[0].where == Place(here.file, here.line + 1)
    assert here.file == __file__


@pytest.mark.parametrize("read", [lambda p: np.sum(p), lambda p: copy.deepcopy(p), lambda p: p > 1])
def test_the_line_of_a_read_is_the_callers(read):
    private = Accountant(Budget(1.0), noise=np.random.default_rng(0)).private([0.5], Box(0, 1, 1), 1)
    with pytest.raises(RawRead) as refusal:
        read(private)
    assert refusal.value.where == Place(__file__, read.__code__.co_firstlineno)
    assert str(refusal.value).endswith(f"(at {refusal.value.where})")


def test_places_are_written_short(monkeypatch, tmp_path):
    assert str(Place("<stdin>", 3)) == "<stdin>:3"
    monkeypatch.chdir(tmp_path)
    assert str(Place(str(tmp_path / "learner.py"), 3)) == "learner.py:3"
    inside = Path(accountant.__file__).with_name("gate.py")
    assert str(Place(str(inside), 3)) == "accountant/gate.py:3"
    assert str(Place(os.path.join(os.sep, "elsewhere", "x.py"), 3)).endswith("x.py:3")


def test_who_asked_is_named_in_the_place_of_a_line():
    with acting_for("key ann"):
        assert str(calling_place()) == "key ann"
    assert calling_place().file == __file__
