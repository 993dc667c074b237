"""Algorithms exactly as their papers print them, including what makes their privacy claims false.

Nothing here is certified; `algorithms` has the repaired learner of the same name.
"""

from .cascade_ucb_hybrid import CascadeUCBHybrid
from .cascade_ucb_ldp import CascadeUCBLDPComposition, CascadeUCBLDPGaussian, CascadeUCBLDPLaplace
from .cucb_ldp_gaussian import CUCBLDPGaussian
from .dp_dpe import DPE, DPDPECentral, DPDPELocal, DPDPEShuffle
from .dp_pe import PE, DPPECentral, DPPELocal, DPPEShuffle
from .dpucb_mat import DPTSMat, DPUCBMat

__all__ = [
    "DPE",
    "PE",
    "CUCBLDPGaussian",
    "CascadeUCBHybrid",
    "CascadeUCBLDPComposition",
    "CascadeUCBLDPGaussian",
    "CascadeUCBLDPLaplace",
    "DPDPECentral",
    "DPDPELocal",
    "DPDPEShuffle",
    "DPPECentral",
    "DPPELocal",
    "DPPEShuffle",
    "DPTSMat",
    "DPUCBMat",
]
