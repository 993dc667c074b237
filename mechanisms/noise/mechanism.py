"""The interface of mechanisms, and their written form as JSON data."""

from __future__ import annotations

import abc
import dataclasses
import math
import numbers
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.domains.sensitivity import Sensitivity
from mechanisms.noise.noise_sources import NoiseSource
from mechanisms.parameters import ParameterError, build_from, nonnegative, quoted
from mechanisms.profiles.privacy_profile import PrivacyProfile
from mechanisms.profiles.related_profile import restate

if TYPE_CHECKING:
    from mechanisms.noise.combinators import PostProcessed


@runtime_checkable
class Mechanism(Protocol):
    """Frozen, hashable value that defines the noise of a release and its privacy cost.

    ``release`` returns an array of the value's shape with coordinates that are independent given the value;
    ``log_density`` gives the logarithm of each coordinate's density (or probability), output and value
    broadcast against each other.
    """

    @property
    def sensitivity(self) -> Sensitivity:
        """The largest movement the mechanism is calibrated for; a gate refuses a value that moves further."""

    @property
    def nominal_delta(self) -> float:
        """The δ at which basic composition reads the profile; 0 for pure mechanisms."""

    @property
    def epsilon(self) -> float:
        """The ε guaranteed at (`sensitivity`, `nominal_delta`); inf if there is none."""

    def profile(self, sensitivity: Sensitivity | None = None) -> PrivacyProfile:
        """Return the privacy profile when one record moves the value by this (default: `sensitivity`)."""

    def release(self, value: npt.ArrayLike, noise: NoiseSource | np.random.Generator) -> npt.NDArray[Any]:
        """Return the noisy value, same shape."""

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> FloatArray:
        """Return the log density of each coordinate's output given its value."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values from which `mechanism_from_dict` makes an equal mechanism."""


class BuiltInMechanism(abc.ABC):
    """Base class of this library's mechanisms: ``>>`` and the written form."""

    # A field of some subclasses, a property of others: hence no narrower type here.
    sensitivity: Any

    log_concave: ClassVar[bool] = False
    """True if every coordinate gets independent noise of a log-concave density on the real line."""

    @property
    def neighbouring(self) -> Neighbouring:
        """The neighbouring relation that `sensitivity`, `profile` and `epsilon` are for: one record is replaced."""
        return Neighbouring.REPLACE_ONE

    @property
    def counts_in_public(self) -> bool:
        """True if the number of records is revealed, as by reports that each record's holder sends."""
        return False

    def profile_for(
        self, neighbouring: Neighbouring, sensitivity: Sensitivity | None = None
    ) -> PrivacyProfile:
        """Return the profile for a relation under which one record moves the value by ``sensitivity``.

        Raises
        ------
        ParameterError
            If a record is added or removed and the number of records is seen.
        """
        if neighbouring is Neighbouring.ADD_OR_REMOVE and self.counts_in_public:
            raise ParameterError(
                f"neighbours = {neighbouring.value!r}: the number of reports is public and would change with the record"
            )
        return restate(self.profile(sensitivity), neighbouring)

    @property
    def samples_securely(self) -> bool:
        """True if secure noise sources can draw its noise; if not, accountants refuse before they charge."""
        return True

    @property
    def categorical(self) -> bool:
        """True if values are category names, at distance 0 or 1, and not numbers."""
        return False

    @property
    def whole_numbers(self) -> bool:
        """True if values must be of an integer type."""
        return False

    @property
    def whole_values(self) -> bool:
        """True if values must be integers, of any numeric type.

        For other values the release would fail, and that failure would depend on the data.
        """
        return False

    @property
    def nominal_delta(self) -> float:
        """The δ at which basic composition reads the profile: the ``delta`` given, if there is one, else 0."""
        return getattr(self, "delta", None) or 0.0

    @abc.abstractmethod
    def _profile_at(self, moved: Sensitivity) -> PrivacyProfile:
        """Return the privacy profile when one record moves the value by ``moved``."""

    @cached_property
    def _own_profile(self) -> PrivacyProfile:
        return self._profile_at(self.sensitivity)

    def profile(self, sensitivity: Sensitivity | None = None) -> PrivacyProfile:
        """Return the privacy profile when one record moves the value by ``sensitivity`` (default: its own)."""
        return self._own_profile if sensitivity is None else self._profile_at(sensitivity)

    @cached_property
    def epsilon(self) -> float:
        """The smallest ε at (`sensitivity`, `nominal_delta`), rounded up; inf if there is none."""
        return self.profile().epsilon(self.nominal_delta)

    @abc.abstractmethod
    def release(self, value: npt.ArrayLike, noise: NoiseSource | np.random.Generator) -> Any:
        """Return the noisy value."""

    @abc.abstractmethod
    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> FloatArray:
        """Return the log density of each coordinate's output."""

    def to_dict(self) -> dict[str, Any]:
        """Return the mechanism as JSON-able values; floats survive ``json`` to the last bit."""
        fields = {field.name: _encode(getattr(self, field.name)) for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {"kind": type(self).__name__, **fields}

    def __rshift__(self, function: Callable[[Any], Any]) -> PostProcessed:
        """Return the mechanism followed by a function of its output, which costs nothing."""
        from mechanisms.noise.combinators import PostProcessed

        if not callable(function):
            return NotImplemented
        return PostProcessed(self, function)

    @classmethod
    def _from_fields(cls, fields: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> Any:
        return build_from(cls, {name: _decode(item, functions) for name, item in fields.items()})

    _registry: ClassVar[dict[str, type[BuiltInMechanism]]] = {}


def is_categorical(mechanism: Mechanism) -> bool:
    """Return True if a mechanism works on category names; by default it works on numbers."""
    return bool(getattr(mechanism, "categorical", False))


def needs_whole_numbers(mechanism: Mechanism) -> bool:
    """Return True if a mechanism needs values of an integer type; by default it takes any number."""
    return bool(getattr(mechanism, "whole_numbers", False))


def needs_whole_values(mechanism: Mechanism) -> bool:
    """Return True if a mechanism needs integers, of any numeric type; by default it takes any number."""
    return bool(getattr(mechanism, "whole_values", False))


def counts_in_public(mechanism: Mechanism) -> bool:
    """Return True if a mechanism reveals the number of records; by default it does not."""
    return bool(getattr(mechanism, "counts_in_public", False))


def samples_securely(mechanism: Mechanism) -> bool:
    """Return True if secure noise sources can draw a mechanism's noise; by default they can."""
    return bool(getattr(mechanism, "samples_securely", True))


def transforms_first(mechanism: Mechanism) -> bool:
    """Return True if a mechanism transforms the value before it adds noise; by default it does not."""
    return bool(getattr(mechanism, "transforms_first", False))


def neighbouring_of(mechanism: Mechanism, sensitivity: Sensitivity | None = None) -> Neighbouring:
    """Return the neighbouring relation of a mechanism's profile; of one that does not say, one record is replaced."""
    relation = getattr(mechanism.profile(sensitivity), "neighbouring", Neighbouring.REPLACE_ONE)
    if not isinstance(relation, Neighbouring):
        raise ParameterError(f"neighbouring = {relation!r}: a profile's must be a Neighbouring")
    return relation


_Class = TypeVar("_Class", bound=type[BuiltInMechanism])


def register(mechanism: _Class) -> _Class:
    """Class decorator: let `mechanism_from_dict` read the mechanism back."""
    BuiltInMechanism._registry[mechanism.__name__] = mechanism
    return mechanism


def mechanism_from_dict(
    saved: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]] | None = None
) -> Mechanism:
    """Return the mechanism that ``to_dict`` wrote.

    Parameters
    ----------
    saved : mapping
        The result of ``to_dict``, possibly after a way through JSON.
    functions : mapping from name to function, optional
        The functions of post-processed mechanisms, which are saved by name only.

    Raises
    ------
    ParameterError
        If the mechanism is unknown or a post-processing function is missing.
    """
    fields = dict(saved)
    name = fields.pop("kind", None)
    kind = BuiltInMechanism._registry.get(name) if isinstance(name, str) else None
    if kind is None:
        known = ", ".join(sorted(BuiltInMechanism._registry))
        raise ParameterError(f"kind = {quoted(name)}: must be one of {known}")
    mechanism: Mechanism = kind._from_fields(fields, {} if functions is None else functions)
    return mechanism


