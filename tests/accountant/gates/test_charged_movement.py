"""Charged movement against how far records really move a value, over random programs of operations.

Laws, for every program of operations on private values, every domain and all values x, y of one record in it:

1. the results of x and of y are no further apart than the record is charged for, in L1, L2 and largest norm, and what
   floating point is said to add: compared in exact rational arithmetic;
2. what is charged does not depend on the value;
3. beside other values, in other worlds and lanes of a coupled gate, x gives the bits that it gives alone.

A value of an infinite movement is charged without limit, and nothing is compared.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import accountant.accountant as accountant_file
import mechanisms.transformations as library
from accountant import Accountant, Budget, Coupled, GateClosed
from accountant.gates.lineage import Influence, Traced, TracedSums
from accountant.gates.private import Private
from mechanisms import (
    Above,
    Affine,
    Ball,
    BitsToCategory,
    Box,
    Categories,
    CategoryToOneHot,
    Choose,
    Clip,
    Domain,
    DomainError,
    FirstAbove,
    Integers,
    Interval,
    LinearMap,
    OneHot,
    ParameterError,
    RandomRounding,
    RegressionMoments,
    Sensitivity,
    Table,
)
from mechanisms.transformations.transformation import Chain, Transformation

VALUES = 6
LANES = 64
REFUSED = (DomainError, ParameterError, ValueError, TypeError, GateClosed)

Random = np.random.Generator
Follow = Callable[[Private, Private], Private]
"""What a step makes of a value and one of another record."""


def _rows(row: Any, lanes: int) -> Any:
    return np.repeat(np.asarray(row)[None], lanes, axis=0)


# Each takes public random numbers, how many coordinates there are, and how many lanes.
OPERATIONS: dict[str, tuple[Callable[[Random, int, int], Follow], ...]] = {
    "take": (
        lambda r, n, lanes: _taking(_rows(r.integers(-1, n, r.choice([1, n, n + 2])), lanes)),
        lambda r, n, lanes: _taking(np.zeros((lanes, 3), dtype=np.uint8)),
        lambda r, n, lanes: _taking(np.zeros((lanes, n), dtype=bool)),  # a mask is no index
        lambda r, n, lanes: _taking(np.arange(n)),
    ),
    "sum": (lambda r, n, lanes: lambda x, o: x.sum(),),
    "map": (
        lambda r, n, lanes: lambda x, o: x.map(np.tanh, into=Box(-1, 1, n)),
        lambda r, n, lanes: lambda x, o: x.map(lambda v: 3.0 * v[..., :1], stability=3.0),
        lambda r, n, lanes: lambda x, o: x.map(lambda v: np.repeat(v, 2, axis=1), into=Box(-9, 9, n)),
        lambda r, n, lanes: lambda x, o: x.map(lambda v: (v > 0).all(axis=-1), into=Categories(2)),
    ),
    "__add__": (
        lambda r, n, lanes: lambda x, o: x + x,
        lambda r, n, lanes: lambda x, o: x + (x.take(_rows(np.arange(n)[::-1], lanes)) + o),
        lambda r, n, lanes: _with(lambda x, c: x + c, r.choice([1.0, -3.5, 2.0**40])),
        lambda r, n, lanes: _with(lambda x, c: c + x, r.normal(size=(r.choice([1, lanes + 1]), n))),
    ),
    "__mul__": (
        lambda r, n, lanes: _with(lambda x, c: x * c, r.choice([2.0, -1.0, 0.1, 1e6, 0.0, -0.0])),
        lambda r, n, lanes: _with(lambda x, c: x * c, r.normal(size=n)),
        lambda r, n, lanes: _with(lambda x, c: c * x, _rows(r.normal(size=n), lanes)),
        lambda r, n, lanes: _with(lambda x, c: x * c, r.normal(size=(3, n))),
    ),
    "__truediv__": (lambda r, n, lanes: _with(lambda x, c: x / c, r.choice([-7.0, 0.3])),),
    "__neg__": (lambda r, n, lanes: lambda x, o: -x,),
    "__sub__": (lambda r, n, lanes: lambda x, o: o - x, lambda r, n, lanes: lambda x, o: (x - x) + x),
    "__rsub__": (lambda r, n, lanes: _with(lambda x, c: c - x, r.normal()),),
}
TRANSFORMATIONS: dict[type[Transformation], tuple[Callable[[Random, int, int], Transformation], ...]] = {
    Affine: (
        lambda r, n, lanes: Affine(r.choice([1, -2.5, 1e3, 0.1]), r.choice([0, 1.0, 2.0**40])),
        lambda r, n, lanes: Affine(0.0, -0.0),
    ),
    Clip: (lambda r, n, lanes: Clip(*np.sort(3.0 * r.normal(size=2))), lambda r, n, lanes: Clip(-0.0, 0.0)),
    Choose: (
        lambda r, n, lanes: Choose(r.integers(-1, n, r.choice([1, n, n + 2]))),
        lambda r, n, lanes: Choose(_rows(r.integers(-1, n, n), lanes)),
        lambda r, n, lanes: Choose(_rows(np.arange(n), r.choice([3, 5]))),
        lambda r, n, lanes: Choose([0] * 4),
    ),
    LinearMap: (
        lambda r, n, lanes: LinearMap(r.normal(size=(r.choice([1, 2, 4]), n))),
        lambda r, n, lanes: LinearMap(np.ones((5, n))),
    ),
    Above: (
        lambda r, n, lanes: Above(r.choice([0.5, 0.0])),
        lambda r, n, lanes: Above(r.random(n)),
        lambda r, n, lanes: Above(_rows(r.random(n), r.choice([lanes, 3]))),
    ),
    FirstAbove: (lambda r, n, lanes: FirstAbove(0.5), lambda r, n, lanes: FirstAbove(-1.0)),
    RandomRounding: (
        lambda r, n, lanes: RandomRounding(r.choice([0, 1.0]), r.choice([1, 4.0]), r.random(n), -5, 5),
        lambda r, n, lanes: RandomRounding(0.0, 4.0, _rows(r.random(n), r.choice([lanes, 3])), -5, 5),
    ),
    BitsToCategory: (lambda r, n, lanes: BitsToCategory(n),),
    CategoryToOneHot: (lambda r, n, lanes: CategoryToOneHot(r.choice([2, 5, 8])),),
    Table: (
        lambda r, n, lanes: Table(r.integers(0, 9, 8)),
        lambda r, n, lanes: Table(r.normal(size=8)),
        lambda r, n, lanes: Table(r.normal(size=(8, 3))),
    ),
    Chain: (
        lambda r, n, lanes: Affine(-2.0, 0.1) >> Clip(-4.0, 1e9) >> Affine(0.3),
        lambda r, n, lanes: Choose(r.integers(0, n, 3)) >> LinearMap(r.normal(size=(2, 3))),
        lambda r, n, lanes: Choose(_rows(np.arange(n), r.choice([lanes, 3]))) >> Affine(3.0),
        lambda r, n, lanes: FirstAbove(0.5) >> CategoryToOneHot(8),
        lambda r, n, lanes: Above(0.5) >> LinearMap(np.ones((1, n))),
    ),
}
ENDS = ("value", "sums", "sums twice")


def _with(what: Callable[[Any, Any], Private], public: Any) -> Follow:
    return lambda x, o: what(x, public)


def _taking(index: Any) -> Follow:
    return lambda x, o: x.take(index)


def domains(n: int) -> list[Domain]:
    """Return one domain of each kind, of n coordinates where it has so many."""
    several = max(n, 2)
    return [
        Box(0, 1, n),
        Box(-3, 5.5, n),
        Interval(-1, 2),
        Ball(1.5, n, 1),
        Ball(2.0, n, 2),
        Ball(1.0, n, math.inf),
        Integers(-3, 7, n),
        Integers(0, 1, n),
        OneHot(several, allow_none=True),
        OneHot(several, allow_none=False),
        Categories(several),
        RegressionMoments(n),
        Box(-math.inf, math.inf, n),
    ]


def values_of(domain: Domain, r: Random) -> Any:
    """Return values of a domain: its extreme points first, zeros of both signs, and what lies between."""
    if isinstance(domain, Box) and math.isinf(domain.upper):
        return np.where(
            r.random((VALUES, domain.size)) < 0.8,
            r.choice([-1e3, -0.0, 0.0, 1e3]),
            r.normal(size=domain.size),
        )
    points = r.permutation(domain.extremes())[:VALUES]
    if isinstance(domain, OneHot | Categories | RegressionMoments):
        return points[np.arange(VALUES) % len(points)]
    share = r.choice([0.0, 0.5, 1.0], (VALUES, *points.shape[1:]))
    between = domain.clip(points[0] * share * r.choice([-1, 1]))
    return np.concatenate([points, between])[:VALUES]


@dataclass(frozen=True)
class Program:
    """What is done to a value of a domain: operations and transformations by name, then where the result waits."""

    domain: Domain
    steps: tuple[tuple[str | type[Transformation], int], ...]
    end: str
    seed: int

    def run(self, x: Private, other: Private) -> Any:
        """Return the result: a private value, or sums that it was added to."""
        r, lanes = np.random.default_rng(self.seed), x.shape[0]
        for what, form in self.steps:
            if isinstance(what, str):
                x = OPERATIONS[what][form](r, x.shape[1], lanes)(x, other)
            else:
                x = x.map(TRANSFORMATIONS[what][form](r, x.shape[1], lanes))
        if self.end == "value":
            return x
        sums = x._gate.sums(x.shape[1] + 1)
        sums.add(x, _rows(np.arange(x.shape[1]), lanes))
        if self.end == "sums twice":
            sums.add(x, _rows(np.arange(x.shape[1]) + 1, lanes))
        return sums


def broken_law(program: Program) -> str | None:
    """Return which law a program breaks, "" if it breaks none, None if it is refused."""
    r = np.random.default_rng(program.seed)
    values = values_of(program.domain, r)
    fixed = values_of(program.domain, r)[0]
    alone: list[Any] = []
    for value in values:
        if len(alone) == 2 and all(each is None for each in alone):
            return None
        gate = Accountant(Budget.unlimited(), noise=np.random.default_rng(0))
        x, other = gate.private(value, program.domain, "u"), gate.private(fixed, program.domain, "v")
        try:
            alone.append(program.run(x, other))
        except REFUSED:
            alone.append(None)
    if any(each is None for each in alone):
        told = any(each is not None for each in alone) and not _may_fail(program)
        return "whether it is refused depends on the value" if told else None
    charges = [_charge(each) for each in alone]
    if any(charge != charges[0] for charge in charges):
        return "the charge depends on the value"
    results = [each._values for each in alone]
    return _too_far(results, charges[0], alone[0]._categories) or _not_alone(program, values, fixed, results)


def _may_fail(program: Program) -> bool:
    """Return whether a program may fail on some values only: functions' results have bounds, floats overflow."""
    return any(what == "map" for what, _ in program.steps) or not np.isfinite(program.domain.widths).all()


