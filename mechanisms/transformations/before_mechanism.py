"""A transformation in front of a mechanism, as in OpenDP: ``Clip(0, 1) >> Laplace(scale=1)``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dpwitness import is_of_library
from mechanisms.arrays import FloatArray
from mechanisms.domains.choices import Categories, Integers, OneHot
from mechanisms.domains.domain import Domain, Interval
from mechanisms.domains.float_bounds import is_bounded
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.domains.sensitivity import Sensitivity
from mechanisms.noise.mechanism import (
    BuiltInMechanism,
    Mechanism,
    counts_in_public,
    is_categorical,
    mechanism_from_dict,
    needs_whole_numbers,
    needs_whole_values,
    neighbouring_of,
    register,
)
from mechanisms.noise.noise_sources import NoiseSource
from mechanisms.parameters import DomainError, ParameterError
from mechanisms.profiles.bounding_profiles import NoPrivacy
from mechanisms.profiles.privacy_profile import PrivacyProfile
from mechanisms.transformations.transformation import Chain, Transformation, parts_of, reals


@register
@dataclass(frozen=True)
class Transformed(BuiltInMechanism):
    """Transformation followed by a mechanism that releases its result.

    A gate's ``release(transformation >> mechanism, private)`` is ``release(mechanism, private.map(transformation))``:
    the sensitivity, and the charge, follow from the domain with which the value was admitted.

    By itself, outside of a gate, it protects one record that is replaced by any other: one of `takes`, a number,
    a vector of numbers or a category, of any size. By law 1 of transformations the results of two such records
    are no further apart than the width of `results`; `sensitivity`, `profile` and `epsilon` are for that distance: for
    ``Clip(0, 2) >> Laplace(scale=1)`` it is 2. Where results have no bound, as those of `Affine`, neither has the loss:
    the profile is `NoPrivacy`, as a bound.

    Parameters
    ----------
    transformation : Transformation
        Applied first.
    mechanism : Mechanism
        Adds noise to the result.

    Examples
    --------
    >>> from mechanisms import Clip, Laplace
    >>> mechanism = Clip(0, 2) >> Laplace(scale=1.0)
    >>> mechanism.results, mechanism.epsilon
    (Interval(lower=0.0, upper=2.0), 2.0)
    """

    transformation: Transformation
    mechanism: Mechanism

    def __post_init__(self) -> None:
        if not isinstance(self.transformation, Transformation):
            raise ParameterError(f"transformation = {self.transformation!r}: must be a transformation")

    @cached_property
    def _domains(self) -> tuple[Domain, Domain] | None:
        for takes in self._widest():
            try:
                results = self.transformation.output_domain(takes)
            except DomainError:
                continue
            if _suits(results, self.mechanism):
                return takes, results
        return None

    def _widest(self) -> Iterator[Domain]:
        """Yield the largest domains that the transformation may be made for: categories, or numbers of any size."""
        parts = parts_of(self.transformation)
        held = [each for part in parts for each in vars(part).values()]
        arrays = [each for each in held if isinstance(each, np.ndarray)]
        if parts[0].takes_categories:
            sizes = {len(each) for each in arrays} | {each for each in held if isinstance(each, int)}
            yield from map(Categories, sorted(sizes, reverse=True))
            return
        yield Interval(-math.inf, math.inf)
        sizes = {1, 2, *(each.shape[-1] for each in arrays if each.ndim)}
        sizes |= {int(each.max()) + 1 for each in arrays if each.dtype.kind == "i"}
        sizes |= {each for each in held if type(each) is int}
        yield from (reals(size) for size in sorted(sizes) if size > 0)

    @property
    def takes(self) -> Domain | None:
        """The values that it is made for, of any size; None if there is no one kind of them."""
        return None if self._domains is None else self._domains[0]

    @property
    def results(self) -> Domain | None:
        """Domain of the transformation's results for all such values."""
        return None if self._domains is None else self._domains[1]

    @property
    def categorical(self) -> bool:
        """True if the transformation takes category names."""
        return parts_of(self.transformation)[0].takes_categories

    @property
    def transforms_first(self) -> bool:
        """True."""
        return True

    @property
    def counts_in_public(self) -> bool:
        """True if the mechanism reveals the number of records."""
        return counts_in_public(self.mechanism)

    @cached_property
    def _is_bounded(self) -> bool:
        """True if results have a bound, and the mechanism is for records that are replaced, as this bound is."""
        return (
            self.results is not None
            and is_bounded(self.results)
            and neighbouring_of(self.mechanism) is Neighbouring.REPLACE_ONE
        )

    @property
    def sensitivity(self) -> Sensitivity:
        """Largest change of a result if a record is replaced by any other; 0 where that has no bound."""
        if self._is_bounded and self.results is not None:
            return self.results.sensitivity
        return Sensitivity(0.0, 0.0, 0.0)

    @property
    def nominal_delta(self) -> float:
        """The mechanism's."""
        return self.mechanism.nominal_delta

    def _profile_at(self, moved: Sensitivity) -> PrivacyProfile:
        """Return the mechanism's profile at a movement of the results, if these have a bound."""
        return self.mechanism.profile(moved) if self._is_bounded else NoPrivacy("no bound on results")

    def release(self, value: npt.ArrayLike, noise: NoiseSource | np.random.Generator) -> Any:
        """Return the mechanism's release of the transformed value."""
        return self.mechanism.release(self.transformation(value), noise)

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> FloatArray:
        """Return the mechanism's log density, given the transformed value."""
        return self.mechanism.log_density(output, self.transformation(value))

    def __rshift__(self, function: Callable[[Any], Any]) -> Transformed:  # type: ignore[override]
        """Return the mechanism followed by a function of its output; the transformation stays in front of both."""
        after = self.mechanism >> function  # type: ignore[operator]
        return Transformed(self.transformation, after)

    def to_dict(self) -> dict[str, Any]:
        """Return the mechanism as JSON-able values."""
        parts = [
            {
                "kind": type(part).__name__,
                **{field.name: _plain(getattr(part, field.name)) for field in fields(part)},  # type: ignore[arg-type]
            }
            for part in parts_of(self.transformation)
        ]
        return {"kind": "Transformed", "transformation": parts, "mechanism": self.mechanism.to_dict()}

    @classmethod
    def _from_fields(
        cls, saved: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]
    ) -> Transformed:
        kinds = {kind.__name__: kind for kind in Transformation.__subclasses__() if is_of_library(kind)}
        parts = [
            kinds[part["kind"]](**{name: held for name, held in part.items() if name != "kind"})
            for part in saved["transformation"]
        ]
        whole = parts[0] if len(parts) == 1 else Chain(tuple(parts))
        return cls(whole, mechanism_from_dict(saved["mechanism"], functions))


def _suits(results: Domain, mechanism: Mechanism) -> bool:
    """Return True if a mechanism releases values of a domain: category names, whole numbers, or any numbers."""
    if is_categorical(mechanism) != isinstance(results, Categories):
        return False
    if isinstance(results, Categories):
        return results.size <= getattr(mechanism, "size", math.inf)
    if needs_whole_numbers(mechanism):
        return isinstance(results, Integers)
    return isinstance(results, Integers | OneHot) or not needs_whole_values(mechanism)


def _plain(held: Any) -> Any:
    return held.tolist() if isinstance(held, np.ndarray) else held
