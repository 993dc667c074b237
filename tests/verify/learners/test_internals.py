"""Code that names the internals of private values is an assumption, wherever it stands and whether or not it runs."""

from __future__ import annotations

import functools
import importlib
import operator
import sys
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faults.learner_faults import LEARNER_FAULTS
from faults.planted_learner import planted_learner

from accountant import Simulation
from algorithms.problems.top_k import TopK
from algorithms.semi_bandits.cucb_ldp import CUCBLDP1
from mechanisms import AssumptionKind, Interval
from verify import AnyTwo
from verify.conduct.process_state import ignore_float_errors
from verify.functions.claimed import claim_form
from verify.functions.function_subject import FunctionSubject
from verify.learners.internals import private_attribute_uses
from verify.verification.python_file import import_file
from verify.verification.subject_identity import modules_of_user

HERE = __file__.rpartition("/")[2]


class Honest:
    """Its own attributes may have any name, and what is not asked of it may do what it likes."""

    __slots__ = ("_domain", "_parts", "_values", "total")

    def __init__(self) -> None:
        self._values = np.zeros(2)
        self._parts = self._domain = "values"

    def act(self) -> Any:
        self._values += 1.0
        return self._values

    def observe(self, feedback: Any) -> None:
        self.total = feedback

    def shown_to_its_author(self, feedback: Any) -> Any:
        return feedback._values


class Plain(Honest):
    """As a class with a dictionary."""


def line(words: str) -> str:
    with open(__file__) as source:
        return next(f"{number}" for number, text in enumerate(source, start=1) if words in text)


def raw(feedback: Any) -> Any:
    return feedback._values[0, 0]  # in a function


class Helper:
    def take(self, feedback: Any) -> None:
        self.kept = list(feedback._provenance)  # in a helper


GETTER = operator.attrgetter("_values.shape")


class ByAFunction(Plain):
    def observe(self, feedback: Any) -> None:
        self.total = raw(feedback)


class InABranch(Plain):
    def observe(self, feedback: Any, ticket: object = None) -> None:
        if ticket == "never":
            self.total = feedback._values  # in a branch


class ByAMethod(Plain):
    def observe(self, feedback: Any) -> None:
        self.total = self.shown_to_its_author(feedback)


class ByName(Plain):
    def act(self) -> Any:
        return getattr(self.total, "_values")  # noqa: B009 # by name


class InPlace(Plain):
    def observe(self, feedback: Any) -> None:
        feedback._values = 0.5 * self._values  # in place


class OfAnother(Plain):
    def observe(self, feedback: Any) -> None:
        self.total._values += 1  # of another


class ByAGetter(Plain):
    def observe(self, feedback: Any) -> None:
        self.total = GETTER(feedback)


class ByAPartial(Plain):
    take = functools.partialmethod(lambda self, feedback: raw(feedback))

    def observe(self, feedback: Any) -> None:
        self.take(feedback)


class ByAHelper(Plain):
    def __init__(self) -> None:
        super().__init__()
        self.helper = Helper()

    def observe(self, feedback: Any) -> None:
        self.helper.take(feedback)


class InAClosure(Plain):
    def __init__(self) -> None:
        kept: deque[Any] = deque()
        self.keep = lambda feedback: kept.append(feedback._values)  # in a closure

    def observe(self, feedback: Any) -> None:
        self.keep(feedback)


class InAProperty(Plain):
    @property
    def feedback_domain(self) -> Any:
        return self.total._gate  # in a property


@pytest.mark.parametrize(
    ("learner", "name", "where"),
    [
        (ByAFunction, "_values", "in a function"),
        (InABranch, "_values", "in a branch"),
        (ByAMethod, "_values", "return feedback._values"),
        (ByName, "_values", "by name"),
        (InPlace, "_values", "in place"),
        (OfAnother, "_values", "of another"),
        (ByAPartial, "_values", "in a function"),
        (ByAHelper, "_provenance", "in a helper"),
        (InAClosure, "_values", "in a closure"),
        (InAProperty, "_gate", "in a property"),
    ],
)
def test_an_internal_name_is_an_assumption_with_its_line(learner: type[Plain], name: str, where: str) -> None:
    (assumption,) = private_attribute_uses(learner())
    assert assumption.kind is AssumptionKind.INTERNALS
    assert assumption.message.startswith(f"{name}, which your code names,")
    assert assumption.where.endswith(
        f"{HERE}:{line('# ' + where if where != 'return feedback._values' else where)}"
    )


def test_a_getter_of_attributes_has_no_line() -> None:
    (assumption,) = private_attribute_uses(ByAGetter())
    assert assumption.where == "a getter of attributes"


