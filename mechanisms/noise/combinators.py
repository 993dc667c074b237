"""Mechanisms made of mechanisms: composed, repeated, post-processed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.assumption import Assumption
from mechanisms.assumptions import assumptions_of
from mechanisms.composition.composed_profile import composed_profile
from mechanisms.delegation import delegated
from mechanisms.domains.sensitivity import Sensitivity
from mechanisms.noise.mechanism import (
    BuiltInMechanism,
    Mechanism,
    counts_in_public,
    is_categorical,
    mechanism_from_dict,
    needs_whole_numbers,
    needs_whole_values,
    register,
    transforms_first,
)
from mechanisms.noise.noise_sources import NoiseSource, noise_source
from mechanisms.parameters import DensityUnavailable, ParameterError, quoted, whole_number
from mechanisms.profiles.privacy_profile import PrivacyProfile

_BELOW_ONE = math.nextafter(1.0, 0.0)


def _check_bare(name: str, mechanism: Mechanism, instead: str) -> None:
    """Refuse an object that is no mechanism, and one that transforms first: gates handle that only in front of all."""
    if isinstance(mechanism, type) or not hasattr(mechanism, "release"):
        raise ParameterError(
            f"{name}: {quoted(mechanism)} must be a mechanism, such as Laplace(scale=...) (an instance, not the class)"
        )
    if transforms_first(mechanism):
        raise ParameterError(
            f"{name}: {mechanism!r} transforms the value first, which belongs in front of all of it: "
            f"transformation >> {instead}"
        )


class _OfParts(BuiltInMechanism):
    """Base class of mechanisms made of others, which all get the same value."""

    parts: Any

    @property
    def _uses(self) -> tuple[Mechanism, ...]:
        """Each part as often as it is used."""
        return tuple(self.parts)

    @property
    def categorical(self) -> bool:
        """True if the parts work on category names."""
        return is_categorical(self.parts[0])

    @property
    def whole_numbers(self) -> bool:
        """True if a part needs values of an integer type."""
        return any(needs_whole_numbers(part) for part in self.parts)

    @property
    def whole_values(self) -> bool:
        """True if a part needs integers, of any numeric type."""
        return any(needs_whole_values(part) for part in self.parts)

    @property
    def counts_in_public(self) -> bool:
        """True if a part reveals the number of records."""
        return any(counts_in_public(part) for part in self.parts)

    def release(self, value: npt.ArrayLike, noise: NoiseSource | np.random.Generator) -> npt.NDArray[Any]:
        """Return one release from each part, stacked in front."""
        source = noise_source(noise)
        return np.stack([part.release(value, source) for part in self._uses])

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> FloatArray:
        """Return the sum of the parts' log densities; ``output[i]`` belongs to part i."""
        outputs = np.asarray(output)
        uses = self._uses
        if outputs.shape[0] != len(uses):
            raise ParameterError(f"output has {outputs.shape[0]} parts: must have {len(uses)}")
        total = uses[0].log_density(outputs[0], value)
        for part, released in zip(uses[1:], outputs[1:], strict=True):
            total = total + part.log_density(released, value)
        return total


