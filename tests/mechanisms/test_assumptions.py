"""Values without assumptions: this library's own classes, exactly and unmodified, at any nesting."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import inspect
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mechanisms.noise.laplace
from mechanisms import (
    Ball,
    BinaryTree,
    Binomial,
    Box,
    Categories,
    CentralGaussian,
    Clip,
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    FirstAbove,
    Gaussian,
    Integers,
    Interval,
    LaneStreams,
    Laplace,
    Mechanism,
    NumpyNoise,
    OneHot,
    OpenDPNoise,
    ParameterError,
    RandomizedResponse,
    Repeated,
    Sensitivity,
    ShuffledMean,
    Table,
    assumptions_of,
    mechanism_from_dict,
)
from mechanisms.assumptions import (
    AssumptionKind,
    altered_library,
    examination,
    examine_value,
    library_package,
)

UNIT = Sensitivity(1.0, 1.0, 1.0)
OWN: list[Any] = [
    Laplace(scale=1.0),
    Gaussian(sigma=2.0, sensitivity=UNIT),
    DiscreteLaplace(scale=1.5),
    DiscreteGaussian(sigma=2.0, sensitivity=UNIT),
    RandomizedResponse(size=3, epsilon=1.0),
]


class Noiseless(Laplace):
    """Overrides one method by keyword only, and keeps all the rest."""

    def release(self, value: Any, noise: Any) -> Any:
        return np.asarray(value, dtype=np.float64)


@dataclasses.dataclass(frozen=True)
class HalfBox(Box):
    @property
    def sensitivity(self) -> Sensitivity:
        return super().sensitivity.multiply_by(0.5)


class SmallMove(Sensitivity):
    def covers(self, other: Sensitivity) -> bool:
        return True


class LyingClass(Laplace):
    @property
    def __class__(self) -> Any:
        return Laplace

    def release(self, value: Any, noise: Any) -> Any:
        return np.asarray(value)


LyingClass.__module__ = "mechanisms.noise.laplace"
LyingClass.__qualname__ = LyingClass.__name__ = "Laplace"


class EqualMeta(type(Laplace)):  # type: ignore[misc]
    def __eq__(cls, other: object) -> bool:
        return other is Laplace or cls is other

    def __hash__(cls) -> int:
        return hash(Laplace)


class EqualsLaplace(Laplace, metaclass=EqualMeta):
    def release(self, value: Any, noise: Any) -> Any:
        return np.asarray(value)


class Duck:
    """Not even a subclass."""

    sensitivity = UNIT
    epsilon = 1.0
    nominal_delta = 0.0

    def profile(self, sensitivity: Any = None) -> Any:
        return Laplace(scale=1.0).profile(sensitivity)

    def release(self, value: Any, noise: Any) -> Any:
        return value

    def log_density(self, output: Any, value: Any) -> Any:
        return np.zeros(np.shape(output))

    def to_dict(self) -> dict[str, Any]:
        return Laplace(scale=1.0).to_dict()


class Zeros(NumpyNoise):
    def laplace(self, location: Any, scale: Any) -> Any:
        return np.asarray(location)


class ZeroDraws:
    """A user's randomness, all of whose draws are zero."""

    def standard_exponential(self, size: Any) -> Any:
        return np.zeros(size)


class Constant(np.random.Generator):
    def standard_exponential(self, *arguments: Any, **settings: Any) -> Any:
        return np.ones(arguments[0])


class Thin(float):
    def __truediv__(self, other: Any) -> float:
        return 0.0


class Spy(np.ndarray):
    """Would see whatever it is combined with."""


