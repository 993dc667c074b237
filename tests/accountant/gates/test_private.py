"""Private values: what may be done with them, and that nothing reads them."""

import array
import copy
import dataclasses
import json
import math
import operator
import pickle

import numpy as np
import pytest

from accountant import Accountant, Budget, Coupled, ForeignValue, RawRead, Simulation
from mechanisms import Box, Categories, DomainError, Interval, Laplace, OneHot, Sensitivity

SECRET = 0.37109375
UNIT = Sensitivity(1.0, 1.0, 1.0)


@dataclasses.dataclass
class Holder:
    held: object


READS = {
    "bool": bool,
    "branch": lambda p: 1 if p else 0,
    "and": lambda p: p and 1,
    "float": float,
    "int": int,
    "complex": complex,
    "index": operator.index,
    "subscript": lambda p: [1, 2][p],
    "range": range,
    "round": round,
    "abs": abs,
    "floor": math.floor,
    "sqrt": math.sqrt,
    "power": lambda p: p**2,
    "modulo": lambda p: p % 1,
    "floor division": lambda p: p // 1,
    "matmul": lambda p: p @ np.ones(1),
    "iter": iter,
    "list": list,
    "unpack": lambda p: [*p],
    "builtin sum": sum,
    "max": max,
    "sorted": lambda p: sorted([p, p]),
    "contains": lambda p: SECRET in p,
    "in a list": lambda p: p in [SECRET],
    "hash": hash,
    "<": lambda p: p < 1,
    "<=": lambda p: p <= 1,
    ">": lambda p: p > 1,
    ">=": lambda p: p >= 1,
    "==": lambda p: p == SECRET,
    "!=": lambda p: p != SECRET,
    "reflected <": lambda p: np.ones(1) < p,
    "getitem": lambda p: p[0],
    "boolean mask": lambda p: np.ones((1, 1))[p],
    "item": lambda p: p.item(),
    "values": lambda p: p.values,
    "T": lambda p: p.T,
    "dtype": lambda p: p.dtype,
    "getattr with default": lambda p: getattr(p, "value", None),
    "asarray": np.asarray,
    "array": np.array,
    "array of list": lambda p: np.array([p]),
    "array as float": lambda p: np.asarray(p, dtype=float),
    "assignment": lambda p: np.zeros(1).__setitem__(slice(None), p),
    "ufunc": np.exp,
    "add ufunc": lambda p: np.add(p, 1.0),
    "isnan": np.isnan,
    "np.sum": np.sum,
    "np.mean": np.mean,
    "np.take": lambda p: np.take(p, [0]),
    "np.where": lambda p: np.where(p, 1, 0),
    "np.argmax": np.argmax,
    "np.concatenate": lambda p: np.concatenate([p, p]),
    "np.dot": lambda p: np.dot(p, 1.0),
    "np.array_equal": lambda p: np.array_equal(p, p),
    "np.array2string": np.array2string,
    "np.savetxt": lambda p: np.savetxt("never", p),
    "random location": lambda p: np.random.default_rng(0).normal(p, 1.0),
    "format": lambda p: f"{p:.3f}",
    "percent": lambda p: "%f" % p,  # noqa: UP031
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "getstate": lambda p: p.__getstate__(),
    "reduce": lambda p: p.__reduce_ex__(2),
    "asdict": lambda p: dataclasses.asdict(Holder(p)),
    "json": json.dumps,
    "bytes": bytes,
    "memoryview": memoryview,
    "times another": lambda p: p * p,
    "over another": lambda p: p / p,
}


def gate():
    return Accountant(Budget(1.0), noise=np.random.default_rng(0))


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_every_raw_read_is_refused_and_changes_nothing(read):
    accountant = gate()
    private = accountant.private([SECRET], Box(0, 1, 1), "u")
    before = accountant.to_dict()
    with pytest.raises(TypeError) as refusal:
        read(private)
    assert str(SECRET) not in str(refusal.value)
    if isinstance(refusal.value, RawRead) and read is not READS["asdict"]:  # dataclasses copies by itself
        assert refusal.value.where.file == __file__
    assert accountant.to_dict() == before
    assert accountant.release(Laplace(scale=1.0), private).shape == (1, 1)


MUST_NAME_THE_PLACE = [
    "bool",
    "float",
    "int",
    "index",
    "iter",
    "==",
    "asarray",
    "T",
    "np.sum",
    "np.where",
    "pickle",
]


