"""Mechanisms that run on a secret random sample of the records: profiles by scheme and relation.

=============  =================  =========================  =======================  ==========================
scheme         relation           profile                    the base is stated for   pairs
=============  =================  =========================  =======================  ==========================
Poisson        add or remove one  `SubsampledProfile`        add or remove one        two, each composed by itself
Poisson        zero out           `SubsampledProfile`        zero out                 the same two
Poisson        replace one        `PoissonReplacedProfile`   add or remove one        one, symmetric
fixed size     replace one        `FixedSizeProfile`         replace one              one, symmetric
fixed size     zero out           convert "replace one"      replace one              the same
fixed size     add or remove one  refused: n and m/n would change with the record
allocation     add, zero out      `RandomAllocationProfile`  the same                 two, of a whole epoch
shuffled       replace, zero out  `ShuffledBatchesProfile`   the same                 an upper curve of a whole pass
allocation     in k of t steps    `SelectedStepsProfile`     the same                 an upper curve of an epoch
allocation     replace one        convert "add or remove one"
shuffled       add or remove one  refused: all other records would change their places
=============  =================  =========================  =======================  ==========================
"""

from __future__ import annotations

from enum import Enum

from mechanisms.amplification.random_allocation import RandomAllocationProfile, SelectedStepsProfile
from mechanisms.amplification.sampled_group import PoissonReplacedProfile
from mechanisms.amplification.shuffled_batches import ShuffledBatchesProfile
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.parameters import ParameterError, real
from mechanisms.profiles.fixed_size import FixedSizeProfile
from mechanisms.profiles.privacy_profile import PrivacyProfile
from mechanisms.profiles.subsampled import SubsampledProfile


class Sampling(Enum):
    """Sampling scheme; the value is the name in files and reports."""

    POISSON = "poisson"
    FIXED_SIZE = "fixed size"
    SHUFFLED = "shuffled batches"
    RANDOM_ALLOCATION = "random allocation"

    def movement(self, neighbouring: Neighbouring) -> Neighbouring:
        """Return the relation for which the profile on the sample is stated, for a result under ``neighbouring``.

        Raises
        ------
        ParameterError
            If no pair is known under this relation.
        """
        if self is Sampling.POISSON:
            replaced = neighbouring is Neighbouring.REPLACE_ONE
            return Neighbouring.ADD_OR_REMOVE if replaced else neighbouring
        if self is Sampling.RANDOM_ALLOCATION:
            if neighbouring is not Neighbouring.REPLACE_ONE:
                return neighbouring
            raise ParameterError(
                f"neighbours = {neighbouring.value!r}: random allocation has pairs for 'add or remove one' and 'zero "
                "out'; mechanisms.convert makes 'replace one' of the first"
            )
        if neighbouring is Neighbouring.REPLACE_ONE or (
            self is Sampling.SHUFFLED and neighbouring is Neighbouring.ZERO_OUT
        ):
            return neighbouring
        if self is Sampling.SHUFFLED:
            raise ParameterError(
                f"neighbours = {neighbouring.value!r}: for batches of shuffled records nothing is proved where one "
                "is added or removed, as all others change their places; give 'replace one' or 'zero out'"
            )
        raise ParameterError(
            f"neighbours = {neighbouring.value!r}: a sample of fixed size has a pair for 'replace one' only"
            + (
                ": its size and rate are public, and would change with the record"
                if neighbouring is Neighbouring.ADD_OR_REMOVE
                else ", with the movement between any two records; mechanisms.convert makes 'zero out' of it"
            )
        )


def sampled(
    profile: PrivacyProfile,
    rate: float,
    neighbouring: Neighbouring,
    sampling: Sampling = Sampling.POISSON,
    *,
    triangle: bool = False,
    selected: int = 1,
) -> PrivacyProfile:
    """Return the profile of a mechanism on a sample of rate in (0, 1], for a neighbouring relation.

    Parameters
    ----------
    profile
        Profile on the sample, stated for the relation of `Sampling.movement`.
    rate
        Probability that a record takes part; 1 is no sampling. Of shuffled batches and random allocation the share of
        one batch; a release is then a whole pass, or epoch.
    neighbouring
        The relation of the result.
    sampling
        The sampling scheme.
    triangle
        True if the domain has three records pairwise as far apart as any two; see `FixedSizeProfile`.
    selected
        The number of steps of an epoch of random allocation in which each record is.

    Raises
    ------
    ParameterError
        If the rate is outside (0, 1], the profile is stated for another relation than it must be, or no pair is known.
    """
    if real("sampling rate", rate) == 1.0:
        if profile.neighbouring is not neighbouring:
            raise ParameterError(
                f"profile: is for {profile.neighbouring.value!r}; without sampling it must be for "
                f"{neighbouring.value!r}"
            )
        return profile
    needed = sampling.movement(neighbouring)
    if sampling is Sampling.FIXED_SIZE:
        return FixedSizeProfile(profile, rate, triangle)
    if sampling is Sampling.SHUFFLED and profile.neighbouring is needed:
        return ShuffledBatchesProfile(profile)
    if sampling is Sampling.RANDOM_ALLOCATION and profile.neighbouring is needed:
        steps = steps_of(rate / selected)
        if selected > 1:
            return SelectedStepsProfile(profile, steps, selected)
        return RandomAllocationProfile(profile, steps)
    if neighbouring is Neighbouring.REPLACE_ONE and sampling is Sampling.POISSON:
        return PoissonReplacedProfile(profile, rate)
    if sampling is not Sampling.POISSON or profile.neighbouring not in (
        needed,
        Neighbouring.REPLACE_ONE,
    ):  # the latter is refused below, with the remedy
        raise ParameterError(
            f"profile: is for {profile.neighbouring.value!r}; it must be for {needed.value!r}"
        )
    return SubsampledProfile(profile, rate)


def steps_of(rate: float) -> int:
    """Return the number t of steps of an epoch, from its inverse: the share of a batch, or that over a record's steps.

    Raises
    ------
    ParameterError
        If the share is not that of a whole number of steps, to a millionth of a step.
    """
    steps = round(min(1.0 / rate, 2.0**53))
    if abs(1.0 / rate - steps) > 1e-6:
        raise ParameterError(
            f"sampling rate = {rate!r}: of random allocation it must be 1/t, t the number of steps of an epoch "
            "(k/t if a record is in k of them)"
        )
    return steps
