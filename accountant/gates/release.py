"""The parts of a release that all gates share: the checks, and the draw of the outputs."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from accountant.gates.private import Private
from accountant.gates.private_sums import PrivateSums, checked_mask
from accountant.place import calling_place
from accountant.refusals import ForeignValue, SensitivityExceeded
from mechanisms import (
    Assumption,
    LaneStreams,
    Mechanism,
    NoiseSource,
    NumpyNoise,
    PostProcessed,
    Randomness,
    Sensitivity,
    Transformed,
    assumptions_of,
)
from mechanisms.noise.mechanism import (
    is_categorical,
    needs_whole_numbers,
    needs_whole_values,
    samples_securely,
)
from mechanisms.parameters import ParameterError, quoted

if TYPE_CHECKING:
    from accountant.budget import Amount
    from accountant.gates.closing import Closing
    from accountant.gates.gate import Gate, Mask
    from mechanisms.assumptions import Examination


@dataclass(frozen=True, slots=True, eq=False)
class GateMechanism:
    """A mechanism as a gate uses it, and its properties for releases.

    Attributes
    ----------
    mechanism
        The mechanism to draw from: a copy without other references, where results are guarantees.
    shown
        An equal one, which is charged, and which ledgers, quotes and tapes show.
    assumptions
        Its unchecked assumptions.
    categorical, whole_numbers, whole_values
        True if values must be category names, of an integer type, whole.
    categories
        The number of category names that it knows, if it takes these; None for any number.
    samples_securely
        True if secure noise sources can draw it.
    charges
        The charge of a record with a sensitivity, by the identity of the sensitivity.
    examination
        That of the mechanism and its noise source; None if both have to be examined again at the next release.
    """

    mechanism: Mechanism
    shown: Mechanism
    assumptions: tuple[Assumption, ...]
    categorical: bool
    whole_numbers: bool
    whole_values: bool
    categories: int | None
    samples_securely: bool
    charges: dict[int, tuple[Sensitivity, Amount]] = field(default_factory=dict)
    examination: Examination | None = None

    @classmethod
    def of_mechanism(
        cls,
        mechanism: Mechanism,
        assumptions: tuple[Assumption, ...] = (),
        *,
        shown: Mechanism | None = None,
        examination: Examination | None = None,
    ) -> GateMechanism:
        """Return the properties of a mechanism for releases; by default `shown` is the mechanism itself."""
        categorical = is_categorical(mechanism)
        return cls(
            mechanism,
            mechanism if shown is None else shown,
            assumptions,
            categorical,
            needs_whole_numbers(mechanism),
            needs_whole_values(mechanism),
            getattr(mechanism, "size", None) if categorical else None,
            samples_securely(mechanism),
            examination=examination,
        )


def check_owner(gate: Gate, private: Private | PrivateSums) -> None:
    """Refuse anything but this gate's own private values.

    Raises
    ------
    ForeignValue
        If the value is not private, or of another gate.
    """
    if type(private) not in (Private, PrivateSums):  # a subclass may claim anything of itself
        raise ForeignValue(
            f"got a {type(private).__name__}: only values that entered through `private` have an account",
            calling_place(),
        )
    if private._gate is not gate:
        raise ForeignValue("this private value belongs to another gate", calling_place())


def checked_mechanism(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism that draws noise, behind its transformations if it has any.

    Raises
    ------
    ParameterError
        If it is none.
    """
    while isinstance(mechanism, Transformed):
        mechanism = mechanism.mechanism
    if isinstance(mechanism, type) or not hasattr(mechanism, "release"):
        raise ParameterError(
            f"mechanism = {quoted(mechanism)}: must be a mechanism, such as Laplace(scale=...) (an instance, not the "
            "class)"
        )
    return mechanism


def check_source(mechanism: Mechanism, noise: NoiseSource) -> None:
    """Raise `ValueError` if the noise source is secure and cannot draw the mechanism's noise."""
    if noise.secure and not samples_securely(mechanism):
        raise ParameterError(
            f"noise = {noise.name}: {type(mechanism).__name__} has no secure sampler with these parameters; for "
            "simulations and audits pass a numpy.random.Generator"
        )


def check_release(
    gate: Gate,
    mechanism: Mechanism,
    private: Private | PrivateSums,
    where: Mask | None,
    noise: NoiseSource | None = None,
) -> tuple[GateMechanism, Private | PrivateSums, Mask | None]:
    """Make the checks that need no ledger.

    Parameters
    ----------
    gate, mechanism, private, where
        The release.
    noise
        The source that is to draw it; None if it may be any.

    Returns
    -------
    own, private, where
        The mechanism to charge and to draw from. The value that it releases: the private value, after the
        transformation in front of the mechanism, if there is one. The mask as an array.

    Raises
    ------
    ForeignValue
        As `check_owner`.
    SensitivityExceeded
        If distances would be measured in the wrong metric, or a category is unknown to the mechanism.
    ParameterError
        If the mask is not boolean or not of the value's shape, sums were to be transformed, or the noise source is
        secure and cannot draw the mechanism's noise.
    """
    gate.check_open()
    check_owner(gate, private)
    while hasattr(mechanism, "transformation") and isinstance(mechanism, Transformed):  # the former is quick
        if isinstance(private, PrivateSums):
            raise ParameterError(
                f"mechanism = {mechanism!r}: sums cannot be transformed; map the values that are added"
            )
        private = private.map(mechanism.transformation)
        mechanism = mechanism.mechanism
    own = gate.examine_mechanism(mechanism)
    wrong = ""
    if own.categorical != (private._categories > 0):
        kind = "category names" if private._categories else "numbers"
        wrong = f"the released values are {kind}, which {type(own.mechanism).__name__} is not made for"
    elif own.whole_numbers and private._values.dtype.kind not in "iu":
        wrong = (
            f"the released values are real numbers, but {type(own.mechanism).__name__} takes whole numbers: let "
            "them in through Integers or Categories"
        )
    elif own.categories is not None and own.categories < private._categories:  # its output would give it away
        wrong = (
            f"the released value is one of {private._categories} categories, but this "
            f"{type(own.mechanism).__name__} knows {own.categories}"
        )
    if wrong:
        raise SensitivityExceeded(wrong, calling_place())
    if noise is not None and noise.secure and not own.samples_securely:
        check_source(own.mechanism, noise)
    return own, private, None if where is None else checked_mask(where, private.shape)


