"""The cost of a charge of Tumult Core's privacy accountant, which is in memory.

``python tests/benchmarks/tumult_charges.py``, in an environment of its own with ``tmlt.core`` (which needs pandas 1).
`bench_ledger.py --tumult PYTHON` runs it.
"""

from __future__ import annotations

import time

import numpy as np
from tmlt.core.domains.numpy_domains import NumpyIntegerDomain  # type: ignore[import-not-found]
from tmlt.core.measurements.interactive_measurements import (  # type: ignore[import-not-found]
    PrivacyAccountant,
    SequentialComposition,
)
from tmlt.core.measurements.noise_mechanisms import AddGeometricNoise  # type: ignore[import-not-found]
from tmlt.core.measures import PureDP  # type: ignore[import-not-found]
from tmlt.core.metrics import AbsoluteDifference  # type: ignore[import-not-found]

CHARGES = 500


def main() -> None:
    """Print microseconds of CPU and of the clock of one noisy count."""
    composition = SequentialComposition(
        NumpyIntegerDomain(), AbsoluteDifference(), PureDP(), d_in=1, privacy_budget=10**6
    )
    accountant = PrivacyAccountant.launch(composition, np.int64(3))
    noise = AddGeometricNoise(alpha=4)
    accountant.measure(noise)
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(CHARGES):
        accountant.measure(noise)
    cpu, wall = (time.process_time() - cpu) / CHARGES * 1e6, (time.perf_counter() - wall) / CHARGES * 1e6
    print(f"{cpu:.0f} {wall:.0f}")


if __name__ == "__main__":
    main()
