"""A word for everything that determines a result: the same for the same, another for anything else."""

from __future__ import annotations

import enum
import functools
import importlib
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from algorithms import code_fingerprint
from algorithms.blocks import NoIdentity, identity
from algorithms.blocks.identity import environment
from algorithms.catalogue.structured_entries import learners
from algorithms.problems import build_problem


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass(frozen=True)
class Point:
    x: float
    y: Any = None

    @functools.cached_property
    def length(self) -> float:
        return abs(self.x)


class Slots:
    __slots__ = ("a",)

    def __init__(self, a: Any) -> None:
        self.a = a


def one(x: int, y: int = 1) -> int:
    return x + y


def other(x: int, y: int = 1) -> int:
    return x + y


def closing_over(value: Any) -> Any:
    return lambda x: x + value


VALUES: list[Any] = [
    None, True, 1, 1.0, 1.0 + 0j, "1", b"1", float("nan"), -0.0, 0.0, [1], (1,), {1}, {"a": 1}, {"a": 2}, {"b": 1},
    np.array([1]), np.array([1.0]), np.array([[1.0]]), np.float32(1), np.float64(1), Colour.RED, Colour.BLUE,
    Point(1.0), Point(2.0), Point(1.0, Point(1.0)), Slots(1), Slots(2), Point, Slots, one, other, closing_over(1),
    closing_over(2), lambda x: x, lambda x: x + 1, functools.partial(one, 1), functools.partial(one, y=1), np.sqrt,
    len, Point(1.0).__hash__, np.random.default_rng(0), np.random.default_rng(1), np, enum,
]  # fmt: skip


def test_different_values_have_different_words() -> None:
    words = [identity(value) for value in VALUES]
    assert len(set(words)) == len(VALUES)
    assert words == [identity(value) for value in VALUES]


def test_order_and_sharing_do_not_count() -> None:
    shared = [1.5]
    assert identity([shared, shared]) == identity([[1.5], [1.5]])
    assert identity({"a": 1, "b": 2}) == identity({"b": 2, "a": 1})
    assert identity({"x", "y", "z"}) == identity({"z", "y", "x"})
    assert identity(np.arange(6).reshape(2, 3).T) == identity(np.arange(6).reshape(2, 3).T.copy())


def test_what_is_only_remembered_does_not_count() -> None:
    point = Point(3.0)
    before = identity(point)
    assert point.length == 3.0
    assert identity(point) == before


def test_what_holds_itself_has_a_word() -> None:
    def ring(value: int) -> list[Any]:
        made: list[Any] = [value]
        made.append(made)
        return made

    assert identity(ring(1)) == identity(ring(1)) != identity(ring(2))


def test_what_cannot_be_told_from_others_is_refused() -> None:
    class Local:
        pass

    for value, words in (
        (threading.Lock(), "lock"),
        (Local(), "made in a function"),
        ((i for i in ()), "generator"),
    ):
        with pytest.raises(NoIdentity, match=words):
            identity({"deep": [value]})
    exec(
        compile("class Typed:\n    def f(self): pass", "<prompt>", "exec"),
        made := {"__name__": "typed_at_a_prompt"},
    )
    with pytest.raises(NoIdentity, match="typed_at_a_prompt: has no source"):
        identity(made["Typed"])


@pytest.mark.slow
def test_another_process_says_the_same_word(tmp_path: Path) -> None:
    script = (
        "from algorithms.blocks import identity\n"
        "from algorithms.catalogue.structured_entries import learners\n"
        "from algorithms.problems import build_problem\n"
        "entry = learners['cucb-ldp2']; problem = build_problem('top-k')\n"
        "print(identity((entry.build(problem, epsilon=1.0, horizon=10), problem, {'b', 'a', 'c'})))\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    told = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, env=environment
    ).stdout
    problem = build_problem("top-k")
    build = learners["cucb-ldp2"].build(problem, epsilon=1.0, horizon=10)
    assert told == identity((build, problem, {"a", "b", "c"})) + "\n"


def test_the_version_of_python_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sums have other last bits since 3.12, and byte code that travels to another version ends the process."""
    here, word = environment(), identity(lambda: 1.0)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "version_info", (3, 99, 0))
        there = environment.__wrapped__()
    assert there != here
    monkeypatch.setattr(sys.modules["algorithms.blocks.identity"], "environment", lambda: there)
    assert identity(lambda: 1.0) != word


def test_code_counts_and_comments_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    file, beside = tmp_path / "counted_learner.py", tmp_path / "counted_beside.py"

    def word(text: str, more: str = "RATE = 1\n") -> str:
        file.write_text(text)
        beside.write_text(more)
        code_fingerprint.forget_sources()
        importlib.invalidate_caches()
        for name in ("counted_learner", "counted_beside"):
            sys.modules.pop(name, None)
        return identity(importlib.import_module("counted_learner").Learner(1))

    text = "import counted_beside\nclass Learner:\n    def __init__(self, x): self.x = x\n"
    first = word(text)
    assert word(text + "# a comment\n") == first
    assert word(text.replace("self.x = x", "self.x = 1")) != first
    assert word(text, "RATE = 2\n") != first
    for name in ("counted_learner", "counted_beside"):
        sys.modules.pop(name, None)
    code_fingerprint.forget_sources()
