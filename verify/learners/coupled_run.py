"""Coupled runs: exact privacy losses of a learner's releases, for many neighbours at once, as a lower bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from accountant import Coupled, Divergence, RawRead
from algorithms.claim import Claim, View
from mechanisms.arrays import FloatArray
from mechanisms.printed_numbers import at_least, at_most
from verify.conduct.conduct import Conduct
from verify.conduct.effort import Effort
from verify.conduct.interrupts import subject_exceptions
from verify.conduct.other_processes import Again
from verify.conduct.process_state import subjects_own
from verify.events.reading_bins import NumberBins
from verify.findings.finding import (
    Finding,
    FindingKind,
    LawBin,
    LowerBound,
    ReadingLaws,
    Statement,
    Witness,
    add_once,
)
from verify.findings.sentences import exact
from verify.findings.subject_error import failing_place
from verify.learners.learner_case import LearnerCase
from verify.learners.pair_gates import Watched
from verify.sampling.evidence import Evidence
from verify.statistics.likeliest_event import ratio_event
from verify.statistics.sampled_losses import ROUNDING, LossBound, loss_lower_bound
from verify.transcripts.neighbours import Neighbour, record_words

RELEASED_VIEWS = frozenset({View.MESSAGE.value, View.RELEASES.value, View.SHUFFLED.value})
"""Views in which all releases are seen."""

_NEIGHBOURS_AT_ONCE = 48  # bounds memory; D's run is the same in every batch
_ROUNDS_AGAIN = 64  # that are played again in another process, after the first different release
_ONE_LANE_RUNS = 16  # of a learner that works in one lane only


@dataclass(frozen=True)
class CoupledRun:
    """The result of coupled runs.

    Attributes
    ----------
    losses
        Shape (neighbours, lanes), of everything that left the gate.
    shown_losses
        Of the releases before the first draw of the learner's own randomness, unless that is seen, too; 0 in lanes
        where a declassified value that is not itself shown differed. It is certain for an adversary who sees all that
        is published.
    divergences
        One of each kind and line.
    more_than_seen
        True if the losses are of more than what is released: of noisy values before a function of them.
    in_lanes
        True if the learner ran in many lanes at once.
    rests_on_word
        True if the losses are computed from densities that a foreign mechanism declares.
    """

    losses: FloatArray
    shown_losses: FloatArray
    divergences: tuple[Divergence, ...]
    more_than_seen: bool = False
    in_lanes: bool = True
    rests_on_word: bool = False


def try_coupled(
    case: LearnerCase,
    data: FloatArray,
    neighbours: list[Neighbour],
    effort: Effort,
    seed: np.random.SeedSequence,
    evidence: Evidence,
    *,
    sees_draws: bool,
) -> CoupledRun | None:
    """Run coupled, in lanes or else one lane at a time; None if that fails, with a finding that gives the reason."""
    run = partial(_run_coupled, case, data, neighbours, sees_draws=sees_draws)
    try:
        return run(lanes=effort.coupled_lanes, seed=seed)
    except RawRead:
        return None  # the accounting run has reported the place
    except subject_exceptions() as error:  # whatever a user's learner raises in lanes
        if evidence.does_not_run:
            return None
        add_once(evidence.findings, Statement.NO_LANES.finding(failing_place(error), error=error))
    try:
        runs = [run(lanes=1, seed=child) for child in seed.spawn(_ONE_LANE_RUNS)]
        return replace(_join_runs(runs, axis=1), in_lanes=False)
    except subject_exceptions():  # for the reason in the finding
        return None


def _join_runs(runs: Sequence[CoupledRun], axis: int) -> CoupledRun:
    """Return the joint result of runs on further neighbours (axis 0), or in further lanes (axis 1)."""
    divergences: dict[tuple[str, object], Divergence] = {}
    for run in runs:
        for found in run.divergences:
            divergences.setdefault((found.kind, found.where), found)
    return CoupledRun(
        np.concatenate([run.losses for run in runs], axis),
        np.concatenate([run.shown_losses for run in runs], axis),
        tuple(divergences.values()),
        any(run.more_than_seen for run in runs),
        rests_on_word=any(run.rests_on_word for run in runs),
    )


def _run_coupled(
    case: LearnerCase,
    data: FloatArray,
    neighbours: Sequence[Neighbour],
    *,
    lanes: int,
    seed: np.random.SeedSequence,
    sees_draws: bool,
) -> CoupledRun:
    """Run a learner on D and its neighbours, on the same released values.

    Parameters
    ----------
    case
        The learner, and how it plays.
    data
        D with records 0 .. rounds, shape (rounds + 1, arms).
    neighbours
        The neighbours of D.
    lanes
        Number of samples of every loss; a multiple of the block size.
    seed
        Of all randomness.
    sees_draws
        True if the adversary sees the learner's own draws.

    Raises
    ------
    RawRead
        If the learner reads a private value.
    """
    batches = []
    for start in range(0, len(neighbours), _NEIGHBOURS_AT_ONCE):
        batch = neighbours[start : start + _NEIGHBOURS_AT_ONCE]
        worlds = np.stack([data, *(neighbour.apply_to(data) for neighbour in batch)])
        gate = Coupled(seed, lanes, len(batch))
        with subjects_own():
            for _ in case.play(case.build(gate), gate, worlds):
                pass
        shown = np.where(gate.hidden, 0.0, gate.loss if sees_draws else gate.loss_before_draws)
        batches.append(
            CoupledRun(
                gate.loss,
                shown,
                tuple(gate.divergences),
                gate.more_than_seen,
                rests_on_word=gate.rests_on_word,
            )
        )
    return _join_runs(batches, axis=0)


def played_again(
    case: LearnerCase, data: FloatArray, neighbour: Neighbour, seed: np.random.SeedSequence
) -> Again:
    """Return the repetition of a learner's play in one lane on D and a neighbour.

    It ends some rounds after the first with a different release.
    """

    def play() -> str:
        gate, left = Watched(seed, 1), _ROUNDS_AGAIN
        with subjects_own():
            for _ in case.play(case.build(gate), gate, np.stack([data, neighbour.apply_to(data)])):
                left -= bool(gate.moves[0])
                if left == 0:
                    break
        return gate.digest

    return Again(play)


def add_coupled(
    evidence: Evidence,
    coupled: CoupledRun,
    neighbours: list[Neighbour],
    data: FloatArray,
    claim: Claim,
    conduct: Conduct,
    repeats: bool,
    again: Callable[[Neighbour], Again],
) -> None:
    """Add the privacy loss of all releases as a lower bound, and the divergences.

    The bound is wrong with the false alarm of the effort, at most. `again` plays on D and a neighbour again. A run that
    does not repeat with its seed draws from elsewhere, and it is not known who sees that.
    """
    error = conduct.effort.significance
    of_neighbours = coupled.losses.max(axis=1)
    largest, worst = float(of_neighbours.max()), neighbours[int(of_neighbours.argmax())]
    evidence.details["coupled"] = {
        "largest_loss": largest,
        "record": worst.record,
        "replacement": worst.words,
        "neighbours": len(neighbours),
        "lanes": coupled.losses.shape[1],
    }
    for found in coupled.divergences:
        if found.kind != FindingKind.DECLASSIFIED:
            evidence.findings.append(Finding.of_gate(found))
    sound = repeats and not (coupled.more_than_seen or coupled.rests_on_word)
    in_view = claim.view in RELEASED_VIEWS and sound
    losses = coupled.shown_losses if in_view else coupled.losses
    bound = loss_lower_bound(losses, claim.delta, error)
    if bound.epsilon == 0.0 and not np.array_equal(coupled.shown_losses, coupled.losses):
        # The releases that the adversary is sure to see show nothing: give the bound of all losses.
        in_view, losses = False, coupled.losses
        bound = loss_lower_bound(losses, claim.delta, error)
    upper = evidence.upper
    # The ledger bounds the loss given the learner's own draws, seen or not.
    if upper is not None and upper.delta == 0 and largest - ROUNDING > upper.epsilon:
        evidence.contradictions.append(
            exact(
                "A coupled run has privacy loss {loss}, above the charge {charge}.",
                loss=at_least(largest),
                charge=at_most(upper.epsilon),
            )
        )
    lower = LowerBound(
        epsilon=bound.epsilon,
        delta=claim.delta,
        confidence=bound.confidence,
        method="exact privacy losses of all releases (coupled run)",
        samples=0 if bound.confidence == 1.0 else bound.trials,
        in_view=in_view,
        decisive=True,
    )
    laws = _loss_laws(losses[bound.neighbour, -bound.trials :], bound.threshold)
    witness = _loss_witness(bound, laws, neighbours, data, conduct.reproduce)
    evidence.offer(lower, witness, again(neighbours[bound.neighbour]))


def _loss_laws(losses: FloatArray, threshold: float) -> ReadingLaws | None:
    """Return the laws of losses that were sampled on D; None if the threshold is 0.

    On D′ a loss l is e^-l times as likely, by the densities. Losses of at most 0 are one bin, with all that is missing
    on D′: what only D′ releases does not come up on D.
    """
    if threshold <= 0.0:
        return None
    above = losses[losses > 0.0]
    bins, inside = NumberBins.for_numbers(above, threshold), above >= threshold
    counts = bins.counts(above, inside), bins.counts(above, inside, np.exp(-above))
    found = bins.laws("privacy loss (on D′ from the densities)", counts, losses.size)
    below = losses.size - above.size, max(0.0, losses.size - float(counts[1].sum()))
    return replace(found, bins=(LawBin("≤ 0", *below, False), *found.bins))


def _loss_witness(
    bound: LossBound, laws: ReadingLaws | None, neighbours: list[Neighbour], data: FloatArray, reproduce: str
) -> Witness:
    neighbour = neighbours[bound.neighbour]
    share_prime = min(1.0, bound.probability * math.exp(-bound.threshold))
    return Witness(
        neighbours={
            "data": record_words(neighbour.record, data[neighbour.record], neighbour.rounds),
            "data_prime": record_words(neighbour.record, neighbour.value, neighbour.rounds),
        },
        event=ratio_event("released values", bound.threshold),
        probability=bound.probability,
        probability_prime=share_prime,
        reproduce=reproduce,
        details={"record": neighbour.record, "largest_loss": bound.threshold},
        hits=round(bound.probability * bound.trials),
        trials=bound.trials,
        laws=laws,
    )
