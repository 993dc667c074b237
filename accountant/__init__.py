"""What released values cost: gates, the per-record ledger and composition.

All user data enters through a gate and is `Private` from then on; the only way out is a release
through a mechanism, which the `Accountant` checks and charges before anything is sampled.
"""

from .accountant import Accountant
from .budget import Budget, Cost
from .composition import BasicComposition, Composition, UnsupportedCharge
from .coupled import Coupled, Divergence
from .errors import (
    BudgetExceeded,
    ForeignValue,
    RawRead,
    Refusal,
    SensitivityExceeded,
    TheoremMissing,
    TrustViolation,
)
from .gate import Gate, Mask
from .ledger import Entry, Ledger
from .place import Place, calling_place
from .private import Private
from .private_sums import PrivateSums
from .provenance import Influence, RecordId
from .recorded import RecordedMechanism
from .replay import Call, Difference, Direct, Recorder, Replay
from .simulation import Simulation
from .summary import Line, Summary
from .trust import Trust

__all__ = [
    "Accountant",
    "BasicComposition",
    "Budget",
    "BudgetExceeded",
    "Call",
    "Composition",
    "Cost",
    "Coupled",
    "Difference",
    "Direct",
    "Divergence",
    "Entry",
    "ForeignValue",
    "Gate",
    "Influence",
    "Ledger",
    "Line",
    "Mask",
    "Place",
    "Private",
    "PrivateSums",
    "RawRead",
    "RecordId",
    "RecordedMechanism",
    "Recorder",
    "Refusal",
    "Replay",
    "SensitivityExceeded",
    "Simulation",
    "Summary",
    "TheoremMissing",
    "Trust",
    "TrustViolation",
    "UnsupportedCharge",
    "calling_place",
]
