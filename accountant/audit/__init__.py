r"""Audits of releases fixed in advance: the cost of their composition, and the least noise that meets a target.

A release file is TOML or JSON with ``[[release]]`` tables, or a ledger, such as `Accountant.export` writes.

>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> from accountant.audit import AuditQuestion, audit, calibrate, read_releases
>>> with TemporaryDirectory() as folder:
...     path = Path(folder) / "releases.toml"
...     _ = path.write_text('[[release]]\nmechanism = "laplace"\nscale = 4.0\ncount = 2\n')
...     releases = read_releases(path)
>>> audit(releases, AuditQuestion(delta=0.0)).answer.upper
0.5
>>> calibrate(releases, epsilon=0.25, delta=0.0).parameters
{'1: laplace scale=4': {'scale': 8.0}}
"""

from accountant.audit.audit_of_releases import audit
from accountant.audit.audit_question import AuditQuestion
from accountant.audit.audit_result import Audit, ReleaseSummary, RemainingBudget
from accountant.audit.dp_events import dp_event_as_dict, from_dp_event, to_dp_event
from accountant.audit.loss_distributions import (
    from_loss_distribution,
    loss_distribution_as_dict,
    to_loss_distribution,
)
from accountant.audit.noise_for_target import Calibration, calibrate, calibrate_advantage, calibrate_risk
from accountant.audit.opacus_history import from_opacus
from accountant.audit.release_file import read_releases
from accountant.audit.releases import (
    EnforcedBudget,
    FileMetadata,
    Group,
    ProfileCounts,
    Release,
    ReleaseFileError,
    Releases,
    from_mechanisms,
)
from accountant.audit.trade_off_curve import trade_off

__all__ = [
    "Audit",
    "AuditQuestion",
    "Calibration",
    "EnforcedBudget",
    "FileMetadata",
    "Group",
    "ProfileCounts",
    "Release",
    "ReleaseFileError",
    "ReleaseSummary",
    "Releases",
    "RemainingBudget",
    "audit",
    "calibrate",
    "calibrate_advantage",
    "calibrate_risk",
    "dp_event_as_dict",
    "from_dp_event",
    "from_loss_distribution",
    "from_mechanisms",
    "from_opacus",
    "loss_distribution_as_dict",
    "read_releases",
    "to_dp_event",
    "to_loss_distribution",
    "trade_off",
]
