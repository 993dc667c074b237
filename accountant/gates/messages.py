"""Messages drawn on a record's own device: their check, and a placeholder for the value, which stays there."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms import Assumption, AssumptionKind, Categories, Domain, Mechanism, OneHot
from mechanisms.arrays import plain_copy
from mechanisms.noise.mechanism import needs_whole_numbers
from mechanisms.parameters import ParameterError

DRAWN_BY = "the record's device"
"""The noise source of such a message in the ledger."""

DRAWN_ELSEWHERE = Assumption(
    AssumptionKind.DEVICE,
    "a message was drawn by its record's own device, through the mechanism that was asked for",
    "",
)


def some_value(domain: Domain) -> Any:
    """Return an arbitrary value of a domain, the same each time: the cost of a release depends on the domain alone."""
    if isinstance(domain, Categories):
        return 0
    zeros = np.zeros(domain.shape)
    if isinstance(domain, OneHot):
        zeros[0] = 1.0
        return zeros
    return domain.clip(zeros)


def checked_message(mechanism: Mechanism, message: npt.ArrayLike, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return a message as a mechanism's output of this shape (lanes, n).

    Raises
    ------
    ParameterError
        If the mechanism outputs nothing of the kind.
    """
    kinds, words = ("iu", "whole numbers") if needs_whole_numbers(mechanism) else ("iuf", "numbers")
    try:
        found = plain_copy(message)  # copied, as a mask is
    except ValueError:  # lists of different lengths
        found = np.asarray(None)
    if found.dtype.kind not in kinds or found.shape not in (shape, shape[1:]):
        raise ParameterError(f"message = {message!r}: must be {shape[-1]} {words}")
    outputs = found.reshape(shape)
    with np.errstate(over="ignore"):
        likely = mechanism.log_density(outputs, np.zeros(shape, dtype=np.int64))
    if not np.isfinite(likely).all():
        raise ParameterError(f"message = {message!r}: is nothing that {type(mechanism).__name__} outputs")
    return outputs
