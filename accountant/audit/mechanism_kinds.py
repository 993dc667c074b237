"""The mechanisms that a release file can name: their parameters and profiles."""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import Any

from accountant.audit.selections import (
    MOST_KEYS,
    exponential_mechanism,
    gaussian_sparse_vector,
    noisy_choice,
    propose_test_release,
    sparse_vector,
    thresholded_keys,
)
from mechanisms import (
    ApproximateProfile,
    BandedCounter,
    BoundedRangeProfile,
    BufferedCounter,
    BuiltInMechanism,
    Gaussian,
    NoPrivacy,
    ParameterError,
    PrivacyProfile,
    PureProfile,
    Sensitivity,
    SquareRootCounter,
    ZeroConcentratedProfile,
)
from mechanisms.amplification.gaussian_mixture import GaussianMixtureProfile
from mechanisms.amplification.truncated_batches import MOST_RECORDS, TruncatedBatchProfile
from mechanisms.counters.toeplitz_counter import ToeplitzCounter
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.domains.sensitivity import UNIT
from mechanisms.noise.mechanism import checked_whole_sensitivity
from mechanisms.numerics.binomial_law import MOST_TRIALS
from mechanisms.parameters import DPWitnessError, half_open_unit, nonnegative
from mechanisms.profiles.related_profile import restate

ALIASES = {"k": "size"}
"""Other names of parameters."""
_MOST = {"trials": MOST_TRIALS, "dimension": 10**6, "horizon": 10**7}
"""The largest whole numbers: the columns of a counter and the losses of a vector's coordinates are written out."""


class TableError(DPWitnessError, ValueError):
    """A table of a release file breaks a rule at a key (None: the table as a whole)."""

    def __init__(self, key: str | None, message: str) -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True)
class _MechanismKind:
    """A kind of mechanism: the keys of its table in a release file, and the privacy profile that it describes.

    Attributes
    ----------
    keys, required
        The keys of its parameters, and those without a default.
    profile
        Function that returns the profile for the parameters, the sensitivity and the neighbouring relation.
    moves
        True if the profile depends on how far a record moves the value; that of a privacy notion does not.
    whole, optional
        The keys that take whole numbers, and those that may be null.
    most
        The largest values of whole numbers, where they are less than the 10^12 that a file permits.
    default_sensitivity
        Function that returns the sensitivity for the parameters, if the table has none.
    """

    keys: tuple[str, ...]
    required: tuple[str, ...]
    profile: Callable[[Mapping[str, Any], Sensitivity, Neighbouring], PrivacyProfile]
    moves: bool = True
    whole: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    most: Mapping[str, int] = field(default_factory=lambda: _MOST)
    default_sensitivity: Callable[[Mapping[str, Any]], Sensitivity] = lambda _: UNIT

    @property
    def rate_key(self) -> str:
        """The key of the rate of its sample: its own one, or that of all releases."""
        return next((key for key in self.keys if key == "sampling_probability"), "sampling_rate")


def _built_in(mechanism: type[Any]) -> _MechanismKind:
    fields = {field.name: field for field in dataclasses.fields(mechanism)}
    keys = [name for name in fields if name != "sensitivity"]
    required = tuple(name for name in keys if fields[name].default is dataclasses.MISSING)
    calibrated = "sensitivity" in fields

    def profile(
        parameters: Mapping[str, Any], sensitivity: Sensitivity, neighbouring: Neighbouring
    ) -> PrivacyProfile:
        given = {**parameters, "sensitivity": sensitivity} if calibrated else dict(parameters)
        built: BuiltInMechanism = mechanism(**given)
        if built.whole_numbers or built.whole_values:  # less than 1 would be no movement at all
            checked_whole_sensitivity(sensitivity)
        return built.profile_for(neighbouring, sensitivity)

    aliases = [alias for alias, name in ALIASES.items() if name in keys]
    integers = {name for name in keys if str(fields[name].type).startswith("int")}
    optional = {name for name in keys if fields[name].default is None}

    def default_sensitivity(parameters: Mapping[str, Any]) -> Sensitivity:
        if calibrated:
            return UNIT
        own: Sensitivity = mechanism(**parameters).sensitivity  # of Binomial by `shift` and `dimension`
        return own

    return _MechanismKind(
        (*keys, *aliases),
        required,
        profile,
        whole=frozenset(integers),
        optional=frozenset(optional),
        default_sensitivity=default_sensitivity,
    )