def _charge(result: Any) -> tuple[Sensitivity, float, tuple[int, ...], int]:
    moved = {who: moved for moved, names, _ in result._provenance.movements(None) for who in names}
    rounding = result._provenance.rounding(None)
    return moved.get("u", Sensitivity(0, 0, 0)), rounding, result._values.shape, result._categories


def _too_far(results: list[Any], charge: tuple[Any, ...], categories: int) -> str:
    moved, rounding, shape, _ = charge
    if any(each.shape != shape or len(each) != 1 for each in results):
        return "the result has another form than the value"
    if math.isinf(moved.l1) or math.isinf(rounding):
        return ""
    for a, b in itertools.combinations(np.unique([each.ravel() for each in results], axis=0), 2):
        if categories:
            if (a != b).sum() > moved.l1:
                return f"{(a != b).sum()} categories change, charged {moved}"
            continue
        apart = [abs(Fraction(p) - Fraction(q)) for p, q in zip(a.tolist(), b.tolist(), strict=True)]
        l1, square, largest, more = sum(apart), sum(z * z for z in apart), max(apart), Fraction(rounding)
        if (
            l1 > Fraction(moved.l1) + more
            or square > (Fraction(moved.l2) + more) ** 2
            or largest > Fraction(moved.linf) + more
        ):
            return (
                f"moves by l1={float(l1)}, l2={float(square) ** 0.5}, linf={float(largest)}, charged {moved}"
            )
    return ""