@pytest.mark.parametrize(
    "name", [*MUST_NAME_THE_PLACE, "np.concatenate", "np.mean", "deepcopy", "getstate", "format"]
)
def test_common_reads_are_raw_reads_with_the_line_and_advice(name):
    with pytest.raises(
        RawRead, match=r"a private value was .*; release it through its gate, or declassify it"
    ) as r:
        READS[name](gate().private([SECRET], Box(0, 1, 1), "u"))
    assert r.value.where.file == __file__


def test_a_coupled_gate_and_a_simulation_refuse_too():
    for other in (Coupled(0, 64, 1), Simulation(0, 64)):
        with pytest.raises(RawRead):
            float(
                other.private(
                    np.full((1, 64, 1) if isinstance(other, Coupled) else (64, 1), 0.5), Box(0, 1, 1), 1
                )
            )


def test_a_permissive_simulation_answers():
    gate = Simulation(0, 1, permissive=True)
    private = gate.private(np.array([[SECRET]]), Box(0, 1, 1), 1)
    assert float(private) == SECRET
    assert np.sum(private) == SECRET
    assert np.concatenate([private, private]).tolist() == [[SECRET], [SECRET]]
    assert private > 0.3
    assert f"{private:.2f}" == "0.37"


def test_what_is_public_stays_public():
    private = gate().private([SECRET, 0.5], Box(0, 1, 2), "u")
    assert private.shape == np.shape(private) == (1, 2)
    assert len(private) == 1
    for text in (repr(private), str(private), f"{private}"):
        assert text == "<private value of shape (1, 2)>"


# --- values of the operations --------------------------------------------------------------------


def declassified(private):
    return private._gate.declassify(private, "a test")


def unlimited():
    return Accountant(Budget.unlimited(), noise=np.random.default_rng(0))


def test_operations_compute_what_they_say():
    accountant = unlimited()
    p = accountant.private([0.25, 0.5, 1.0], Box(0, 1, 3), 1)
    q = accountant.private([1.0, 0.0, 0.5], Box(0, 1, 3), 2)
    given = [np.array([[2.0, 3.0, 4.0]]), 2.0]
    for c in given:
        x, y = np.array([[0.25, 0.5, 1.0]]), np.array([[1.0, 0.0, 0.5]])
        for found, expected in [
            (p + q, x + y),
            (p - q, x - y),
            (p + c, x + c),
            (c + p, x + c),
            (p - c, x - c),
            (c - p, c - x),
            (p * c, x * c),
            (c * p, x * c),
            (p / c, x / c),
            (-p, -x),
            (p.sum(), x.sum(axis=1, keepdims=True)),
            (sum([p, q]), x + y),
        ]:
            np.testing.assert_array_equal(declassified(found), expected)


def test_take_reads_zero_at_padding():
    p = unlimited().private([0.25, 0.5, 1.0], Box(0, 1, 3), 1)
    np.testing.assert_array_equal(declassified(p.take(np.array([[2, 0, -1, -9]]))), [[1.0, 0.25, 0.0, 0.0]])


def test_map_keeps_the_lanes():
    p = unlimited().private([0.25, 0.5], Box(0, 1, 2), 1)
    doubled = p.map(lambda v: v * 2, stability=2.0)
    largest = p.map(lambda v: v.max(axis=-1), into=Interval(0, 1))
    assert declassified(doubled).tolist() == [[0.5, 1.0]]
    assert declassified(largest).tolist() == [[0.5]]


# --- misuse: clear errors, and no way to stretch one charge over many values ---------------------


@pytest.mark.parametrize("shape", [(1, 7), (3, 1), (2, 1, 1), (7,)])
def test_a_public_operand_cannot_multiply_the_coordinates(shape):
    private = gate().private([SECRET], Box(0, 1, 1), "u")
    for operate in (operator.add, operator.sub, operator.mul, operator.truediv):
        with pytest.raises(ValueError, match=r"must broadcast to the private value's \(1, 1\)"):
            operate(private, np.ones(shape))


def test_sums_of_different_shapes_are_refused():
    accountant = gate()
    one, many = accountant.private([0.5], Box(0, 1, 1), "u"), accountant.private([0.5] * 4, Box(0, 1, 4), "v")
    for left, right in ((one, many), (many, one)):
        with pytest.raises(ValueError, match=r"private values of shapes .*: must be of one shape"):
            left + right


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_public_operands_are_finite(number):
    private = gate().private([0.5], Box(0, 1, 1), "u")
    for operate in (operator.add, operator.mul, operator.truediv):
        if not (operate is operator.truediv and math.isinf(number)):
            with pytest.raises(ValueError, match="finite"):
                operate(private, number)
    with pytest.raises(ValueError, match="a divisor not 0"):
        private / 0.0