def _notion(
    name: str,
    keys: tuple[str, ...],
    curve: Callable[[Mapping[str, Any]], PrivacyProfile],
    whole: tuple[str, ...] = (),
    most: int = 0,
) -> tuple[str, _MechanismKind]:
    """Return a privacy notion as a kind: its curve holds for the relation it is stated for.

    Keys that take whole numbers have a largest value.
    """

    def profile(
        parameters: Mapping[str, Any], sensitivity: Sensitivity, neighbouring: Neighbouring
    ) -> PrivacyProfile:
        return restate(curve(parameters), neighbouring)

    largest = dict.fromkeys(whole, most)
    return name, _MechanismKind(keys, keys, profile, moves=False, whole=frozenset(whole), most=largest)


def _epsilon(parameters: Mapping[str, Any]) -> Fraction:
    epsilon = nonnegative("epsilon", parameters["epsilon"])
    if math.isinf(epsilon):
        raise ParameterError("epsilon = inf: must be finite; a release without one is 'declassified'")
    return Fraction(epsilon)


def _selection(
    name: str,
    required: tuple[str, ...],
    priced: Callable[[Mapping[str, Any], Sensitivity], PrivacyProfile],
    *optional: str,
    replaced: bool = True,
) -> tuple[str, _MechanismKind]:
    """Return a mechanism that is priced by a theorem as a kind; not all have a price for replacing a record."""

    def profile(
        parameters: Mapping[str, Any], sensitivity: Sensitivity, neighbouring: Neighbouring
    ) -> PrivacyProfile:
        if neighbouring is Neighbouring.REPLACE_ONE and not replaced:
            raise ParameterError(
                f"neighbours = {neighbouring.value!r}: {name} has a price for 'add or remove one' and 'zero out'"
            )
        return restate(priced(parameters, sensitivity), neighbouring)

    whole = frozenset({"positives", "keys", "queries"})
    most = dict.fromkeys(whole.intersection(required), MOST_KEYS)
    return name, _MechanismKind((*required, *optional), required, profile, whole=whole, most=most)


def _counter(
    name: str,
    counter: type[ToeplitzCounter],
    *own: str,
    optional: tuple[str, ...] = ("participations", "separation"),
    profile_of: Callable[[Any, Mapping[str, Any], Neighbouring], PrivacyProfile] | None = None,
) -> tuple[str, _MechanismKind]:
    """Return a counter of running sums with Gaussian noise as a kind, by default with the counter's own profile.

    Keys that are no field of the counter are for `profile_of`.
    """
    fields = {each.name for each in dataclasses.fields(counter)}

    def profile(
        parameters: Mapping[str, Any], sensitivity: Sensitivity, neighbouring: Neighbouring
    ) -> PrivacyProfile:
        noise = Gaussian(sigma=parameters["sigma"], sensitivity=sensitivity)
        given = {key: value for key, value in parameters.items() if key in fields}
        built = counter(mechanism=noise, sensitivity=sensitivity, **given)
        if profile_of is not None:
            return profile_of(built, parameters, neighbouring)
        return restate(built.profile(), neighbouring)

    numbers = ("horizon", *own, *optional)
    return name, _MechanismKind(
        ("sigma", *numbers),
        ("sigma", "horizon", *own),
        profile,
        whole=frozenset(numbers) - {"sampling_probability"},
    )


def _mixture(
    parameters: Mapping[str, Any], sensitivity: Sensitivity, neighbouring: Neighbouring
) -> PrivacyProfile:
    lists = {
        key: tuple(parameters[key]) if isinstance(parameters[key], list) else parameters[key]
        for key in ("movements", "probabilities")
    }
    return GaussianMixtureProfile(**lists, sigma=parameters["sigma"], relation=neighbouring)


def _approximate(parameters: Mapping[str, Any]) -> PrivacyProfile:
    return ApproximateProfile(_epsilon(parameters), half_open_unit("delta", parameters["delta"]))


