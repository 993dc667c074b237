"""Continual sums: a private running sum after every increment, for the price of one mechanism per record.

The matrix A of ones on and below the diagonal turns increments into running sums. A counter factors it, A = LR,
and publishes A x + L z with independent noise z: a record (one increment) moves R x by one column of R, for any
number of steps. This stays true if increments depend on earlier outputs: shifting z by minus
the record's column of R times its change leaves every earlier output as it is (A is lower triangular), so
the shift has Jacobian 1.

Comparison. Variance of one running sum, mean / maximum over t = 1 .. T, one record moves one coordinate by 1:

===========================================  ===========  =============  ===============  ===============  ======
pure ε (in units of 1/ε²)                    T = 10³      10⁴            10⁵              10⁶              memory
===========================================  ===========  =============  ===============  ===============  ======
`BinaryTree`                                 988 / 1,800  2,533 / 5,096  4,711 / 9,248    7,908 / 15,200   log T
`SignedTree` (best branching k)              170 / 324    369 / 720      680 / 1,312      1,143 / 2,200    k log T
`Hybrid` (horizon unknown)                   2,238/5,264  5,949/13,928   12,772 / 30,856  23,446 / 52,144  log t
===========================================  ===========  =============  ===============  ===============  ======

===========================================  ===========  =============  ===============  ===============  ======
ρ-zCDP (in units of 1/2ρ)                    T = 10³      10⁴            10⁵              10⁶              memory
===========================================  ===========  =============  ===============  ===============  ======
`BinaryTree`                                 49.4 / 90    90.5 / 182     139 / 272        198 / 380        log T
`SignedTree` (best branching k)              26.6 / 48    47.9 / 92      71.0 / 120       99.2 / 176       k log T
`SquareRootCounter`                          9.6 / 10.7   14.7 / 16.0    20.9 / 22.4      28.1 / 29.9      T
`BufferedCounter`                            9.6 / 10.7   14.7 / 16.0    20.9 / 22.4      28.4 / 30.1      6
===========================================  ===========  =============  ===============  ===============  ======

A record that is in k increments, any two b steps apart, ρ-zCDP in the same units (`ToeplitzCounter`):

=======================================  ===================  ====================  ==========================
ρ-zCDP (in units of 1/2ρ)                T = 10³, 10 per 100  10⁴, 10 per 1,000     10⁴, 100 per 100
=======================================  ===================  ====================  ==========================
`SquareRootCounter`, `BufferedCounter`   247 / 274            335 / 364             24,196 / 26,288
`BandedCounter` of bandwidth b           146 / 246            213 / 341             10,435 / 20,399
`BandedCounter` of bandwidth 2b          151 / 225            213 / 301             8,389 / 15,977
=======================================  ===================  ====================  ==========================

So: `SignedTree` under pure ε, `BufferedCounter` under zCDP, `BandedCounter` where a
record comes again and again, `Hybrid` only if no bound on the horizon is known. A
learner that can wait should release batches instead: one noise per batch beats every counter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.domains.sensitivity import Sensitivity
from mechanisms.noise.discrete_laplace import DiscreteLaplace
from mechanisms.noise.gaussian import Gaussian
from mechanisms.noise.laplace import Laplace
from mechanisms.noise.noise_sources import NoiseSource, noise_source
from mechanisms.parameters import DPWitnessError, ParameterError, quoted, whole_number
from mechanisms.profiles.privacy_profile import PrivacyProfile

NodeNoise = Laplace | Gaussian | DiscreteLaplace
"""The mechanisms that counters draw their noise from."""


class HorizonExceeded(DPWitnessError, ValueError):
    """A counter was asked for more steps than it is calibrated for."""


@dataclass(frozen=True, eq=False)
class Factorization:
    """A counter's matrices, written out: for checks on small horizons.

    Attributes
    ----------
    left, right
        L of shape (steps, nodes) and R of shape (nodes, steps); L R is the lower triangle of ones.
    deviation
        The standard deviation of each node's noise; the outputs' covariance is L diag(deviation²) Lᵀ.
    """

    left: FloatArray
    right: FloatArray
    deviation: FloatArray

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the published running sums, (steps, steps)."""
        scaled: FloatArray = self.left * self.deviation
        return scaled @ scaled.T


