"""The wealth of bets in a file, so that evidence accumulates over runs, as in continuous integration.

Every run bets the wealth that the last one left, on draws of a seed that no run used before; by
`verify.betting.e_process` the probability that the wealth of all runs together ever reaches 1/α under a true
claim is at most α. That holds for one subject, one claim and one set of settings, so that a file of another is
refused, and for all runs that were begun: a run that is stopped by Ctrl-C or by a time limit is written, and of one
that was ended before it could be, the next one repeats the seed, so that nothing is gained by stopping a losing one.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from accountant.files.data_files import DataFileError, from_json
from accountant.files.json_form import json_able
from accountant.files.whole_file import whole_file
from algorithms.claim import Claim
from mechanisms.parameters import DPWitnessError
from verify.betting.anytime_result import AnytimeResult, Opening

_FORMAT = "dpwitness wealth, version 3"

_WITHHELD = 0.5  # a run without success loses half of the earlier wealth, not nearly all
_LISTS = ("log_wealth", "log_peak")  # of the grid


class WealthError(DPWitnessError, ValueError):
    """A wealth file that does not fit: broken, of another subject, claim or settings, or a seed used twice."""


@dataclass(frozen=True)
class WealthAccount:
    """The state of all runs of bets against one claim of one subject.

    Attributes
    ----------
    subject, source
        The subject's name, and a digest of its own code (`verify.verification.subject_identity`).
    claim
        The claim in plain data.
    settings
        Further settings on which the subject's law depends: a learner's problem, parameters and rounds.
    opening
        The state with which the next run begins.
    runs
        One entry per run: seed, samples, and the log-wealth after it.
    """

    subject: str
    source: str
    claim: Mapping[str, Any]
    settings: Mapping[str, str] = field(default_factory=dict)
    opening: Opening = field(default_factory=lambda: Opening(withheld=_WITHHELD))
    runs: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def new(cls, subject: str, source: str, claim: Claim, settings: Mapping[str, str]) -> WealthAccount:
        """An account without runs."""
        return cls(
            subject,
            source,
            {
                "model": claim.model,
                "view": claim.view,
                "unit": str(claim.unit),
                "neighbours": claim.neighbour_words,
                "epsilon": claim.epsilon,
                "delta": claim.delta,
            },
            dict(settings),
        )

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
                f"seed = {wanted}: the wealth file has a run of it; evidence counts once, so take another seed, or 0 "
                "for a fresh one"
            )
        return wanted or next(seed for seed in range(len(used) + 1) if seed not in used)

    def with_run(self, result: AnytimeResult) -> WealthAccount:
        """The account with one more run.

        Raises
        ------
        WealthError
            If a run used the result's seed already.
        """
        if result.seed in {run["seed"] for run in self.runs}:
            raise WealthError(f"seed = {result.seed}: the wealth file has a run of it; evidence counts once")
        run = {"seed": result.seed, "samples": result.samples, "log_wealth": result.log_wealth}
        return replace(self, opening=result.closing, runs=(*self.runs, run))

    def is_saved(self, path: Path) -> bool:
        """Return True if the file is still the one that this account was read from: no other run has written it."""
        return _read_account(path).runs == self.runs if path.exists() else not self.runs

    def save(self, path: Path) -> None:
        """Write the account, all of it or nothing."""
        state = vars(self.opening)
        grid = {name: state[f"grid_{name}"] for name in _LISTS}
        kept = {**vars(self), **{name: state[name] for name in (*_LISTS, "bets", "pairs")}, "grid": grid}
        del kept["opening"]
        text = json.dumps(json_able({"format": _FORMAT, **kept}), indent=1, allow_nan=False)
        with whole_file(path) as file:
            file.write(f"{text}\n".encode())


def open_account(
    path: Path, subject: str, source: str, claim: Claim, settings: Mapping[str, str]
) -> WealthAccount:
    """Read the account of a subject and claim; a new one if there is no such file.

    Raises
    ------
    WealthError
        If the file is no wealth file, or one of another subject, claim, settings or source.
    """
    fresh = WealthAccount.new(subject, source, claim, settings)
    if not path.absolute().parent.is_dir():
        raise WealthError(f"anytime = {path}: its folder does not exist")
    if path.exists() and not path.is_file():  # a terminal or a pipe may wait for ever
        raise WealthError(f"anytime = {path}: must be a file")
    if not os.access(path.absolute().parent, os.W_OK):
        raise WealthError(f"anytime = {path}: its folder cannot be written")
    if not path.exists():
        return fresh
    found = _read_account(path)
    different = _difference(found, fresh)
    if different:
        raise WealthError(
            f"anytime = {path}: holds the evidence on {different}; begin a new file for it, or delete this one"
        )
    return found


def _difference(theirs: WealthAccount, ours: WealthAccount) -> str:
    """Return the first difference between an account and the wanted one, in words; "" if there is none."""
    if theirs.subject != ours.subject:
        return f"the subject {theirs.subject}, not on {ours.subject}"
    for name, saved, wanted in (
        ("claim", dict(theirs.claim), dict(ours.claim)),
        ("setting", dict(theirs.settings), dict(ours.settings)),
    ):
        for key in {**wanted, **saved}:
            if saved.get(key) != wanted.get(key):
                return (
                    f"the {name} {key} = {saved.get(key, 'none')}, not on {key} = {wanted.get(key, 'none')}"
                )
    if theirs.source != ours.source:
        return (
            f"{ours.subject} as its source code was before: it has changed, and the evidence is out of date"
        )
    return ""


def _read_account(path: Path) -> WealthAccount:
    try:
        saved = from_json(path.read_text(encoding="utf-8"))
        if (version := saved.pop("format")) != _FORMAT:
            raise WealthError(f"anytime = {path}: must be in the format {_FORMAT!r}, is {version!r}")
        grid, state = saved.pop("grid"), {name: saved.pop(name) for name in (*_LISTS, "bets")}
        state |= {f"grid_{name}": tuple(grid[name]) for name in _LISTS if grid}
        opening = Opening(**state, pairs=tuple(saved.pop("pairs")), withheld=_WITHHELD)
        account = WealthAccount(**{**saved, "opening": opening, "runs": tuple(saved["runs"])})
        numbers = [opening.log_wealth, opening.log_peak, *opening.grid_log_wealth, *opening.grid_log_peak]
        seeds = [run["seed"] for run in account.runs]
        if not all(isinstance(number, int | float) and math.isfinite(number) for number in numbers):
            raise WealthError(f"anytime = {path}: log_wealth, log_peak: must be finite numbers")
        if len(set(seeds)) < len(seeds):
            raise WealthError(f"anytime = {path}: runs: must have different seeds")
        if opening.log_peak < max(0.0, opening.log_wealth):
            raise WealthError(f"anytime = {path}: log_peak: must be at least log_wealth, and 0")
        if not all(isinstance(run["samples"], int) for run in account.runs):
            raise WealthError(f"anytime = {path}: runs: each must have its number of samples")
        if not isinstance(opening.bets, dict):
            raise WealthError(f"anytime = {path}: bets: must be an object")
    except (
        OSError,
        ArithmeticError,
        AttributeError,
        KeyError,
        TypeError,
        DataFileError,
        UnicodeDecodeError,
    ) as error:
        raise WealthError(f"anytime = {path}: not a wealth file ({type(error).__name__}: {error})") from None
    return account