def test_what_is_a_learners_own_is_no_assumption() -> None:
    assert private_attribute_uses(Plain()) == []


@pytest.mark.usefixtures("faults_as_library")
def test_this_librarys_learners_may_name_them_with_a_fault_or_without() -> None:
    """So that a mutant is caught by what it does, not by how it was planted."""
    gate = Simulation(0, 1)
    for make in (CUCBLDP1, planted_learner(CUCBLDP1, LEARNER_FAULTS["raw-value"])):
        assert private_attribute_uses(make(TopK(3, 1), gate, epsilon=1.0, horizon=10)) == []


def test_what_a_function_imports_is_followed_whether_or_not_it_ran(tmp_path: Path) -> None:
    """A branch that no run takes imports a module that reads raw values: it was certified."""
    (tmp_path / "peeks_of_test.py").write_text("def peek(feedback):\n    return feedback._values.sum()\n")
    (tmp_path / "between_of_test.py").write_text("import peeks_of_test\npeek = peeks_of_test.peek\n")
    (tmp_path / "hidden_of_test.py").write_text(
        "class Hidden:\n"
        "    def act(self): ...\n"
        "    def observe(self, feedback):\n"
        "        if self.total > 1e9:\n"
        "            import scipy.optimize, json\n"
        "            from between_of_test import peek\n"
        "            self.total = peek(feedback)\n"
    )
    file = tmp_path / "hidden_of_test.py"
    learner = vars(import_file(file))["Hidden"]()
    unloaded = private_attribute_uses(learner)
    importlib.import_module("peeks_of_test")
    importlib.import_module("between_of_test")
    loaded = private_attribute_uses(learner)
    for name in ("peeks_of_test", "between_of_test"):
        del sys.modules[name]
    for found in (unloaded, loaded):
        assert [one.kind for one in found] == [AssumptionKind.INTERNALS]
        assert found[0].where.endswith("peeks_of_test.py:2")


def test_the_installed_package_of_a_learner_is_its_authors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other installed packages are left out; one that holds a class of the learner's may peek like any code of its."""
    folder = tmp_path / "site-packages"
    for package in ("installed_of_test", "other_of_test"):
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").touch()
        (folder / package / "peeks.py").write_text("def peek(feedback):\n    return feedback._values\n")
    (folder / "installed_of_test/learner.py").write_text(
        "from installed_of_test import peeks\n"
        "from other_of_test import peeks as others\n"
        "class Peeks:\n"
        "    def act(self): ...\n"
        "    def observe(self, feedback):\n"
        "        peeks.peek(feedback), others.peek(feedback)\n"
    )
    monkeypatch.syspath_prepend(folder)
    (found,) = private_attribute_uses(importlib.import_module("installed_of_test.learner").Peeks())
    assert found.where.endswith("installed_of_test/peeks.py:2")
    for name in [name for name in sys.modules if name.startswith(("installed_of_test", "other_of_test"))]:
        del sys.modules[name]


def test_code_in_modules_with_names_of_this_librarys_is_the_authors(tmp_path: Path) -> None:
    """A user's module counts as the user's code even if it is named like one of the library's."""
    (tmp_path / "mechanisms/noise").mkdir(parents=True)
    (tmp_path / "mechanisms/noise/laplace.py").write_text(
        "class Peeks:\n    def act(self): ...\n    def observe(self, feedback):\n        feedback._values\n"
    )
    (tmp_path / "algorithms.py").write_text("def peek(feedback):\n    return feedback._values\n")
    file = tmp_path / "learner_of_test.py"
    file.write_text(
        "import algorithms\nfrom mechanisms.noise.laplace import Peeks\n"
        "class Own(Peeks):\n    pass\n"
        "class Other:\n    def act(self): ...\n"
        "    def observe(self, feedback):\n        algorithms.peek(feedback)\n"
    )
    module = vars(import_file(file))
    for name, where in (("Own", "laplace.py:4"), ("Peeks", "laplace.py:4"), ("Other", "algorithms.py:2")):
        (found,) = private_attribute_uses(module[name]())
        assert found.where.endswith(where)
    subject = FunctionSubject(
        "of_test",
        module["Peeks"].observe,
        AnyTwo(Interval(0, 1)),
        claim_form("central", "", "", AnyTwo(Interval(0, 1))),
        False,
        False,
    )
    with ignore_float_errors():  # as a verification does
        import_file(file)
        named = [each.__name__ for each in modules_of_user(subject)]
    assert named == [
        "mechanisms.noise.laplace",
        "mechanisms.noise",
        "mechanisms",
        "algorithms",
    ]