def _not_alone(program: Program, values: Any, fixed: Any, results: list[Any]) -> str:
    gate = Coupled(0, LANES, VALUES - 1)
    beside = np.stack(
        [np.stack([values[(i + lane) % VALUES] for lane in range(LANES)]) for i in range(VALUES)]
    )
    x = gate.private(beside, program.domain, "u")
    other = gate.private(np.stack([fixed] * LANES)[None], program.domain, "v")
    try:
        together = program.run(x, other)._values
    except REFUSED:
        return ""  # made for one lane
    for i, lane in itertools.product(range(VALUES), range(0, LANES, 7)):
        if (
            together[i if len(together) > 1 else 0, lane].tobytes()
            != results[(i + lane) % VALUES][0, 0].tobytes()
        ):
            return "beside other values it gives other bits"
    return ""


def programs(count: int, seed: int, with_step: Any = None) -> Iterator[Program]:
    """Yield random programs, all of them with a certain step if one is given; at first each operation with each map."""
    cells = itertools.product(
        *([with_step] if with_step in kinds else kinds for kinds in (OPERATIONS, TRANSFORMATIONS))
    )
    for number, (before, made) in zip(range(count), itertools.cycle(cells), strict=False):
        draw = random.Random(f"{seed} {number}")
        names: list[Any] = [before, made]
        names += draw.choices([*OPERATIONS, *TRANSFORMATIONS], k=draw.choice([0, 0, 1, 2]))
        steps = tuple((each, draw.randrange(len((OPERATIONS | TRANSFORMATIONS)[each]))) for each in names)  # type: ignore[operator]
        domain = draw.choice(domains(draw.choice([1, 2, 3])))
        if isinstance(domain, Categories):
            steps = steps[1:]  # no operation but `take` takes a category
        yield Program(domain, steps, draw.choice(ENDS), draw.randrange(2**31))


