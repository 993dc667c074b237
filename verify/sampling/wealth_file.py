"""A bettor's wealth kept in a file, so that evidence accumulates over runs, as in continuous integration.

Every run bets with what the last one left, on draws of a seed that no run used before; by
`verify.statistics.e_process` the probability that the wealth of all runs together ever reaches 1/α under a true
claim is at most α. That holds for one subject and one claim, so that a file of another is refused, and for all
runs that were begun: a run that is interrupted is not written, and the next one repeats its seed, so that nothing
is gained by stopping a losing one.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from accountant.whole_file import whole_file
from algorithms.claim import Claim
from verify.sampling.anytime_result import AnytimeResult, Opening
from verify.subjects.subject import FunctionSubject, MechanismSubject
from verify.verdict import json_able

FORMAT = "dpwitness wealth, version 1"

_POCKET = 0.5  # a run that learns in vain loses half of what earlier ones won, not nearly all


class WealthError(ValueError):
    """A wealth file that does not fit: broken, of another subject or claim, or a seed used twice."""


@dataclass(frozen=True)
class Account:
    """What is known of one subject and claim.

    Attributes
    ----------
    subject, source
        The subject's name, and a hash of its own source code (not of what it calls).
    claim
        The claim in plain data.
    log_wealth, log_peak
        Natural logarithm of the wealth, and of the largest that it ever was.
    bets
        Each pair's last bet.
    runs
        One entry per run: seed, samples, and the log-wealth after it.
    """

    subject: str
    source: str
    claim: Mapping[str, Any]
    log_wealth: float = 0.0
    log_peak: float = 0.0
    bets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    runs: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def new(cls, subject: FunctionSubject | MechanismSubject, claim: Claim) -> Account:
        """An account without runs."""
        return cls(
            subject.name,
            _source_of(subject),
            {
                "model": claim.model,
                "view": claim.view,
                "unit": claim.unit,
                "neighbours": claim.neighbours,
                "epsilon": claim.epsilon,
                "delta": claim.delta,
            },
        )

    @property
    def opening(self) -> Opening:
        """What the next run begins with."""
        return Opening(self.log_wealth, self.log_peak, self.bets, _POCKET)

    def next_seed(self, wanted: int = 0) -> int:
        """The seed of the next run: `wanted`, or for 0, the default, the first that no run used.

        Raises
        ------
        WealthError
            If a run used `wanted` already.
        """
        used = {run["seed"] for run in self.runs}
        if wanted and wanted in used:
            raise WealthError(
                f"seed={wanted}: the wealth file has a run of it; evidence counts once, so take another seed, or 0 "
                "for a fresh one"
            )
        return wanted or next(seed for seed in range(len(used) + 1) if seed not in used)

    def after(self, result: AnytimeResult) -> Account:
        """The account with one more run.

        Raises
        ------
        WealthError
            If a run used the result's seed already.
        """
        if result.seed in {run["seed"] for run in self.runs}:
            raise WealthError(f"seed={result.seed}: the wealth file has a run of it; evidence counts once")
        run = {"seed": result.seed, "samples": result.samples, "log_wealth": result.log_wealth}
        return Account(
            self.subject,
            self.source,
            self.claim,
            result.log_wealth,
            result.log_peak,
            result.closing,
            (*self.runs, run),
        )

    def save(self, path: Path) -> None:
        """Write the account, all of it or nothing."""
        text = json.dumps(json_able({"format": FORMAT, **vars(self)}), indent=1, allow_nan=False)
        with whole_file(path) as file:
            file.write(f"{text}\n".encode())


def open_account(path: Path, subject: FunctionSubject | MechanismSubject, claim: Claim) -> Account:
    """Read the account of a subject and claim; a new one if there is no such file.

    Raises
    ------
    WealthError
        If the file is no wealth file, or one of another subject, source or claim.
    """
    fresh = Account.new(subject, claim)
    if not path.absolute().parent.is_dir():
        raise WealthError(f"wealth={path}: its folder does not exist")
    if not path.exists():
        return fresh
    found = _read(path)
    for name, theirs, ours in (
        ("subject", found.subject, fresh.subject),
        ("claim", dict(found.claim), dict(fresh.claim)),
        ("source", found.source, fresh.source),
    ):
        if theirs != ours:
            which = (
                "a subject whose source code was different" if name == "source" else f"the {name} {theirs}"
            )
            raise WealthError(
                f"wealth={path}: holds the evidence on {which}, not on this one; begin a new file for it"
            )
    return found


def _read(path: Path) -> Account:
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
        if saved.pop("format") != FORMAT:
            raise WealthError(f"wealth={path}: must be in the format {FORMAT!r}")
        account = Account(**{**saved, "runs": tuple(saved["runs"])})
        numbers = (account.log_wealth, account.log_peak)
        seeds = [run["seed"] for run in account.runs]
        if not all(isinstance(number, int | float) and math.isfinite(number) for number in numbers):
            raise WealthError(f"wealth={path}: log_wealth and log_peak must be finite numbers")
        if len(set(seeds)) < len(seeds):
            raise WealthError(f"wealth={path}: two runs have one seed")
        if account.log_peak < max(0.0, account.log_wealth):
            raise WealthError(f"wealth={path}: log_peak is below the wealth that was reached")
    except (OSError, AttributeError, KeyError, TypeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise WealthError(f"wealth={path}: not a wealth file ({type(error).__name__}: {error})") from None
    return account


def _source_of(subject: FunctionSubject | MechanismSubject) -> str:
    """A hash of a function's own source, or of a mechanism's parameters."""
    if isinstance(subject, MechanismSubject):
        text = repr(subject.mechanism)
    else:
        try:
            text = inspect.getsource(subject.function)
        except (OSError, TypeError):  # written at a prompt, or no Python function
            text = ""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
