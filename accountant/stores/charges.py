"""What a written-down charge must be at least."""

from __future__ import annotations

from fractions import Fraction

from accountant.budget import asked_and_left
from accountant.filters.composition_theorem import Composition, UnsupportedCharge
from accountant.ledger.entry import Entry
from accountant.recorded import RecordedMechanism
from accountant.stores.store_refusals import LedgerDamaged

_ROUNDING = 1e-9
"""By so much, relative, a charge may be below the one computed now: another version of SciPy rounds otherwise."""


def check_charge(entry: Entry, composition: Composition) -> bool:
    """Recompute a charge from its mechanism; return whether that can be done, or it is taken on trust.

    Raises
    ------
    LedgerDamaged
        If it is less than the mechanism's, or the mechanism is not calibrated for the sensitivity.
    """
    if entry.mechanism is None:
        least = composition.infinite_spend
    elif isinstance(entry.mechanism, RecordedMechanism) or entry.sensitivity is None:
        return False
    else:
        if not entry.mechanism.sensitivity.covers(entry.sensitivity):
            raise LedgerDamaged("its sensitivity is more than its mechanism is calibrated for")
        try:
            least = composition.charge(entry.mechanism, entry.sensitivity)
        except UnsupportedCharge:
            return False
    for stored, computed in zip(entry.charge.values, least.values, strict=True):
        if stored is not None and (computed is None or stored < computed * (1 - Fraction(_ROUNDING))):
            charged, needed = asked_and_left(entry.charge, least)
            raise LedgerDamaged(f"charges {charged}, less than the {needed} of its mechanism")
    return True