class RunningSum(Protocol):
    """One stream (or many side by side) of a counter."""

    @property
    def steps(self) -> int:
        """Number of increments so far."""

    def step(self, increment: npt.ArrayLike) -> FloatArray:
        """Add an increment and return the private running sum, same shape.

        Raises
        ------
        HorizonExceeded
            Beyond the counter's horizon.
        ParameterError
            If the increment has another shape than the stream.
        """


@runtime_checkable
class ContinualSum(Protocol):
    """A counter: a frozen value that starts streams."""

    @property
    def horizon(self) -> int | None:
        """The largest number of steps; None if there is no limit."""

    @property
    def sensitivity(self) -> Sensitivity:
        """Largest change of an increment by one record that it holds."""

    def profile(self, sensitivity: Sensitivity | None = None) -> PrivacyProfile:
        """Return the profile of all outputs together, for one record (default: at `sensitivity`)."""

    def variance(self, t: npt.ArrayLike) -> FloatArray:
        """Return the variance of one coordinate of the running sum after t >= 1 steps, elementwise."""

    def start(self, shape: tuple[int, ...], noise: NoiseSource | np.random.Generator) -> RunningSum:
        """Start a stream of increments of this shape (lanes first)."""

    def materialize(self, steps: int) -> Factorization:
        """Return the matrices of the first steps."""


def node_variance(mechanism: NodeNoise) -> float:
    """Return the variance of one coordinate of a mechanism's noise.

    Laplace: 2b². Gaussian: σ². Discrete Laplace with a = e^{-1/b}: 2a / (1 - a)².
    """
    if isinstance(mechanism, Gaussian):
        return mechanism.sigma**2
    if isinstance(mechanism, Laplace):
        return 2.0 * mechanism.scale**2
    a = float(np.exp(-1.0 / mechanism.scale))
    return 2.0 * a / float(np.expm1(-1.0 / mechanism.scale)) ** 2


def checked_steps(t: npt.ArrayLike, horizon: int | None) -> npt.NDArray[np.int64]:
    """Return numbers of steps as integers; raise `HorizonExceeded` unless all are in 1 .. horizon."""
    steps = np.asarray(t)
    if steps.dtype.kind not in "iu":
        raise ParameterError(f"t has dtype {steps.dtype}: must be of an integer type")
    if steps.size and (steps.min() < 1 or (horizon is not None and steps.max() > horizon)):
        raise HorizonExceeded(f"t = {t!r}: must lie in 1 .. {horizon}, the horizon")
    return steps.astype(np.int64)


class Stream:
    """Base class of the streams of all counters: the number of steps, the checks and the exact sum so far."""

    def __init__(
        self,
        shape: tuple[int, ...],
        horizon: int | None,
        mechanism: NodeNoise | None,
        noise: NoiseSource | np.random.Generator,
    ) -> None:
        self.shape = tuple(shape)
        self.steps = 0
        self._horizon = horizon
        self._noise = noise_source(noise)
        self._mechanism = mechanism
        self._whole = isinstance(mechanism, DiscreteLaplace)

    def _next(self, increment: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Count one step and return the checked increment."""
        array = np.asarray(increment)
        if array.shape != self.shape:
            raise ParameterError(f"increment of shape {array.shape}: must be of the stream's {self.shape}")
        if self._whole and array.dtype.kind not in "iu":
            raise ParameterError(f"increment has dtype {array.dtype}: discrete noise needs whole numbers")
        if self._horizon is not None and self.steps >= self._horizon:
            raise HorizonExceeded(f"step {self.steps + 1}: the counter's horizon is {self._horizon}")
        self.steps += 1
        return array if self._whole else array.astype(np.float64)

    def _zeros(self, *leading: int) -> npt.NDArray[np.float64]:
        return np.zeros((*leading, *self.shape), dtype=np.int64 if self._whole else np.float64)


def checked_horizon(horizon: int) -> int:
    """Return the horizon; raise `ParameterError` unless it is a whole number of at least 1."""
    return whole_number("horizon", horizon, least=1)


def check_node_noise(mechanism: object, *kinds: type[NodeNoise]) -> None:
    """Raise `ParameterError` unless the noise of a counter's nodes is a mechanism of these kinds."""
    if not isinstance(mechanism, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise ParameterError(f"mechanism = {quoted(mechanism)}: must be an instance of {names}")
