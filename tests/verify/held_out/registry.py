"""Mechanisms on which the verifier is not developed: what it finds of them judges it.

Whoever changes the verifier looks at the zoo (`verify.zoo`) while doing so; these are looked at afterwards. No part of
the verifier may be fitted to one of them. Every file is a family, and ends with a tuple HELD_OUT.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from held_out_entry import HeldOut

from verify.verification.resolve import load_object

FOLDER = Path(__file__).parent

FAMILIES = (
    "sparse_vector",
    "selection",
    "top_k",
    "votes",
    "scale_from_data",
    "sums_and_trees",
    "histograms",
    "sketches",
    "learning",
    "sampling",
    "accounting",
    "local",
    "local_numbers",
    "shuffled",
    "noise_shapes",
    "cut_noise",
    "odd_outputs",
    "hidden_relations",
    "dependent_draws",
    "commands",
    "bandits_in_phases",
    "bandits_by_elimination",
    "bandits_by_round",
    "bandits_with_trees",
    "bandits_local",
    "bandits_from_public_code",
)
"""The files, in the order of the table."""


def entries(family: str) -> Iterable[HeldOut]:
    """What is known of each mechanism of a file: functions carry it, bandits and commands are it."""
    listed: Any = load_object(f"{FOLDER / family}.py:HELD_OUT")
    return (getattr(each, "held_out", each) for each in listed)


held_out: Mapping[str, HeldOut] = MappingProxyType(
    {entry.name: entry for family in FAMILIES for entry in entries(family)}
)
"""Every held-out mechanism by its name."""