def _check(count: int, seed: int) -> tuple[int, list[tuple[str, Program]]]:
    """Return how many programs ran, and which broke a law."""
    told = [(broken_law(program), program) for program in programs(count, seed)]
    return sum(law is not None for law, _ in told), [(law, program) for law, program in told if law]


def test_no_record_moves_further_than_it_is_charged() -> None:
    ran, broken = _check(150, seed=0)
    assert not broken
    assert ran > 45


@pytest.mark.slow
def test_no_record_moves_further_in_more_programs() -> None:
    ran, broken = _check(9000, seed=1)
    assert not broken
    assert ran > 3000


def test_every_operation_and_transformation_is_tried() -> None:
    """A transformation of the library, or an operation of private values, that has no entry above fails here."""
    own = {
        each
        for each in vars(library).values()
        if isinstance(each, type) and issubclass(each, Transformation) and each is not Transformation
    }
    assert own | {Chain} == set(TRANSFORMATIONS)
    reflected = {"__radd__", "__rmul__"}  # the same functions
    giving = {
        name
        for name, method in vars(Private).items()
        if getattr(method, "__annotations__", {}).get("return") == "Private" and name not in reflected
    }
    inner = {"_apply_transformation", "_private_in", "_reshape"}
    assert giving - inner == set(OPERATIONS)


# --- planted faults: what the laws are worth ----------------------------------------------------------


def _reshaped(self: Private, domain: Domain, results: Any) -> Any:
    return results.reshape(*self._values.shape[:2], -1)


def _narrow(domain: Any) -> Influence:
    return Influence(tuple((0.5 * np.ravel(domain.widths)).tolist()))


def _without_repeats(self: Influence, coordinates: tuple[int, ...]) -> Influence:
    return replace(self, widths=tuple(self.widths[i] if i >= 0 else 0.0 for i in coordinates))


def _last_added(self: Traced, other: Any) -> Traced:
    return Traced(self.influences | other.influences, self.bounds.add(other.bounds))


def _largest_of(self: Traced) -> Traced:
    of = {who: Influence((moved.sensitivity.linf,)) for who, moved in self.influences.items()}
    return Traced(of, self.bounds.sum_coordinates(9))


def _stretched_by_largest(self: Traced, stability: float, size: int, offset: float, units: int) -> Traced:
    of = {who: Influence((stability * m.sensitivity.linf,) * size) for who, m in self.influences.items()}
    return Traced(of, self.bounds.stretch_by(stability, 9, offset, units))


def _capped_once(self: TracedSums, record: Any, moved: Influence) -> None:
    self._caps[record] = (moved.sensitivity.l1, moved.sensitivity.l2)


FAULTS: dict[str, tuple[Any, str, Any, Any]] = {
    "results of any form are reshaped": (Private, "_reshape", _reshaped, Choose),
    "a coordinate that is chosen twice moves once": (Choose, "stability", property(lambda self: 1.0), Choose),
    "a matrix stretches by its largest row": (
        LinearMap,
        "stability",
        property(lambda self: float(np.abs(self.matrix).sum(axis=1).max())),
        LinearMap,
    ),
    "a factor is forgotten": (Affine, "stability", property(lambda self: 1.0), Affine),
    "a public factor is forgotten": (
        Traced,
        "scale_by",
        lambda self, factor: Traced(self.influences, self.bounds),
        "__mul__",
    ),
    "a sum moves by its largest coordinate": (Traced, "sum_coordinates", _largest_of, "sum"),
    "of one record's two values the last counts": (Traced, "add", _last_added, "__add__"),
    "a function stretches the largest coordinate": (Traced, "stretch_by", _stretched_by_largest, LinearMap),
    "a record moves from the middle of its domain": (
        accountant_file,
        "influence_of",
        _narrow,
        "__neg__",
    ),
    "a coordinate that is taken twice moves the whole once": (
        Influence,
        "restrict_to",
        _without_repeats,
        "take",
    ),
    "sums forget what a record has added": (TracedSums, "_add_cap", _capped_once, "__neg__"),
    "nothing is rounded off": (Traced, "rounding", lambda self, where: 0.0, "__truediv__"),
    "a map gives its argument's first coordinate": (
        Private,
        "_apply_transformation",
        lambda self, transformation: Private(self._gate, self._values[..., :1], self._provenance),
        Affine,
    ),
}
"""Which attribute of which class is replaced by what, and the step that should show it."""


@pytest.mark.few(5)
@pytest.mark.parametrize(("owner", "name", "wrong", "step"), FAULTS.values(), ids=FAULTS)
def test_a_planted_fault_breaks_a_law(
    owner: Any, name: str, wrong: Any, step: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, wrong)
    assert any(map(broken_law, programs(500, seed=2, with_step=step)))
