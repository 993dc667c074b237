"""References: the publications of the theorems and methods that results use."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from types import MappingProxyType

COUNTS = "bounds on probabilities from counts"
PROFILE = "the mechanism's privacy profile"
EXACT_COMPOSITION = "the exact composition of the releases' privacy profiles"
BETS = "tests that may stop at any time"


def _publications() -> dict[str, tuple[str, ...]]:
    data = json.loads(Path(__file__).with_name("publications.json").read_text(encoding="utf-8"))
    return {
        name: tuple(map(data["publications"].__getitem__, keys)) for name, keys in data["sources"].items()
    }


PUBLICATIONS = MappingProxyType(_publications())
"""The publication of each theorem, filter, method and claim, by its name in results."""


def references(names: Iterable[str]) -> tuple[str, ...]:
    """Return a line for each name that is known, alone or followed by a comma and how it was used."""
    found = {}
    for words in names:
        known = (one for one in PUBLICATIONS if words == one or words.startswith(f"{one},"))
        name = max(known, key=len, default="")
        if name:
            title = name.capitalize() if name.islower() else name
            found[name] = f"{title}: {'; '.join(PUBLICATIONS[name])}."
    return tuple(found.values())
