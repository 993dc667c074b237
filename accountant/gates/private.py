"""Private values: user data that can be combined but not read.

A `Private` value can be sliced by a public index, added to, scaled, summed and mapped by a
transformation. It cannot be read, compared, branched on or turned into an array; the only way
out is through its gate.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from accountant.gates.declared import declared_function
from accountant.gates.lineage import UNTRACKED, Lineage
from accountant.place import Place, calling_place
from accountant.refusals import ForeignValue, RawRead
from mechanisms import Box, Categories, Chain, Domain, DomainError, Transformation
from mechanisms.arrays import plain_copy
from mechanisms.domains.float_bounds import grid_of, is_bounded
from mechanisms.parameters import ParameterError

if TYPE_CHECKING:
    from accountant.gates.gate import Gate

_PublicNumber = float | npt.NDArray[Any]


def _reading_method(how: str, operation: Callable[..., Any]) -> Any:
    """Return the method that applies an operation to the raw value, unless its gate refuses the read."""

    def apply_operation(self: Private, *others: Any) -> Any:
        return operation(self._raw_values(how), *others)

    return apply_operation


def refuse_copy(value: object) -> NoReturn:
    """Raise `RawRead`: a private value was copied or pickled."""
    refuse_read("copied or pickled", calling_place())


class Private:
    """A private array of shape ``(lanes, n)``, owned by one gate.

    Internally the array has one more leading axis: the data set and, under a coupled gate, its
    neighbours side by side. Names that start with an underscore belong to the gates; Python cannot
    hide them, and reading them is outside of everything a gate guarantees.
    """

    __slots__ = ("_categories", "_domain", "_gate", "_parts", "_provenance", "_values")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        gate: Gate,
        values: npt.NDArray[Any],
        provenance: Lineage = UNTRACKED,
        *,
        categories: int = 0,
        domain: Domain | None = None,
        parts: int = 1,
    ) -> None:
        self._gate = gate
        self._values = values
        self._provenance = provenance
        if isinstance(domain, Categories):
            categories = domain.size
        self._categories = categories  # the number of category names; 0 for numbers
        self._domain = domain  # the domain of each lane's value, if it is known ...
        self._parts = parts  # ... or of each of so many values that were added up

    @property
    def shape(self) -> tuple[int, ...]:
        """The public shape ``(lanes, n)``."""
        return self._values.shape[1:]

    def __repr__(self) -> str:
        return f"<private value of shape {self.shape}>"

    # --- operations that keep a value private ----------------------------------------------------
    # An overflow may depend on the data: NumPy must not report it, not even by a warning.

    def take(self, index: npt.NDArray[np.int64]) -> Private:
        """Slice by a public index along the last axis.

        Parameters
        ----------
        index
            Whole numbers, shape (lanes, k); a negative entry is padding and yields 0.

        Returns
        -------
        Private
            Shape (lanes, k). A coordinate that is taken twice moves twice.

        Raises
        ------
        ParameterError
            If the index has another shape or type, or an entry is not below n.
        """
        index = plain_copy(index)  # copied: the checked index is used, even if the buffer changes
        lanes, size = self.shape
        wrong = index.ndim != 2 or index.shape[0] != lanes or index.dtype.kind not in "iu"
        if wrong or not (index < size).all():
            raise ParameterError(
                f"index of shape {index.shape} and type {index.dtype}: must be whole numbers of shape "
                f"(lanes={lanes}, k), all below {size}"
            )
        index = index.astype(np.int64)  # unsigned and signed numbers have no whole type in common
        self._gate.operates(self, index)
        rows = np.arange(lanes)[:, None]
        if index.size and index.min() < 0:
            values = np.where(index >= 0, self._values[:, rows, np.maximum(index, 0)], 0)
        else:
            values = self._values[:, rows, index]
        return Private(self._gate, values, self._provenance.take(index), categories=self._categories)

    def sum(self) -> Private:
        """Sum over the last axis, which stays with length 1.

        Raises
        ------
        TypeError
            If the value is a category.
        """
        self._check_number("summed")
        self._gate.operates(self)
        with np.errstate(all="ignore"):
            total = self._values.sum(axis=-1, keepdims=True)
        return Private(self._gate, total, self._provenance.sum_coordinates())

    def map(
        self,
        function: Transformation | Callable[[npt.NDArray[Any]], npt.NDArray[Any]],
        *,
        into: Domain | None = None,
        stability: float | None = None,
    ) -> Private:
        """Apply a transformation to every lane's value, or a function that you declare to be one.

        A transformation (`mechanisms.transformations`) has an output domain and a stability, which are proved for those
        of this library. A Python function could remember its arguments: that it depends on nothing but its argument is
        an assumption, which no certificate rests on. It gets a copy of the raw values. So that the result's form shows
        nothing about the data, its shape and type may not depend on the values, and errors about it never quote them.
        An error is information about the data by itself: the gate closes, so that no caller can catch the error and go
        on.

        Parameters
        ----------
        function
            A transformation, made for the domain that the value is known to lie in (vectors of any numbers, where it
            was computed from other values). Or a function that maps an array of shape ``(worlds, lanes, n)`` to
            ``(worlds, lanes)`` or ``(worlds, lanes, k)``, each ``[world, lane]`` on its own.
        into
            For a function: the domain that each lane's result lies in; checked for every value. How far a record moves
            the result then follows from the domain.
        stability
            Alternatively a Lipschitz constant in L1 norm, an assumption; coupled runs check it on real neighbours.

        Returns
        -------
        Private
            Shape (lanes, k). In a bounded domain each result is rounded to its grid: see
            `mechanisms.domains.float_bounds`.

        Raises
        ------
        ParameterError
            If not exactly one of `into` and `stability` is given with a function, or one of them with a
            transformation; if a result has the wrong shape or type, or is not finite.
        DomainError
            If a transformation is not made for such values, or a result lies outside `into`.
        TypeError
            If `stability` is given for a category.
        AssumptionRefused
            If the gate is strict, and this rests on an unchecked assumption.
        """
        if isinstance(function, Transformation):
            if into is not None or stability is not None:
                raise ParameterError(
                    "map needs neither `into` nor `stability` with a transformation, which knows them"
                )
            return self._apply_transformation(function)
        if (into is None) == (stability is None):
            raise ParameterError("map needs exactly one of `into` (a domain) and `stability` (a number)")
        if not callable(function):
            raise ParameterError(f"function = {function!r}: must be a transformation or callable")
        self._gate.operates(self, stability)
        if stability is not None:
            self._check_number("mapped by a Lipschitz function")
            if not 0 <= stability < math.inf:
                raise ParameterError(f"stability = {stability!r}: must be a finite number, at least 0")
        declared = declared_function(function)
        if into is not None:
            own, assumptions = self._gate.examine(into)
            self._gate.assume(*assumptions, declared)
            with self._close_on_error():
                results = self._place_on_grid(own, self._reshape(own, self._apply(function, self._values)))
            self._gate.try_function(function, self._values, self._domain)
            return Private(self._gate, results, self._provenance.map_to_domain(own), domain=own)
        assert stability is not None
        self._gate.assume(declared)
        with self._close_on_error():
            results, offset = self._apply_in_form(function)
        self._gate.try_function(function, self._values, self._domain)
        self._gate.check_stability(self._values, results, stability)
        origin = self._provenance.stretch_by(stability, results.shape[-1], offset, 0)
        return Private(self._gate, results, origin)

    def _apply_transformation(self, transformation: Transformation) -> Private:
        transformation, assumptions = self._gate.examine(transformation)
        self._gate.assume(*assumptions)
        if self._categories and self.shape[-1] != 1:
            raise DomainError(
                f"{type(transformation).__name__} takes one category, and this value has {self.shape[-1]}: take one"
            )
        self._gate.operates(self, None if assumptions else transformation)
        known = self._domain if self._parts == 1 else None
        if known is None:
            known = (
                Categories(self._categories) if self._categories else Box(-math.inf, math.inf, self.shape[-1])
            )
        into = transformation.output_domain(known)
        if assumptions:  # else it is a domain of this library, as the transformation is
            into, more = self._gate.examine(into)
            self._gate.assume(*more)
        bounded = is_bounded(into)
        if not bounded and isinstance(transformation, Chain):  # the rounding between its parts counts, too
            value = self
            for part in transformation.parts:
                value = value._apply_transformation(part)
            return value
        with self._close_on_error():
            results = self._reshape(into, self._apply(transformation.apply, self._values))
            results = self._place_on_grid(into, results) if bounded else _check_finite(results)
        if bounded:
            origin = self._provenance.map_to_domain(into, None if assumptions else (transformation, known))
            return Private(self._gate, results, origin, domain=into)
        if assumptions:  # its stability is declared, as a function's is
            self._gate.check_stability(self._values, results, transformation.stability)
        offset = float(np.abs(transformation.apply(np.zeros((1, 1, self.shape[-1])))).max(initial=0.0))
        units = self.shape[-1] + 2  # law 2 of transformations
        origin = self._provenance.stretch_by(transformation.stability, results.shape[-1], offset, units)
        return Private(self._gate, results, origin)

    def _reshape(self, domain: Domain, results: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return results as (worlds, lanes, k): one value of the domain for each world's lane, and nothing beside it.

        A record's charge follows from the domain or the stability, both of which are about one such value.
        """
        leading = self._values.shape[:2]
        size = math.prod(domain.shape)
        if results.shape not in ((*leading, size), (*leading, *domain.shape)):
            raise DomainError(f"map: {_OUTSIDE.format(domain=domain, leading=leading)}")
        return results.reshape(*leading, size)

    def _place_on_grid(self, domain: Domain, results: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return results of the right shape on the grid of the domain that each must lie in."""
        try:
            checked = domain.check(results.reshape(*results.shape[:2], *domain.shape))
            return grid_of(domain).onto(checked).reshape(results.shape)
        except DomainError:
            pass  # its message quotes the value, and so would an exception raised while handling it
        raise DomainError(f"map: {_OUTSIDE.format(domain=domain, leading=results.shape[:2])}")

    @contextlib.contextmanager
    def _close_on_error(self) -> Iterator[None]:
        """Close the gate after a function of the raw value failed: that it fails may depend on the value."""
        try:
            yield
        except BaseException as error:
            self._gate.close(f"a function in map failed ({type(error).__name__})", calling_place())
            raise

    @staticmethod
    def _apply(function: Callable[[Any], Any], values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        with np.errstate(all="ignore"):
            return np.array(function(values.copy()))  # copies: the function may keep or change what it got

    def _apply_in_form(self, function: Callable[[Any], Any]) -> tuple[npt.NDArray[Any], float]:
        """Apply a function; refuse a result of another form than for zeros; return the largest size of the latter."""
        form = self._apply(function, np.zeros_like(self._values))
        leading = self._values.shape[:2]
        if form.shape[:2] != leading or form.ndim > 3 or form.dtype.kind not in "biuf":
            raise ParameterError(
                f"map: the function turns shape {self._values.shape} into {form.shape} of type {form.dtype}; "
                f"it must give real numbers of shape {leading} or {(*leading, 'k')}"
            )
        results = self._apply(function, self._values)
        if results.shape != form.shape or results.dtype != form.dtype:
            raise ParameterError("map: the shape or type of the function's result depends on the data")
        number = np.int64 if results.dtype.kind in "iu" else np.float64
        offset = float(np.abs(form.astype(np.float64)).max(initial=0.0))
        return _check_finite(results).reshape(*leading, -1).astype(number), offset

    def __add__(self, other: Private | _PublicNumber) -> Private:
        self._check_number("added to")
        if not isinstance(other, Private):
            number = self._check_operand(other)
            self._gate.operates(self, number)
            with np.errstate(all="ignore"):
                return Private(self._gate, self._values + number, self._provenance.shift_by(number))
        other._check_number("added to")
        if other._gate is not self._gate:
            raise ForeignValue("two private values of different gates cannot be combined", calling_place())
        if other.shape != self.shape:
            raise ParameterError(
                f"private values of shapes {self.shape} and {other.shape}: must be of one shape"
            )
        for each in (self, other):
            self._gate.operates(each)
        with np.errstate(all="ignore"):
            total = self._values + other._values
        domain = self._domain if self._domain == other._domain else None
        parts = self._parts + other._parts
        origin = self._provenance.add(other._provenance)
        return Private(self._gate, total, origin, domain=domain, parts=parts)

    __radd__ = __add__

    def __mul__(self, factor: _PublicNumber) -> Private:
        if isinstance(factor, Private):
            self._refuse("multiplied by another private value")
        self._check_number("scaled")
        factor = self._check_operand(factor)
        self._gate.operates(self, factor)
        with np.errstate(all="ignore"):
            product = self._values * factor
        return Private(self._gate, product, self._provenance.scale_by(factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor: _PublicNumber) -> Private:
        if isinstance(divisor, Private):
            self._refuse("divided by another private value")
        with np.errstate(all="ignore"):
            return self * (1.0 / self._check_operand(divisor))

    def __neg__(self) -> Private:
        return self * -1.0

    def __sub__(self, other: Private | _PublicNumber) -> Private:
        return self + (-other if isinstance(other, Private) else -self._check_operand(other))

    def __rsub__(self, other: _PublicNumber) -> Private:
        return (-self) + other

    def _check_operand(self, number: _PublicNumber) -> npt.NDArray[np.float64]:
        """Check a public operand: finite numbers that stretch the value over no further axis."""
        try:
            given = plain_copy(number)  # as an index is
            if given.dtype.kind not in "biufO":
                raise TypeError("complex numbers and texts are none")
            with np.errstate(all="ignore"):  # what is beyond floats is refused below
                array = given.astype(np.float64)
        except (OverflowError, TypeError, ValueError) as error:
            raise ParameterError(
                f"a public operand of a private value must be a number, or an array of them, that fits a float: {error}"
            ) from None
        if not np.isfinite(array).all():
            raise ParameterError("a public operand of a private value must be finite (and a divisor not 0)")
        stretches = array.ndim > len(self.shape) or any(
            width not in (1, own) for width, own in zip(array.shape[::-1], self.shape[::-1], strict=False)
        )
        if stretches:
            raise ParameterError(
                f"a public operand of shape {array.shape}: must broadcast to the private value's {self.shape}"
            )
        return array

    def _check_number(self, how: str) -> None:
        if self._categories:
            raise TypeError(f"a private category cannot be {how}: its number is only a name")

    # --- reads: every one of them is refused -----------------------------------------------------

    def _refuse(self, how: str) -> NoReturn:
        refuse_read(how, calling_place())

    def _raw_values(self, how: str) -> npt.NDArray[Any]:
        return self._gate.raw_read(self, how, calling_place())

    __bool__ = _reading_method("branched on", bool)
    __float__ = _reading_method("turned into a float", lambda value: float(value.item()))
    __int__ = _reading_method("turned into an int", lambda value: int(value.item()))
    __index__ = _reading_method("used as an index", lambda value: int(value.item()))

    def __format__(self, spec: str) -> str:
        return format(self._raw_values("formatted").item(), spec) if spec else repr(self)

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[Any]:
        return np.array(self._raw_values("turned into an array"), dtype=dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Hand NumPy's operators over to those of private values; every other ufunc would read the value."""
        reflected = _REFLECTED.get(ufunc.__name__)
        if reflected and method == "__call__" and not options and not isinstance(inputs[0], Private):
            return getattr(self, reflected)(inputs[0])
        how = "changed in place through" if "out" in options else "passed to"
        self._raw_values(f"{how} numpy.{ufunc.__name__}")
        return getattr(ufunc, method)(*map(_raw_value, inputs), **options)

    __abs__ = _reading_method("passed to abs", operator.abs)
    __pow__ = _reading_method("raised to a power", operator.pow)
    __matmul__ = _reading_method("multiplied as a matrix (use map with a stability)", operator.matmul)
    __mod__ = _reading_method("divided with remainder", operator.mod)
    __floordiv__ = _reading_method("divided with remainder", operator.floordiv)
    __iter__ = _reading_method("iterated over", iter)
    __getitem__ = _reading_method("indexed (use take)", operator.getitem)
    __lt__ = _reading_method("compared", operator.lt)
    __le__ = _reading_method("compared", operator.le)
    __gt__ = _reading_method("compared", operator.gt)
    __ge__ = _reading_method("compared", operator.ge)
    __eq__ = _reading_method("compared", operator.eq)
    __ne__ = _reading_method("compared", operator.ne)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        if function is np.shape:
            return self.shape
        self._raw_values(f"passed to numpy.{function.__name__}")
        return function(*map(_raw_value, args), **{name: _raw_value(value) for name, value in kwargs.items()})

    def __len__(self) -> int:
        return self.shape[0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._raw_values(f"read through its attribute {name!r}"), name)

    __reduce__ = __getstate__ = refuse_copy


_REFLECTED = {"add": "__radd__", "subtract": "__rsub__", "multiply": "__rmul__"}
"""NumPy's binary operators, for public arrays on the left of a private value."""


_OUTSIDE = "a result lies outside {domain}, or is not one value of it for each of {leading} (worlds, lanes)"
"""One message for both: the shape of a function's result may depend on the data, as its values do."""


def refuse_read(how: str, where: Place) -> NoReturn:
    """Raise `RawRead`: at this place, a private value was read in this way."""
    raise RawRead(f"a private value was {how}; release it through its gate, or declassify it", where)


def _check_finite(results: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if not np.isfinite(results).all():
        raise ParameterError("map: the function's result is not finite")
    return results


def _raw_value(argument: Any) -> Any:
    """Return an argument of a NumPy function with private values in it read, as far as their gate permits."""
    if isinstance(argument, Private):
        return np.asarray(argument)
    if isinstance(argument, list | tuple):
        return type(argument)(map(_raw_value, argument))
    return argument
