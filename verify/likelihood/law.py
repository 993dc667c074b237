"""What a law must be able to say for a likelihood audit: `FiniteLaw`, `DensityLaw` and `PolicyLaw` can."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from accountant import CertifiedInterval
from verify.events.event import Event
from verify.events.view_sample import Column

FloatArray = npt.NDArray[np.float64]


class LawPair(Protocol):
    """The laws of one view on two neighbouring data sets."""

    @property
    def swapped(self) -> LawPair:
        """The pair in the other order."""
        ...

    def epsilon(self, delta: float = 0.0) -> CertifiedInterval:
        """The least ε ≥ 0 with δ(ε) ≤ `delta`, of this order."""
        ...

    def delta(self, epsilon: float) -> CertifiedInterval:
        """The δ(ε) of this order."""
        ...

    def loss(self, views: FloatArray) -> FloatArray:
        """Log-likelihood ratio of views, shape (n, p) to (n,); NaN where both laws say impossible."""
        ...

    def event(self, loss: float, columns: Sequence[Column]) -> Event | None:
        """The event that the log-likelihood ratio is at least `loss` as code-free data, None if it is too long."""
        ...


class Law(Protocol):
    """The law of a view on one data set: `FiniteLaw`, `DensityLaw` or `PolicyLaw`."""

    def contradiction(self, views: FloatArray, error: float) -> str | None:
        """Say what in independent draws contradicts the law, which its own draws do with probability ≤ `error`."""
        ...

    def compared(self, other: Any) -> LawPair:
        """The pair of this law and another of the same kind."""
        ...
