"""The parts of a composition: kinds of releases, and groups of records that take part in the same ones."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from accountant.budget import Budget
from accountant.gates.lineage import RecordId
from mechanisms.amplification.sampling import Sampling
from mechanisms.domains.neighbouring import Neighbouring, common_neighbouring
from mechanisms.domains.sensitivity import Sensitivity
from mechanisms.noise.mechanism import Mechanism
from mechanisms.parameters import DPWitnessError, ParameterError, whole_number
from mechanisms.profiles.privacy_profile import PrivacyProfile
from mechanisms.relations.group_privacy import for_group

EVERYONE = "every record"
"""The name of the one group of releases that name no records."""

ProfileCounts = tuple[tuple[PrivacyProfile, int], ...]
"""Profiles, each with how often it occurs."""

POWER = {
    "scale": 1,
    "sigma": 1,
    "threshold_scale": 1,
    "query_scale": 1,
    "threshold_sigma": 1,
    "query_sigma": 1,
    "test_scale": 1,
    "epsilon": -1,
    "rho": -2,
}
"""The noise parameters, and the power of a noise factor that multiplies each."""


class ReleaseFileError(DPWitnessError, ValueError):
    """A release file breaks a rule; the message names the line and the rule."""


def scale_noise(parameters: Mapping[str, Any], factor: float) -> dict[str, float]:
    """Return the noise parameters among some, with all noise multiplied by a factor."""
    return {name: value * factor ** POWER[name] for name, value in parameters.items() if name in POWER}


@dataclass(frozen=True)
class WrittenRelease:
    """One release as a table of a release file has it, read.

    Attributes
    ----------
    kind
        The name of the mechanism.
    parameters
        Its parameters by name.
    moved
        The movement of the value by one record under `relation`.
    relation
        The relation of the movement: for a sample another one than the file's.
    rate, sampling
        The sampling rate, 1 if nothing is sampled, and the sampling scheme.
    clients
        The number of clients with shuffled messages; None if messages are not shuffled.
    """

    kind: str
    parameters: Mapping[str, Any]
    moved: Sensitivity
    relation: Neighbouring
    rate: float = 1.0
    sampling: Sampling = Sampling.POISSON
    clients: int | None = None


@dataclass(frozen=True)
class Release:
    """One kind of release.

    Attributes
    ----------
    name
        Its name in reports.
    build
        Function that returns the profile of one release with all noise multiplied by a factor.
    parameters
        Noise parameters by name, as written.
    sensitivity_text
        For a sampled release, the movement that its sensitivity bounds, in words.
    mechanism
        The mechanism with its noise, in words; "" if only a curve is known.
    written
        The file's table, read; None if it comes from elsewhere.
    """

    name: str
    build: Callable[[float], PrivacyProfile]
    parameters: Mapping[str, float] = field(default_factory=dict)
    sensitivity_text: str = ""
    mechanism: str = ""
    written: WrittenRelease | None = None


@dataclass(frozen=True)
class Group:
    """Records that are part of the same releases.

    Attributes
    ----------
    name
        The label of the first of them.
    records
        The number of its records.
    counts
        The number of times that a record is part of each kind of release, by the kind's number.
    """

    name: str
    records: int
    counts: Mapping[int, int]


@dataclass(frozen=True)
class FileMetadata:
    """The title, dates and notes of a release file, for its readers: no number depends on them.

    Attributes
    ----------
    title, notes
        Text; empty if there is none.
    date
        The date of the file.
    first, last
        The earliest and the latest date of a release; None if none has one.
    """

    BESIDE: ClassVar = True  # in JSON

    title: str = ""
    notes: str = ""
    date: datetime.date | None = None
    first: datetime.date | None = None
    last: datetime.date | None = None


NO_METADATA = FileMetadata()


class GroupResult:
    """Mixin of results for groups of records that change together, of size 1 for single records."""

    neighbouring: Neighbouring
    group_size: int

    @property
    def relation(self) -> str:
        """The neighbouring relation, and the number of records that change if it is not one."""
        return self.neighbouring.of_groups(self.group_size)


@dataclass(frozen=True)
class EnforcedBudget:
    """The budget that an accountant enforced while its run chose the releases one after another.

    The cost of the releases of such a run as a composition fixed in advance is no guarantee: the choice of the releases
    depended on outputs. The budget is one.

    Attributes
    ----------
    theorem
        The composition theorem.
    budget
        The most that every record of the run loses.
    """

    theorem: str
    budget: Budget


@dataclass(frozen=True)
class LedgerFacts:
    """Facts of a ledger beside its releases.

    Attributes
    ----------
    trust
        The party that sees raw data, as `Trust` names it.
    strict
        True if releases that rest on unchecked assumptions were refused.
    releases
        The number of its charges, also for values that left without noise.
    noise
        The sources of noise.
    declassified
        The number of values that left without noise, by reason and line.
    first, last
        The days, in UTC, of the first and the last charge; None if the ledger has no times, or lacks charges.
    """

    trust: str
    strict: bool
    releases: int = 0
    noise: tuple[str, ...] = ()
    declassified: Mapping[str, int] = field(default_factory=dict)
    first: datetime.date | None = None
    last: datetime.date | None = None


@dataclass(frozen=True)
class Releases:
    """All kinds of releases in a file, and the groups of records that take part in them.

    Attributes
    ----------
    kinds, groups
        The releases and the records.
    chosen_under
        For a ledger, the budget that held for every choice of its run; None for releases fixed in advance.
    about
        The file's title, notes and dates.
    group_size
        The number of records that change together between neighbouring data sets; see `for_groups_of`.
    ledger
        Further facts of a ledger; None for another file.

    Raises
    ------
    MixedNeighbours
        If two kinds of releases are for different neighbouring relations, also in groups that share none.
    """

    kinds: tuple[Release, ...]
    groups: tuple[Group, ...]
    chosen_under: EnforcedBudget | None = None
    about: FileMetadata = NO_METADATA
    group_size: int = 1
    ledger: LedgerFacts | None = None

    def __post_init__(self) -> None:
        _ = self.neighbouring

    @cached_property
    def neighbouring(self) -> Neighbouring:
        """The neighbouring relation of every release."""
        return common_neighbouring(kind.build(1.0) for kind in self.kinds)

    def for_groups_of(self, size: int) -> Releases:
        """Return the same releases, each with its cost to groups of up to ``size`` records together.

        The records of such a group take part in the same releases, as people of one household or all records of one
        person do, and are all replaced, all removed, all added or all zeroed out.

        Raises
        ------
        ParameterError
            If the size is not a whole number of at least 1.
        """
        k = whole_number("group size", size, least=1)
        if k == 1:
            return self
        if self.group_size != 1:
            raise ParameterError(f"group size = {size!r}: these releases are for groups already")
        chosen = self.chosen_under
        return replace(
            self,
            kinds=tuple(replace(kind, build=_for_groups(kind.build, k)) for kind in self.kinds),
            chosen_under=None if chosen is None else replace(chosen, budget=chosen.budget.for_group(k)),
            group_size=k,
        )

    def profile_counts(self, group: Group, factor: float = 1.0) -> ProfileCounts:
        """Return (profile, count) for every kind of release that a group is part of."""
        return tuple((self.kinds[i].build(factor), count) for i, count in group.counts.items())


def fixed_release(profile: PrivacyProfile) -> Callable[[float], PrivacyProfile]:
    """Return a builder for a release with fixed noise; it refuses every factor but 1."""

    def build(factor: float) -> PrivacyProfile:
        if factor != 1.0:
            raise ReleaseFileError(
                "the noise of releases from a ledger, or of mechanisms given as objects, cannot be calibrated"
            )
        return profile

    return build


def _for_groups(build: Callable[[float], PrivacyProfile], size: int) -> Callable[[float], PrivacyProfile]:
    return lambda factor: for_group(build(factor), size)


def from_mechanisms(composition: Iterable[tuple[Mechanism, int]]) -> Releases:
    """Return releases through mechanisms on every record, for audits: an OpenDP measurement, a library's, your own.

    Parameters
    ----------
    composition
        Mechanisms (`mechanisms.from_opendp` makes one of a measurement), each with how often it is used; each moves by
        its own sensitivity.

    Raises
    ------
    ParameterError
        If a count is no whole number above 0, or there is none.
    MixedNeighbours
        If two of them are for different neighbouring relations.
    """
    kinds, counts = [], {}
    for i, (mechanism, count) in enumerate(composition):
        kinds.append(
            Release(
                f"{i + 1}: {type(mechanism).__name__}",
                fixed_release(mechanism.profile()),
                mechanism=repr(mechanism),
            )
        )
        counts[i] = whole_number("count", count, least=1)
    if not kinds:
        raise ParameterError("composition: must have at least one mechanism")
    return Releases(tuple(kinds), (Group(EVERYONE, 1, counts),))


def is_within(group: Group, other: Group) -> bool:
    """Return True if a group takes part in no kind of release more often than another one."""
    return all(count <= other.counts.get(kind, 0) for kind, count in group.counts.items())


def group_records(members: Mapping[RecordId, Mapping[int, int]]) -> tuple[Group, ...]:
    """Return the groups of records that are part of the same releases.

    Parameters
    ----------
    members
        For every record, how often it is part of each kind of release, by the kind's number.
    """
    alike: dict[tuple[tuple[int, int], ...], list[RecordId]] = {}
    for label, counts in members.items():
        alike.setdefault(tuple(sorted(counts.items())), []).append(label)
    return tuple(Group(str(labels[0]), len(labels), dict(counts)) for counts, labels in alike.items())
