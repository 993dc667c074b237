"""The learners of linear bandits by name: they play `LinearBandit`, not a semi-bandit `Problem`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from algorithms import dp_dpe, dp_pe
from algorithms.claim import ClaimForm
from algorithms.published import dp_dpe as printed
from algorithms.published import dp_pe as printed_pe

_PAPER = "distributed linear bandits paper, "


@dataclass(frozen=True)
class LinearEntry:
    """A learner that can be asked for by name.

    Attributes
    ----------
    name
        As in ``dp-dpe-central``, or ``published/name`` for an algorithm exactly as printed.
    make
        The class: ``make(actions, gate, *, horizon, ...)``, with epsilon and delta if private, and with population
        and sigma for distributed ones.
    summary
        One line on what it does.
    source
        The paper and the number of the algorithm.
    as_printed
        The verdict on the paper's privacy claim, or on this class if it is a repair.
    """

    name: str
    make: type[Any]
    summary: str
    source: str
    as_printed: str

    @property
    def claim(self) -> ClaimForm:
        """What the learner claims for every epsilon and delta."""
        form: ClaimForm = self.make.claim
        return form


linear_learners: dict[str, LinearEntry] = {
    entry.name: entry
    for entry in (
        LinearEntry(
            "dpe",
            dp_dpe.DPE,
            "distributed phased elimination with exact widths, no privacy",
            _PAPER + "Algorithm 1",
            "makes no privacy claim",
        ),
        LinearEntry(
            "dp-dpe-central",
            dp_dpe.DPDPECentral,
            "distributed phased elimination, analytic Gaussian noise on each phase's sum",
            _PAPER + "Algorithm 1 with (5), repaired",
            "certified repair of published/dp-dpe-central",
        ),
        LinearEntry(
            "dp-dpe-local",
            dp_dpe.DPDPELocal,
            "distributed phased elimination, analytic Gaussian noise on each report",
            _PAPER + "Algorithm 1 with (7), repaired",
            "certified repair of published/dp-dpe-local",
        ),
        LinearEntry(
            "dp-dpe-shuffle",
            dp_dpe.DPDPEShuffle,
            "distributed phased elimination, numerically calibrated shuffled bits",
            _PAPER + "Algorithm 1 with (9), repaired",
            "certified repair of published/dp-dpe-shuffle",
        ),
        LinearEntry(
            "published/dpe",
            printed.DPE,
            "distributed phased elimination as printed, no privacy; also DPE-FixedU",
            _PAPER + "Algorithm 1",
            "makes no privacy claim",
        ),
        LinearEntry(
            "published/dp-dpe-central",
            printed.DPDPECentral,
            "as printed: classical Gaussian noise, common width",
            _PAPER + "Algorithm 1 with (5), Theorem 4.2",
            "FALSE for large epsilon (above 5.12 at delta = 0.25); below, holds with slack",
        ),
        LinearEntry(
            "published/dp-dpe-local",
            printed.DPDPELocal,
            "as printed: classical Gaussian noise on each report, common width",
            _PAPER + "Algorithm 1 with (7), Theorem 4.4",
            "FALSE for large epsilon (above 5.12 at delta = 0.25); below, holds with slack",
        ),
        LinearEntry(
            "published/dp-dpe-shuffle",
            printed.DPDPEShuffle,
            "as printed: Algorithm 2's bits, common width",
            _PAPER + "Algorithm 1 with (9), Theorem 4.6",
            "holds with huge slack (g rounded up): true epsilon is claim / 200 or less",
        ),
        LinearEntry(
            "pe",
            dp_pe.PE,
            "phased elimination with exact widths, one client per round, no privacy",
            _PAPER + "Algorithm 3",
            "makes no privacy claim",
        ),
        LinearEntry(
            "dp-pe-central",
            dp_pe.DPPECentral,
            "phased elimination, analytic Gaussian noise on each action's sum",
            _PAPER + "Algorithm 3 with (55), repaired",
            "certified repair of published/dp-pe-central",
        ),
        LinearEntry(
            "dp-pe-local",
            dp_pe.DPPELocal,
            "phased elimination, analytic Gaussian noise on each reward",
            _PAPER + "Algorithm 3 with (57), repaired",
            "certified repair of published/dp-pe-local",
        ),
        LinearEntry(
            "dp-pe-shuffle",
            dp_pe.DPPEShuffle,
            "phased elimination, numerically calibrated shuffled bits",
            _PAPER + "Algorithm 3 with (59), repaired",
            "certified repair of published/dp-pe-shuffle",
        ),
        LinearEntry(
            "published/pe",
            printed_pe.PE,
            "phased elimination as printed, no privacy",
            _PAPER + "Algorithm 3",
            "makes no privacy claim",
        ),
        LinearEntry(
            "published/dp-pe-central",
            printed_pe.DPPECentral,
            "as printed: classical Gaussian noise, common width",
            _PAPER + "Algorithm 3 with (55), Theorem C.1",
            "FALSE for large epsilon (above 5.12 at delta = 0.25); below, holds with slack",
        ),
        LinearEntry(
            "published/dp-pe-local",
            printed_pe.DPPELocal,
            "as printed: classical Gaussian noise on each reward, common width",
            _PAPER + "Algorithm 3 with (57), Theorem C.3",
            "FALSE for large epsilon (above 5.12 at delta = 0.25); below, holds with slack",
        ),
        LinearEntry(
            "published/dp-pe-shuffle",
            printed_pe.DPPEShuffle,
            "as printed: Algorithm 4's bits, common width",
            _PAPER + "Algorithm 3 with (59), Theorem C.6",
            "holds with slack: true epsilon is claim / 10 or less",
        ),
    )
}
"""Certified and published learners of linear bandits."""
