"""The privacy cost of released values: gates, the per-record ledger and composition.

All user data enters through a gate and is `Private` from then on; the only way out is a release
through a mechanism, which the `Accountant` checks and charges before anything is sampled.
"""

from accountant.accountant import Accountant
from accountant.budget import Budget, Cost
from accountant.filters.advanced import AdvancedComposition
from accountant.filters.composition_theorem import BasicComposition, Composition, UnsupportedCharge
from accountant.filters.gaussian_composition import GaussianComposition
from accountant.filters.renyi import RenyiComposition
from accountant.filters.zero_concentrated import ZeroConcentratedComposition
from accountant.gates.coupled import Coupled, Divergence
from accountant.gates.feedback import check_feedback
from accountant.gates.gate import Gate, Mask
from accountant.gates.lineage import Influence, RecordId
from accountant.gates.private import Private
from accountant.gates.private_stream import LONGEST_STREAM, PrivateStream
from accountant.gates.private_sums import PrivateSums, add_to_all
from accountant.gates.replay import Call, Difference, Direct, Recorder, Replay
from accountant.gates.simulation import Simulation
from accountant.gates.taped import Alteration, Recording, Retelling
from accountant.ledger.entry import Entry
from accountant.ledger.ledger import Ledger
from accountant.ledger.quote import Quote, Reservation
from accountant.ledger.summary import Line, Summary
from accountant.place import Place, calling_place
from accountant.plans.plan import Plan, PlanStep
from accountant.recorded import RecordedMechanism
from accountant.refusals import (
    AssumptionRefused,
    BudgetExceeded,
    ForeignValue,
    GateBusy,
    GateClosed,
    OtherNeighbours,
    ParticipationExceeded,
    PurposeRefused,
    RawRead,
    RecordWaiting,
    Refusal,
    RoundingExceeded,
    SensitivityExceeded,
    TheoremMissing,
    TrustViolation,
)
from accountant.rules.rule import Rule
from accountant.rules.scope import spending_on
from accountant.stores.store_refusals import InUse
from accountant.trust import Trust, check_gate
from mechanisms.assumptions import library_package
from mechanisms.composition.composed_loss import ComposedLoss, compose
from mechanisms.composition.enclosure import Bound, ContradictingBounds, Enclosure
from mechanisms.composition.risk import (
    Risk,
    attack_accuracy,
    membership_advantage,
    posterior,
    reconstruction_success,
    risk_of,
    trade_off,
    true_positive_rate,
)
from mechanisms.composition.running_loss import RunningLoss
from mechanisms.composition.theorems import THEOREMS
from mechanisms.numerics.deadline import deadline

__all__ = [
    "LONGEST_STREAM",
    "THEOREMS",
    "Accountant",
    "AdvancedComposition",
    "Alteration",
    "AssumptionRefused",
    "BasicComposition",
    "Bound",
    "Budget",
    "BudgetExceeded",
    "Call",
    "ComposedLoss",
    "Composition",
    "ContradictingBounds",
    "Cost",
    "Coupled",
    "Difference",
    "Direct",
    "Divergence",
    "Enclosure",
    "Entry",
    "ForeignValue",
    "Gate",
    "GateBusy",
    "GateClosed",
    "GaussianComposition",
    "InUse",
    "Influence",
    "Ledger",
    "Line",
    "Mask",
    "OtherNeighbours",
    "ParticipationExceeded",
    "Place",
    "Plan",
    "PlanStep",
    "Private",
    "PrivateStream",
    "PrivateSums",
    "PurposeRefused",
    "Quote",
    "RawRead",
    "RecordId",
    "RecordWaiting",
    "RecordedMechanism",
    "Recorder",
    "Recording",
    "Refusal",
    "RenyiComposition",
    "Replay",
    "Reservation",
    "Retelling",
    "Risk",
    "RoundingExceeded",
    "Rule",
    "RunningLoss",
    "SensitivityExceeded",
    "Simulation",
    "Summary",
    "TheoremMissing",
    "Trust",
    "TrustViolation",
    "UnsupportedCharge",
    "ZeroConcentratedComposition",
    "add_to_all",
    "attack_accuracy",
    "calling_place",
    "check_feedback",
    "check_gate",
    "compose",
    "deadline",
    "membership_advantage",
    "posterior",
    "reconstruction_success",
    "risk_of",
    "spending_on",
    "trade_off",
    "true_positive_rate",
]

library_package(__name__)  # before any other code can change what was imported