DrawOutput = Callable[["Mechanism", npt.NDArray[Any], "NoiseSource | np.random.Generator"], Any]
"""Function that draws a mechanism's outputs for a value."""


@dataclass(frozen=True)
class _Drawing:
    """A mechanism that draws through a function of it."""

    mechanism: Mechanism
    draw: DrawOutput

    def release(self, value: npt.NDArray[Any], noise: NoiseSource | np.random.Generator) -> Any:
        """Return the outputs that the function draws."""
        return self.draw(self.mechanism, value, noise)


def split_functions(mechanism: Mechanism) -> tuple[Mechanism, Callable[[Any], Any] | None]:
    """Return a mechanism without the functions that follow it, and these as one function; None if there is none."""
    functions: list[Callable[[Any], Any]] = []
    while type(mechanism) is PostProcessed:
        functions.insert(0, mechanism.function)
        mechanism = mechanism.mechanism

    def apply_all(output: Any) -> Any:
        for function in functions:
            output = function(output)
        return output

    return mechanism, apply_all if functions else None


def _with_draw(mechanism: Mechanism, draw: DrawOutput) -> Mechanism:
    """Return a mechanism that draws through a function of it, before the functions that follow."""
    if type(mechanism) is PostProcessed:
        return replace(mechanism, mechanism=_with_draw(mechanism.mechanism, draw))
    return cast("Mechanism", _Drawing(mechanism, draw))


def _draw_or_close(
    gate: Closing, mechanism: Mechanism, value: npt.NDArray[Any], noise: NoiseSource | np.random.Generator
) -> Any:
    """Draw through a mechanism; close the gate if that fails, and it or its noise source is not this library's own.

    They get the raw value: their failure may depend on it. A function that follows sees released values only.
    """
    try:
        return mechanism.release(value, noise)
    except KeyboardInterrupt:  # the user's, and not the value's
        raise
    except BaseException as error:
        if assumptions_of((mechanism, noise)):
            gate.close(f"a mechanism failed ({type(error).__name__})", calling_place())
        raise


def sample(
    gate: Closing,
    mechanism: Mechanism,
    values: npt.NDArray[Any],
    where: Mask | None,
    noise: NoiseSource,
    streams: Randomness | None = None,
    *,
    through: DrawOutput | None = None,
) -> npt.NDArray[Any]:
    """Draw a mechanism's outputs at a mask, and 0 elsewhere.

    The gate is shut meanwhile, and closed if a mechanism or noise source that is not this library's own fails: they
    get the raw value, and their failure may depend on it. The mechanism gets the released coordinates of a lane as a
    row, if lanes release equally many coordinates or none, and else all in one row.

    Parameters
    ----------
    gate
        The gate of the release.
    mechanism, values, where
        The release: values of shape (lanes, n) without other references, as a mechanism may work in place.
    noise
        The noise source.
    streams
        The lanes' own streams behind `noise`, so that with a mask, too, each lane draws from its block's.
    through
        Function that draws in place of the mechanism, before the functions that follow it; by default the mechanism.

    Returns
    -------
    ndarray
        Shape (lanes, n), or (parts, lanes, n) for mechanisms that release the value more than once.

    Raises
    ------
    ParameterError
        If there is a mask and the mechanism changes the shape of the value that it releases.
    """
    draw: DrawOutput = functools.partial(_draw_or_close, gate)
    if through is not None or type(mechanism) is PostProcessed:
        mechanism = _with_draw(mechanism, draw)
        if through is not None:
            mechanism = _with_draw(mechanism, through)
        draw = type(mechanism).release
    try:
        gate._drawing = threading.get_ident()
        if where is None:
            return np.asarray(draw(mechanism, values, noise))
        at = np.flatnonzero(where)
        given, lane_of = values.reshape(-1)[at], at // values.shape[-1]
        many = np.bincount(lane_of, minlength=1)
        if (width := int(many.max())) and (many[many > 0] == width).all():
            given, lane_of = given.reshape(-1, width), lane_of[::width]
        if isinstance(streams, LaneStreams):
            noise = NumpyNoise(streams.for_lanes(lane_of))
        chosen = np.asarray(draw(mechanism, given, noise))
        if chosen.shape[-given.ndim :] != given.shape:
            raise ParameterError(
                f"{type(mechanism).__name__} turned {given.size} released coordinates into shape {chosen.shape}: "
                "it cannot be used with a mask"
            )
        outputs = np.zeros((*chosen.shape[: -given.ndim], *values.shape), chosen.dtype)
        outputs.reshape(*chosen.shape[: -given.ndim], -1)[..., at] = chosen.reshape(
            *chosen.shape[: -given.ndim], -1
        )
        return outputs
    finally:
        gate._drawing = None