def _encode(value: Any) -> Any:
    if isinstance(value, Sensitivity):
        return {norm: _encode(getattr(value, norm)) for norm in ("l1", "l2", "linf")}
    if isinstance(value, float) and math.isinf(value):
        return "inf"  # JSON has no infinity
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return value.to_dict()


def _decode(value: Any, functions: Mapping[str, Callable[..., Any]]) -> Any:
    if value == "inf":
        return math.inf
    if isinstance(value, list):
        return tuple(_decode(item, functions) for item in value)
    if isinstance(value, Mapping):
        if "l1" in value:
            return build_from(Sensitivity, {norm: _decode(size, functions) for norm, size in value.items()})
        return mechanism_from_dict(value, functions)
    return value


def checked_sensitivity(value: Any) -> Sensitivity:
    """Return a `Sensitivity` as it is, and a number as that of one value that moves by so much.

    Raises
    ------
    ParameterError
        If ``value`` is neither, or a negative number.
    """
    if isinstance(value, Sensitivity):
        return value
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number:
        raise ParameterError(
            f"sensitivity = {quoted(value)}: must be a number (of one value) or a Sensitivity(l1, l2, linf)"
        )
    size = nonnegative("sensitivity", value)
    if size < value:  # a fraction that was rounded down
        size = math.nextafter(size, math.inf)
    return Sensitivity(size, size, size)


def checked_whole_sensitivity(value: Any) -> Sensitivity:
    """Return a checked `Sensitivity`; raise `ParameterError` unless whole numbers can move by so much."""
    sensitivity = checked_sensitivity(value)
    if any(0.0 < norm < 1.0 for norm in (sensitivity.l1, sensitivity.l2, sensitivity.linf)):
        raise ParameterError(
            f"sensitivity = {value!r}: each norm must be 0 or at least 1, as whole numbers that move at all move by "
            "at least 1 (noise for real numbers: Laplace, Gaussian)"
        )
    return sensitivity
