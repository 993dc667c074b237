"""Algorithms exactly as their papers print them, including errors in their claims.

Nothing here is certified; `algorithms` has the repaired learner of the same name.
"""

from algorithms.published.adap_klucb import AdaPKLUCB
from algorithms.published.cascade_ucb_hybrid import CascadeUCBHybrid
from algorithms.published.cascade_ucb_ldp import (
    CascadeUCBLDPComposition,
    CascadeUCBLDPGaussian,
    CascadeUCBLDPLaplace,
)
from algorithms.published.cucb_dp import CUCBDP, CUCBDPLeast
from algorithms.published.cucb_ldp_gaussian import CUCBLDPGaussian
from algorithms.published.dp_dpe import DPE, DPDPECentral, DPDPELocal, DPDPEShuffle, DPEFixedU
from algorithms.published.dp_imed import DPIMED
from algorithms.published.dp_pe import PE, DPPECentral, DPPELocal, DPPEShuffle
from algorithms.published.dp_se import DPSE
from algorithms.published.dpucb_mat import DPTSMat, DPUCBMat
from algorithms.published.lazy_dp_ts import LazyDPTS
from algorithms.published.tree_linucb import TreeLinUCBGaussian

__all__ = [
    "CUCBDP",
    "DPE",
    "DPIMED",
    "DPSE",
    "PE",
    "AdaPKLUCB",
    "CUCBDPLeast",
    "CUCBLDPGaussian",
    "CascadeUCBHybrid",
    "CascadeUCBLDPComposition",
    "CascadeUCBLDPGaussian",
    "CascadeUCBLDPLaplace",
    "DPDPECentral",
    "DPDPELocal",
    "DPDPEShuffle",
    "DPEFixedU",
    "DPPECentral",
    "DPPELocal",
    "DPPEShuffle",
    "DPTSMat",
    "DPUCBMat",
    "LazyDPTS",
    "TreeLinUCBGaussian",
]
