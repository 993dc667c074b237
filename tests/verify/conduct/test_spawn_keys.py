"""No two parts of one verification share random numbers, and no part spells its key itself."""

from __future__ import annotations

import re
from pathlib import Path

import verify
from verify.conduct.spawn_keys import SpawnKey

OF_FUNCTIONS = ("FRACTIONS", "PLACEBO", "NEIGHBOUR_SEARCH", "PROBE", "REPEATS")


def test_parts_that_meet_in_a_verification_have_numbers_of_their_own() -> None:
    everywhere = {"SCAN", "CHOOSE", "FINAL", "CONFIRM", "BETS"}
    names = set(SpawnKey.__members__)
    for parts in (everywhere.union(OF_FUNCTIONS), names.difference(OF_FUNCTIONS)):
        assert len({SpawnKey[name].value for name in parts}) == len(parts)


def test_no_part_spells_its_key_by_hand() -> None:
    for file in Path(str(verify.__file__)).parent.rglob("*.py"):
        if file.name != "spawn_keys.py":
            assert not re.search(r"spawn_key=\((?!\*)", re.sub(r"``.*?``", "", file.read_text("utf-8"))), file
