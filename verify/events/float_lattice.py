"""The place of a number on the floating-point lattice, by which a naive sampler may leak data in the last bits.

In real arithmetic none of this exists. In floating point, x + noise can only be a number that some noise value
reaches, so that the last bits of the output may reveal x (Mironov, *On significance of the least significant
bits for differential privacy*, CCS 2012).
"""
# ruff: noqa: D102 (the methods of every reading are documented once, at `Reading`)

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from mechanisms.arrays import FloatArray
from verify.events.readings import Reading
from verify.events.view_sample import ViewSample

_Aspect = Literal["sign", "exponent", "trailing zeros", "lowest bit"]

_PHRASES: dict[str, str] = {
    "sign": "the sign of {of} (1 is minus, of zero too)",
    "exponent": "the exponent e of {of}, written as m·2^e with 1 ≤ |m| < 2",
    "trailing zeros": "the number of trailing zero bits of the 52-bit mantissa of {of}",
    "lowest bit": "the exponent b of the largest power 2^b of which {of} is a whole multiple",
}


@dataclass(frozen=True, slots=True)
class LatticeReading(Reading):
    """Sign, exponent, number of trailing zero bits, or lowest bit of a reading; absent where it is not finite.

    Zero has 52 trailing zero bits, exponent -1023 and lowest bit 1024; subnormal numbers have exponent -1023.
    """

    kind: ClassVar[str] = "lattice"
    aspect: _Aspect
    reading: Reading

    def values(self, sample: ViewSample) -> FloatArray:
        return _lattice_values(self.aspect, sample.read_values(self.reading))

    @property
    def description(self) -> str:
        return _PHRASES[self.aspect].format(of=self.reading.description)


def _lattice_values(aspect: _Aspect, values: FloatArray) -> FloatArray:
    """The aspect of each value, read off its IEEE 754 double-precision bits."""
    bits = np.ascontiguousarray(values).view(np.uint64)
    exponent = ((bits >> np.uint64(52)) & np.uint64(0x7FF)).astype(np.float64) - 1023.0
    if aspect == "sign":
        result = (bits >> np.uint64(63)).astype(np.float64)
    elif aspect == "exponent":
        result = exponent
    else:
        mantissa = bits & np.uint64((1 << 52) - 1)
        # The lowest set bit is a power of two, which a double holds exactly; 2^52 represents none.
        lowest = np.where(mantissa == 0, np.uint64(1 << 52), mantissa & (~mantissa + np.uint64(1)))
        zeros = np.log2(lowest.astype(np.float64))
        if aspect == "trailing zeros":
            result = zeros
        else:
            subnormal = exponent == -1023.0
            result = np.where(subnormal, -1074.0, exponent - 52.0) + zeros
            result = np.where(values == 0.0, 1024.0, result)
    return np.where(np.isfinite(values), result, np.nan)
