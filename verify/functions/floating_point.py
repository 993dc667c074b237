"""What only floating-point arithmetic shows: the last bits of an output may tell what real numbers would not.

A claim is about the mechanism as it is written, in real arithmetic, unless the caller says that the machine's counts
(Mironov, *On significance of the least significant bits for differential privacy*, CCS 2012).
"""

from __future__ import annotations

import numpy as np

from verify.conduct.spawn_keys import SpawnKey
from verify.findings import Finding, Statement
from verify.outputs.output_layout import Layout
from verify.sampling.counted_event import CountedEvent
from verify.sampling.worlds import NeighbouringWorlds
from verify.sentences import number


def has_fractions(layout: Layout, worlds: NeighbouringWorlds, seed: int) -> bool:
    """Return whether outputs hold numbers that are not whole: only those have bits that could leak."""
    sample = worlds.draw(False, 64, SpawnKey.FRACTIONS.sequence(seed))
    real = [i for i, column in enumerate(layout.columns) if column.kind == "real"]
    values = sample.values[:, real]
    values = values[np.isfinite(values)]
    return bool((values != np.round(values)).any())


def lattice_finding(result: CountedEvent, *, counts: bool) -> Finding:
    """Return the finding for a test of the lattice that refutes the claim.

    Parameters
    ----------
    result
        The test's result.
    counts
        Whether it counts against the claim.
    """
    data, other = result.likelier_first
    outcome = (
        "this counts against the claim"
        if counts
        else "the claim is about real arithmetic, so that this does not count (it does with --floating-point)"
    )
    return Statement.FLOATING_POINT.finding(
        failing=counts,
        epsilon=number(result.epsilon_lower),
        event=result.event.words,
        probability=result.probability,
        data=data,
        probability_prime=result.probability_prime,
        data_prime=other,
        outcome=outcome,
    )