def mechanism_kinds() -> Mapping[str, _MechanismKind]:
    """Return every mechanism that numbers alone describe, and the privacy notions, "declassified" among them."""
    return _kinds(tuple(BuiltInMechanism._registry.values()))


@cache
def _kinds(built_in: tuple[type[Any], ...]) -> Mapping[str, _MechanismKind]:
    found = {}
    for mechanism in built_in:
        types = [str(field.type).partition(" ")[0] for field in dataclasses.fields(mechanism)]
        if all(kind in ("Sensitivity", "int", "float", "str") for kind in types):
            found[re.sub(r"(?<!^)(?=[A-Z])", "-", mechanism.__name__).lower()] = _built_in(mechanism)
    sizes = ("dataset_size", "truncated_batch_size")
    of_batches = ("sigma", "sampling_probability", *sizes)
    notions = (
        _notion("pure", ("epsilon",), lambda given: PureProfile(_epsilon(given))),
        _notion("bounded-range", ("epsilon",), lambda given: BoundedRangeProfile(_epsilon(given))),
        _notion("approximate", ("epsilon", "delta"), _approximate),
        _notion("zcdp", ("rho",), lambda given: ZeroConcentratedProfile(nonnegative("rho", given["rho"]))),
        _notion(
            "truncated-batches", of_batches, lambda given: TruncatedBatchProfile(**given), sizes, MOST_RECORDS
        ),
        _notion("declassified", (), lambda _: NoPrivacy()),
    )
    of_scores = [_selection("exponential-mechanism", ("scale",), exponential_mechanism, "monotone")]
    of_noise = ("permute-and-flip", "noisy-max")
    of_scores += [_selection(name, ("scale",), noisy_choice, "monotone") for name in of_noise]
    sparse = _selection(
        "sparse-vector", ("threshold_scale", "query_scale"), sparse_vector, "positives", "monotone"
    )
    with_gaussians = ("threshold_sigma", "query_sigma", "queries")
    gaussian = _selection("gaussian-sparse-vector", with_gaussians, gaussian_sparse_vector, "monotone")
    of_keys = ("noise", "scale", "threshold", "keys")
    keys = _selection("thresholded-keys", of_keys, thresholded_keys, replaced=False)
    tested = _selection("propose-test-release", ("test_scale", "epsilon", "delta"), propose_test_release)
    counters = (
        _counter("square-root-counter", SquareRootCounter),
        _counter("buffered-counter", BufferedCounter),
        _counter("banded-counter", BandedCounter, "bandwidth"),
        _counter(
            "cyclic-counter",
            BandedCounter,
            *("bandwidth", "parts", "sampling_probability"),
            optional=(),
            profile_of=lambda counter, given, relation: counter.cyclic_profile(
                given["parts"], given["sampling_probability"], relation
            ),
        ),
    )
    of_mixture = ("sigma", "movements", "probabilities")
    found["gaussian-mixture"] = _MechanismKind(of_mixture, of_mixture, _mixture, moves=False)
    return MappingProxyType(
        found | dict(notions) | dict((*of_scores, sparse, gaussian, keys, tested)) | dict(counters)
    )


def find_kind(name: Any) -> tuple[str, _MechanismKind]:
    """Return the kind of mechanism with a name, in any of its spellings, and its name as the list has it.

    Raises
    ------
    TableError
        If there is none; the message suggests the closest.
    """
    kinds = mechanism_kinds()
    if not isinstance(name, str):
        raise TableError("mechanism", f"mechanism = {name!r}: must be a name")
    spelt = (name, re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name))  # zCDP, and DiscreteLaplace
    plain, parted = (each.lower().replace("_", "-").replace(" ", "-") for each in spelt)
    plain = plain if plain in kinds else parted
    if plain not in kinds:
        raise TableError(
            "mechanism", f"unknown mechanism {name!r}{suggest_kind(plain, kinds)}; known: {', '.join(kinds)}"
        )
    return plain, kinds[plain]


def suggest_kind(word: str, known: Iterable[str]) -> str:
    """Return a suggestion of the closest known word; "" if none is close."""
    near = difflib.get_close_matches(word, list(known), 1)
    return f" (did you mean {near[0]!r}?)" if near else ""
