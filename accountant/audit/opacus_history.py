"""The histories of Opacus' accountants: numbers of steps of Gaussian noise on subsampled batches.

They do not state how batches were made, and by what a sum was divided. The loss depends on both: they are arguments.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from accountant.audit.release_tables import from_tables
from accountant.audit.releases import ReleaseFileError, Releases
from mechanisms.amplification.sampling import Sampling, steps_of
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.parameters import ParameterError, nonnegative, real, whole_number

_ACCOUNTANTS = ("rdp", "prv", "gdp")
_STATE = ("history", "mechanism", "batches", "mean")
_MEANS = ("public size", "own size")


def from_opacus(
    state: Any,
    neighbours: Neighbouring | str,
    *,
    batches: Sampling | str,
    mean: str,
    source: str = "history",
) -> Releases:
    """Return the releases that an accountant of Opacus has counted; Opacus need not be installed.

    Each step adds Gaussian noise of ``noise_multiplier`` times the norm to which gradients are clipped, to the sum over
    a batch of a share ``sample_rate`` of the records.

    Parameters
    ----------
    state
        ``accountant.state_dict()`` of ``RDPAccountant``, ``PRVAccountant`` or ``GaussianAccountant``, or its
        ``history`` alone: (noise_multiplier, sample_rate, steps). How Opacus would add it up does not matter.
    neighbours
        The neighbouring relation; Opacus' own numbers are for "add or remove one".
    batches
        The sampling scheme: "poisson" (Opacus' own loader: each record by itself), "fixed size" (so many of all, drawn
        anew for each step), "random allocation" (each record in one batch of an epoch, uniformly and by itself, drawn
        anew for each epoch; a noise is that of whole epochs), or "shuffled batches" (each record once in a pass:
        ``poisson_sampling=False``). Then the first pass begins with the first step, and a pass of one sample rate ends
        before the next one of it begins: the history does not show passes that were broken off. Batches of one pass
        whose noise differs are one release for each noise.
    mean
        The divisor of the noisy sum: "public size" (Opacus' expected batch size, a number that does not depend on
        the data), or "own size" (the number of records that the batch happened to have).
    source
        The origin of the state, with which messages begin.

    Raises
    ------
    ReleaseFileError
        If it is no such state, a number breaks its rule, or nothing is proved for such batches under this relation.
    """
    try:
        relation = neighbours if isinstance(neighbours, Neighbouring) else Neighbouring.from_name(neighbours)
        history = _history(state)
        scheme = _scheme(batches)
        _check_mean(mean, scheme)
        tables: list[dict[str, Any]] = []
        passes = _Passes()
        read = [(*_step(i, one, relation, scheme), one) for i, one in enumerate(history)]
        for table, same in itertools.groupby(
            read, lambda each: each[0]
        ):  # steps of one kind may be several entries
            (_, count, one), *others = same
            count += sum(each[1] for each in others)
            if scheme is Sampling.SHUFFLED:
                count = passes.count_entry(float(one[1]), count)
            elif scheme is Sampling.RANDOM_ALLOCATION and table["mechanism"] != "declassified":
                count = _epochs(float(one[1]), count)
            tables.append({**table, "count": count})
    except ParameterError as error:
        raise ReleaseFileError(f"{source}: {error}") from None
    return from_tables(source, {"neighbours": relation.value, "release": tables})


def _scheme(batches: Any) -> Sampling:
    """Return the sampling scheme of batches; there is no default, as each scheme gives another loss."""
    known = {one.value: one for one in Sampling}
    found = (
        batches if isinstance(batches, Sampling) else known.get(batches) if isinstance(batches, str) else None
    )
    if found is None:
        raise ParameterError(
            f"batches = {batches!r}: the history does not say how batches were made: give one of "
            f"{', '.join(map(repr, known))}"
        )
    return found


def _check_mean(mean: Any, scheme: Sampling) -> None:
    if mean not in _MEANS:
        raise ParameterError(
            f"mean = {mean!r}: the history does not say what sums were divided by: give one of "
            f"{', '.join(map(repr, _MEANS))}"
        )
    if mean == "own size" and scheme in (Sampling.POISSON, Sampling.RANDOM_ALLOCATION):
        raise ParameterError(
            f"mean = 'own size': the size of a batch depends on who is in it ({scheme.value}), and so would the "
            "noise of the mean; nothing is proved for it"
        )


def _history(state: Any) -> list[Any] | tuple[Any, ...]:
    history = state
    if isinstance(state, Mapping):
        for key in state:
            if key not in _STATE:
                raise ParameterError(f"unknown key {key!r}; a state of Opacus has history and mechanism")
        history = state.get("history")
        mechanism = state.get("mechanism", _ACCOUNTANTS[0])
        name = mechanism() if callable(mechanism) else mechanism  # `state_dict` has the class method itself
        if name not in _ACCOUNTANTS:
            raise ParameterError(f"mechanism = {name!r}: must be one of {', '.join(_ACCOUNTANTS)}")
    if not isinstance(history, list | tuple) or not history:
        raise ParameterError(f"history = {str(history)[:80]!r}: must be a list of at least one step")
    return history


def _step(index: int, step: Any, relation: Neighbouring, scheme: Sampling) -> tuple[dict[str, Any], int]:
    """Return steps as a table of a release file, without its count, and the count."""
    where = f"history[{index}]"
    if not isinstance(step, list | tuple) or len(step) != 3:
        raise ParameterError(f"{where} = {str(step)[:80]!r}: must be (noise_multiplier, sample_rate, steps)")
    noise, rate = nonnegative(f"{where}: noise_multiplier", step[0]), real(f"{where}: sample_rate", step[1])
    if not 0.0 < rate <= 1.0:
        raise ParameterError(f"{where}: sample_rate = {step[1]!r}: must lie in (0, 1]")
    count = whole_number(f"{where}: steps", step[2], least=1)
    if not noise:
        return {"mechanism": "declassified"}, count
    joins = scheme is Sampling.POISSON and rate < 1.0  # then it is a record that joins the sample
    moved = {"sensitivity": 2} if relation is Neighbouring.REPLACE_ONE and not joins else {}
    table = {"mechanism": "gaussian", "sigma": noise, **moved}
    if rate == 1.0:
        return table, count
    return {**table, "sampling_rate": rate, "sampling": scheme.value}, count


def _epochs(rate: float, steps: int) -> int:
    """Return the number of epochs of random allocation in some steps."""
    length = steps_of(rate)
    if steps % length:
        raise ParameterError(
            f"steps = {steps}: with random allocation a noise is that of whole epochs, here of {length} steps; one "
            "that was broken off loses at most what a whole one does"
        )
    return steps // length


class _Passes:
    """The passes over the data that the entries of a history belong to: a record is in one batch of each."""

    def __init__(self) -> None:
        self.position: dict[
            float, int | None
        ] = {}  # steps into the pass of a rate, None where it is not known
        self.rate = 1.0

    def count_entry(self, rate: float, steps: int) -> int:
        """Return an upper bound on the passes that the next `steps` steps of a rate are in."""
        if rate != self.rate:  # whether an unfinished pass goes on when its rate comes back is not known
            self.position = {one: 0 if at == 0 else None for one, at in self.position.items()}
            self.rate = rate
        length = min(1.0 / rate, 2.0**53)
        batches = round(length)
        if (
            length == 2.0**53 or abs(length - batches) >= 1e-6
        ):  # any number of batches from the integer below on
            batches, self.position[rate] = int(length), None if rate in self.position else 0
        at = self.position.get(rate, 0)
        end = (
            batches - 1 if at is None else at
        ) + steps  # of an unknown position the last batch of a pass is worst
        self.position[rate] = None if at is None else end % batches
        return -(-end // batches)