@pytest.mark.parametrize(
    "index",
    [[0, 1], [[0], [1]], [[3]], [[0.0]], [[True, False, True]]],
    ids=["flat", "lanes", "large", "float", "mask"],
)
def test_take_names_a_wrong_index(index):
    private = gate().private([0.5] * 3, Box(0, 1, 3), "u")
    with pytest.raises(
        ValueError, match=r"index of shape .* must be whole numbers of shape \(lanes=1, k\), all below 3"
    ):
        private.take(np.array(index))


def test_overflow_does_not_show():
    """Neither as a warning nor, where NumPy raises on overflow, as an error that a threshold could be read from."""
    with np.errstate(all="raise"):
        p = gate().private([1.5], Box(0, 2, 1), "u")
        big = p * 1.7e308
        assert [(big + big).shape, (p * 5e-324 * 0.5).shape, (big * 5.0).sum().shape] == [(1, 1)] * 3
        sums = p._gate.sums(1)
        sums.add(big, at=np.array([[0]]))
        sums.add(big, at=np.array([[0]]))


MAPS = {
    "outside": (lambda v: v + 5, Interval(0, 1)),
    "more coordinates": (lambda v: np.repeat(v, 9, axis=-1), Interval(0, 1)),
    "more lanes": (lambda v: np.repeat(v, 9, axis=1), Box(0, 1, 1)),
    "more worlds": (lambda v: np.repeat(v, 9, axis=0), Box(0, 1, 1)),
    "not a number": (lambda v: v * np.nan, Interval(0, 1)),
    "two choices": (lambda v: np.ones((1, 1, 2)), OneHot(2)),
    "a fraction": (lambda v: v[..., 0], Categories(3)),
}


@pytest.mark.parametrize(("function", "into"), MAPS.values(), ids=MAPS)
def test_map_into_a_domain_it_misses_quotes_no_value(function, into):
    private = gate().private([SECRET], Box(0, 1, 1), "u")
    with pytest.raises(DomainError, match="a result lies outside") as error:
        private.map(function, into=into)
    raised = error.value
    assert raised.__context__ is None
    assert str(SECRET)[:5] not in str(raised)
    assert str(SECRET + 5)[:5] not in str(raised)


def test_the_form_of_a_mapped_value_says_nothing_about_the_data():
    private = gate().private([SECRET], Box(0, 1, 1), "u")
    depends = "the shape or type of the function's result depends on the data"
    with pytest.raises(ValueError, match=depends):
        private.map(lambda v: np.zeros((1, 1, 1 + int(10 * v[0, 0, 0]))), stability=1.0)
    with pytest.raises(ValueError, match=depends):
        private.map(lambda v: v.astype(int) if v[0, 0, 0] == 0 else v, stability=1.0)
    with pytest.raises(ValueError, match="must give real numbers"):
        private.map(lambda v: v * 1j, stability=1.0)  # noise would miss the imaginary part
    with pytest.raises(ValueError, match="must give real numbers"):
        private.map(lambda v: np.repeat(v, 3, axis=1), stability=1.0)
    with pytest.raises(ValueError, match="not finite"):
        private.map(lambda v: v / (v - SECRET), stability=1.0)


def test_a_mapped_function_cannot_change_the_value():
    private = unlimited().private([SECRET], Box(0, 1, 1), "u")
    private.map(lambda v: np.multiply(v, 100, out=v) * 0, into=Interval(0, 1))
    assert declassified(private).item() == SECRET


def test_the_caller_may_use_its_buffer_again():
    accountant, buffer = unlimited(), np.array([SECRET])
    private = accountant.private(buffer, Box(0, 1, 1), "u")
    buffer[:] = 77.0
    assert declassified(private).item() == SECRET


class Shared:
    """What makes an array of itself, always the same."""

    def __init__(self, buffer):
        self._buffer = np.asarray(buffer)

    def __array__(self, dtype=None, copy=None):
        return self._buffer


class Lazy(np.ndarray):
    """An array whose own copy is none."""

    def copy(self, order="C"):
        return self


@pytest.mark.parametrize("form", [np.asarray, memoryview, Shared, lambda each: np.asarray(each).view(Lazy)])
@pytest.mark.parametrize("coupled", [False, True])
def test_what_is_checked_is_what_is_let_in(form, coupled, monkeypatch):
    """The caller uses its buffer again between the check and what is done next, whatever kind of buffer it is."""
    buffer, check = array.array("d", [SECRET]), Box.check

    def checked_and_gone(domain, values, name="value"):
        found = check(domain, values, name)
        buffer[0] = 77.0
        return found

    monkeypatch.setattr(Box, "check", checked_and_gone)
    gate = Coupled(0, 1, 0) if coupled else unlimited()
    values = form(np.asarray(buffer).reshape(1, 1, 1) if coupled else np.asarray(buffer))
    private = gate.private(values, Box(-math.inf, math.inf, 1), "u")
    assert private._values.item() == SECRET


