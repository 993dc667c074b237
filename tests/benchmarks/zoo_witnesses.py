"""Verify every buggy specimen of the zoo, and write what refutes it for the gallery of the site.

Run ``python tests/benchmarks/zoo_witnesses.py`` (two minutes of one core): it writes docs/zoo_witnesses.json. Each is
verified at quick effort, and at default effort if that does not refute it; one that neither refutes has no witness.
"""

from __future__ import annotations

import json
from pathlib import Path

from verify import Verification, verify
from verify.zoo import Specimen, specimens

FILE = Path(__file__).parents[2] / "docs" / "zoo_witnesses.json"


def refutation(specimen: Specimen) -> Verification | None:
    """Return the first verification that refutes the specimen's claim."""
    for effort in ("quick", "default"):
        found = verify(specimen.subject, epsilon=specimen.epsilon, delta=specimen.delta, effort=effort)
        if found.verdict == "refuted":
            return found
    return None


def witness_of(specimen: Specimen) -> dict[str, str | float] | None:
    """Return its witness in words, with how likely the event is on either side."""
    found = refutation(specimen)
    if found is None or found.witness is None:
        return None
    seen = found.witness
    return {
        "data": seen.neighbours["data"],
        "data_prime": seen.neighbours["data_prime"],
        "event": seen.event,
        "probability": seen.probability,
        "probability_prime": seen.probability_prime,
    }


if __name__ == "__main__":
    FILE.write_text(
        json.dumps(
            {name: witness_of(each) for name, each in specimens.items() if each.refutable},
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )
