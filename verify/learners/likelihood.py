"""Lower bounds for the actions of a learner from the exact likelihood ratios of its releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mechanisms import BLOCK, Mechanism, assumptions_of
from verify.conduct.conduct import Conduct
from verify.conduct.effort import Effort
from verify.conduct.other_processes import PROCESSES, Again
from verify.conduct.spawn_keys import SpawnKey
from verify.findings.finding import LowerBound, Witness
from verify.learners.learner_case import LearnerCase
from verify.learners.transcript_likelihood import Chosen, RatioBound, bound_ratio, choose_event
from verify.sampling.evidence import Evidence
from verify.transcripts.view_pair import ViewPair

SHARE_OF_ERROR = 0.2
"""Share of the error of a verification that likelihood ratios get where they are used; counting has the rest."""


@dataclass(frozen=True, slots=True)
class _Draws:
    """Numbers and shares of draws: settings of this library, on which no bound's validity rests.

    Attributes
    ----------
    most
        Final draws.
    fewer_to_look, fewer_to_choose
        The factors by which fewer draws are made for a first look at every pair, and for the choice of an event.
    finalists
        Pairs on which an event is chosen.
    share_of_work
        The final draws play at most one in this many of the effort's lane-rounds.
    enough_hits
        Expected draws in the event beyond which more of them improve the bound little.
    again
        Draws of each side in another process.
    """

    most: int = 400_000
    fewer_to_look: int = 24
    fewer_to_choose: int = 4
    finalists: int = 2
    share_of_work: int = 2
    enough_hits: int = 8_000
    again: int = 8 * BLOCK


_DRAWS = _Draws()


def likelihoods_hold(evidence: Evidence, mechanisms: Sequence[Mechanism]) -> bool:
    """Return True if the gate's densities are those of the releases: own mechanisms, and no check failed."""
    own = not any(map(assumptions_of, mechanisms))
    return own and not any(finding.failing for finding in evidence.findings)


def add_likelihood(
    evidence: Evidence, case: LearnerCase, pairs: Sequence[ViewPair], conduct: Conduct
) -> None:
    """Offer the bound of the best event of the most promising pairs; nothing if no event promises one."""
    claim = case.claim
    effort, seed = conduct.effort, conduct.seed
    error = SHARE_OF_ERROR * (1.0 - effort.confidence)
    draws = [_draws(effort, pair) for pair in pairs]

    def choose(index: int, stage: SpawnKey, fewer: int, orders: Sequence[bool]) -> Chosen | None:
        return choose_event(
            case,
            pairs[index],
            draws=max(draws[index] // fewer // BLOCK, 4) * BLOCK,
            final_draws=draws[index],
            error=error,
            seed=stage.sequence(seed, index),
            orders=orders,
        )

    seen = [
        (choose(index, SpawnKey.LIKELIHOOD_LOOK, _DRAWS.fewer_to_look, (False, True)), index)
        for index in range(len(pairs))
    ]
    ranked = sorted(
        ((chosen.predicted, index, chosen.swapped) for chosen, index in seen if chosen), reverse=True
    )
    finalists = [
        (chosen, index)
        for _, index, swapped in ranked[: _DRAWS.finalists]
        if (chosen := choose(index, SpawnKey.LIKELIHOOD_CHOICE, _DRAWS.fewer_to_choose, (swapped,)))
        is not None
    ]
    if not finalists:
        return
    chosen, index = max(finalists, key=lambda finalist: finalist[0].predicted)
    pair = pairs[index]
    # No more than an event as likely as this one needs.
    trials = min(draws[index], max(int(_DRAWS.enough_hits / chosen.share) // BLOCK, 16) * BLOCK)
    bound = bound_ratio(
        case,
        pair,
        chosen,
        draws=trials,
        error=error,
        strict_error=SHARE_OF_ERROR * effort.significance,
        seed=SpawnKey.LIKELIHOOD_TEST.sequence(seed, index),
    )
    decisive = bound.strict_epsilon > claim.epsilon
    lower = LowerBound(
        epsilon=bound.epsilon,
        delta=claim.delta,
        confidence=effort.confidence,
        method="likelihood ratios of the actions (coupled run)",
        samples=trials,
        decisive=decisive,
    )
    likelier = case.view(pair, pair.data_prime if chosen.swapped else pair.data)
    plain = likelier.sample(trials, SpawnKey.LIKELIHOOD_COUNT.sequence(seed, index))
    hits = int(np.count_nonzero(chosen.event.holds(plain)))

    def inside(draws: int) -> list[np.ndarray[Any, Any]]:
        orders = (pair.data_prime, pair.data) if chosen.swapped else (pair.data, pair.data_prime)
        return [
            chosen.event.holds(
                case.view(pair, data).sample(draws, SpawnKey.OTHER_PROCESSES.sequence(seed, world))
            )
            for world, data in enumerate(orders)
        ]

    many = max(trials // PROCESSES // BLOCK, 8) * BLOCK
    again = Again.from_events(inside, _DRAWS.again, many, [(hits, trials)])
    evidence.offer(lower, _witness(chosen, pair, bound, hits, conduct.reproduce), again)
    evidence.details["likelihood"] = {
        "event": chosen.event.to_dict(),
        "event_words": chosen.event.description,
        "swapped": chosen.swapped,
        "rounds": pair.rounds,
        "epsilon_lower": bound.epsilon,
        "strict_epsilon_lower": bound.strict_epsilon,
        "ratio": bound.ratio,
        "hits": bound.hits,
        "trials": bound.trials,
    }


def _draws(effort: Effort, pair: ViewPair) -> int:
    """Return the number of final draws that the effort allows on a pair."""
    work = effort.lane_rounds // _DRAWS.share_of_work // pair.rounds
    return max(min(_DRAWS.most, effort.samples, work) // BLOCK, 16) * BLOCK


def _witness(chosen: Chosen, pair: ViewPair, bound: RatioBound, hits: int, reproduce: str) -> Witness:
    """Return the witness, with plain counts of the event on either side."""
    data, data_prime = reversed(pair.descriptions) if chosen.swapped else pair.descriptions
    return Witness(
        neighbours={"data": data, "data_prime": data_prime},
        event=chosen.event.description,
        probability=hits / bound.trials,
        probability_prime=bound.hits / bound.trials,
        reproduce=reproduce,
        details={"event": chosen.event.to_dict(), "ratio": bound.ratio, "record": pair.record},
        hits=hits,
        hits_prime=bound.hits,
        trials=bound.trials,
    )
