"""What released values cost: gates, the per-record ledger and composition.

All user data enters through a gate and is `Private` from then on; the only way out is a release
through a mechanism, which the `Accountant` checks and charges before anything is sampled.
"""

from .accountant import Accountant
from .advanced import AdvancedComposition
from .budget import Budget, Cost
from .certified_interval import CertifiedInterval, ContradictingBounds
from .composed_loss import ComposedLoss, compose
from .composition import BasicComposition, Composition, UnsupportedCharge
from .coupled import Coupled, Divergence
from .errors import (
    BudgetExceeded,
    ForeignValue,
    GateClosed,
    RawRead,
    RecordWaiting,
    Refusal,
    SensitivityExceeded,
    TheoremMissing,
    TrustViolation,
)
from .feedback import check_feedback
from .file_lock import InUse
from .gate import Gate, Mask
from .gaussian_composition import GaussianComposition
from .ledger import Entry, Ledger
from .place import Place, calling_place
from .plan import Plan, Step
from .private import Private
from .private_sums import PrivateSums, add_to_all
from .provenance import Influence, RecordId
from .quote import Quote, Reservation
from .recorded import RecordedMechanism
from .renyi import RenyiComposition
from .replay import Call, Difference, Direct, Recorder, Replay
from .simulation import Simulation
from .summary import Line, Summary
from .taped import Retold, Taped
from .theorems import THEOREMS, theorem_table
from .trust import Trust, check_gate
from .zero_concentrated import ZeroConcentratedComposition

__all__ = [
    "THEOREMS",
    "Accountant",
    "AdvancedComposition",
    "BasicComposition",
    "Budget",
    "BudgetExceeded",
    "Call",
    "CertifiedInterval",
    "ComposedLoss",
    "Composition",
    "ContradictingBounds",
    "Cost",
    "Coupled",
    "Difference",
    "Direct",
    "Divergence",
    "Entry",
    "ForeignValue",
    "Gate",
    "GateClosed",
    "GaussianComposition",
    "InUse",
    "Influence",
    "Ledger",
    "Line",
    "Mask",
    "Place",
    "Plan",
    "Private",
    "PrivateSums",
    "Quote",
    "RawRead",
    "RecordId",
    "RecordWaiting",
    "RecordedMechanism",
    "Recorder",
    "Refusal",
    "RenyiComposition",
    "Replay",
    "Reservation",
    "Retold",
    "SensitivityExceeded",
    "Simulation",
    "Step",
    "Summary",
    "Taped",
    "TheoremMissing",
    "Trust",
    "TrustViolation",
    "UnsupportedCharge",
    "ZeroConcentratedComposition",
    "add_to_all",
    "calling_place",
    "check_feedback",
    "check_gate",
    "compose",
    "theorem_table",
]