QUIET = Noiseless(scale=1.0)
FOREIGN: dict[str, Any] = {
    "subclass that overrides release": QUIET,
    "replaced subclass": dataclasses.replace(QUIET, scale=3.0),
    "lies about its class, module and name": LyingClass(scale=1.0),
    "a metaclass that equals Laplace": EqualsLaplace(scale=1.0),
    "duck": Duck(),
    "partial": functools.partial(Laplace, scale=1.0),
    "a function": lambda value, noise: value,
    "a domain's subclass": HalfBox(0.0, 1.0, 3),
    "a sensitivity's subclass": Laplace(scale=1.0, sensitivity=SmallMove(1.0, 1.0, 1.0)),
    "a privatizer around a subclass": CentralGaussian(
        clients=2,
        size=1,
        bound=1.0,
        mechanism=type("Faint", (Gaussian,), {})(sigma=9.0, sensitivity=Sensitivity(9.0, 9.0, 9.0)),
    ),
    "a counter's node": dataclasses.replace(BinaryTree.for_epsilon(1.0, horizon=8), mechanism=QUIET),
    "a noise source": Zeros(np.random.default_rng(0)),
    "a user's randomness": NumpyNoise(ZeroDraws()),  # type: ignore[arg-type]
    "a generator's subclass": NumpyNoise(Constant(np.random.PCG64(0))),
    "an array's subclass": (np.zeros(3).view(Spy),),
}


@pytest.mark.parametrize("value", FOREIGN.values(), ids=FOREIGN.keys())
def test_what_is_not_exactly_ours_is_an_assumption(value: Any) -> None:
    assumptions = assumptions_of(value)
    assert [each.kind for each in assumptions] == [AssumptionKind.FOREIGN_CLASS]
    assert assumptions_of((Laplace(scale=1.0), (value,))) == assumptions
    assert examine_value(value)[1] == assumptions


def test_an_assumption_names_the_class_and_its_line() -> None:
    (assumption,) = assumptions_of(Repeated(QUIET, 2))
    assert assumption.message == "the privacy profile of your class Noiseless is correct"
    line = inspect.getsourcelines(Noiseless)[1]
    assert assumption.where.endswith(f"test_assumptions.py:{line}")
    assert str(assumption) == f"{assumption.message}, {assumption.where}"


@pytest.mark.parametrize(
    "value",
    [
        *OWN,
        Binomial(trials=100, shift=1, dimension=2),
        Interval(0, 1),
        Box(0, 1, 3),
        Ball(1.0, 2),
        Categories(3),
        OneHot(3),
        Integers(0, 3),
        BinaryTree.for_epsilon(1.0, horizon=8),
        ShuffledMean.calibrated(1.0, 1e-6, clients=1000, size=2, bound=1.0),
        NumpyNoise(np.random.default_rng(0)),
        NumpyNoise(LaneStreams(0, 64)),
        OpenDPNoise(),
        None,
        (1.0, "text"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_ours_rests_on_nothing(value: Any) -> None:
    assert assumptions_of(value) == ()
    copy, assumptions = examine_value(value)
    assert assumptions == ()
    assert copy == value or type(copy) is type(value)


def nested(leaves: st.SearchStrategy[Mechanism]) -> st.SearchStrategy[Mechanism]:
    """Composed, repeated and post-processed, in any order and depth."""
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3).map(lambda parts: Composed(tuple(parts))),
            st.builds(Repeated, inner, st.integers(1, 3)),
            inner.map(lambda mechanism: mechanism >> np.sum),  # type: ignore[operator]
        ),
        max_leaves=5,
    )


numeric = st.sampled_from([mechanism for mechanism in OWN if not mechanism.categorical])


@given(nested(numeric))
@settings(max_examples=60, deadline=None)
def test_nestings_of_our_own_rest_on_nothing(mechanism: Mechanism) -> None:
    copy, assumptions = examine_value(mechanism)
    assert assumptions == assumptions_of(mechanism) == ()
    assert copy == mechanism


@pytest.mark.slow
@given(nested(numeric), nested(st.just(QUIET)), st.booleans())
@settings(max_examples=60, deadline=None)
def test_nestings_around_a_users_mechanism_assume_what_it_assumes(
    own: Mechanism, foreign: Mechanism, first: bool
) -> None:
    mixed = Composed((foreign, own) if first else (own, foreign))
    for mechanism in (foreign, mixed, mixed >> np.sum, Repeated(mixed, 2)):  # type: ignore[operator]
        assert examine_value(mechanism)[1] == assumptions_of(mechanism) == assumptions_of(QUIET)


