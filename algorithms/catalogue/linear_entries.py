"""The learners of linear bandits by name, for `LinearBandit` problems."""

from __future__ import annotations

from algorithms.catalogue.learner_entry import CatalogueEntry, catalogue_entries
from algorithms.linear import dp_dpe, dp_pe
from algorithms.linear.linear_play import LinearLearner
from algorithms.problems import LinearBandit
from algorithms.published import dp_dpe as printed
from algorithms.published import dp_pe as printed_pe


class LinearEntry(CatalogueEntry[LinearBandit, LinearLearner]):
    """A learner of linear bandits: ``make(actions, gate, *, horizon, ...)``.

    With epsilon and delta if it is private, and with population and sigma if it is distributed.
    """


linear_learners: dict[str, LinearEntry] = catalogue_entries(
    LinearEntry,
    (
        dp_dpe.DPE,
        dp_dpe.DPDPECentral,
        dp_dpe.DPDPELocal,
        dp_dpe.DPDPEShuffle,
        printed.DPE,
        printed.DPEFixedU,
        printed.DPDPECentral,
        printed.DPDPELocal,
        printed.DPDPEShuffle,
        dp_pe.PE,
        dp_pe.DPPECentral,
        dp_pe.DPPELocal,
        dp_pe.DPPEShuffle,
        printed_pe.PE,
        printed_pe.DPPECentral,
        printed_pe.DPPELocal,
        printed_pe.DPPEShuffle,
    ),
)
"""Certified and published learners of linear bandits."""
