"""Conversion of mechanisms to OpenDP measurements, and of OpenDP measurements to mechanisms."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.assumption import Assumption, AssumptionKind
from mechanisms.assumptions import assumptions_of
from mechanisms.composition.composed_profile import composed_profile
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.domains.sensitivity import Sensitivity
from mechanisms.noise.discrete_gaussian import DiscreteGaussian
from mechanisms.noise.discrete_laplace import DiscreteLaplace
from mechanisms.noise.gaussian import Gaussian
from mechanisms.noise.laplace import Laplace
from mechanisms.noise.mechanism import BuiltInMechanism, Mechanism
from mechanisms.noise.noise_sources import NoiseSource, opendp_measurement, opendp_randomized_response
from mechanisms.noise.randomized_response import RandomizedResponse
from mechanisms.parameters import (
    DensityUnavailable,
    DomainError,
    ParameterError,
    half_open_unit,
    nonnegative,
)
from mechanisms.profiles.bounding_profiles import (
    ApproximateProfile,
    NoPrivacy,
    PureProfile,
    ZeroConcentratedProfile,
)
from mechanisms.profiles.privacy_profile import PrivacyProfile
from mechanisms.profiles.related_profile import restate


def to_opendp(mechanism: Mechanism) -> Any:
    """Return an OpenDP measurement on vectors (randomized response: on one category) with the same noise.

    Laplace and DiscreteLaplace measure L1 distance and max-divergence, Gaussian and DiscreteGaussian L2
    distance and zCDP; randomized response the discrete distance, its probability rounded so that the map
    gives at most epsilon.

    Raises
    ------
    ParameterError
        If the mechanism has no OpenDP counterpart.
    """
    if isinstance(mechanism, Laplace):
        return opendp_measurement("laplace", "f64", mechanism.scale)
    if isinstance(mechanism, Gaussian):
        return opendp_measurement("gaussian", "f64", mechanism.sigma)
    if isinstance(mechanism, DiscreteLaplace):
        return opendp_measurement("laplace", "i64", mechanism.scale)
    if isinstance(mechanism, DiscreteGaussian):
        return opendp_measurement("gaussian", "i64", mechanism.sigma)
    if isinstance(mechanism, RandomizedResponse):
        return opendp_randomized_response(mechanism.size, mechanism.epsilon)
    if isinstance(mechanism, OpenDPMeasurement):
        return mechanism.measurement
    raise ParameterError(f"mechanism = {mechanism!r}: has no OpenDP counterpart")


@dataclass(frozen=True, eq=False)
class OpenDPProfile(PrivacyProfile):
    """Bound given by an OpenDP privacy profile (measure ``SmoothedMaxDivergence``)."""

    opendp_profile: Any
    bound: str = "OpenDP's SmoothedMaxDivergence map"

    @property
    def pure_epsilon(self) -> None:
        """None: nothing is known beyond the curve."""
        return None

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        flat = [float(self.opendp_profile.delta(float(x))) for x in np.ravel(epsilon)]
        return np.array(flat).reshape(np.shape(epsilon))


_NOTHING_CERTIFIED = NoPrivacy("OpenDP's privacy map")
"""A map bounds the loss: if its bound is infinite, nothing is known of a lower end either."""


def _approximate_concentrated(rho: float, delta: float) -> PrivacyProfile:
    """δ-approximate ρ-zCDP (Bun & Steinke 2016, Def. 8.1): with probability δ anything, else ρ-zCDP."""
    if delta >= 1.0:
        return _NOTHING_CERTIFIED
    concentrated = ZeroConcentratedProfile(rho)
    if delta == 0.0:
        return concentrated
    return composed_profile(
        [(ApproximateProfile(Fraction(0), delta, "approximate zCDP"), 1), (concentrated, 1)]
    )


def _certified_profile(
    curve: Callable[[float, float], PrivacyProfile], distance: float, delta: float
) -> PrivacyProfile:
    """Return the profile at the numbers that a map certifies; infinity, as of noise of scale 0, is no privacy."""
    size, failure = nonnegative("the privacy map's value", distance), nonnegative("its delta", delta)
    return _NOTHING_CERTIFIED if math.isinf(size) or failure >= 1.0 else curve(size, failure)


def _pure(epsilon: float, delta: float) -> PrivacyProfile:
    return ApproximateProfile(Fraction(epsilon), delta) if delta else PureProfile(Fraction(epsilon))


# From the name of an OpenDP measure to the profile that its distance certifies.
_PROFILE_OF: Mapping[str, Callable[[Any], PrivacyProfile]] = {
    "MaxDivergence": lambda epsilon: _certified_profile(_pure, epsilon, 0.0),
    "ZeroConcentratedDivergence": lambda rho: _certified_profile(_approximate_concentrated, rho, 0.0),
    "Approximate(MaxDivergence)": lambda d: _certified_profile(_pure, *d),
    "Approximate(ZeroConcentratedDivergence)": lambda d: _certified_profile(_approximate_concentrated, *d),
    "SmoothedMaxDivergence": OpenDPProfile,
}


def _sensitivity_of(metric: str, d_in: float) -> Sensitivity:
    """Return the largest norms of a movement of length d_in in an OpenDP metric on numbers; of others no movement."""
    if metric.startswith(("L1Distance", "AbsoluteDistance", "DiscreteDistance")):
        return Sensitivity(d_in, d_in, d_in)
    if metric.startswith("L2Distance"):
        return Sensitivity(math.inf, d_in, d_in)
    if metric.startswith("LInfDistance"):
        return Sensitivity(math.inf, math.inf, d_in)
    return Sensitivity(0.0, 0.0, 0.0)


def _is_integer(words: str) -> bool:
    """Return True if a domain or a metric, as OpenDP writes it, is of integers."""
    return re.search(r"\b([iu](8|16|32|64|128)|usize)\b", words) is not None


_OF_DATA_SETS = ("SymmetricDistance", "InsertDeleteDistance")
_COUNTED = (*_OF_DATA_SETS, "ChangeOneDistance", "HammingDistance", "DiscreteDistance")
"""Metrics with distances that are numbers of records, or 1, and with names that do not state their type."""


def _is_counted(metric: str) -> bool:
    """Return True if distances in a metric, as OpenDP writes it, are whole numbers."""
    return metric.startswith(_COUNTED) or _is_integer(metric)


def _relation_of(metric: str, d_in: float) -> Neighbouring:
    """Return the relation of data sets at distance d_in; a replaced record is one removed and one added: 2."""
    added = metric.startswith(_OF_DATA_SETS)
    return Neighbouring.ADD_OR_REMOVE if added and d_in < 2.0 else Neighbouring.REPLACE_ONE


@dataclass(frozen=True, eq=False)
class OpenDPMeasurement(BuiltInMechanism):
    """Any OpenDP measurement as a mechanism; its profile is the one that its privacy map certifies at ``d_in``.

    Two are equal only if they are the same object: OpenDP's measurements cannot be compared.

    Parameters
    ----------
    measurement : opendp.mod.Measurement
        With output measure MaxDivergence, ZeroConcentratedDivergence, Approximate of one of these, or
        SmoothedMaxDivergence.
    d_in : float or int
        Input distance between the values on neighbouring data sets, in the measurement's input metric. Where that
        counts added and removed records (SymmetricDistance, InsertDeleteDistance) 1 is for adding or removing a
        record, 2 for replacing one, and the profile states the relation.
    nominal_delta : float
        The δ at which ``epsilon`` evaluates the profile.
    declared_sensitivity : Sensitivity, optional
        The movement of the value by a record, where the metric is no distance between numbers (e.g. SymmetricDistance,
        of a query on data sets). By default 0: it can be audited, but releases no value that depends on a record.

    Raises
    ------
    ParameterError
        If the measure is not supported, or ``d_in`` is no distance of two data sets in the measurement's domain. By
        ``profile``, if the map's certified value is not a number.
    """

    opaque: ClassVar[bool] = True  # a measurement cannot be rebuilt

    measurement: Any
    d_in: float
    nominal_delta: float = 0.0
    declared_sensitivity: Sensitivity | None = None

    def __post_init__(self) -> None:
        distance = nonnegative("d_in", self.d_in)
        metric, domain = str(self.measurement.input_metric), str(self.measurement.input_domain)
        if _is_counted(metric) and not distance.is_integer():
            raise ParameterError(
                f"d_in = {self.d_in!r}: must be whole, as {metric} is counted in whole numbers"
            )
        if metric.startswith(_OF_DATA_SETS) and distance < 2.0 and re.search(r"\bsize=\d", domain):
            raise ParameterError(
                f"d_in = {self.d_in!r}: must be at least 2, as data sets of a fixed size, in {domain}, differ by "
                "replaced records, each of which counts 2"
            )
        object.__setattr__(self, "nominal_delta", half_open_unit("nominal_delta", self.nominal_delta))
        measure = str(self.measurement.output_measure)
        if measure not in _PROFILE_OF:
            raise ParameterError(f"output_measure = {measure}: must be one of {', '.join(_PROFILE_OF)}")

    def __repr__(self) -> str:
        return f"from_opendp({' '.join(str(self.measurement).split())}, d_in={self.d_in!r})"

    def rests_on(self) -> tuple[Assumption, ...]:
        """Return the assumption that OpenDP's privacy map is correct: a measurement may hold a user's function."""
        message = "the privacy map of your OpenDP measurement is correct"
        own = Assumption(AssumptionKind.OPENDP, message)
        return own, *assumptions_of((self.d_in, self.nominal_delta, self.declared_sensitivity))

    @cached_property
    def _metric_sensitivity(self) -> Sensitivity:
        return _sensitivity_of(str(self.measurement.input_metric), float(self.d_in))

    @property
    def sensitivity(self) -> Sensitivity:
        """The movements that d_in covers (or the declared sensitivity)."""
        return self.declared_sensitivity or self._metric_sensitivity

    @property
    def categorical(self) -> bool:
        """True if the measurement's inputs are categories: its metric is DiscreteDistance."""
        return str(self.measurement.input_metric).startswith("DiscreteDistance")

    @property
    def whole_numbers(self) -> bool:
        """True if the measurement's inputs are of an integer type."""
        return self.categorical or _is_integer(str(self.measurement.input_domain))

    @property
    def releases_single_numbers(self) -> bool:
        """True if the measurement takes one number at a time, each in a call of its own."""
        return not str(self.measurement.input_domain).startswith("VectorDomain")

    @cached_property
    def _own_profile(self) -> PrivacyProfile:
        distance = int(self.d_in) if _is_counted(str(self.measurement.input_metric)) else self.d_in
        profile = _PROFILE_OF[str(self.measurement.output_measure)](self.measurement.map(distance))
        return restate(profile, self.neighbouring)

    @property
    def neighbouring(self) -> Neighbouring:
        """Neighbouring relation of data sets at distance ``d_in``."""
        return _relation_of(str(self.measurement.input_metric), float(self.d_in))

    def _profile_at(self, moved: Sensitivity) -> PrivacyProfile:
        """Return the profile certified by the privacy map at ``d_in``, or `NoPrivacy` if that is exceeded."""
        return (
            self._own_profile
            if self.sensitivity.covers(moved)
            else restate(_NOTHING_CERTIFIED, self.neighbouring)
        )

    def release(self, value: npt.ArrayLike, noise: NoiseSource | np.random.Generator) -> npt.NDArray[Any]:
        """Return the measurement's output, same shape; OpenDP draws the noise itself, ``noise`` is unused.

        Raises
        ------
        DomainError
            If a measurement on single numbers is given vectors: its map does not bound the loss of several at once.
        """
        array = np.asarray(value)
        if not self.releases_single_numbers:
            return np.asarray(self.measurement(array.ravel().tolist())).reshape(array.shape)
        if array.ndim and array.shape[-1] > 1:
            raise DomainError(f"value has shape {array.shape}: the measurement releases one number at a time")
        return np.asarray([self.measurement(one) for one in array.ravel().tolist()]).reshape(array.shape)

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> FloatArray:
        """Raise `DensityUnavailable`: OpenDP does not give a measurement's density."""
        raise DensityUnavailable("OpenDPMeasurement: OpenDP gives no density of its output")

    def to_dict(self) -> dict[str, Any]:
        """Raise `ParameterError`: a measurement lives in OpenDP's memory and cannot be written down."""
        raise ParameterError("OpenDPMeasurement: cannot be saved; save the code that built the measurement")


def from_opendp(measurement: Any, d_in: float, *, nominal_delta: float = 0.0) -> OpenDPMeasurement:
    """Return the mechanism that wraps an OpenDP measurement at input distance ``d_in``.

    OpenDP does not state which noise a measurement adds, so the result has its privacy map and its release, not its
    density. Nor can it be inspected: it may hold a user's function with any map. So it is an assumption
    (`AssumptionKind.OPENDP`), and no certificate rests on it. OpenDP's own noise needs no assumption: `Laplace`,
    `Gaussian` and their discrete forms draw it from an `OpenDPNoise`, which is an `Accountant`'s default.
    """
    return OpenDPMeasurement(measurement, d_in, nominal_delta)