def test_what_makes_another_array_every_time_is_asked_once():
    class Changing:
        asked = 0

        def __array__(self, dtype=None, copy=None):
            self.asked += 1
            return np.array([0.25 if self.asked == 1 else 77.0])

    assert declassified(unlimited().private(Changing(), Box(0, 1, 1), "u")).item() == 0.25


@pytest.mark.parametrize(
    "values", [np.ma.array([0.5], mask=[True]), ["0.5"], [[0.5], [0.5, 0.5]], [10**401], [1j]]
)
def test_what_is_no_number_is_refused_before_it_is_let_in(values):
    for gate in (unlimited(), Coupled(0, 1, 0)):
        with pytest.raises(DomainError, match=r"^values"):
            gate.private(values, Box(0, 1, 1), "u")


def test_simulated_categories_are_the_gates_own():
    """Nothing is rounded there, and the caller's buffer was what was kept."""
    names = np.arange(64).reshape(64, 1) % 3
    private = Simulation(0, 64).private(names, Categories(3), "u")
    names[:] = 0
    assert private._values.sum() == 63


def test_public_operands_that_keep_their_buffer_are_copied(monkeypatch):
    """An index that changed after its check would choose other coordinates than those that are charged."""
    gate = unlimited()
    private, index = gate.private([SECRET, 0.5], Box(0, 1, 2), "u"), np.array([[0]])
    monkeypatch.setattr(type(gate), "operates", lambda *_: index.fill(1))
    assert private.take(Shared(index))._values.item() == SECRET


@pytest.mark.parametrize("arguments", [{}, {"into": Interval(0, 1), "stability": 1.0}])
def test_map_needs_into_or_stability(arguments):
    with pytest.raises(ValueError, match="exactly one of `into`"):
        gate().private([0.5], Box(0, 1, 1), "u").map(lambda v: v, **arguments)


@pytest.mark.parametrize("stability", [-1.0, math.nan, math.inf])
def test_stability_is_a_finite_number(stability):
    with pytest.raises(ValueError, match=r"stability = .*: must be a finite number"):
        gate().private([0.5], Box(0, 1, 1), "u").map(lambda v: v, stability=stability)


def test_categories_take_part_in_no_arithmetic():
    accountant = gate()
    category, number = accountant.private(1, Categories(3), "u"), accountant.private([0.5], Box(0, 1, 1), "v")
    for operate in (
        lambda: category + 1,
        lambda: number + category,
        lambda: category + number,
        lambda: category * 2,
        lambda: category / 2,
        lambda: -category,
        lambda: category.sum(),
        lambda: category.map(lambda v: v, stability=1.0),
        lambda: accountant.sums(1).add(category, at=np.array([[0]])),
    ):
        with pytest.raises(TypeError, match="a private category cannot be"):
            operate()


def test_values_of_two_gates_do_not_mix():
    mine, other = gate().private([0.5], Box(0, 1, 1), "u"), gate().private([0.5], Box(0, 1, 1), "u")
    with pytest.raises(ForeignValue, match="different gates"):
        mine + other


@pytest.mark.parametrize(
    "number",
    [np.longdouble("1e400"), 10**400, 1j, np.array([1j]), "2", None, [np.longdouble("-1e400")]],
    ids=repr,
)
def test_a_public_operand_that_is_no_float_is_refused_without_a_warning(number):
    private = gate().private([0.5], Box(0, 1, 1), "u")
    for use in (lambda: private * number, lambda: private + number, lambda: private - number):
        with pytest.raises(ValueError, match="a public operand of a private value must be"):
            use()


@pytest.mark.parametrize("kind", [np.uint8, np.uint64, np.int8])
def test_indices_of_every_integer_type(kind):
    gate = Accountant(Budget.unlimited(), noise=np.random.default_rng(0))
    private = gate.private([0.25, 0.5], Box(0, 1, 2), "ann")
    index = np.array([[1, 0]], kind)
    assert private.take(index)._values.tolist() == [[[0.5, 0.25]]]
    sums = gate.sums(2)
    sums.add(private, index)
    assert sums._values.tolist() == [[[0.5, 0.25]]]
    beyond = np.array([[1, np.iinfo(kind).max]], kind)
    with pytest.raises(ValueError, match="all below 2"):
        private.take(beyond)
    with pytest.raises(ValueError, match="all below 2"):
        sums.add(private, beyond)
