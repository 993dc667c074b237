"""What a caller of `verify_mutants` may set: all that `verify` takes, and which faults are planted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from verify.conduct import rules
from verify.options import Options, option


def _is_names(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(type(v) is str for v in value)


@dataclass(frozen=True, kw_only=True)
class MutantOptions(Options):
    """What a caller of `verify_mutants` may set.

    Raises
    ------
    ValueError
        As `Options`; or if a wealth file is given, which is of one subject.
    """

    faults: Sequence[str] = option(
        (),
        "Names of the faults that are planted; by default all that can act in the subject.",
        rules.satisfies(_is_names, "a list of names"),
        help="With --mutants: a fault to plant; default: all that can act.",
        flag="--fault",
        reads=list,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.wealth is not None:
            raise ValueError(
                f"wealth={str(self.wealth)!r}: not with mutants, a wealth file is of one subject"
            )
