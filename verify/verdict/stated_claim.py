"""Claims as results state them in JSON: with the words of their neighbours beside the relation."""

from __future__ import annotations

from typing import Any

from accountant.files.json_object import JsonObject
from algorithms.claim import Claim
from verify.verdict.answer import read_claim


def claim_data(claim: Claim) -> dict[str, Any]:
    """Return a claim as JSON data."""
    return {
        "model": claim.model,
        "epsilon": claim.epsilon,
        "delta": claim.delta,
        "unit": claim.unit,
        "neighbours": claim.neighbour_words,
        "relation": claim.neighbours.value,
        "view": claim.view,
        "source": claim.source,
        "differ": claim.differ,
        "composition": claim.composition,
    }


def read_stated_claim(read: JsonObject) -> Claim:
    """Return what `claim_data` wrote; `ValueError` if a value is wrong or the words are not those of the relation."""
    claim = read_claim(read, relation="relation")
    read.one_of("neighbours", [claim.neighbour_words])
    return claim