def test_the_file_of_a_users_class_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(Laplace):
        pass

    class Other(Laplace):
        pass

    read = []
    found = inspect.getsourcelines
    monkeypatch.setattr(inspect, "getsourcelines", lambda cls: (read.append(cls), found(cls))[1])
    places = [assumptions_of(cls(scale=1.0))[0].where for cls in (Own, Other, Own, Other)]
    assert places[:2] == places[2:]
    assert places[0] != places[1]
    assert read == [Own, Other]


def test_a_method_patched_into_an_instance_is_seen_and_has_no_effect() -> None:
    mechanism = Laplace(scale=1.0)
    object.__setattr__(mechanism, "release", lambda value, noise: np.asarray(value))
    copy, (assumption,) = examine_value(mechanism)
    assert assumption.kind is AssumptionKind.PATCHED
    assert "Laplace.release" in assumption.message
    value = np.zeros(4)
    assert (copy.release(value, np.random.default_rng(0)) != 0).all()
    assert (copy.release(value, np.random.default_rng(0)) != 0).all()


@pytest.mark.parametrize("name", ["release", "profile", "log_concave"])
def test_a_patched_class_is_seen_while_it_is_patched(name: str) -> None:
    with mock.patch.object(Gaussian, name, mock.Mock()):
        for value in (OWN[1], Repeated(OWN[1], 2)):
            assert [each.kind for each in assumptions_of(value)] == [AssumptionKind.PATCHED]
            assert f"Gaussian.{name}" in assumptions_of(value)[0].message
        assert assumptions_of(OWN[1])[0] in altered_library()
    assert assumptions_of(OWN[1]) == ()


def test_a_patched_base_sensitivity_or_noise_source_is_seen() -> None:
    for owner, name in ((Sensitivity, "covers"), (mechanisms.noise.mechanism.BuiltInMechanism, "to_dict")):
        examine_value(OWN[0])
        with mock.patch.object(owner, name, return_value=True):
            assert examine_value(OWN[0])[1] == assumptions_of(OWN[0]) != ()
    with mock.patch.object(NumpyNoise, "laplace", lambda self, location, scale: location):
        assert assumptions_of(NumpyNoise(np.random.default_rng(0)))


def test_a_base_put_between_is_seen() -> None:
    class Between(mechanisms.noise.mechanism.BuiltInMechanism):  # type: ignore[misc]
        pass

    examine_value(OWN[0])
    bases = Laplace.__bases__
    try:
        Laplace.__bases__ = (Between,)
        assert examine_value(OWN[0])[1][0].message == "the replacement of the bases of Laplace does the same"
    finally:
        Laplace.__bases__ = bases
    seen = examination(OWN[0])
    assert seen is not None
    assert seen.unchanged()
    assert seen._classes.are_unchanged()


def test_code_that_was_rewritten_in_place_is_seen() -> None:
    function = Laplace.release
    code = function.__code__
    try:
        function.__code__ = (lambda self, value, noise: value).__code__  # type: ignore[attr-defined]
        assert [each.kind for each in assumptions_of(OWN[0])] == [AssumptionKind.PATCHED]
    finally:
        function.__code__ = code  # type: ignore[attr-defined]
    assert assumptions_of(OWN[0]) == ()


def test_code_that_was_rewritten_in_place_is_seen_in_what_was_examined_before() -> None:
    examine_value(OWN[0])
    function = Laplace.release
    code = function.__code__
    try:
        function.__code__ = (lambda self, value, noise: value).__code__  # type: ignore[attr-defined]
        assert [each.kind for each in examine_value(OWN[0])[1]] == [AssumptionKind.PATCHED]
    finally:
        function.__code__ = code  # type: ignore[attr-defined]
    assert examine_value(OWN[0])[1] == ()


def _written_into(table: Table) -> None:
    table.entries.flags.writeable = True
    table.entries[0] = 9.0


