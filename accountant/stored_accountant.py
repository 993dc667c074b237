"""An accountant and its unreleased private values as plain data, for runs that are stopped and resumed.

The parts that grow with the number of records (the ledger, and the records that wait in sums) go to a `RunStore`; the
rest is small. It holds raw data: sums that wait for their release. Keep it where raw data may be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt

from accountant.accountant import Accountant
from accountant.gates.closing import Tenure
from accountant.gates.lineage import Influence, Traced, TracedSums
from accountant.gates.private import Private
from accountant.gates.private_sums import PrivateSums
from accountant.ledger.ledger import Ledger
from accountant.rules.scope import ANY, Scope
from accountant.stores.waiting_sums import Notes
from accountant.terms import Terms
from mechanisms import Assumption, Domain, NoiseSource
from mechanisms.domains.float_bounds import FloatBounds
from mechanisms.parameters import DPWitnessError, ParameterError

AnyArray = npt.NDArray[Any]


class RandomnessMismatch(DPWitnessError, ValueError):
    """A saved run drew its noise elsewhere than the run that is to go on with it."""


# --- the accountant ------------------------------------------------------------------------------


def ledger_of(accountant: Accountant) -> Ledger:
    """Return the ledger of an accountant that was appointed."""
    assert isinstance(accountant._ledger, Ledger)
    return accountant._ledger


def scope_state(accountant: Accountant) -> dict[str, Any]:
    """Return the purpose and the tenant of an accountant's charges, for a file."""
    return {"spends_on": [accountant._spends_on.purpose, accountant._spends_on.tenant]}


def settle_scope(accountant: Accountant, scope: Scope) -> bool:
    """Let all charges be for a purpose and a tenant, from the first on; return True if that is new, and to be saved.

    Raises
    ------
    ParameterError
        If they are for others already, or something was charged without.
    accountant.rules.limits.PurposeRefused
        If nothing was charged yet, and the rules permit no charge for them.
    """
    usual, begun = accountant._spends_on, len(accountant.ledger) > 0
    if scope not in (ANY, usual):
        if begun or usual != ANY:
            words = str(usual) or "no purpose or tenant"
            raise ParameterError(f"{scope}: must stay {words}, which all charges of this run are for")
        accountant._spends_on = scope
    if not begun:
        accountant.check_permitted()
    return accountant._spends_on != usual


def randomness(accountant: Accountant) -> dict[str, Any]:
    """Return the name of an accountant's noise source, and the state of all its NumPy generators."""
    noise = _generator(accountant._noise)
    return {
        "random": _generator_state(accountant._random),
        "source": accountant._noise.name,
        "noise": None if noise is None else _generator_state(noise),
    }


def set_randomness(accountant: Accountant, state: dict[str, Any]) -> None:
    """Set all NumPy generators to the state that `randomness` returned; noise from another source stays."""
    noise = _generator(accountant._noise)
    if noise is not None and state["noise"] is not None:
        _set_state(noise, state["noise"])
    _set_state(accountant._random, state["random"])


def undisturbed(accountant: Accountant) -> AbstractContextManager[object]:
    """Return a context in which no other thread releases, nor adds to this accountant's sums or clears them."""
    return accountant._charging


def appoint(accountant: Accountant) -> Tenure:
    """Bind an accountant to this process, and return the tenure that ends the binding.

    Raises
    ------
    ParameterError
        If its ledger is in a store of its own.
    """
    if not isinstance(accountant._ledger, Ledger):
        raise ParameterError(
            "accountant: its ledger is in a store, but a run keeps its ledger together with the learner's state: give "
            "the run an accountant without store="
        )
    accountant._tenure = tenure = Tenure()
    return tenure


def restore_accountant(
    terms: Terms,
    ledger: Ledger,
    assumptions: Sequence[Assumption],
    state: dict[str, Any],
    noise: NoiseSource | np.random.Generator | None = None,
    *,
    stopped: bool = False,
) -> Accountant:
    """Return an accountant that goes on with a ledger, with every generator as it was.

    Parameters
    ----------
    terms, ledger, assumptions
        The terms of its charges, the charges, and their assumptions.
    state
        The results of `scope_state` and `randomness`.
    noise
        OpenDP's samplers by default. For a run on a NumPy generator a generator of the same kind, whose state is
        set to the saved one.
    stopped
        True if noise may have been drawn after that state was saved.

    Raises
    ------
    RandomnessMismatch
        If the same noise would be drawn again, for other data: their difference would show them. Or if the run drew its
        noise from a NumPy generator and `noise` is none or another kind, or from OpenDP's
        samplers and `noise` is a generator.
    """
    saved = state["noise"]
    if saved is not None and noise is None:
        raise RandomnessMismatch(
            f"noise = None: this run drew its noise from {state['source']}; give noise=numpy.random.default_rng() "
            "(or another generator of that kind) to go on bit for bit, or a noise source to change to it"
        )
    if saved is None and isinstance(noise, np.random.Generator):
        raise RandomnessMismatch(
            f"noise is a NumPy generator: this run drew its noise from {state['source']}"
        )
    purpose, tenant = state.get("spends_on", (None, None))
    accountant = Accountant(
        terms.budget,
        composition=terms.composition,
        trust=terms.trust,
        noise=noise,
        strict=terms.strict,
        purpose=purpose,
        tenant=tenant,
    )
    if stopped and saved is not None and _generator(accountant._noise) is not None:
        raise RandomnessMismatch(
            f"this run was stopped after a release that is in no save: {state['source']} would draw the same noise "
            "again from its saved state, for other data, and the difference of the two shows the data; go on with a "
            "noise source with a secret state, such as noise=OpenDPNoise()"
        )
    set_randomness(accountant, state)
    accountant.assume(*assumptions)
    accountant._ledger = ledger
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


def private_state(
    value: Private | PrivateSums, notes: Notes | None = None
) -> tuple[dict[str, Any], AnyArray]:
    """Return the records of a private value with their influences, and its raw numbers.

    With `notes`, these take the records that wait in sums, and the sums are described by their number there.
    """
    origin = value._provenance
    if isinstance(value, Private):
        assert isinstance(origin, Traced)
        influences = [[record, moved.to_list()] for record, moved in origin.influences.items()]
        state = {
            "kind": "value",
            "influences": influences,
            "bounds": origin.bounds.to_list(),
            "categories": value._categories,
            "parts": value._parts,
        }
        return state, value._values
    assert isinstance(origin, TracedSums)
    state = origin.to_dict() if notes is None else {"number": notes.sums(origin)}
    return {"kind": "sums", **state}, value._values


def restore_private(
    gate: Accountant,
    state: dict[str, Any],
    values: AnyArray,
    sums: Mapping[int, TracedSums],
    domain: Domain | None = None,
) -> Private | PrivateSums:
    """Return the private value that `private_state` described, owned by `gate`.

    Parameters
    ----------
    gate
        The accountant.
    state, values
        The result of `private_state`.
    sums
        Those of the history, by their numbers.
    domain
        The known domain of a value.
    """
    if state["kind"] == "value":
        influences = {record: Influence.from_list(moved) for record, moved in state["influences"]}
        return Private(
            gate,
            values,
            Traced(influences, FloatBounds.from_list(state["bounds"])),
            categories=state["categories"],
            domain=domain,
            parts=state.get("parts", 1),
        )
    held = PrivateSums(gate, gate.lanes, values.shape[-1], sums[state["number"]])
    held._values = values
    return held
