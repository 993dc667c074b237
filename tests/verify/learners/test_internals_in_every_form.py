"""Every way to write an internal name rests on the same assumption in every version of Python that runs the tests.

Versions compile the same text to other instructions: 3.12 has one for ``super().name`` and puts comprehensions in
line, 3.13 reads two local variables at once and lists in a class what its methods set.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from verify.learners.internals import private_attribute_uses
from verify.verification.python_file import import_file

NAMED = (
    "return feedback._values",
    "alias = feedback\nreturn alias._values",
    "alias = self\nreturn alias._values",
    "return self, feedback._values",
    "return feedback._values, self.total",
    "return self is feedback._values",
    "self.kept(self, feedback._values)",
    "other = self\nfeedback._values",
    "other = ticket\nfeedback._values\nreturn other",
    "kept = feedback; return kept._values",
    "kept = also = feedback\nreturn kept._values",
    "(self.a, b) = feedback._values\nreturn b",
    "self_, other = self, feedback\nreturn other._values",
    "a, b = feedback, self\na, b = b, a\nreturn b._values",
    "return (kept := feedback)._values",
    "if (kept := feedback._values) is not None:\n    return kept",
    "return [one for _ in range(1) if (one := feedback._values) is not None]",
    "return [one._values for one in (feedback,)]",
    "return [one for one in feedback._values]",
    "return [feedback._values for _ in range(2)]",
    "return [(self, one._values) for one in (feedback,)]",
    "return [one for one in range(2) if feedback._values[0, one]]",
    "return {one._values for one in (feedback,)}",
    "return {0: one._values for one in (feedback,)}",
    "return sum(one._values for one in (feedback,))",
    "return [[two._values for two in one] for one in ((feedback,),)]",
    "return (lambda: feedback._values)()",
    "return (lambda one: one._values)(feedback)",
    "return (lambda one=feedback: one._values)()",
    "def peek():\n    return feedback._values\nreturn peek()",
    "def a():\n    def b():\n        return feedback._values\n    return b\nreturn a()()",
    "kept = None\ndef peek():\n    nonlocal kept\n    kept = feedback\npeek()\nreturn kept._values",
    "class Kept:\n    values = feedback._values\nreturn Kept.values",
    "class Kept:\n    def peek(other, one):\n        return one._values\nreturn Kept().peek(feedback)",
    "class Kept:\n    values = [one._values for one in (feedback,)]\nreturn Kept.values",
    "class Kept:\n    values = (lambda: feedback._values)()\nreturn Kept.values",
    "class Kept:\n    values = self._values\nreturn Kept.values",
    "return f'{feedback._values}'",
    "return f'{self.total:{feedback._values}}'",
    "return f'{feedback._values!r:>20}'",
    "return f'{feedback._values=}'",
    "return f'{self}{feedback._values}'",
    "return '{0._values}'.format(feedback)",
    "return '{one._values}'.format(one=feedback)",
    "match feedback._values:\n    case kept:\n        return kept",
    "match feedback:\n    case object(_values=kept):\n        return kept",
    "match feedback:\n    case kept if kept._values is not None:\n        return kept",
    "match ticket:\n    case feedback._values:\n        return 1",
    "match feedback:\n    case object() as kept:\n        return kept._values",
    "match vars(feedback):\n    case {'_values': kept}:\n        return kept",
    "try:\n    return feedback._values\nexcept ValueError:\n    pass",
    "try:\n    self.act()\nexcept ValueError:\n    return feedback._values",
    "try:\n    self.act()\nexcept feedback._values:\n    pass",
    "try:\n    self.act()\nexcept ValueError:\n    pass\nelse:\n    return feedback._values",
    "try:\n    self.act()\nfinally:\n    feedback._values",
    "try:\n    self.act()\nexcept* ValueError:\n    feedback._values",
    "raise ValueError(feedback._values)",
    "raise ValueError from feedback._values",
    "assert feedback._values is None",
    "assert self, feedback._values",
    "with feedback._values as kept:\n    return kept",
    "with self.total as feedback._values:\n    pass",
    "for feedback._values in range(2):\n    pass",
    "for one in feedback._values:\n    return one",
    "for self.total, one in ((0, feedback),):\n    return one._values",
    "while feedback._values is not None:\n    pass",
    "return 0 < feedback._values < 1",
    "return self and feedback._values",
    "return feedback._values if self else self",
    "return self.total[feedback._values]",
    "return self.total[feedback._values:]",
    "return [*feedback._values]",
    "return print(*feedback._values)",
    "return feedback._values.sum()",
    "return feedback._check_addition(1)",
    "return feedback._apply(self, self)",
    "return self.total.kept._values",
    "return self.act()._values",
    "return getattr(feedback, '_values')",
    "return getattr(feedback, '_values', None)",
    "name = '_values'\nreturn getattr(feedback, name)",
    "return hasattr(feedback, '_values')",
    "setattr(feedback, '_values', self.total)",
    "delattr(feedback, '_values')",
    "del feedback._values",
    "feedback._values = self.total",
    "feedback._values = self._values",
    "feedback._values = self",
    "feedback._values += 1",
    "self._values += 1\nfeedback._values += 1",
    "self._values += feedback._values",
    "feedback._values[0] += 1",
    "self._values += 1\nx = 1\nx += 1\nfeedback._values = x",
    "kept: object = feedback._values\nreturn kept",
    "feedback._values: object = 1",
    "return vars(feedback)['_values']",
    "return feedback.__dict__['_values']",
    "return feedback.__getattribute__('_values')",
    "return object.__getattribute__(feedback, '_values')",
    "return type(feedback)._values.__get__(feedback)",
    "import operator\nreturn operator.attrgetter('_values.shape')(feedback)",
    "import operator\nreturn operator.methodcaller('_raw_values')(feedback)",
    "return [getattr(feedback, one) for one in ('_values', '_gate')]",
    "return [getattr(feedback, one) for one in ['_values', '_gate', 'x']]",
    "return '_values' if self.total in {'_values', 'x'} else 1",
    "return {'_values': 1}",
    "return {'a': self, 'b': self, '_values': 1}",
    "return {1: '_values'}",
    "return dict(_values=feedback)",
    "return dict(a=self, b=feedback, _values=feedback)",
    "return self.total.replace(_values=feedback)",
    "return dict(**self.total, _values=feedback)",
    "return '_values'",
    "return ('_values', 'x')",
    "def peek(name='_values'):\n    return getattr(feedback, name)\nreturn peek()",
    "def peek(*, name='_values'):\n    return getattr(feedback, name)\nreturn peek()",
    "def peek(a=1, name='_values'):\n    return getattr(feedback, name)\nreturn peek()",
    "@self.total(feedback._values)\ndef peek(): ...\nreturn peek",
    "@self.total(feedback._values)\nclass Peek: ...\nreturn Peek",
    "class Peek(metaclass=feedback._values): ...\nreturn Peek",
    "class Peek(feedback._values): ...\nreturn Peek",
    "return super()._values",
    "return super(Plain, feedback)._values",
    "return super()._raw_values()",
    "return super(Plain, feedback)._raw_values()",
    "super()._values = 1",
    "global kept\nkept = feedback\nreturn kept._values",
    "yield feedback._values",
    "yield from feedback._values",
    "return (lambda one: (self, one._values))(feedback)",
    "from accountant.gates.private import Private as P\nreturn P._values.__get__(feedback)",
    "import accountant as a\nreturn a.Private._values.__get__(feedback)",
    "return getattr(feedback, '_' + 'values')",
    "return exec('feedback._values')",
    "return (feedback\n    ._values\n    .sum())",
    "async def peek():\n    return feedback._values\nreturn peek",
    "async def peek():\n    return (await feedback)._values\nreturn peek",
    "async def peek():\n    async for one in feedback._values:\n        return [two async for two in one]\nreturn peek",
    "class Other:\n    def put(self, one):\n        self._values = one._values\nreturn Other",
    "return [getattr(feedback, one) for one, _ in (('_values', 1), ('a', 2))]",
    "return [getattr(feedback, one) for one, _ in [('_values', 1), ('a', 2), ('c', 3)]]",
    "return '{one[_values]}'.format(one=vars(feedback))",
    "return '{0._values!r}'.format(feedback)",
    "return '{0._values:>3}'.format(feedback)",
    "\n".join(f"self.n{i}" for i in range(300)) + "\nreturn feedback._values",
    f"self.total = {[i + 0.5 for i in range(300)]}, self.act\nreturn getattr(feedback, '_values')",
    "\n".join(f"v{i} = {i}" for i in range(20)) + "\nlast = feedback\nreturn self, last._values",
)
"""Bodies of ``observe(self, feedback, ticket)`` that name an internal of another object than the learner itself."""

OWN = (
    "return self._values",
    "return feedback, self._values",
    "return self.total, self._values, feedback",
    "return feedback is self._values",
    "self._values = feedback",
    "self._values = 1",
    "self._values, self._parts = feedback, self",
    "self._values += 1",
    "self._values += feedback",
    "self._values += self._parts * feedback",
    "self._values[0] += 1",
    "del self._values",
    "other = feedback\nself._values\nreturn other",
    "return [self._values[i] for i in range(2)]",
    "return [self._values for self.total in range(2)]",
    "return sum(self._values for _ in range(2))",
    "return lambda: self._values",
    "def peek():\n    return self._values\nreturn peek",
    "def peek():\n    return self\nself._values = 1\nreturn self._values",
    "return f'{self._values}'",
    "match self._values:\n    case kept:\n        return kept",
    "try:\n    return self._values\nexcept ValueError:\n    return self._parts\nfinally:\n    self._values = 1",
    "self._values: object = feedback",
    "with feedback as self._values:\n    pass",
    "for self._values in feedback:\n    pass",
    "self._values, *self._parts = feedback",
    "self._values += [one for one in range(3)]",
    "self._values += 1 if feedback else 2",
    "class Other:\n    def __init__(self):\n        self._values = self._parts = 1\nreturn Other()",
    "@classmethod\ndef make(cls):\n    return cls._values\nreturn make",
    "return _values",
    "_values = 1\nreturn _values",
    "def _values(): ...\nreturn _values()",
)
"""Bodies that name an attribute of the learner itself, or a variable."""

CONSTANTS = {
    "of a module": "NAME = '_values'\n\n\n{own}        return getattr(feedback, NAME)",
    "of a class": "{own}        return getattr(feedback, self.NAME)\n\n    NAME = '_values', 'x'",
    "a default": "def peek(one, name='_values'): ...\n\n\n{own}        return peek(feedback)",
    "a default by keyword": "def peek(one, *, name='_values'): ...\n\n\n{own}        return peek(feedback)",
}


@pytest.fixture(autouse=True)
def path_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every test find its own modules alone."""
    monkeypatch.setattr(sys, "path", sys.path[:])


