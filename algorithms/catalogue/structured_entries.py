"""The learners of super arms, bases and lists by name, and the catalogue of all learners."""

from __future__ import annotations

from typing import Protocol

from algorithms import published
from algorithms.cascades.cascade_batch import (
    CascadeUCBBatch,
    CascadeUCBBatchGaussian,
    CascadeUCBBatchShuffle,
    CascadeUCBKL,
)
from algorithms.cascades.cascade_rr import CascadeUCBRR
from algorithms.cascades.cascade_ucb1 import CascadeUCB1
from algorithms.catalogue.learner_entry import CatalogueEntry, catalogue_entries
from algorithms.full_information.hedge import DPHedge, Hedge
from algorithms.learner import Learner
from algorithms.problems import SuperArms
from algorithms.semi_bandits.cts import CTS
from algorithms.semi_bandits.cucb import CUCB
from algorithms.semi_bandits.cucb_batch import CUCBKL, CUCBBatch, CUCBBatchGaussian
from algorithms.semi_bandits.cucb_ldp import CUCBLDP1, CUCBLDP2
from algorithms.semi_bandits.cucb_ldp_bit import CUCBLDPBit
from algorithms.semi_bandits.cucb_ldp_gaussian import CUCBLDPGaussian
from algorithms.semi_bandits.dp_bandit import DPBandit, DPBanditGaussian, DPBanditLDP, DPBanditShuffle
from algorithms.semi_bandits.dp_best_arm import DPBestArm
from algorithms.semi_bandits.omm import OMM


class Playable(Protocol):
    """Problem or log for which a learner is built; the learner receives its structure only."""

    @property
    def structure(self) -> SuperArms:
        """The actions that can be played."""


class LearnerEntry(CatalogueEntry[Playable, Learner]):
    """A learner of super arms, bases or lists: ``make(structure, gate, *, epsilon, delta, horizon, **settings)``."""


learners: dict[str, LearnerEntry] = catalogue_entries(
    LearnerEntry,
    (
        DPBandit,
        DPBanditGaussian,
        DPBanditShuffle,
        DPBanditLDP,
        DPBestArm,
        CUCB,
        CUCBLDP1,
        CUCBLDP2,
        CUCBLDPBit,
        CUCBLDPGaussian,
        CUCBBatch,
        CUCBBatchGaussian,
        CUCBKL,
        Hedge,
        DPHedge,
        OMM,
        CTS,
        CascadeUCB1,
        CascadeUCBKL,
        CascadeUCBRR,
        CascadeUCBBatch,
        CascadeUCBBatchGaussian,
        CascadeUCBBatchShuffle,
        published.DPSE,
        published.AdaPKLUCB,
        published.DPIMED,
        published.LazyDPTS,
        published.CUCBDP,
        published.CUCBDPLeast,
        published.DPUCBMat,
        published.DPTSMat,
        published.CascadeUCBHybrid,
        published.CascadeUCBLDPLaplace,
        published.CascadeUCBLDPGaussian,
        published.CascadeUCBLDPComposition,
        published.CUCBLDPGaussian,
    ),
)
"""The learners by name, certified and as published."""
