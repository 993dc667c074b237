"""The histories of Opacus' accountants: so many steps of Gaussian noise on Poisson samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accountant.audit.dp_events import releases_of_event
from accountant.audit.releases import ReleaseFileError, Releases
from mechanisms.neighbouring import Neighbouring
from mechanisms.parameters import ParameterError, nonnegative, real, whole_number

_ACCOUNTANTS = ("rdp", "prv", "gdp")
_STATE = ("history", "mechanism")


def from_opacus(state: Any, neighbours: Neighbouring | str) -> Releases:
    """Return the releases that an accountant of Opacus has counted; Opacus need not be installed.

    Its steps are what its documentation says: each adds Gaussian noise of ``noise_multiplier`` times the norm to which
    gradients are clipped, on a batch that each record joins by itself with probability ``sample_rate``. A loader
    that draws its batches otherwise (``poisson_sampling=False``) makes the history, and this, say something else than
    what was run.

    Parameters
    ----------
    state
        ``accountant.state_dict()`` of ``RDPAccountant``, ``PRVAccountant`` or ``GaussianAccountant``, or its
        ``history`` alone: (noise_multiplier, sample_rate, steps). How Opacus would add it up does not matter.
    neighbours
        When two data sets are neighbours; Opacus' own numbers are for "add or remove one".

    Raises
    ------
    ReleaseFileError
        If it is no such state, or a number breaks its rule.
    """
    return releases_of_history("history", state, neighbours)


def is_opacus_state(content: Mapping[str, Any]) -> bool:
    """Return True if an object of a JSON file is the state of an accountant of Opacus."""
    return "history" in content


def releases_of_history(source: str, state: Any, neighbours: Neighbouring | str) -> Releases:
    """Read a state as `from_opacus` does; messages begin with ``source``."""
    try:
        steps = [_step(i, one) for i, one in enumerate(_history(state))]
    except ParameterError as error:
        raise ReleaseFileError(f"{source}: {error}") from None
    return releases_of_event(source, {"class_name": "ComposedDpEvent", "events": steps}, neighbours)


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


def _step(index: int, step: Any) -> dict[str, Any]:
    """Return steps as an event of dp-accounting, which says the same."""
    where = f"history[{index}]"
    if not isinstance(step, list | tuple) or len(step) != 3:
        raise ParameterError(f"{where} = {str(step)[:80]!r}: must be (noise_multiplier, sample_rate, steps)")
    noise, rate, count = step
    if not 0.0 < real(f"{where}: sample_rate", rate) <= 1.0:
        raise ParameterError(f"{where}: sample_rate = {rate!r}: must lie in (0, 1]")
    gaussian = {
        "class_name": "GaussianDpEvent",
        "noise_multiplier": nonnegative(f"{where}: noise_multiplier", noise),
    }
    sampled = {"class_name": "PoissonSampledDpEvent", "sampling_probability": rate, "event": gaussian}
    return {
        "class_name": "SelfComposedDpEvent",
        "event": sampled,
        "count": whole_number(f"{where}: steps", count, least=1),
    }