class SaysItIsEqual:
    """Whatever it is compared with."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__

    def __get__(self, instance: Any, owner: Any) -> Any:
        return lambda value, noise: np.asarray(value)


def _entry() -> Any:
    return mock.patch.object(Laplace, "release", SaysItIsEqual())


def _default_by_name() -> Any:
    return mock.patch.dict(Laplace.__init__.__kwdefaults__, sensitivity=SaysItIsEqual())


@contextlib.contextmanager
def _positional_default() -> Iterator[None]:
    defaults = Laplace.profile.__defaults__
    Laplace.profile.__defaults__ = (SaysItIsEqual(),)
    try:
        yield
    finally:
        Laplace.profile.__defaults__ = defaults


@pytest.mark.parametrize(
    ("patched", "what"),
    [
        (_entry, "Laplace.release"),
        (_default_by_name, "Laplace.__init__"),
        (_positional_default, "BuiltInMechanism.profile"),
    ],
)
def test_what_says_that_it_equals_what_it_replaced_is_seen(patched: Any, what: str) -> None:
    assert examine_value(OWN[0])[1] == ()
    with patched():
        for assumptions in (examine_value(OWN[0])[1], assumptions_of(OWN[0]), altered_library()):
            assert [each.kind for each in assumptions] == [AssumptionKind.PATCHED]
            assert what in assumptions[0].message
    assert examine_value(OWN[0])[1] == altered_library() == ()


def test_an_entry_under_another_name_is_seen() -> None:
    """The same objects in the same order: only the name of the last one differs."""
    examine_value(Clip(0.0, 1.0))
    last, value = list(vars(Clip).items())[-1]
    delattr(Clip, last)
    try:
        Clip.another_name = value  # type: ignore[attr-defined]
        assert list(vars(Clip).values())[-1] is value
        assert [each.kind for each in examine_value(Clip(0.0, 1.0))[1]] == [AssumptionKind.PATCHED]
    finally:
        del Clip.another_name  # type: ignore[attr-defined]
        setattr(Clip, last, value)
    assert examine_value(Clip(0.0, 1.0))[1] == ()


def test_what_is_missing_when_classes_are_first_looked_at_is_seen() -> None:
    last, value = list(vars(Clip).items())[-1]
    delattr(Clip, last)
    try:
        mechanisms.assumptions._together.cache_clear()
        assert [each.kind for each in examine_value(Clip(0.0, 1.0))[1]] == [AssumptionKind.PATCHED]
    finally:
        setattr(Clip, last, value)
    assert examine_value(Clip(0.0, 1.0))[1] == ()


def test_entries_in_another_order_alter_nothing() -> None:
    first, value = next((n, v) for n, v in vars(Clip).items() if inspect.isfunction(v))
    before = examination(Clip(0.0, 1.0))
    delattr(Clip, first)
    setattr(Clip, first, value)
    assert examine_value(Clip(0.0, 1.0))[1] == altered_library() == ()
    assert before is not None
    assert before.unchanged()
    assert before._classes.are_unchanged()  # and is seen in as few steps as before
    with mock.patch.object(Clip, first):
        assert not before.unchanged()
    assert before.unchanged()


@pytest.mark.parametrize(
    "change",
    [
        lambda copy: vars(copy).update(release=lambda value, noise: np.asarray(value)),
        lambda copy: object.__setattr__(copy, "scale", 0.001),
        lambda copy: object.__setattr__(copy.sensitivity, "l1", 0.001),
        lambda copy: object.__setattr__(copy, "__class__", Noiseless),
    ],
)
def test_a_copy_that_was_changed_is_used_no_more(change: Any) -> None:
    """Ledgers and tapes show the gate's copies."""
    mechanism = Laplace(scale=0.321)  # of no other test
    copy = examine_value(mechanism)[0]
    change(copy)
    for value in (mechanism, Laplace(scale=0.321)):
        after, assumptions = examine_value(value)
        assert after is not copy
        assert (type(after), after.scale, after.sensitivity, assumptions) == (Laplace, 0.321, UNIT, ())
        assert "release" not in vars(after)
    table = Table([0.0, 1.0, 0.321])
    _written_into(examine_value(table)[0])
    assert examine_value(table)[0].entries.tolist() == [0.0, 1.0, 0.321]


@pytest.mark.parametrize(
    "change",
    [
        _written_into,
        lambda table: object.__setattr__(table, "entries", np.array([9.0, 1.0])),
        lambda table: setattr(table.entries, "shape", (2, 1)),
        lambda table: setattr(table.entries, "dtype", np.dtype(np.int64)),
    ],
)
@pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")
def test_what_changes_in_a_part_of_a_chain_is_seen_in_what_was_examined_before(change: Any) -> None:
    table = Table([0.0, 1.0])
    chain = FirstAbove() >> table
    before = examine_value(chain)[0]
    assert examine_value(chain)[0] is before == chain
    change(chain.parts[1])
    after = examine_value(chain)[0]
    assert after != before
    assert np.array_equal(before.parts[1].entries, [0.0, 1.0])