@register
@dataclass(frozen=True)
class Composed(_OfParts):
    """Release the same value through every part.

    ``release`` returns shape (parts, *value.shape); ``log_density`` sums over the parts.

    Parameters
    ----------
    parts : tuple of Mechanism
        At least one.
    """

    parts: tuple[Mechanism, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        if not self.parts:
            raise ParameterError("parts = (): must hold at least one mechanism")
        for part in self.parts:
            _check_bare("parts", part, "Composed((mechanism, ...))")
        if len({is_categorical(part) for part in self.parts}) > 1:
            raise ParameterError("parts: mechanisms for categories and for numbers cannot share a value")

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """The largest movement that every part is calibrated for (the least of each norm)."""
        return Sensitivity(
            min(part.sensitivity.l1 for part in self.parts),
            min(part.sensitivity.l2 for part in self.parts),
            min(part.sensitivity.linf for part in self.parts),
        )

    @property
    def nominal_delta(self) -> float:
        """Sum of the parts' (kept below 1)."""
        return min(math.fsum(part.nominal_delta for part in self.parts), _BELOW_ONE)

    def _profile_at(self, moved: Sensitivity) -> PrivacyProfile:
        """Return the composition of the parts' profiles, all at the same movement."""
        return composed_profile((part.profile(moved), 1) for part in self.parts)


class _Wrapped(_OfParts):
    """Base class of mechanisms around another one, with its values and movements."""

    mechanism: Mechanism

    @property
    def parts(self) -> tuple[Mechanism, ...]:
        """The mechanism inside."""
        return (self.mechanism,)

    sensitivity = delegated("mechanism.sensitivity")
    nominal_delta = delegated("mechanism.nominal_delta")

    def _profile_at(self, moved: Sensitivity) -> PrivacyProfile:
        """Return the profile of the mechanism inside, to which its wrapper adds no loss."""
        return self.mechanism.profile(moved)


@register
@dataclass(frozen=True)
class Repeated(_Wrapped):
    """Release the same value ``count`` times with fresh noise.

    ``release`` returns shape (count, *value.shape); ``log_density`` sums over the first axis.
    """

    mechanism: Mechanism
    count: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", whole_number("count", self.count, least=1))
        _check_bare("mechanism", self.mechanism, "Repeated(mechanism, count)")

    @property
    def nominal_delta(self) -> float:
        """``count`` times the mechanism's (kept below 1)."""
        return min(self.count * self.mechanism.nominal_delta, _BELOW_ONE)

    def _profile_at(self, moved: Sensitivity) -> PrivacyProfile:
        """Return the mechanism's profile composed with itself ``count`` times."""
        return composed_profile([(self.mechanism.profile(moved), self.count)])

    @property
    def _uses(self) -> tuple[Mechanism, ...]:
        return (self.mechanism,) * self.count


@register
@dataclass(frozen=True)
class PostProcessed(_Wrapped):
    """A mechanism followed by a function of its output, which costs nothing (Dwork & Roth 2014, Prop. 2.1).

    Parameters
    ----------
    mechanism : Mechanism
        The only part that sees the data.
    function : callable
        Function from released arrays to anything; it must not see the data.
    name : str, optional
        Under which the function is saved; its ``__name__`` by default.
    """

    mechanism: Mechanism
    function: Callable[[Any], Any]
    name: str = ""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ParameterError(f"function = {self.function!r}: must be callable")
        _check_bare("mechanism", self.mechanism, "(mechanism >> function)")
        if not self.name:
            object.__setattr__(self, "name", getattr(self.function, "__name__", type(self.function).__name__))

    def rests_on(self) -> tuple[Assumption, ...]:
        """Return the mechanism's assumptions; the function only sees released values, and costs no privacy."""
        return assumptions_of(self.mechanism)

    def release(self, value: npt.ArrayLike, noise: NoiseSource | np.random.Generator) -> Any:
        """Return the function's value at the mechanism's release."""
        return self.function(self.mechanism.release(value, noise))

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> FloatArray:
        """Raise `DensityUnavailable`: the function's image measure is unknown."""
        raise DensityUnavailable(f"PostProcessed by {self.name}: the density of its output is unknown")

    def to_dict(self) -> dict[str, Any]:
        """Return the mechanism as JSON-able values; the function is saved by name only."""
        return {"kind": "PostProcessed", "mechanism": self.mechanism.to_dict(), "function": self.name}

    @classmethod
    def _from_fields(
        cls, fields: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]
    ) -> PostProcessed:
        name = fields["function"]
        if name not in functions:
            raise ParameterError(
                f"post-processing function {name!r} is saved by name only: pass functions={{{name!r}: ...}}"
            )
        return cls(mechanism_from_dict(fields["mechanism"], functions), functions[name], name)
