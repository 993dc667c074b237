"""The result of a run of bets against a claim: the bets, the wealth, and the state for the next run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from mechanisms.numerics.printed_numbers import at_least, at_most
from verify.betting.e_process import LONGEST_SHARE, Payoff
from verify.events.event import Event
from verify.findings.finding import BETTING, Finding, LowerBound, Statement
from verify.findings.sentences import Sentence, observed
from verify.sampling.counted_event import CountedEvent


@dataclass(frozen=True)
class Bet:
    """A bet on one event of one pair over one stretch of draws.

    Attributes
    ----------
    candidate, label
        The pair.
    swapped
        True if D′ is the world in which the event is likelier.
    event
        The event, fixed before the stretch.
    start, draws
        The stretch: draws ``start ... start + draws - 1`` of the pair.
    hits, hits_prime
        Draws in the event, in the likelier and in the other world.
    gain
        ln of the factor by which it multiplied the wealth that is bet.
    """

    candidate: int
    label: str
    swapped: bool
    event: Event
    start: int
    draws: int
    hits: int
    hits_prime: int
    gain: float

    def to_dict(self) -> dict[str, Any]:
        """JSON-able data."""
        return {**vars(self), "event": self.event.to_dict(), "event_words": self.event.description}


@dataclass(frozen=True)
class Opening:
    """The state in which an earlier run leaves the next one: its wealth, and the events to begin with.

    Attributes
    ----------
    log_wealth, log_peak
        The log-wealth, and the largest that it ever was.
    bets
        For every pair, by its label, the last bet: ``{"swapped", "event", "joint"}``.
    pairs
        `NeighbouringWorlds.found` of the pairs of all searches that promise most.
    withheld
        Share of the wealth that is kept and not bet, in [0, 1): no run can lose more than the rest.
    grid_log_wealth, grid_log_peak
        The same for every ε of the grid of a `verify.betting.wealth.Wealth`; empty for a first run.
    """

    log_wealth: float = 0.0
    log_peak: float = 0.0
    bets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    pairs: tuple[Mapping[str, Any], ...] = ()
    withheld: float = 0.0
    grid_log_wealth: tuple[float, ...] = ()
    grid_log_peak: tuple[float, ...] = ()

    def with_share(self, share: float) -> Opening:
        """The opening with this share of its wealth; the rest is spent on something else."""
        grid = self.grid_log_wealth
        return replace(
            self,
            log_wealth=self.log_wealth + math.log(share),
            grid_log_wealth=tuple(value + math.log(share) for value in grid),
        )


@dataclass(frozen=True)
class Outlook:
    """An outlook on more draws of the pair that was bet on, if they come as they did.

    Attributes
    ----------
    seconds
        The seconds of a draw of both worlds.
    promised
        The ε to be expected of four times as many draws.
    needed
        Draws a side until the claim is refuted; None if it is already, or is not expected to be.
    """

    seconds: float
    promised: float
    needed: int | None


@dataclass(frozen=True)
class AnytimeResult(CountedEvent):
    """The result of a test by betting.

    Attributes
    ----------
    event, hits, hits_prime, trials
        The event on which most was won, in the draws that were bet on.
    epsilon_lower, confidence
        The lower bound from the draws of all runs, and its confidence, at all times together.
    refuted
        True if the wealth ever reached 1 / `significance`.
    significance
        Over all runs that carry the wealth on.
    samples
        All draws, those of the search too.
    log_wealth, log_peak
        Natural logarithm of the final and of the largest wealth.
    draws
        Draws a side that were used, on the pair with most of them.
    bets
        All bets, in order.
    closing
        The state with which the next run begins.
    by_time_limit
        True if a time limit stopped it. Its bounds hold all the same.
    outlook
        The expected use of more time.
    """

    kind: ClassVar[str] = "anytime"
    log_wealth: float
    log_peak: float
    draws: int
    bets: tuple[Bet, ...]
    closing: Opening
    by_time_limit: bool = False
    outlook: Outlook | None = None

    @property
    def interruption(self) -> Finding | None:
        """The finding that interrupted bets still hold; None if a time limit stopped them, which its caller reports."""
        said = self.interrupted and not self.by_time_limit
        return Statement.STOPPED_BETS.finding(draws=self.draws) if said else None

    def with_interruption(self, *, by_time_limit: bool) -> Self:
        """Return the result as that of bets that were stopped."""
        return replace(self, interrupted=True, by_time_limit=by_time_limit)

    def more_time(self, *, bits: bool) -> Finding | None:
        """Return the outlook as a finding; see `CountedEvent`."""
        if self.outlook is None:
            return None
        more, promised, said = self.outlook.needed, self.outlook.promised, ""
        if promised > self.epsilon_lower:
            said = f"; four times as many are expected to show ε ≥ {at_least(promised)}"
        if more is not None:
            seconds = math.ceil(more * self.outlook.seconds)
            said += f"; a refutation needs about {more:,} more, {seconds:,} s"
        said += "; the lowest bits of numbers were not tested" if bits else ""
        return Statement.FEWER_DRAWS.finding(
            seconds=self.outlook.seconds,
            draws=self.draws,
            more=said,
        )

    @property
    def p_value(self) -> float:
        """1 over the largest wealth: a true claim shows a value of at most p with probability at most p."""
        return math.exp(-max(0.0, self.log_peak))

    @property
    def detection_floor(self) -> float:
        """The probability that an event, impossible in the other world, needs for the wealth to reach the threshold.

        n draws with the largest stake λ win n m ln(1 + λ (1 - δ)) and lose -n (1 - m) ln(1 - λ δ) on average, for the
        share of the wealth that is staked for all draws.
        """
        payoff = Payoff.for_claims(self.claim_epsilon, self.claim_delta)
        won, lost = np.log1p(payoff.largest_stake * payoff.outcomes[[1, 3], 0][:, None])[:, 0]
        needed = -math.log(LONGEST_SHARE * self.significance)
        return float((needed / max(1, self.draws) - lost) / (won - lost))

    @property
    def floor_sentence(self) -> Sentence:
        """The smallest probability of an event that these draws detect."""
        return self._floor_sentence(self.detection_floor, self.draws)

    @property
    def sentence(self) -> Sentence:
        """The e-value of the sequential test."""
        return observed(
            "Sequential test of {draws:,} draws a side: e-value {wealth}, p ≤ {p}; threshold {threshold}",
            self.draws,
            wealth=_wealth(self.log_peak),
            p=at_most(self.p_value, 2),
            threshold=_wealth(-math.log(self.significance)),
        )

    def lower_bound(self) -> LowerBound:
        """The bound for a verdict; decisive if the claim is refuted."""
        return self._lower_bound(BETTING, self.samples)

    def to_dict(self) -> dict[str, Any]:
        """Everything that a re-run needs and gives, as JSON-able data."""
        return {
            **super().to_dict(),
            "p_value": self.p_value,
            "stopped": ("time-limit" if self.by_time_limit else "interrupt") if self.interrupted else "",
            "said": self.sentence.to_dict(),
            "detection_floor": self.detection_floor,
            "bets": [bet.to_dict() for bet in self.bets],
        }


def _wealth(log_wealth: float) -> str:
    """A wealth for a sentence."""
    return f"{math.exp(log_wealth):,.4g}" if log_wealth < 23.0 else f"e^{log_wealth:.4g}"