def test_a_function_put_into_a_part_of_a_chain_is_seen() -> None:
    chain = FirstAbove() >> Table([0.0, 1.0])
    examine_value(chain)
    chain.parts[1].__dict__["apply"] = lambda values: values * 9
    assert [each.kind for each in examine_value(chain)[1]] == [AssumptionKind.PATCHED]


def test_names_of_our_modules_that_were_replaced_are_seen() -> None:
    assert altered_library() == ()
    with mock.patch.object(mechanisms.noise.laplace, "noise_source", lambda noise: noise):
        (assumption,) = altered_library()
        assert "mechanisms.noise.laplace.noise_source" in assumption.message
    assert altered_library() == ()


def test_only_this_librarys_packages_are_its_own() -> None:
    for package in ("json", "numpy"):
        with pytest.raises(ValueError, match=f"package = '{package}'"):
            library_package(package)


def test_loading_makes_nobodys_class_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mechanism that is read back is of the class that is registered under its name, whoever registered it."""
    saved = OWN[0].to_dict()
    monkeypatch.setitem(mechanisms.noise.mechanism.BuiltInMechanism._registry, "Laplace", Noiseless)
    assert assumptions_of(mechanism_from_dict(saved)) == assumptions_of(QUIET)


def test_an_instance_that_changed_its_class_is_judged_by_the_new_one() -> None:
    mechanism = Laplace(scale=0.123)  # of no other test: this very object is kept
    assert examine_value(mechanism)[1] == ()
    object.__setattr__(mechanism, "__class__", Noiseless)
    assert examine_value(mechanism)[1] == assumptions_of(QUIET)


def test_asking_a_class_for_its_annotations_alters_nothing() -> None:
    for cls in (Laplace, Composed, OpenDPNoise, NumpyNoise):
        assert isinstance(cls.__annotations__, dict)
    assert altered_library() == ()
    assert examine_value(OWN[0])[1] == ()


def test_a_changed_field_is_what_is_charged_and_drawn() -> None:
    mechanism = Laplace(scale=1.0)
    assert mechanism.epsilon == 1.0  # now cached
    before, _ = examine_value(mechanism)
    object.__setattr__(mechanism, "scale", 0.25)
    assert mechanism.epsilon == 1.0  # stale
    after, assumptions = examine_value(mechanism)
    assert (before.scale, after.scale, after.epsilon, assumptions) == (1.0, 0.25, 4.0, ())
    object.__setattr__(mechanism, "scale", -1.0)
    with pytest.raises(ParameterError, match="scale"):
        examine_value(mechanism)


def test_a_stale_cache_is_not_believed() -> None:
    mechanism = Repeated(Laplace(scale=1.0), 10)
    vars(mechanism)["_own_profile"] = Laplace(scale=1000.0).profile()
    assert mechanism.profile().epsilon(0.0) < 0.01
    assert examine_value(mechanism)[0].profile().epsilon(0.0) == pytest.approx(10.0)


def test_a_parameter_of_a_subclass_of_float_is_an_assumption_or_a_float() -> None:
    mechanism = Laplace(scale=Thin(1.0))
    assert type(mechanism.scale) is float
    object.__setattr__(mechanism, "scale", Thin(1.0))
    copy, assumptions = examine_value(mechanism)
    assert [each.kind for each in assumptions] == [AssumptionKind.FOREIGN_CLASS]
    assert type(copy.scale) is float


def test_a_copy_of_an_instance_alters_no_class():
    """Copying keeps the names of slots in the class: that is Python's doing, and no patch."""
    mechanism = DiscreteLaplace(scale=2.0)
    assert copy.copy(mechanism) == mechanism
    assert "__slotnames__" in vars(DiscreteLaplace)
    assert altered_library() == ()
    assert examine_value(mechanism)[1] == ()
