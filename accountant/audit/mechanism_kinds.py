"""The mechanisms that a release file can name: their parameters and profiles."""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
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
from mechanisms import Gaussian  # from the package, which imports every mechanism, so that all are registered
from mechanisms.amplification.gaussian_mixture import GaussianMixtureProfile
from mechanisms.amplification.truncated_batches import MOST_RECORDS, TruncatedBatchProfile
from mechanisms.counters.banded_counter import BandedCounter
from mechanisms.counters.buffered_counter import BufferedCounter
from mechanisms.counters.toeplitz_counter import SquareRootCounter, ToeplitzCounter
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.domains.sensitivity import UNIT, Sensitivity
from mechanisms.noise.mechanism import BuiltInMechanism, checked_whole_sensitivity
from mechanisms.numerics.binomial_law import MOST_TRIALS
from mechanisms.parameters import DPWitnessError, ParameterError, half_open_unit, nonnegative
from mechanisms.profiles.bounded_range import BoundedRangeProfile
from mechanisms.profiles.bounding_profiles import (
    ApproximateProfile,
    NoPrivacy,
    PureProfile,
    ZeroConcentratedProfile,
)
from mechanisms.profiles.privacy_profile import PrivacyProfile
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
    curve
        Function that returns the profile for the parameters, the sensitivity and the neighbouring relation; one that
        holds for any relation may be stated for another.
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
    curve: Callable[[Mapping[str, Any], Sensitivity, Neighbouring], PrivacyProfile]
    moves: bool = True
    whole: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    most: Mapping[str, int] = field(default_factory=lambda: _MOST)
    default_sensitivity: Callable[[Mapping[str, Any]], Sensitivity] = lambda _: UNIT

    def profile(
        self, parameters: Mapping[str, Any], sensitivity: Sensitivity, neighbouring: Neighbouring
    ) -> PrivacyProfile:
        """Return the profile for the parameters and the sensitivity, stated for a relation."""
        return restate(self.curve(parameters, sensitivity, neighbouring), neighbouring)

    @property
    def rate_key(self) -> str:
        """The key of the rate of its sample: its own one, or that of all releases."""
        return next((key for key in self.keys if key == "sampling_probability"), "sampling_rate")


def _built_in(mechanism: type[Any]) -> _MechanismKind:
    fields = {field.name: field for field in dataclasses.fields(mechanism)}
    keys = [name for name in fields if name != "sensitivity"]
    required = tuple(name for name in keys if fields[name].default is dataclasses.MISSING)
    calibrated = "sensitivity" in fields

    def curve(given: Mapping[str, Any], moved: Sensitivity, relation: Neighbouring) -> PrivacyProfile:
        built: BuiltInMechanism = mechanism(**given, **({"sensitivity": moved} if calibrated else {}))
        if built.whole_numbers or built.whole_values:  # less than 1 would be no movement at all
            checked_whole_sensitivity(moved)
        return built.profile_for(relation, moved)

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
        curve,
        whole=frozenset(integers),
        optional=frozenset(optional),
        default_sensitivity=default_sensitivity,
    )


def _notion(
    keys: tuple[str, ...],
    curve: Callable[[Mapping[str, Any]], PrivacyProfile],
    whole: tuple[str, ...] = (),
    most: int = 0,
) -> _MechanismKind:
    """Return a privacy notion as a kind; keys that take whole numbers have a largest value."""
    largest = dict.fromkeys(whole, most)
    return _MechanismKind(
        keys, keys, lambda given, *_: curve(given), moves=False, whole=frozenset(whole), most=largest
    )


def _epsilon(parameters: Mapping[str, Any]) -> Fraction:
    epsilon = nonnegative("epsilon", parameters["epsilon"])
    if math.isinf(epsilon):
        raise ParameterError("epsilon = inf: must be finite; a release without one is 'declassified'")
    return Fraction(epsilon)


