"""Learners, problems and claims. What is imported from here is certified, or makes no privacy claim.

`algorithms.published` holds algorithms exactly as printed, whatever is wrong with their claims.
"""

from algorithms.cascade_batch import CascadeUCBBatch
from algorithms.cascade_ldp import CascadeUCBLDPGaussian, CascadeUCBLDPLaplace
from algorithms.cascade_rr import CascadeUCBRR
from algorithms.cascade_ucb1 import CascadeUCB1
from algorithms.claim import Claim, ClaimForm, View
from algorithms.cts import CTS
from algorithms.cucb import CUCB
from algorithms.cucb_batch import CUCBBatchAll, CUCBBatchLeast
from algorithms.cucb_ldp import CUCBLDP1, CUCBLDP2
from algorithms.cucb_ldp_all import CUCBLDPGaussian, CUCBLDPLaplaceAll
from algorithms.cucb_ldp_one import CUCBLDPBit, CUCBLDPLaplaceOne
from algorithms.dpucb_mat import DPTSMat, DPUCBMat
from algorithms.learner import Learner
from algorithms.omm import OMM
from algorithms.simulate import Trace, simulate

__all__ = [
    "CTS",
    "CUCB",
    "CUCBLDP1",
    "CUCBLDP2",
    "OMM",
    "CUCBBatchAll",
    "CUCBBatchLeast",
    "CUCBLDPBit",
    "CUCBLDPGaussian",
    "CUCBLDPLaplaceAll",
    "CUCBLDPLaplaceOne",
    "CascadeUCB1",
    "CascadeUCBBatch",
    "CascadeUCBLDPGaussian",
    "CascadeUCBLDPLaplace",
    "CascadeUCBRR",
    "Claim",
    "ClaimForm",
    "DPTSMat",
    "DPUCBMat",
    "Learner",
    "Trace",
    "View",
    "simulate",
]
