"""Event trees of dp-accounting (`DpEvent`), read as releases and written from profiles.

An event describes a mechanism, and has no neighbouring relation: dp-accounting's accountants have one, and here it is
an argument. Records contribute vectors of norm at most C and noise is a multiple of C, so that a query moves by C if a
record joins, leaves or is zeroed out, and by 2 C if one is replaced. `PLDAccountant` of dp-accounting 0.6 takes the
same; its `RdpAccountant` takes C for replacing a record, too, which is half the movement.

Only events with the exact curve of a profile here are read or written; every other one is refused by its name.
Parameters that both sides write differently (1/a for a) are rounded to the side of more loss, by a few units of the
last digit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from types import ModuleType
from typing import Any, cast

from accountant.audit.release_tables import from_tables
from accountant.audit.releases import ProfileCounts, ReleaseFileError, Releases
from mechanisms.amplification.gaussian_mixture import GaussianMixtureProfile
from mechanisms.amplification.random_allocation import (
    MOST_STEPS,
    RandomAllocationProfile,
    SelectedStepsProfile,
)
from mechanisms.amplification.sampled_group import PoissonReplacedProfile
from mechanisms.amplification.truncated_batches import TruncatedBatchProfile
from mechanisms.domains.neighbouring import Neighbouring, common_neighbouring
from mechanisms.noise.discrete_laplace import DiscreteLaplaceProfile
from mechanisms.numerics.rounding import down, square_root_up, up
from mechanisms.parameters import ParameterError, nonnegative, real, whole_number
from mechanisms.profiles.atomic_profile import AtomicProfile
from mechanisms.profiles.bounding_profiles import NoPrivacy, ZeroConcentratedProfile
from mechanisms.profiles.fixed_size import FixedSizeProfile
from mechanisms.profiles.gaussian_profile import GaussianProfile
from mechanisms.profiles.laplace_profile import LaplaceProfile
from mechanisms.profiles.privacy_profile import PrivacyProfile
from mechanisms.profiles.related_profile import bare
from mechanisms.profiles.subsampled import SubsampledProfile

_FIELDS: dict[str, tuple[str, ...]] = {
    "NoOpDpEvent": (),
    "NonPrivateDpEvent": (),
    "GaussianDpEvent": ("noise_multiplier",),
    "LaplaceDpEvent": ("noise_multiplier",),
    "DiscreteLaplaceDpEvent": ("noise_parameter", "sensitivity"),
    "RandomizedResponseDpEvent": ("noise_parameter", "num_buckets"),
    "ZCDpEvent": ("rho", "xi"),
    "MixtureOfGaussiansDpEvent": ("standard_deviation", "sensitivities", "sampling_probs"),
    "TruncatedSubsampledGaussianDpEvent": (
        "dataset_size",
        "sampling_probability",
        "truncated_batch_size",
        "noise_multiplier",
    ),
    "SingleEpochTreeAggregationDpEvent": ("noise_multiplier", "step_counts"),
    "SelfComposedDpEvent": ("event", "count"),
    "ComposedDpEvent": ("events",),
    "PoissonSampledDpEvent": ("sampling_probability", "event"),
    "SampledWithoutReplacementDpEvent": ("source_dataset_size", "sample_size", "event"),
    "RandomAllocationDpEvent": ("event", "num_selected", "num_steps"),
}
"""The events that have an exact counterpart, and the fields of each."""

_COMPOSED = ("SelfComposedDpEvent", "ComposedDpEvent")
_ON_A_SAMPLE = ("PoissonSampledDpEvent", "SampledWithoutReplacementDpEvent", "RandomAllocationDpEvent")
_LARGEST_DATA_SET = 10**9
"""Samples of fixed size are written as m of n records with n up to this."""

_Table = dict[str, Any]


def from_dp_event(event: Any, neighbours: Any, source: str = "DpEvent") -> Releases:
    """Read an event tree of dp-accounting, which need not be installed.

    Parameters
    ----------
    event
        A ``DpEvent``, its ``to_named_tuple()``, or the result of `dp_event_as_dict`.
    neighbours
        The neighbouring relation: a `Neighbouring`, its name, or dp-accounting's ``NeighboringRelation``
        (``REPLACE_SPECIAL`` is "zero out").
    source
        The origin of the event, with which messages begin.

    Raises
    ------
    ReleaseFileError
        If an event has no exact counterpart under this relation, or a parameter breaks its rule; with its place in
        the tree.
    """
    try:
        relation = _relation(neighbours)
        tables = [{**table, "count": count} for table, count in _release_tables(event, relation)]
    except ParameterError as error:
        raise ReleaseFileError(f"{source}: {error}") from None
    nothing = [{"mechanism": "pure", "epsilon": 0}]
    return from_tables(source, {"neighbours": relation.value, "release": tables or nothing})


def dp_event_as_dict(event: Any) -> dict[str, Any]:
    """Return an event tree as plain objects for JSON: the names of its ``to_named_tuple()``, nested.

    Raises
    ------
    ParameterError
        If it is no event.
    """
    name, fields = _node(event, "event")

    def plain(value: Any) -> Any:
        if isinstance(value, Sequence) and not isinstance(value, str) and not hasattr(value, "class_name"):
            return [plain(one) for one in value]
        return value if isinstance(value, int | float | str) else dp_event_as_dict(value)

    return {
        "module_name": "dp_accounting.dp_event",
        "class_name": name,
        **{key: plain(value) for key, value in fields.items()},
    }


def to_dp_event(composition: ProfileCounts) -> Any:
    """Write a composition as an event tree of dp-accounting, to be read under its own neighbouring relation.

    Parameters
    ----------
    composition
        Profiles, each with how often it occurs; of a file, ``releases.profile_counts(group)``.

    Raises
    ------
    ParameterError
        If a profile has no exact counterpart among the events, as a bound that nothing need attain, or relations are
        mixed.
    ImportError
        If dp-accounting is not installed.
    """
    library = _dp_accounting()
    _ = common_neighbouring(profile for profile, _ in composition)
    events = []
    for profile, count in composition:
        event = _event_of_profile(library, profile)
        events.append(event if count == 1 else library.SelfComposedDpEvent(event, count))
    if not events:
        return library.NoOpDpEvent()
    return events[0] if len(events) == 1 else library.ComposedDpEvent(events)


def _dp_accounting() -> ModuleType:
    try:
        from dp_accounting import dp_event
    except ImportError:
        raise ImportError(
            "writing events of dp-accounting needs it: pip install 'dpwitness[dp-accounting]'"
        ) from None
    return cast(ModuleType, dp_event)


def _relation(neighbours: Any) -> Neighbouring:
    if isinstance(neighbours, Neighbouring):
        return neighbours
    name = getattr(neighbours, "name", neighbours)
    return {"REPLACE_SPECIAL": Neighbouring.ZERO_OUT, "ADD_OR_REMOVE_ONE": Neighbouring.ADD_OR_REMOVE}.get(
        name
    ) or Neighbouring.from_name(name)


def _release_tables(event: Any, relation: Neighbouring) -> Iterator[tuple[_Table, int]]:
    """Yield the table of each event with a release, in order, and how often it occurs."""
    for name, fields, count, where in _single_events(event, "event"):
        with _place_in_errors(where, name):
            if name in _ON_A_SAMPLE:
                table, times = _sample_table(name, fields, relation, f"{where}.event"), 1
            else:
                table, times = _event_table(name, fields, relation, _movement_factor(relation))
        if table is not None:
            yield table, count * times


def _single_events(event: Any, where: str) -> Iterator[tuple[str, Mapping[str, Any], int, str]]:
    """Yield the events of a tree that are no compositions, in order: name, fields, how often it occurs, and place."""
    waiting = [(event, 1, where)]
    while waiting:
        node, count, place = waiting.pop()
        name, fields = _node(node, place)
        if name not in _COMPOSED:
            yield name, fields, count, place
            continue
        with _place_in_errors(place, name):
            if name == "SelfComposedDpEvent":
                times = whole_number("count", fields["count"], least=1)
                waiting.append((fields["event"], count * times, f"{place}.event"))
            else:
                events = enumerate(_sequence("events", fields["events"]))
                waiting.extend(reversed([(one, count, f"{place}.events[{i}]") for i, one in events]))


@contextmanager
def _place_in_errors(where: str, name: str) -> Iterator[None]:
    """Begin the messages of errors in this block with the place and the name of an event, if they have none."""
    try:
        yield
    except ParameterError as error:
        message = str(error)
        raise ParameterError(
            message if message.startswith("event") else f"{where}: {name}: {message}"
        ) from None


def _node(event: Any, where: str) -> tuple[str, Mapping[str, Any]]:
    """Return the name and the fields of an event in any of its three forms."""
    if isinstance(event, Mapping) and isinstance(event.get("class_name"), str):
        name, fields = event["class_name"], dict(event)
    elif isinstance(event, tuple) and hasattr(event, "class_name") and hasattr(event, "_fields"):
        name, fields = event.class_name, {key: getattr(event, key) for key in event._fields}
    elif hasattr(type(event), "__attrs_attrs__"):
        name = type(event).__name__
        fields = {one.name: getattr(event, one.name) for one in type(event).__attrs_attrs__}
    else:
        raise ParameterError(
            f"{where} = {str(event)[:80]!r}: must be a DpEvent, its named tuple, or an object with 'class_name'"
        )
    fields = {key: value for key, value in fields.items() if key not in ("module_name", "class_name")}
    if name not in _FIELDS:
        raise ParameterError(
            f"{where}: {_name(name)} has no exact counterpart; those with one: {', '.join(_FIELDS)}"
        )
    fields = {"xi": 0.0, **fields} if name == "ZCDpEvent" else fields
    if set(fields) != set(_FIELDS[name]):
        raise ParameterError(
            f"{where}: {name} has the fields {', '.join(_FIELDS[name]) or 'none'}, not {', '.join(map(_name, fields))}"
        )
    return name, fields


def _name(name: Any) -> str:
    """Return a name from a file for a message of one line: as it is if it is an identifier, else quoted and cut."""
    return name[:80] if isinstance(name, str) and name.isidentifier() else repr(name)[:80]


def _movement_factor(relation: Neighbouring) -> int:
    """Return the factor on the norm bound C of contributions by which a query moves."""
    return 2 if relation is Neighbouring.REPLACE_ONE else 1


def _sample_table(name: str, fields: Mapping[str, Any], relation: Neighbouring, where: str) -> _Table | None:
    inner, inside = _on_one_sample(fields["event"], where)
    more: _Table = {}
    if name == "PoissonSampledDpEvent":
        scheme, rate = "poisson", real("sampling_probability", fields["sampling_probability"])
        if not 0.0 <= rate <= 1.0:
            raise ParameterError(f"sampling_probability = {rate!r}: must lie in [0, 1]")
        moved = (
            1 if rate < 1.0 else _movement_factor(relation)
        )  # how far a record that joins the sample moves the query
    elif name == "RandomAllocationDpEvent":
        selected, steps = (whole_number(key, fields[key], least=1) for key in ("num_selected", "num_steps"))
        if steps > MOST_STEPS:
            raise ParameterError(f"num_steps: must be at most {MOST_STEPS:,}")
        if selected > 1 and steps < 2 * selected:
            raise ParameterError(
                f"num_selected = {selected}: must be at most half of num_steps = {steps}; for more nothing is known "
                "here that is less than a release in each step"
            )
        scheme, rate, moved = (
            "random allocation",
            selected / steps,
            1 if steps > 1 else _movement_factor(relation),
        )
        more = {"selected": selected} if selected > 1 else {}
    else:
        if relation is not Neighbouring.REPLACE_ONE:
            raise ParameterError(
                f"neighbours = {relation.value!r}: a sample of fixed size has a pair for 'replace one' only"
            )
        size = whole_number("source_dataset_size", fields["source_dataset_size"], least=1)
        taken = whole_number("sample_size", fields["sample_size"], least=0)
        if taken > size:
            raise ParameterError(f"sample_size = {taken}: must be at most source_dataset_size = {size}")
        scheme, rate, moved = "fixed size", up(Fraction(taken, size)), 2
    table, times = _event_table(inner, inside, relation, moved)
    if table is None or rate == 0.0:
        return None
    if times != 1:
        raise ParameterError(f"{inner} on a sample has no exact counterpart")
    return table if rate == 1.0 else {**table, "sampling_rate": rate, "sampling": scheme, **more}


def _on_one_sample(event: Any, where: str) -> tuple[str, Mapping[str, Any]]:
    """Return the one event that is equivalent to all events on a sample.

    Several Gaussians see the sample through one vector of means: Σ x_i/σ_i² is sufficient, so they are one Gaussian of
    noise (Σ σ_i^{-2})^{-1/2}. For other noise no such number is known.
    """
    noises: list[tuple[Fraction, int]] = []
    others: list[tuple[str, Mapping[str, Any]]] = []
    several = 0
    for name, fields, count, _ in _single_events(event, where):
        if name in _ON_A_SAMPLE:
            raise ParameterError(f"a sample of a sample, {name}, has no exact counterpart")
        elif name == "GaussianDpEvent" and nonnegative("noise_multiplier", fields["noise_multiplier"]):
            noises.append((Fraction(fields["noise_multiplier"]), count))
            several += count
        elif name != "NoOpDpEvent":
            others.append((name, fields))
            several += count
    if several > 1 and others:
        raise ParameterError(
            f"several mechanisms on one sample have an exact counterpart if all are Gaussian; {others[0][0]} is not"
        )
    if others:
        return others[0]
    if several <= 1:
        return (
            ("GaussianDpEvent", {"noise_multiplier": float(noises[0][0])}) if noises else ("NoOpDpEvent", {})
        )
    total = sum((count / (noise * noise) for noise, count in noises), start=Fraction(0))
    root = square_root_up(total)
    joint = 0.0 if math.isinf(root) else down(1 / Fraction(root))
    if not joint > 0.0:
        raise ParameterError(
            "noise_multiplier: that of all Gaussians on the sample together is below all floats"
        )
    return "GaussianDpEvent", {"noise_multiplier": joint}


def _event_table(
    name: str, fields: Mapping[str, Any], relation: Neighbouring, moved: int
) -> tuple[_Table | None, int]:
    """Return the table of an event without inner events (None if it costs nothing), and how often it occurs."""
    everything: _Table = {"mechanism": "declassified"}
    match name:
        case "NoOpDpEvent":
            return None, 1
        case "NonPrivateDpEvent":
            return everything, 1
        case "GaussianDpEvent" | "LaplaceDpEvent":
            noise = nonnegative("noise_multiplier", fields["noise_multiplier"])
            kind, key = ("gaussian", "sigma") if name == "GaussianDpEvent" else ("laplace", "scale")
            return _noise(kind, key, noise, moved) if noise else everything, 1
        case "DiscreteLaplaceDpEvent":
            rate = nonnegative("noise_parameter", fields["noise_parameter"])
            size = whole_number("sensitivity", fields["sensitivity"], least=0)
            if not size:
                return None, 1
            return _noise(
                "discrete-laplace", "scale", down(1 / Fraction(rate)), moved * size
            ) if rate else everything, 1
        case "RandomizedResponseDpEvent":
            return _response(fields, relation), 1
        case "ZCDpEvent":
            rho = nonnegative("rho", fields["rho"])
            if real("xi", fields["xi"]) != 0.0:
                raise ParameterError(f"xi = {fields['xi']!r}: only xi = 0 has an exact counterpart")
            return {"mechanism": "zcdp", "rho": rho}, 1
        case "TruncatedSubsampledGaussianDpEvent":
            noise = nonnegative("noise_multiplier", fields["noise_multiplier"])
            rest = {key: value for key, value in fields.items() if key != "noise_multiplier"}
            if not all(rest.values()):
                return None, 1
            return {"mechanism": "truncated-batches", "sigma": noise, **rest} if noise else everything, 1
        case "MixtureOfGaussiansDpEvent":
            sigma = nonnegative("standard_deviation", fields["standard_deviation"])
            moved_by = tuple(_sequence("sensitivities", fields["sensitivities"]))
            if not any(moved_by):
                return None, 1
            chances = tuple(_sequence("sampling_probs", fields["sampling_probs"]))
            table = {"mechanism": "gaussian-mixture", "sigma": sigma, "movements": moved_by}
            return {**table, "probabilities": chances} if sigma else everything, 1
    return _trees(fields, relation)


def _noise(kind: str, key: str, size: float, moved: int) -> _Table:
    return {"mechanism": kind, key: size, **({"sensitivity": moved} if moved != 1 else {})}


def _response(fields: Mapping[str, Any], relation: Neighbouring) -> _Table | None:
    """Return randomized response: the truth with 1 - p + p/k, each other of k with p/k."""
    p, k = (
        real("noise_parameter", fields["noise_parameter"]),
        whole_number("num_buckets", fields["num_buckets"], least=1),
    )
    if not 0.0 <= p <= 1.0:
        raise ParameterError(f"noise_parameter = {p!r}: must lie in [0, 1]")
    if relation is not Neighbouring.REPLACE_ONE:
        raise ParameterError(
            f"neighbours = {relation.value!r}: randomized response has a pair for 'replace one' only"
        )
    if k == 1 or p == 1.0:
        return None
    if p == 0.0:
        return {"mechanism": "declassified"}
    epsilon = math.log1p(k * (1.0 - p) / p) * (1.0 + 2.0**-49)
    return {"mechanism": "randomized-response", "epsilon": epsilon, "size": k}


def _trees(fields: Mapping[str, Any], relation: Neighbouring) -> tuple[_Table | None, int]:
    """Return Gaussian trees: a record is in at most one leaf, so in ⌊log2 t⌋ + 1 nodes of its tree, all as noisy.

    That is as much as one release for each of them (Kairouz, McMahan, Song, Thakkar, Thakurta, Xu 2021, Appendix D),
    for a record that is zeroed out: one that joins would shift the leaves of others.
    """
    noise = nonnegative("noise_multiplier", fields["noise_multiplier"])
    if relation is not Neighbouring.ZERO_OUT:
        raise ParameterError(
            f"neighbours = {relation.value!r}: trees over a single epoch are for 'zero out' only"
        )
    steps = fields["step_counts"]
    many = _sequence("step_counts", steps) if isinstance(steps, Sequence) else [steps]
    nodes = max((whole_number("step_counts", one, least=0).bit_length() for one in many), default=0)
    if not nodes:
        return None, 1
    return _noise("gaussian", "sigma", noise, 1) if noise else {"mechanism": "declassified"}, nodes


def _sequence(name: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ParameterError(f"{name} = {str(value)[:80]!r}: must be a list")
    return value


def _event_of_profile(library: ModuleType, profile: PrivacyProfile) -> Any:
    """Return the event with the curve of this profile, under its relation."""
    curve, moved = bare(profile), _movement_factor(profile.neighbouring)
    if curve.pure_epsilon == 0:
        return library.NoOpDpEvent()
    match curve:
        case NoPrivacy(""):
            return library.NonPrivateDpEvent()
        case GaussianProfile(mu):
            return library.GaussianDpEvent(down(moved / Fraction(mu)))
        case LaplaceProfile(shift, scale):
            return library.LaplaceDpEvent(down(moved * Fraction(scale) / Fraction(shift)))
        case DiscreteLaplaceProfile(shift, scale) if shift % moved == 0:
            return library.DiscreteLaplaceDpEvent(up(1 / Fraction(scale)), shift // moved)
        case ZeroConcentratedProfile(rho):
            return library.ZCDpEvent(rho)
        case TruncatedBatchProfile(sigma, rate, size, most):
            return library.TruncatedSubsampledGaussianDpEvent(size, rate, most, sigma)
        case GaussianMixtureProfile(movements, chances, sigma):
            return library.MixtureOfGaussiansDpEvent(sigma, list(movements), list(chances))
        case SubsampledProfile(base, rate) | PoissonReplacedProfile(base, rate, 1):
            return library.PoissonSampledDpEvent(rate, _event_of_profile(library, base))
        case RandomAllocationProfile() | SelectedStepsProfile() if hasattr(
            library, "RandomAllocationDpEvent"
        ):
            selected = curve.selected if isinstance(curve, SelectedStepsProfile) else 1
            return library.RandomAllocationDpEvent(
                _event_of_profile(library, curve.base), selected, curve.steps
            )
        case FixedSizeProfile(base, rate):
            share = Fraction(rate).limit_denominator(_LARGEST_DATA_SET)
            if up(share) == rate:
                return library.SampledWithoutReplacementDpEvent(
                    share.denominator, share.numerator, _event_of_profile(library, base)
                )
        case AtomicProfile(bound="") if moved == 2 and (found := _response_parameters(curve)):
            return library.RandomizedResponseDpEvent(*found)
    why = f": it is a bound, {curve.bound!r}, and an event says what is attained" if curve.bound else ""
    raise ParameterError(
        f"profile: {type(curve).__name__} for {profile.neighbouring.value!r} has no exact counterpart among events{why}"
    )


def _response_parameters(curve: AtomicProfile) -> tuple[float, int] | None:
    """Return the noise, rounded down, and number of words of the randomized response with this curve, if one has it."""
    masses = dict(zip(curve.losses, curve.probabilities, strict=True))
    epsilon = max(masses)
    if curve.infinite_mass or set(masses) not in ({epsilon, -epsilon}, {epsilon, -epsilon, Fraction(0)}):
        return None
    size = 2 + round(masses.get(Fraction(0), 0.0) / masses[-epsilon])
    lies = math.exp(-float(epsilon))
    same = math.isclose(masses[epsilon], 1.0 / (1.0 + (size - 1) * lies), rel_tol=1e-12)
    rounded = lies * (1.0 - 2.0**-49)
    return (size * rounded / (1.0 + (size - 1) * rounded), size) if same else None