def _selection(
    required: tuple[str, ...],
    priced: Callable[[Mapping[str, Any], Sensitivity], PrivacyProfile],
    *optional: str,
) -> _MechanismKind:
    """Return a mechanism that is priced by a theorem as a kind."""
    whole = frozenset({"positives", "keys", "queries"})
    most = dict.fromkeys(whole.intersection(required), MOST_KEYS)
    keys = (*required, *optional)
    return _MechanismKind(
        keys, required, lambda given, moved, _: priced(given, moved), whole=whole, most=most
    )


def _thresholded_keys(
    parameters: Mapping[str, Any], sensitivity: Sensitivity, neighbouring: Neighbouring
) -> PrivacyProfile:
    if neighbouring is Neighbouring.REPLACE_ONE:
        raise ParameterError(
            f"neighbours = {neighbouring.value!r}: thresholded-keys has a price for 'add or remove one' and 'zero out'"
        )
    return thresholded_keys(parameters, sensitivity)


def _counter(
    counter: type[ToeplitzCounter],
    *own: str,
    optional: tuple[str, ...] = ("participations", "separation"),
    profile_of: Callable[[Any, Mapping[str, Any], Neighbouring], PrivacyProfile] = lambda built, *_: (
        built.profile()
    ),
) -> _MechanismKind:
    """Return a counter of running sums with Gaussian noise as a kind, by default with the counter's own profile.

    Keys that are no field of the counter are for `profile_of`.
    """
    fields = {each.name for each in dataclasses.fields(counter)}

    def curve(given: Mapping[str, Any], moved: Sensitivity, relation: Neighbouring) -> PrivacyProfile:
        noise = Gaussian(sigma=given["sigma"], sensitivity=moved)
        of_counter = {key: value for key, value in given.items() if key in fields}
        return profile_of(counter(mechanism=noise, sensitivity=moved, **of_counter), given, relation)

    numbers = ("horizon", *own, *optional)
    whole = frozenset(numbers) - {"sampling_probability"}
    return _MechanismKind(("sigma", *numbers), ("sigma", "horizon", *own), curve, whole=whole)


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
    of_mixture = ("sigma", "movements", "probabilities")
    sizes = ("dataset_size", "truncated_batch_size")
    of_batches = ("sigma", "sampling_probability", *sizes)
    with_gaussians = ("threshold_sigma", "query_sigma", "queries")
    of_keys = ("noise", "scale", "threshold", "keys")
    return MappingProxyType(
        {
            **found,
            "gaussian-mixture": _MechanismKind(of_mixture, of_mixture, _mixture, moves=False),
            "pure": _notion(("epsilon",), lambda given: PureProfile(_epsilon(given))),
            "bounded-range": _notion(("epsilon",), lambda given: BoundedRangeProfile(_epsilon(given))),
            "approximate": _notion(("epsilon", "delta"), _approximate),
            "zcdp": _notion(
                ("rho",), lambda given: ZeroConcentratedProfile(nonnegative("rho", given["rho"]))
            ),
            "truncated-batches": _notion(
                of_batches, lambda given: TruncatedBatchProfile(**given), sizes, MOST_RECORDS
            ),
            "declassified": _notion((), lambda _: NoPrivacy()),
            "exponential-mechanism": _selection(("scale",), exponential_mechanism, "monotone"),
            "permute-and-flip": _selection(("scale",), noisy_choice, "monotone"),
            "noisy-max": _selection(("scale",), noisy_choice, "monotone"),
            "sparse-vector": _selection(
                ("threshold_scale", "query_scale"), sparse_vector, "positives", "monotone"
            ),
            "gaussian-sparse-vector": _selection(with_gaussians, gaussian_sparse_vector, "monotone"),
            "thresholded-keys": replace(_selection(of_keys, thresholded_keys), curve=_thresholded_keys),
            "propose-test-release": _selection(("test_scale", "epsilon", "delta"), propose_test_release),
            "square-root-counter": _counter(SquareRootCounter),
            "buffered-counter": _counter(BufferedCounter),
            "banded-counter": _counter(BandedCounter, "bandwidth"),
            "cyclic-counter": _counter(
                BandedCounter,
                *("bandwidth", "parts", "sampling_probability"),
                optional=(),
                profile_of=lambda counter, given, relation: counter.cyclic_profile(
                    given["parts"], given["sampling_probability"], relation
                ),
            ),
        }
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
