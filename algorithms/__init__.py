"""Learners, problems and claims. Learners exported here are certified, or make no privacy claim.

`algorithms.published` holds algorithms exactly as printed, including errors in their claims.
"""

from algorithms.cascades.cascade_batch import (
    CascadeUCBBatch,
    CascadeUCBBatchGaussian,
    CascadeUCBBatchShuffle,
    CascadeUCBKL,
)
from algorithms.cascades.cascade_rr import CascadeUCBRR
from algorithms.cascades.cascade_ucb1 import CascadeUCB1
from algorithms.claim import Claim, ClaimForm, View
from algorithms.durable.durable_run import CodeChanged, DurableRun
from algorithms.estimates.continual_sums import PrivateHybridSums, PrivateTreeSums
from algorithms.full_information.ftrl import DPFTRL
from algorithms.full_information.hedge import DPHedge, Hedge
from algorithms.learner import Learner
from algorithms.linear.dp_dpe import DPE, DPDPECentral, DPDPELocal, DPDPEShuffle
from algorithms.linear.dp_linucb import DPLinUCB, LinUCB
from algorithms.linear.dp_pe import PE, REWARD_DOMAIN, DPPECentral, DPPELocal, DPPEShuffle
from algorithms.linear.g_optimal import Design, DesignError, g_optimal_design
from algorithms.linear.linear_phases import PopulationTooSmall
from algorithms.linear.linear_play import PhasedTrace, simulate_phases
from algorithms.message_learner import MessageLearner, Question
from algorithms.semi_bandits.cts import CTS
from algorithms.semi_bandits.cucb import CUCB
from algorithms.semi_bandits.cucb_batch import CUCBKL, CUCBBatch, CUCBBatchGaussian
from algorithms.semi_bandits.cucb_ldp import CUCBLDP1, CUCBLDP2
from algorithms.semi_bandits.cucb_ldp_bit import CUCBLDPBit
from algorithms.semi_bandits.cucb_ldp_gaussian import CUCBLDPGaussian
from algorithms.semi_bandits.dp_bandit import DPBandit, DPBanditGaussian, DPBanditLDP, DPBanditShuffle
from algorithms.semi_bandits.dp_best_arm import DPBestArm
from algorithms.semi_bandits.omm import OMM
from algorithms.simulate import Trace, simulate
from algorithms.structured_learner import HorizonPassed, NothingPlayed
from algorithms.tickets import AmbiguousFeedback, Ticket, TicketRefused
from algorithms.unit import ONE_REPORT, OnePerson

__all__ = [
    "CTS",
    "CUCB",
    "CUCBKL",
    "CUCBLDP1",
    "CUCBLDP2",
    "DPE",
    "DPFTRL",
    "OMM",
    "ONE_REPORT",
    "PE",
    "REWARD_DOMAIN",
    "AmbiguousFeedback",
    "CUCBBatch",
    "CUCBBatchGaussian",
    "CUCBLDPBit",
    "CUCBLDPGaussian",
    "CascadeUCB1",
    "CascadeUCBBatch",
    "CascadeUCBBatchGaussian",
    "CascadeUCBBatchShuffle",
    "CascadeUCBKL",
    "CascadeUCBRR",
    "Claim",
    "ClaimForm",
    "CodeChanged",
    "DPBandit",
    "DPBanditGaussian",
    "DPBanditLDP",
    "DPBanditShuffle",
    "DPBestArm",
    "DPDPECentral",
    "DPDPELocal",
    "DPDPEShuffle",
    "DPHedge",
    "DPLinUCB",
    "DPPECentral",
    "DPPELocal",
    "DPPEShuffle",
    "Design",
    "DesignError",
    "DurableRun",
    "Hedge",
    "HorizonPassed",
    "Learner",
    "LinUCB",
    "MessageLearner",
    "NothingPlayed",
    "OnePerson",
    "PhasedTrace",
    "PopulationTooSmall",
    "PrivateHybridSums",
    "PrivateTreeSums",
    "Question",
    "Ticket",
    "TicketRefused",
    "Trace",
    "View",
    "g_optimal_design",
    "simulate",
    "simulate_phases",
]
