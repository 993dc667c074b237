"""A transformation in front of a mechanism, as in OpenDP: ``Clip(0, 1) >> Laplace(scale=1)``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.domain import Interval
from mechanisms.mechanism import (
    BuiltInMechanism,
    Mechanism,
    is_categorical,
    mechanism_from_dict,
    needs_whole_numbers,
    register,
)
from mechanisms.noise import NoiseSource
from mechanisms.parameters import ParameterError
from mechanisms.profile import PrivacyProfile
from mechanisms.sensitivity import Sensitivity
from mechanisms.transformations.arithmetic import Affine, Clip
from mechanisms.transformations.transformation import Chain, Transformation, parts_of

_EVERYWHERE = Interval(-math.inf, math.inf)
_PARTS = (Affine, Clip)


@register
@dataclass(frozen=True)
class Transformed(BuiltInMechanism):
    """A mechanism that transforms each coordinate before it adds noise; how far it may be moved is derived.

    Let w be the width of the range, ``transformation.into(Interval(-inf, inf))``. A single coordinate, however far it
    moves, moves its image by at most w: computed images lie in the range, so this holds in floating point. Clipping
    alone is exact and has stability 1 in every norm, so that movements pass on unchanged, too. Nothing else is used:
    an affine map in front of a value of unknown size could round off more than w, and does not give a bound.

    Parameters
    ----------
    transformation : Transformation
        `Clip`, or a chain of `Clip` and `Affine` with a bounded range.
    mechanism : Mechanism
        What adds noise to numbers.

    Raises
    ------
    ParameterError
        If the transformation is another (use ``Private.map`` then), its range is unbounded, or the mechanism is not
        calibrated for a movement of w in one coordinate although there is more than clipping.
    """

    transformation: Transformation
    mechanism: Mechanism

    def __post_init__(self) -> None:
        parts = parts_of(self.transformation)
        if not all(type(part) in _PARTS for part in parts):
            raise ParameterError(
                f"transformation = {self.transformation!r}: only Clip and Affine can stand before a mechanism; "
                "use Private.map for others"
            )
        if is_categorical(self.mechanism) or needs_whole_numbers(self.mechanism):
            raise ParameterError(f"mechanism = {self.mechanism!r}: must be made for real numbers")
        if math.isinf(self._width):
            raise ParameterError(f"transformation = {self.transformation!r}: must clip; its range is unbounded")
        if not self._clips_only and not self._covers_range:
            raise ParameterError(
                f"mechanism = {self.mechanism!r}: must be calibrated for {self._width:g}, the width of the range"
            )

    @cached_property
    def _width(self) -> float:
        return float(self.transformation.into(_EVERYWHERE).widths)

    @property
    def _clips_only(self) -> bool:
        return all(type(part) is Clip for part in parts_of(self.transformation))

    @property
    def _covers_range(self) -> bool:
        return self.mechanism.sensitivity.covers(Sensitivity(self._width, self._width, self._width))

    @property
    def sensitivity(self) -> Sensitivity:  # type: ignore[override]
        """Unlimited, if the mechanism is calibrated for the whole range; else the mechanism's own."""
        if self._covers_range:
            return Sensitivity(math.inf, math.inf, math.inf)
        own: Sensitivity = self.mechanism.sensitivity
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
        """Return the mechanism's profile at the movement of the image.

        Raises
        ------
        ParameterError
            If several coordinates can move, and there is more than clipping.
        """
        return self.mechanism.profile(self._image(self.sensitivity if sensitivity is None else sensitivity))

    def _image(self, moved: Sensitivity) -> Sensitivity:
        if moved.moves_one_coordinate:
            distance = min(self._width, moved.linf) if self._clips_only else (self._width if moved.linf else 0.0)
            return Sensitivity(distance, distance, distance)
        if not self._clips_only:
            raise ParameterError(f"{self!r}: a record may move one coordinate only; use Private.map for more")
        return moved

    def release(self, value: npt.ArrayLike, noise: NoiseSource | np.random.Generator) -> Any:
        """Return what the mechanism makes of the transformed value."""
        return self.mechanism.release(self._transformed(value), noise)

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> FloatArray:
        """Return the mechanism's log density, given the transformed value."""
        return self.mechanism.log_density(output, self._transformed(value))

    def _transformed(self, value: npt.ArrayLike) -> npt.NDArray[Any]:
        return self.transformation.apply(np.asarray(value, dtype=np.float64))

    def to_dict(self) -> dict[str, Any]:
        """Return the mechanism as JSON-able values."""
        parts = [
            {"clip": [part.lower, part.upper]} if isinstance(part, Clip) else {"affine": [part.factor, part.shift]}
            for part in parts_of(self.transformation)
            if isinstance(part, Clip | Affine)
        ]
        return {"kind": "Transformed", "transformation": parts, "mechanism": self.mechanism.to_dict()}

    @classmethod
    def _from_fields(
        cls, fields: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]
    ) -> Transformed:
        parts: list[Transformation] = [
            Clip(*part["clip"]) if "clip" in part else Affine(*part["affine"]) for part in fields["transformation"]
        ]
        whole = parts[0] if len(parts) == 1 else Chain(tuple(parts))
        return cls(whole, mechanism_from_dict(fields["mechanism"], functions))
