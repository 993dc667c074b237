"""Transformations of data: domain in, domain out, and a bound on the distance of results.

A transformation is a frozen value that holds public parameters and remembers nothing: equal numbers have equal results,
independently of earlier calls and of other numbers. That is why `accountant.Private.map` takes it without an
assumption.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import math
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray, plain_copy
from mechanisms.domains.choices import Categories, Integers, OneHot
from mechanisms.domains.domain import Ball, Box, Domain, Interval
from mechanisms.numerics.rounding import multiply_up
from mechanisms.parameters import DomainError, ParameterError

if TYPE_CHECKING:
    from mechanisms.noise.mechanism import Mechanism
    from mechanisms.transformations.before_mechanism import Transformed


class Transformation(abc.ABC):
    """A deterministic function of one record's value, the same for every value on the leading axes.

    Laws, which hold for the floats that `apply` computes:

    1. For values in a domain d, ``apply(values)`` lies in ``output_domain(d)``; so the sensitivity of that bounds the
       movement of the result by one record.
    2. In exact arithmetic ``‖apply(x) - apply(y)‖₁ <= stability ‖x - y‖₁`` (distances of categories are 0 or 1; where
       `stability` is infinite there is no bound). Floating point adds less than
       ``2⁻⁵² (n + 2)`` times the size of the numbers involved, n the values' length.

    Parameters are copied, checked and made read-only where they are public numbers. Subclasses of users are
    assumptions, like every class that is not this library's own.
    """

    coordinatewise: ClassVar[bool] = False
    """True if each coordinate is transformed on its own and the same way, so that law 2 holds in every norm."""
    takes_categories: ClassVar[bool] = False
    """True if values are category names."""

    @property
    @abc.abstractmethod
    def stability(self) -> float:
        """The Lipschitz constant in L1 norm; infinite for a function with jumps."""

    @abc.abstractmethod
    def output_domain(self, domain: Domain) -> Domain:
        """Return where the results of values in `domain` lie.

        Raises
        ------
        DomainError
            If the transformation is not made for such values.
        """

    @abc.abstractmethod
    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the results of values in a domain that `output_domain` takes, unchecked; they may overflow.

        The last axis is one value, of length 1 for scalars, and so is the result's; leading axes are any.
        """

    def __call__(self, values: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the results of public values.

        Parameters
        ----------
        values
            Vectors on the last axis, numbers, or category names (each entry is a value then); leading axes are any.

        Raises
        ------
        DomainError
            If a value is NaN, or of a kind that the transformation is not made for.
        """
        array = np.asarray(values)
        if array.dtype.kind not in "biuf" or np.isnan(array).any():
            raise DomainError(f"values of type {array.dtype}: must be real numbers, none of them NaN")
        scalars = self.takes_categories or array.ndim == 0
        if scalars:
            array = array[..., None]
        domain = self._public_domain(array)
        domain.check(array[..., 0] if domain.shape == () else array, "values")
        into = self.output_domain(domain)
        with np.errstate(all="ignore"):
            result = self.apply(array)
        return result[..., 0] if into.shape == () and (scalars or not self.coordinatewise) else result

    def _public_domain(self, array: npt.NDArray[Any]) -> Domain:
        """Return the domain of public values of this form."""
        return (
            reals(array.shape[-1]) if array.ndim > 1 or array.shape[-1] > 1 else Interval(-math.inf, math.inf)
        )

    @overload
    def __rshift__(self, after: Transformation) -> Chain: ...

    @overload
    def __rshift__(self, after: Mechanism) -> Transformed: ...

    def __rshift__(self, after: Any) -> Any:
        """Return this transformation followed by another, or by a mechanism."""
        if isinstance(after, Transformation):
            return Chain((*parts_of(self), *parts_of(after)))
        if hasattr(after, "release") and hasattr(after, "profile") and not isinstance(after, type):
            from mechanisms.transformations.before_mechanism import Transformed

            return Transformed(self, after)
        return NotImplemented

    def __eq__(self, other: object) -> bool:
        """Return True if the other is of the same class with the same parameters, bit for bit."""
        if type(other) is not type(self):
            return NotImplemented
        return self._parameters == other._parameters

    def __hash__(self) -> int:
        """Return a hash of the parameters."""
        return hash((type(self), *self._parameters))

    @functools.cached_property
    def _parameters(self) -> tuple[Any, ...]:
        """The fields, arrays as bytes: they are read-only."""
        held = [getattr(self, field.name) for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        return tuple(
            (each.shape, each.dtype.str, each.tobytes()) if isinstance(each, np.ndarray) else each
            for each in held
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Chain(Transformation):
    """Transformations one after the other.

    Stability: the product of theirs, by induction: ``‖g(f(x)) - g(f(y))‖ <= s_g ‖f(x) - f(y)‖ <= s_g s_f ‖x - y‖``.

    Parameters
    ----------
    parts
        The transformations, from the first to the last.
    """

    parts: tuple[Transformation, ...]

    def __post_init__(self) -> None:
        if type(self.parts) is not tuple or not all(isinstance(part, Transformation) for part in self.parts):
            raise ParameterError(f"parts = {self.parts!r}: must be a tuple of transformations")

    @property
    def coordinatewise(self) -> bool:  # type: ignore[override]
        """True if all parts are coordinatewise."""
        return all(part.coordinatewise for part in self.parts)

    @property
    def stability(self) -> float:
        """The product of the parts' stabilities, rounded up."""
        product = 1.0
        for part in self.parts:
            product = product if part.stability == 1.0 else multiply_up(product, part.stability)
        return product

    def output_domain(self, domain: Domain) -> Domain:
        """Return where the last part's results lie."""
        for part in self.parts:
            domain = part.output_domain(domain)
        return domain

    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the last part's results."""
        for part in self.parts:
            values = part.apply(values)
        return values

    def __call__(self, values: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the results of public values, part by part."""
        result = np.asarray(values)
        for part in self.parts:
            result = part(result)
        return result


def parts_of(transformation: Transformation) -> tuple[Transformation, ...]:
    """Return the parts of a chain, or the transformation itself."""
    return transformation.parts if isinstance(transformation, Chain) else (transformation,)


# --- for subclasses --------------------------------------------------------------------------------


def public_array(name: str, value: npt.ArrayLike, *, most_axes: int = 2) -> FloatArray:
    """Return a read-only copy of public finite numbers.

    Raises
    ------
    ParameterError
        If they are none, or of an array subclass: its methods would see the values it is combined with.
    """
    kept = _plain_copy(name, value)
    if kept.dtype.kind not in "biuf" or not np.isfinite(kept).all() or kept.ndim > most_axes:
        raise ParameterError(
            f"{name} of shape {kept.shape} and type {kept.dtype}: must be finite real numbers with at most "
            f"{most_axes} axes"
        )
    return _read_only(kept.astype(np.float64))


def public_index(name: str, value: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return a read-only copy of public whole numbers, shape (k,) or (lanes, k).

    Raises
    ------
    ParameterError
        As `public_array`.
    """
    kept = _plain_copy(name, value)
    if kept.ndim and kept.shape[-1] == 0:
        raise ParameterError(f"{name} = {kept.tolist()}: must choose at least one coordinate")
    if kept.dtype.kind not in "iu" or kept.ndim not in (1, 2):
        raise ParameterError(
            f"{name} of shape {kept.shape} and type {kept.dtype}: must be whole numbers of shape (k,) or (lanes, k)"
        )
    index: npt.NDArray[np.int64] = _read_only(kept.astype(np.int64))
    return index


def _plain_copy(name: str, value: Any) -> npt.NDArray[Any]:
    if isinstance(value, np.ndarray) and type(value) is not np.ndarray:
        raise ParameterError(
            f"{name} is a {type(value).__name__}: must be a plain numpy array, not of a subclass"
        )
    try:
        return plain_copy(value)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{name}: not an array of numbers ({error})") from None


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array


def plain_real(name: str, value: Any) -> float:
    """Return one finite real number as a float of exactly that type."""
    plain = type(value) is float and math.isfinite(value)
    return float(value if plain else public_array(name, value, most_axes=0))


def reals(size: int) -> Box:
    """Return all vectors of `size` real numbers."""
    return Box(-math.inf, math.inf, size)


def bounds_of_coordinates(domain: Domain, made_for: str) -> tuple[float, float, int | None]:
    """Return the lowest and highest number of a domain of numbers, and the length of its vectors; None for scalars.

    Raises
    ------
    DomainError
        If it holds category names, or is no domain of this library.
    """
    if isinstance(domain, Interval):
        return domain.lower, domain.upper, None
    if isinstance(domain, Box | Integers):
        return float(domain.lower), float(domain.upper), domain.size
    if isinstance(domain, OneHot):
        return 0.0, 1.0, domain.size
    if isinstance(domain, Ball):
        return -domain.radius, domain.radius, domain.size
    kind = "category names" if isinstance(domain, Categories) else "a domain that this library does not know"
    raise DomainError(f"{made_for} takes real numbers, and {domain} is {kind}")


def interval_or_box(lower: float, upper: float, size: int | None) -> Domain:
    """Return the interval, or the box of vectors of `size` coordinates."""
    return Interval(lower, upper) if size is None else Box(lower, upper, size)