HEAD = "class Plain:\n    def act(self): ...\n\n\n"
OBSERVE = "class Own(Plain):\n    def observe(self, feedback, ticket=None):\n"


def learner(folder: Path, name: str, text: str) -> Any:
    file = folder / f"{name}.py"
    file.write_text(HEAD + text)
    return vars(import_file(file))["Own"]()


def named(folder: Path, body: str) -> list[tuple[str, str]]:
    """Return which names were found in a body and where; of a module that is loaded, and of one that is not."""
    made = learner(folder, "loaded", OBSERVE + textwrap.indent(body, " " * 8) + "\n")
    loaded = [(one.message.partition(",")[0], one.where) for one in private_attribute_uses(made)]
    user = learner(folder, "user", OBSERVE + "        import loaded\n")
    unloaded = [(one.message.partition(",")[0], one.where) for one in private_attribute_uses(user)]
    assert loaded == unloaded
    return loaded


@pytest.mark.few(3)
@pytest.mark.parametrize("body", NAMED)
def test_an_internal_name_is_found_in_its_line_however_it_is_written(tmp_path: Path, body: str) -> None:
    above, lines = (HEAD + OBSERVE).count("\n"), body.splitlines()
    found = named(tmp_path, body)
    assert found
    for name, where in found:
        line = int(where.rpartition(":")[2]) - above
        assert name[1:] in "".join(lines[line - 1 : line + 1])  # what it is read of may be in the line above


@pytest.mark.few(3)
@pytest.mark.parametrize("body", OWN)
def test_an_attribute_of_the_learner_itself_is_its_own_however_it_is_written(
    tmp_path: Path, body: str
) -> None:
    assert named(tmp_path, body) == []


@pytest.mark.parametrize("text", CONSTANTS.values(), ids=CONSTANTS)
def test_a_constant_text_is_found_wherever_it_stands(tmp_path: Path, text: str) -> None:
    (found,) = private_attribute_uses(learner(tmp_path, "constant", text.format(own=OBSERVE)))
    assert (found.message.partition(",")[0], found.where) == ("_values", "a text")
