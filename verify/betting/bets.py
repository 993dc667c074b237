"""Tests by betting: one run, the wealth that earlier runs left it, and the wealth that it leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from verify.betting.anytime_result import AnytimeResult, Opening
from verify.betting.anytime_test import anytime_test
from verify.betting.wealth_file import WealthAccount, WealthError
from verify.conduct.conduct import Conduct
from verify.findings.finding import Statement
from verify.sampling.draws import ClaimTest
from verify.sampling.evidence import Evidence
from verify.sampling.tester import ONCE, CandidateSource, Pace


@dataclass(frozen=True)
class Bets:
    """A tester (`verify.sampling.tester.Tester`) that bets while it draws: see `verify.betting.anytime_test`.

    Attributes
    ----------
    seed
        The seed of the bets: one that no run in `account` used.
    account, file
        The wealth of earlier runs, and its file; None if it is not kept.
    pace
        Their time limit, and the task for meanwhile.
    share_of_error
        Share of every error that they may spend.
    """

    anytime: ClassVar[bool] = True
    seed: int
    account: WealthAccount | None = None
    file: Path | None = None
    pace: Pace = ONCE
    share_of_error: float = 1.0

    def at_pace(self, pace: Pace, share_of_error: float = 1.0) -> Bets:
        """Return the bets that go on until then, with this share of every error; see `PacedTester`."""
        return replace(self, pace=pace, share_of_error=share_of_error)

    def test(
        self, source: CandidateSource, conduct: Conduct, *, epsilon: float, delta: float
    ) -> AnytimeResult:
        """Bet on the known pairs, and search for others if that wins nothing; see `Tester`.

        Raises
        ------
        WealthError
            If the wealth file holds pairs that are none of the source's.
        """
        opening = Opening() if self.account is None else self.account.opening
        try:
            known = source.known_candidates(opening.pairs)
        except ValueError as error:
            if not opening.pairs:
                raise
            raise WealthError(f"anytime = {self.file}: holds a pair that is none: {error}") from None
        effort = conduct.effort
        result = anytime_test(
            known.worlds,
            ClaimTest(
                epsilon=epsilon,
                delta=delta,
                samples=known.samples,
                confidence=1.0 - self.share_of_error * (1.0 - effort.confidence),
                significance=self.share_of_error * effort.significance - known.negligible,
                seed=self.seed,
            ),
            progress=conduct.progress,
            opening=opening.with_share(source.share_of_wealth),
            source=source,
            pace=self.pace,
        )
        return replace(
            result,
            samples=result.samples + known.searched,
            search_samples=result.search_samples + known.searched,
        )

    def save(self, evidence: Evidence) -> None:
        """Add the winnings of the bets to the wealth file, and report it; to be called outside of any time limit.

        A run that was stopped is saved too: betting may stop at any time, and a losing run must count. A run with
        doubtful draws is not. If nothing is sampled, as all bounds are of played pairs, the report says so.
        """
        result = evidence.tested
        if result is None and "tested_view" in evidence.details:
            kept = "" if self.file is None else f", and {self.file} is as it was"
            evidence.details["tested_view"] += f"; nothing was sampled to bet on{kept}"
        if self.account is None or not isinstance(result, AnytimeResult):
            return
        account = self.account.with_run(result)
        evidence.details["wealth"] = {
            "runs": len(account.runs),
            "samples": sum(run["samples"] for run in account.runs),
            "log_wealth_before": self.account.opening.log_wealth,
            "log_wealth": account.opening.log_wealth,
        }
        if self.file is None:
            return
        if self.account.is_saved(self.file):
            account.save(self.file)
        else:
            evidence.findings.append(Statement.WEALTH_NOT_KEPT.finding(file=self.file))
