"""Which layers of a verification stand in the way of a certificate."""

from __future__ import annotations

import math
from enum import StrEnum

from verify.findings import FindingKind
from verify.verdict.result import Verification


class Layer(StrEnum):
    """A layer, in the order in which a report names them."""

    ASSUMPTIONS = "assumptions"
    LEDGER = "ledger"
    COUPLED = "coupled runs"
    REPLAYS = "replays"
    TRIALS = "trials of functions"
    NOISE = "test of the noise"
    VIEW = "test of the view"
    FIRST_LOOK = "first look"
    RUNS = "does not run"
    LIMITS = "stopped"


_KINDS: dict[Layer, tuple[FindingKind, ...]] = {
    Layer.LEDGER: (
        FindingKind.DECLASSIFIED,
        FindingKind.DOMAIN,
        FindingKind.ERROR_IN_MAP,
        FindingKind.OVERSPENT,
        FindingKind.RAW_READ,
        FindingKind.REFUSED,
        FindingKind.REPLACEMENT,
        FindingKind.SENSITIVITY,
        FindingKind.TRUST,
        FindingKind.VIEW,
    ),
    Layer.COUPLED: (FindingKind.NO_LANES, FindingKind.STABILITY),
    Layer.REPLAYS: (
        FindingKind.FEWER_CALLS,
        FindingKind.MASK,
        FindingKind.MORE_CALLS,
        FindingKind.PLACE,
        FindingKind.RAW_FLOW,
        FindingKind.RAW_OUTPUT,
        FindingKind.RELEASES,
        FindingKind.STATE,
        FindingKind.UNREPEATABLE,
    ),
    Layer.TRIALS: (FindingKind.IMPURE_MAP,),
    Layer.NOISE: (FindingKind.MECHANISM,),
    Layer.VIEW: (FindingKind.DEPENDENT_DRAWS, FindingKind.DRIFT, FindingKind.FLOATING_POINT),
    Layer.FIRST_LOOK: (
        FindingKind.CHANGES_DATA,
        FindingKind.CONSTANT,
        FindingKind.DETERMINISTIC,
        FindingKind.FOREIGN_RANDOMNESS,
        FindingKind.IGNORES_GENERATOR,
        FindingKind.MESSAGES,
        FindingKind.NAN,
        FindingKind.PRINTS,
        FindingKind.RAISES,
        FindingKind.REMEMBERS,
        FindingKind.REPEATS,
        FindingKind.SHAPE,
        FindingKind.WARNS,
        FindingKind.WIDE,
    ),
    Layer.RUNS: (FindingKind.ACTION, FindingKind.CRASH, FindingKind.ENDS_PROCESS, FindingKind.WRONG_ARM),
    Layer.LIMITS: (
        FindingKind.FEWER_DRAWS,
        FindingKind.INTERRUPTED,
        FindingKind.TIME_LIMIT,
        FindingKind.WEALTH,
    ),
}
_ROUNDED = 1.0 + 1e-9  # the two are computed in different ways

LAYER_OF: dict[FindingKind, Layer] = {kind: layer for layer, kinds in _KINDS.items() for kind in kinds}
"""Which layer makes the failing findings of each kind."""


def layers_in_the_way(result: Verification) -> tuple[Layer, ...]:
    """Return the layers that deny a result its certificate, each once; none if it is certified."""
    upper, claim = result.upper, result.claim
    found = {LAYER_OF[finding.kind] for finding in result.findings if finding.failing}
    if result.assumptions:
        found.add(Layer.ASSUMPTIONS)
    if upper is not None and claim.epsilon < upper.epsilon < math.inf:
        found.add(
            Layer.LEDGER
        )  # an infinite bound is a refusal, which has a finding; or nobody keeps a ledger
    coupled = result.details.get("coupled")
    pure = upper is not None and upper.delta == 0.0  # else a loss may be above the bound now and then
    if coupled and pure and upper is not None and coupled["largest_loss"] > upper.epsilon * _ROUNDED:
        found.add(Layer.COUPLED)
    if result.verdict == "refuted" and result.lower is not None and result.lower.samples:
        found.add(Layer.VIEW if {"black_box", "anytime"} & result.details.keys() else Layer.COUPLED)
    return tuple(layer for layer in Layer if layer in found)
