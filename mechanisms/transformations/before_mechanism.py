"""A transformation in front of a mechanism, as in OpenDP: ``Clip(0, 1) >> Laplace(scale=1)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.bounds import NoPrivacy
from mechanisms.mechanism import BuiltInMechanism, Mechanism, counts_in_public, mechanism_from_dict, register
from mechanisms.noise import NoiseSource
from mechanisms.parameters import ParameterError
from mechanisms.profile import PrivacyProfile
from mechanisms.sensitivity import Sensitivity
from mechanisms.transformations.arithmetic import Clip
from mechanisms.transformations.transformation import Chain, Transformation, parts_of


@register
@dataclass(frozen=True)
class Transformed(BuiltInMechanism):
    """A transformation, and the mechanism that releases what it gives.

    A gate's ``release(transformation >> mechanism, private)`` is ``release(mechanism, private.map(transformation))``:
    what a record can move, and is charged for, follows from the domain that the value was let in with.

    By itself, outside of a gate, it knows no domain. Clipping is exact and lengthens no distance, so that `sensitivity`
    and `profile` are the mechanism's own. For other transformations there is no bound, as rounding alone can move
    images of values of unknown size by any amount: the profile is `NoPrivacy`.

    Parameters
    ----------
    transformation : Transformation
        What is done first.
    mechanism : Mechanism
        What adds noise.
    """

    transformation: Transformation
    mechanism: Mechanism

    def __post_init__(self) -> None:
        if not isinstance(self.transformation, Transformation):
            raise ParameterError(f"transformation = {self.transformation!r}: must be a transformation")

    @property
    def _clips(self) -> bool:
        return all(type(part) is Clip for part in parts_of(self.transformation))

    @property
    def categorical(self) -> bool:
        """Whether the transformation takes category names."""
        return parts_of(self.transformation)[0].takes_categories

    @property
    def needs_domain(self) -> bool:
        """Whether the transformation does anything but clip."""
        return not self._clips

    @property
    def counts_in_public(self) -> bool:
        """Whether the number of records is seen."""
        return counts_in_public(self.mechanism)

    @property
    def sensitivity(self) -> Sensitivity:
        """The mechanism's, behind clipping; behind anything else no movement at all."""
        own: Sensitivity = self.mechanism.sensitivity if self._clips else Sensitivity(0.0, 0.0, 0.0)
        return own

    @property
    def nominal_delta(self) -> float:
        """The mechanism's."""
        return self.mechanism.nominal_delta

    @cached_property
    def epsilon(self) -> float:
        """The smallest ε at (`sensitivity`, `nominal_delta`) read from `profile`; inf if there is none."""
        return self.profile().epsilon(self.nominal_delta)

    def profile(self, sensitivity: Sensitivity | None = None) -> PrivacyProfile:
        """Return the mechanism's profile, behind clipping."""
        return self.mechanism.profile(sensitivity) if self._clips else NoPrivacy()

    def release(self, value: npt.ArrayLike, noise: NoiseSource | np.random.Generator) -> Any:
        """Return what the mechanism makes of the transformed value."""
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
        kinds = {
            kind.__name__: kind
            for kind in Transformation.__subclasses__()
            if kind.__module__.startswith(_OWN)
        }
        parts = [
            kinds[part["kind"]](**{name: held for name, held in part.items() if name != "kind"})
            for part in saved["transformation"]
        ]
        whole = parts[0] if len(parts) == 1 else Chain(tuple(parts))
        return cls(whole, mechanism_from_dict(saved["mechanism"], functions))


_OWN = __name__.rpartition(".")[0] + "."


def _plain(held: Any) -> Any:
    return held.tolist() if isinstance(held, np.ndarray) else held
