"""Checks of parameters: a refusal names the parameter, the value and the rule. Functions of a value of parameters."""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, ParamSpec, TypeVar, cast

from dpwitness import field_types

LEAST_DELTA = 1e-300
"""The least delta that noise is calibrated for: near the smallest floats too few digits are left to prove anything."""


_LONGEST_VALUE, _LONGEST_MESSAGE = 100, 1_000
"""Characters of a refused value, and of a message, that are shown."""


class DPWitnessError(Exception):
    """Base class of the errors of dpwitness; each is a built-in one, such as `ValueError`, as well."""

    def __str__(self) -> str:
        """Return the message, however long the texts that it quotes are."""
        return shorten(super().__str__(), _LONGEST_MESSAGE)


class ParameterError(DPWitnessError, ValueError):
    """A parameter breaks its rule; the message names the parameter, its value and the rule."""


class DomainError(DPWitnessError, ValueError):
    """A value lies outside the domain it was declared to come from."""


class DensityUnavailable(DPWitnessError, TypeError):
    """The mechanism's output has no density known to this library."""


def shorten(text: str, longest: int) -> str:
    """Return a text, cut in the middle if it has more than so many characters.

    Examples
    --------
    >>> shorten("0123456789", longest=6)
    '0 ... (8 characters) ... 9'
    """
    half = max(longest // 4, 1)
    if len(text) <= longest:
        return text
    return f"{text[:half]} ... ({len(text) - 2 * half} characters) ... {text[-half:]}"


def quoted(value: object) -> str:
    """Return a value as refusals quote it: shortened, and in words if Python cannot write it.

    Examples
    --------
    >>> quoted(10**5000)
    'a whole number of 16,610 binary digits'
    """
    try:
        return shorten(repr(value), _LONGEST_VALUE)
    except Exception:  # whole numbers of more than 4,300 digits have no text, nor have some objects of users
        if isinstance(value, int):
            return f"a whole number of {value.bit_length():,} binary digits"
        return f"a {type(value).__name__} that cannot be written"


def build_from(kind: type[Any], fields: Mapping[str, Any]) -> Any:
    """Return an object with these parameters; raise `ParameterError` if one is missing, or none of the class's."""
    try:
        inspect.signature(kind).bind(**fields)
    except TypeError as error:
        raise ParameterError(f"{kind.__name__}: {error}") from None
    return kind(**fields)


def real(name: str, value: Any) -> float:
    """Return ``value`` as a float; raise `ParameterError` if it is not one real number or is NaN.

    A whole number that no float is equal to is refused, too: another number would be charged.
    """
    if type(value) is not float and (isinstance(value, bool) or not isinstance(value, numbers.Real)):
        raise ParameterError(f"{name} = {quoted(value)}: must be one real number")
    try:
        number = float(value)
    except OverflowError:
        raise ParameterError(f"{name} = {quoted(value)}: is larger than every float") from None
    if math.isnan(number):
        raise ParameterError(f"{name} = nan: must be a number")
    if type(value) is not float and isinstance(value, numbers.Integral) and number != int(value):
        raise ParameterError(f"{name} = {quoted(value)}: must be a float or equal to one, as {number!r} is")
    return number


def positive(name: str, value: Any) -> float:
    """Return ``value`` as a float; raise `ParameterError` unless it is positive and finite."""
    number = real(name, value)
    if not 0.0 < number < math.inf:
        raise ParameterError(f"{name} = {quoted(value)}: must be positive and finite")
    return number


def nonnegative(name: str, value: Any) -> float:
    """Return ``value`` as a float; raise `ParameterError` if it is negative (infinity is allowed)."""
    number = real(name, value)
    if number < 0.0:
        raise ParameterError(f"{name} = {quoted(value)}: must not be negative")
    return number


def within(name: str, value: Any, low: float, high: float, why: str = "") -> float:
    """Return ``value`` as a float; raise `ParameterError`, and say why, unless it is a number from low to high."""
    try:
        number = real(name, value)
    except ParameterError:
        number = math.nan
    if not low <= number <= high:
        raise ParameterError(f"{name} = {quoted(value)}: must be a number from {low:g} to {high:g}{why}")
    return number


def half_open_unit(name: str, value: Any) -> float:
    """Return ``value`` as a float; raise `ParameterError` unless it lies in [0, 1)."""
    number = real(name, value)
    if not 0.0 <= number < 1.0:
        raise ParameterError(f"{name} = {quoted(value)}: must lie in [0, 1)")
    return number


def open_unit(name: str, value: Any) -> float:
    """Return ``value`` as a float; raise `ParameterError` unless it lies in (0, 1)."""
    number = real(name, value)
    if not 0.0 < number < 1.0:
        raise ParameterError(f"{name} = {quoted(value)}: must lie in (0, 1)")
    return number


def whole_number(name: str, value: Any, *, least: int, bits: int = 63) -> int:
    """Return ``value`` as an int; raise `ParameterError` unless it is a whole number >= ``least`` and < 2^bits."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ParameterError(f"{name} = {quoted(value)}: must be a whole number")
    number = int(value)
    if number < least:
        raise ParameterError(f"{name} = {quoted(value)}: must be at least {least}")
    if number >= 2**bits:
        raise ParameterError(f"{name} = {quoted(value)}: must be below 2^{bits}")
    return number


def finite_nonnegative(name: str, value: Any) -> float:
    """Return ``value`` as a float; raise `ParameterError` if it is negative or infinite."""
    number = nonnegative(name, value)
    if math.isinf(number):
        raise ParameterError(f"{name} = inf: must be finite")
    return number


def check_largest_loss(name: str, loss: Fraction) -> None:
    """Check that a mechanism's largest loss leaves room to be added up in floats."""
    if loss > 1e290:
        raise ParameterError(f"{name}: the largest privacy loss must be at most 1e290")


_Fields = ParamSpec("_Fields")
_Value = TypeVar("_Value")
_Result = TypeVar("_Result")


def takes(
    kind: Callable[_Fields, _Value],
) -> Callable[[Callable[[_Value], _Result]], Callable[_Fields, _Result]]:
    """Let a function of one frozen value take the value's fields as its parameters.

    The fields become its signature. The attributes that the class and its bases document are added to the parameters
    of its documentation.

    Parameters
    ----------
    kind
        The class of the value, a dataclass. It checks the fields, once.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Sides:
    ...     length: int
    ...     width: int = 1
    >>> @takes(Sides)
    ... def area(sides: Sides) -> int:
    ...     return sides.length * sides.width
    >>> area(3, width=2)
    6
    """
    classes = reversed(cast("type", kind).__mro__)
    types = field_types(cast("type", kind))
    attributes = "".join(_attributes(vars(each).get("__doc__") or "") for each in classes)

    def decorate(function: Callable[[_Value], _Result]) -> Callable[_Fields, _Result]:
        returned = inspect.signature(function).return_annotation
        signature = inspect.signature(kind).replace(return_annotation=returned)

        @functools.wraps(function)
        def called(*args: _Fields.args, **kwargs: _Fields.kwargs) -> _Result:
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:  # in the name of the function, not of the class
                raise TypeError(f"{function.__name__}(): {error}") from None
            return function(kind(*args, **kwargs))

        vars(called)["__signature__"] = signature
        called.__annotations__ = {name: types[name] for name in signature.parameters} | {"return": returned}
        before, *after = re.split(_AFTER_PARAMETERS, inspect.getdoc(function) or "", maxsplit=1)
        called.__doc__ = "\n\n".join([before + attributes, *after])
        return called

    return decorate


_AFTER_PARAMETERS = r"\n\n(?=(?:Returns|Raises|Examples)\n-)"


def _attributes(documentation: str) -> str:
    """Return the attributes of a class as its documentation has them."""
    found = re.search(
        r"\nAttributes\n-+(\n.+?)(?=\n\n\w+\n-|\Z)", inspect.cleandoc(documentation), flags=re.DOTALL
    )
    return "" if found is None else found[1]
