"""The result of a function's first calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from verify.findings.finding import Finding, FindingKind
from verify.neighbouring.adjacency import Data, Pair
from verify.outputs.output_layout import OutputLayout
from verify.outputs.output_readings import Readings

_NOTHING_TO_TEST = frozenset({FindingKind.CONSTANT, FindingKind.REMEMBERS, FindingKind.REPEATS})


@dataclass(frozen=True, eq=False)
class SeenOutputs:
    """A few outputs on a data set."""

    data: Data
    readings: Readings


@dataclass(frozen=True)
class Probe:
    """The results of a first probe of a function.

    Attributes
    ----------
    layout
        The columns of the view.
    findings
        Faults of the function, and remarks.
    repeatable
        True if the same data and generator gave the same outputs again.
    unlike
        Two data sets with different outputs, if on each the output never varied.
    elsewhere
        Two new neighbours with different outputs, if the output is the same on all known data sets.
    """

    layout: OutputLayout
    findings: Sequence[Finding]
    repeatable: bool
    unlike: tuple[Data, Data] | None
    elsewhere: Pair | None

    @property
    def nothing_to_test(self) -> bool:
        """True if draws would show nothing."""
        return any(finding.kind in _NOTHING_TO_TEST for finding in self.findings)


def describe_data(data: Data) -> str:
    """Return a data set in words, cut to 400 characters."""
    listed = repr(data.tolist())
    return f"data = {listed}" if len(listed) <= 400 else f"data = {listed[:400]}..."
