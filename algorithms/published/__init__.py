"""Algorithms exactly as their papers print them, including what is wrong with their claims.

Nothing here is certified; `algorithms` has the repaired learner of the same name.
"""

from .cascade_ucb_hybrid import CascadeUCBHybrid
from .cascade_ucb_ldp import CascadeUCBLDPComposition, CascadeUCBLDPGaussian, CascadeUCBLDPLaplace
from .cucb_dp import CUCBDP, CUCBDPLeast
from .cucb_ldp_gaussian import CUCBLDPGaussian
from .dp_dpe import DPE, DPDPECentral, DPDPELocal, DPDPEShuffle, DPEFixedU
from .dp_pe import PE, DPPECentral, DPPELocal, DPPEShuffle
from .dpucb_mat import DPTSMat, DPUCBMat

__all__ = [
    "CUCBDP",
    "DPE",
    "PE",
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
]
