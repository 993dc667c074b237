"""One run of bets on a subject: how much there is to spend, what earlier runs won, and what goes into the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from verify.betting.anytime_result import AnytimeResult, Opening
from verify.betting.anytime_scout import Scout
from verify.betting.anytime_test import anytime_test
from verify.betting.wealth_file import Account
from verify.conduct.conduct import Conduct
from verify.findings import Statement
from verify.sampling.worlds import NeighbouringWorlds
from verify.verdict.evidence import Evidence
from verify.verdict.verdict import ClaimLike

GROUND_SEED = 0
"""Of everything before the bets on learners and bandits: all runs find the same pairs, and go on with their events."""


class Instead(Protocol):
    """What is done with candidates in place of a black-box test."""

    def __call__(
        self,
        evidence: Evidence,
        candidates: Sequence[NeighbouringWorlds],
        samples: int,
        *,
        negligible: float = 0.0,
    ) -> None:
        """Take the candidates, the draws that there may be, and what is left to chance."""
        ...


@dataclass(frozen=True)
class Bettor:
    """The settings of one run.

    Attributes
    ----------
    claim
        The claim that is bet against.
    conduct
        How it is carried out. The seed is that of the bets, one that no run in `account` used; the command repeats this
        run without what earlier ones had won.
    account, save
        What earlier runs won, and the file in which to keep it; None if it is not kept.
    """

    claim: ClaimLike
    conduct: Conduct
    account: Account | None = None
    save: Path | None = None

    @property
    def on_the_ground(self) -> Conduct:
        """How what comes before the bets is carried out."""
        return replace(self.conduct, seed=GROUND_SEED)

    def bet(
        self,
        candidates: Sequence[NeighbouringWorlds],
        samples: int,
        *,
        scout: Scout | None = None,
        share: float = 1.0,
        false_alarm: float | None = None,
        whole_stretches: bool = False,
        searched: int = 0,
    ) -> AnytimeResult:
        """Bet on pairs of neighbours, see `anytime_test`.

        Parameters
        ----------
        candidates, samples, scout, whole_stretches
            As there.
        share
            Of what earlier runs won, or of 1, that this bet may use.
        false_alarm
            If other than the effort's.
        searched
            Draws that finding the pairs took already; they are part of the result's, not of `samples`.
        """
        opening = Opening() if self.account is None else self.account.opening
        effort = self.conduct.effort
        result = anytime_test(
            candidates,
            claim_epsilon=self.claim.epsilon,
            claim_delta=self.claim.delta,
            samples=samples,
            confidence=effort.confidence,
            false_alarm=effort.false_alarm if false_alarm is None else false_alarm,
            seed=self.conduct.seed,
            progress=self.conduct.progress,
            opening=opening.with_reserve(share),
            scout=scout,
            whole_stretches=whole_stretches,
        )
        return replace(
            result,
            samples=result.samples + searched,
            search_samples=result.search_samples + searched,
        )

    def conclude(
        self,
        evidence: Evidence,
        result: AnytimeResult,
        pairs: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Add a run to the evidence, and to the wealth file.

        A run that was stopped is saved too: betting may stop whenever one likes, and a losing run must count.

        Parameters
        ----------
        evidence
            Where to.
        result
            The run.
        pairs
            What the next run needs to draw from pairs that a search found.
        """
        evidence.offer(result.lower_bound(), result.witness(self.conduct.reproduce))
        evidence.details["anytime"] = result.to_dict()
        evidence.details["detection_floor"] = result.detection_floor_words
        if result.stopped:
            evidence.details["interrupted"] = True
        if result.stopped == "interrupt":
            evidence.findings.append(Statement.STOPPED_BETS.finding(draws=result.draws))
        if self.account is None:
            return
        account = self.account.after(result, pairs)
        evidence.details["wealth"] = {
            "runs": len(account.runs),
            "samples": sum(run["samples"] for run in account.runs),
            "log_wealth_before": self.account.log_wealth,
            "log_wealth": account.log_wealth,
        }
        if self.save is None:
            return
        if self.account.is_saved(self.save):
            account.save(self.save)
        else:
            evidence.findings.append(Statement.WEALTH_NOT_KEPT.finding(file=self.save))


@dataclass
class BetInstead:
    """Bets on the candidates of a layer in place of its black-box test, and concludes once the layer is done.

    Attributes
    ----------
    bettor
        The run.
    result
        What came of it; None if there was nothing to bet on, or the run was stopped before.
    """

    bettor: Bettor
    result: AnytimeResult | None = None

    def __call__(
        self,
        evidence: Evidence,
        candidates: Sequence[NeighbouringWorlds],
        samples: int,
        *,
        negligible: float = 0.0,
        searched: int = 0,
    ) -> None:
        """Bet; the evidence is left alone until `conclude`."""
        false_alarm = self.bettor.conduct.effort.false_alarm - negligible
        self.result = self.bettor.bet(candidates, samples, false_alarm=false_alarm, searched=searched)

    def conclude(self, evidence: Evidence) -> Evidence:
        """Add the result to the evidence; to be called outside of any time limit."""
        if self.result is not None:
            self.bettor.conclude(evidence, self.result)
        return evidence
