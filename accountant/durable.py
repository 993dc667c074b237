"""An accountant and its unreleased private values as plain data, so that a run can be stopped and gone on with.

What is written here holds raw data: sums that wait for their release. Keep it where raw data may be.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms import NoiseSource

from .accountant import Accountant
from .private import Private
from .private_sums import PrivateSums
from .provenance import Influence, Traced, TracedSums

Arrays = npt.NDArray[Any]


class RandomnessMismatch(ValueError):
    """A saved run drew its noise elsewhere than the run that is to go on with it."""


# --- the accountant ------------------------------------------------------------------------------


def accountant_state(accountant: Accountant) -> dict[str, Any]:
    """Return the budget, the ledger and the state of all NumPy generators as JSON-able data.

    Raises
    ------
    GateClosed
        If the accountant is closed: a restart must not open it again.
    """
    accountant.check_open()
    noise = _generator(accountant._noise)
    return {
        "ledger": accountant.to_dict(),
        "random": _generator_state(accountant._random),
        "source": accountant._noise.name,
        "noise": None if noise is None else _generator_state(noise),
    }


def restore_accountant(
    state: dict[str, Any], noise: NoiseSource | np.random.Generator | None = None
) -> Accountant:
    """Return the accountant that `accountant_state` described, every total and every generator as it was.

    Parameters
    ----------
    state
        What `accountant_state` returned.
    noise
        OpenDP's samplers by default. For a run on a NumPy generator a generator of the same kind, whose state is
        set to the saved one.

    Raises
    ------
    RandomnessMismatch
        If the run drew its noise from a NumPy generator and `noise` is none or another kind, or from OpenDP's
        samplers and `noise` is a generator.
    """
    saved = state["noise"]
    if saved is not None and noise is None:
        raise RandomnessMismatch(
            f"noise=None: this run drew its noise from {state['source']}; give noise=numpy.random.default_rng() "
            "(or another generator of that kind) to go on bit for bit, or a noise source to change to it"
        )
    if saved is None and isinstance(noise, np.random.Generator):
        raise RandomnessMismatch(
            f"noise is a NumPy generator: this run drew its noise from {state['source']}"
        )
    if saved is not None and isinstance(noise, np.random.Generator):
        _set_state(noise, saved)
    accountant = Accountant.from_dict(state["ledger"], noise=noise)
    _set_state(accountant._random, state["random"])
    return accountant


def _generator(noise: NoiseSource) -> np.random.Generator | None:
    drawn = getattr(noise, "_randomness", None)
    return drawn if isinstance(drawn, np.random.Generator) else None


def _generator_state(generator: np.random.Generator) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(entry) for key, entry in value.items()}
        return value.tolist() if isinstance(value, np.ndarray | np.generic) else value

    state: dict[str, Any] = plain(generator.bit_generator.state)
    return state


def _set_state(generator: np.random.Generator, state: dict[str, Any]) -> None:
    kind = type(generator.bit_generator).__name__
    if kind != state["bit_generator"]:
        raise RandomnessMismatch(
            f"noise is a generator of kind {kind}: this run drew from {state['bit_generator']}"
        )
    generator.bit_generator.state = state


# --- private values ------------------------------------------------------------------------------


def private_state(value: Private | PrivateSums) -> tuple[dict[str, Any], Arrays]:
    """Return whose data a private value holds and how far each record moves it, and the raw numbers."""
    origin = value._provenance
    if isinstance(value, Private):
        assert isinstance(origin, Traced)
        influences = [[record, _influence(moved)] for record, moved in origin.influences.items()]
        return {"kind": "value", "influences": influences, "categories": value._categories}, value._values
    assert isinstance(origin, TracedSums)
    return {
        "kind": "sums",
        "entries": [[[record, width.hex()] for record, width in entries] for entries in origin._entries],
        "caps": [[record, l1.hex(), l2.hex()] for record, (l1, l2) in origin._caps.items()],
        "all_capped": origin._all_capped,
    }, value._values


def restore_private(gate: Accountant, state: dict[str, Any], values: Arrays) -> Private | PrivateSums:
    """Return the private value that `private_state` described, owned by `gate`."""
    if state["kind"] == "value":
        influences = {record: Influence(*map(_numbers, moved)) for record, moved in state["influences"]}
        return Private(gate, values, Traced(influences), categories=state["categories"])
    sums = gate.sums(values.shape[-1])
    sums._values = values
    origin = sums._provenance
    assert isinstance(origin, TracedSums)
    origin._entries = [
        [(record, float.fromhex(width)) for record, width in entries] for entries in state["entries"]
    ]
    origin._caps = {record: (float.fromhex(l1), float.fromhex(l2)) for record, l1, l2 in state["caps"]}
    origin._all_capped = state["all_capped"]
    for entries in origin._entries:
        for record, _ in entries:
            origin._held[record] = origin._held.get(record, 0) + 1
    return sums


def _influence(moved: Influence) -> list[Any]:
    return [[width.hex() for width in moved.widths], moved.l1_cap.hex(), moved.l2_cap.hex()]


def _numbers(saved: Any) -> Any:
    if isinstance(saved, list):
        return tuple(float.fromhex(number) for number in saved)
    return float.fromhex(saved)
