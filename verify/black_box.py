"""Test a privacy claim by sampling what the adversary sees.

Three stages, each on draws of its own, so that no stage's luck leaks into the next:

A. *scan*: every candidate pair of neighbours gets a small share; the most promising are kept.
B. *choose*: for those, events are laid out on one half of fresh draws and compared on the other half; one
   event of one pair, in one order, wins.
F. *final*: that one event, fixed by now, is counted on fresh draws of both worlds.

Because F tests a single event that was fixed before F was drawn, the choices made in A and B cost nothing:
there is one look, and no correction to pay (`BlackBoxResult.looks` is 1). The reported bound holds at
`confidence`. The *refutation* is decided at a stricter level only: the bound computed from the same counts
at error `false_alarm` must exceed the claim. So a true claim is refuted with probability at most
`false_alarm`, whatever the confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from verify.binomial import clopper_pearson_lower, clopper_pearson_upper, delta_lower, epsilon_lower
from verify.event_search import ChosenEvent, search_events
from verify.events import Event, ViewSample
from verify.verdict import LowerBound, Witness, number

Progress = Callable[[float, str], None]

SCAN, CHOOSE, FINAL = 0, 1, 2  # first entry of every spawn key
FINALISTS = 3  # pairs that go from the scan to the choice of the event
FEWEST = 256  # draws a world below which a stage cannot lay out events
LARGEST_SEARCH = 1 << 23  # values of one world held in memory while an event is chosen (64 MB)
FIRST_BATCH = 1 << 13  # rows of the first batch of a stage, before the number of columns is known
BATCH = 1 << 20  # values of one batch of draws (8 MB), so that counting needs little memory
MULTIPLE = 64  # batch sizes are multiples of it: the block of lanes that share a seed


@dataclass(frozen=True)
class Candidate:
    """A pair of neighbouring worlds to be told apart.

    Attributes
    ----------
    label
        Which neighbours, in words.
    draw
        ``draw(other_world, n, seed)``: n independent draws of the view, on data D′ if other_world else on
        data D, with no randomness but the seed's. Called with multiples of 64.
    """

    label: str
    draw: Callable[[bool, int, np.random.SeedSequence], ViewSample]


@dataclass(frozen=True)
class BlackBoxResult:
    """What the final test saw.

    Attributes
    ----------
    candidate
        Index of the tested pair among the candidates; `label` is its label.
    swapped
        False: the event is likelier on data D of that pair. True: on D′, and "first world" below is D′.
    event
        The tested event.
    hits, hits_prime
        How many of the final draws of the first and of the second world lie in the event.
    trials
        Final draws a world.
    claim_epsilon, claim_delta
        The claim.
    epsilon_lower
        Lower bound on ε at the claimed δ, at `confidence`; at least 0.
    delta_lower
        Lower bound on δ at the claimed ε, at `confidence`; at least 0. Both hold together.
    confidence
        Of the two bounds.
    strict_epsilon_lower
        The bound on ε at error `false_alarm`.
    refuted
        Whether `strict_epsilon_lower` exceeds the claim. Nothing else decides it.
    false_alarm
        The largest probability with which a true claim is refuted.
    looks
        The number of tests that were run on final draws.
    samples
        Draws spent, all stages and both worlds.
    detection_floor
        The smallest probability that an event must have had in one world, being impossible in the other, for
        the final test to refute the claim by it (at the expected count); above 1 if no event could have.
    seed
        The seed from which everything can be drawn again.
    final_batches
        Sizes of the batches of final draws: batch b of world w was drawn with
        ``SeedSequence(seed, spawn_key=(2, candidate, w, b))``.
    """

    candidate: int
    label: str
    swapped: bool
    event: Event
    hits: int
    hits_prime: int
    trials: int
    claim_epsilon: float
    claim_delta: float
    epsilon_lower: float
    delta_lower: float
    confidence: float
    strict_epsilon_lower: float
    refuted: bool
    false_alarm: float
    looks: int
    samples: int
    detection_floor: float
    seed: int
    final_batches: tuple[int, ...]

    @property
    def probability(self) -> float:
        """Estimated probability of the event in the first world."""
        return self.hits / self.trials

    @property
    def probability_prime(self) -> float:
        """Estimated probability of the event in the second world."""
        return self.hits_prime / self.trials

    @property
    def detection_floor_words(self) -> str:
        """What this effort could not have seen, as a sentence."""
        if self.detection_floor > 1.0:
            return (
                f"With {self.trials:,} final draws a side no event at all could have refuted ε = "
                f"{number(self.claim_epsilon)}: take more samples."
            )
        return (
            f"With {self.trials:,} final draws a side, a leak that shows itself with probability below "
            f"{self.detection_floor:.2g} would have gone unseen, however large it is."
        )

    def lower_bound(self) -> LowerBound:
        """The bound for a verdict; decisive if the claim is refuted at the strict level."""
        return LowerBound(
            epsilon=self.epsilon_lower,
            delta=self.claim_delta,
            confidence=self.confidence,
            method="black-box test",
            samples=self.samples,
            in_view=True,
            decisive=self.refuted,
        )

    def witness(self, neighbours: Mapping[str, str], reproduce: str) -> Witness:
        """The witness for a verdict.

        Parameters
        ----------
        neighbours
            ``{"data", "data_prime"}`` of the tested pair, in the candidate's order; swapped here if need be.
        reproduce
            A command that repeats the test.
        """
        data, data_prime = neighbours["data"], neighbours["data_prime"]
        if self.swapped:
            data, data_prime = data_prime, data
        return Witness(
            neighbours={"data": data, "data_prime": data_prime},
            event=self.event.words,
            probability=self.probability,
            probability_prime=self.probability_prime,
            reproduce=reproduce,
            details=self.to_dict(),
            hits=self.hits,
            hits_prime=self.hits_prime,
            trials=self.trials,
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything that a re-run needs and gives, as JSON-able data."""
        return {
            "candidate": self.candidate,
            "label": self.label,
            "swapped": self.swapped,
            "event": self.event.to_dict(),
            "event_words": self.event.words,
            "hits": self.hits,
            "hits_prime": self.hits_prime,
            "trials": self.trials,
            "epsilon_lower": self.epsilon_lower,
            "delta_lower": self.delta_lower,
            "confidence": self.confidence,
            "strict_epsilon_lower": self.strict_epsilon_lower,
            "refuted": self.refuted,
            "false_alarm": self.false_alarm,
            "looks": self.looks,
            "samples": self.samples,
            "detection_floor": self.detection_floor,
            "detection_floor_words": self.detection_floor_words,
            "seed": self.seed,
            "final_batches": list(self.final_batches),
        }


def black_box_test(
    candidates: Sequence[Candidate],
    *,
    claim_epsilon: float,
    claim_delta: float,
    samples: int,
    confidence: float = 0.99,
    false_alarm: float = 1e-4,
    seed: int,
    progress: Progress | None = None,
) -> BlackBoxResult:
    """Try to refute a claim of (ε, δ)-differential privacy on some pairs of neighbours.

    Parameters
    ----------
    candidates
        The pairs; each is tried in both orders.
    claim_epsilon, claim_delta
        The claim; ε ≥ 0 and δ in [0, 1).
    samples
        Draws of the view to spend in all: every stage, both worlds, all candidates.
    confidence
        Of the reported bounds.
    false_alarm
        Error level of the refutation.
    seed
        Of everything random; the result is the same for the same seed, bit by bit.
    progress
        Called with the fraction done and what is being done.

    Returns
    -------
    BlackBoxResult
        The final test of the one chosen event.

    Raises
    ------
    ValueError
        If a parameter is out of range, there are too few samples for the candidates, or a candidate draws
        something else than it was asked for.
    """
    if not candidates:
        raise ValueError("candidates must not be empty")
    if not claim_epsilon >= 0.0:
        raise ValueError(f"claim_epsilon must be at least 0, got {claim_epsilon}")
    if not 0.0 <= claim_delta < 1.0:
        raise ValueError(f"claim_delta must lie in [0, 1), got {claim_delta}")
    for name, level in (("confidence", confidence), ("false_alarm", false_alarm)):
        if not 0.0 < level < 1.0:
            raise ValueError(f"{name} must lie in (0, 1), got {level}")
    tell = progress if progress is not None else _silent
    scan, choose = _stage_sizes(len(candidates), samples)

    finalists = list(range(len(candidates)))
    spent = 0
    if scan:
        ranked: list[tuple[float, int]] = []
        for index in finalists:
            tell(spent / samples, f"scanning pair {index + 1} of {len(candidates)}")
            found, drawn = _search(
                candidates[index], index, SCAN, scan, samples // 4, claim_delta, false_alarm, seed
            )
            spent += 2 * drawn
            ranked.append((-max(event.predicted for event in found), index))
        finalists = [index for _, index in sorted(ranked)[:FINALISTS]]

    best: tuple[float, int, ChosenEvent] | None = None
    for rank, index in enumerate(finalists):
        tell(spent / samples, f"choosing an event on pair {rank + 1} of {len(finalists)}")
        found, drawn = _search(
            candidates[index], index, CHOOSE, choose, samples // 4, claim_delta, false_alarm, seed
        )
        spent += 2 * drawn
        for event in found:
            if best is None or event.predicted > best[0]:
                best = (event.predicted, index, event)
    assert best is not None
    _, index, chosen = best

    trials = (samples - spent) // 2 // MULTIPLE * MULTIPLE
    hits, hits_prime, batches = count_event(
        candidates[index],
        chosen.event,
        index=index,
        swapped=chosen.swapped,
        trials=trials,
        seed=seed,
        progress=lambda done: tell((spent + done * 2 * trials) / samples, "final test"),
    )
    tell(1.0, "done")
    strict = epsilon_lower(hits, trials, hits_prime, trials, claim_delta, false_alarm)
    error = 1.0 - confidence
    return BlackBoxResult(
        candidate=index,
        label=candidates[index].label,
        swapped=chosen.swapped,
        event=chosen.event,
        hits=hits,
        hits_prime=hits_prime,
        trials=trials,
        claim_epsilon=claim_epsilon,
        claim_delta=claim_delta,
        epsilon_lower=max(0.0, epsilon_lower(hits, trials, hits_prime, trials, claim_delta, error)),
        delta_lower=max(0.0, delta_lower(hits, trials, hits_prime, trials, claim_epsilon, error)),
        confidence=confidence,
        strict_epsilon_lower=max(0.0, strict),
        refuted=strict > claim_epsilon,
        false_alarm=false_alarm,
        looks=1,
        samples=spent + 2 * trials,
        detection_floor=detection_floor(claim_epsilon, claim_delta, trials, false_alarm),
        seed=seed,
        final_batches=batches,
    )


def count_event(
    candidate: Candidate,
    event: Event,
    *,
    index: int,
    swapped: bool,
    trials: int,
    seed: int,
    progress: Callable[[float], None] | None = None,
) -> tuple[int, int, tuple[int, ...]]:
    """Count an event on the final draws of both worlds; with a result's fields this repeats its final test.

    Returns
    -------
    tuple
        Hits in the first world, hits in the second, and the sizes of the batches.
    """
    hits = [0, 0]
    batches: list[int] = []
    for world in (False, True):
        batches, done = [], 0
        for batch in _draws(candidate, index, FINAL, world, trials, seed):
            hits[world] += int(np.count_nonzero(event.holds(batch)))
            batches.append(len(batch.values))
            done += len(batch.values)
            if progress is not None:
                progress((world + done / trials) / 2.0)
    first, second = (hits[1], hits[0]) if swapped else (hits[0], hits[1])
    return first, second, tuple(batches)


def detection_floor(epsilon: float, delta: float, trials: int, error: float) -> float:
    """The smallest event mass that `trials` draws a side can turn into a refutation of (epsilon, delta) at
    `error`.

    For an event that the second world never shows, the least count k with k's lower bound above
    δ + e^ε (upper bound of 0 in n), divided by n; infinite if no count will do.
    """
    q_up = float(clopper_pearson_upper(0, trials, error / 2.0))
    log_needed = epsilon + math.log(q_up)
    needed = delta + math.exp(log_needed) if log_needed < 700.0 else math.inf
    if float(clopper_pearson_lower(trials, trials, error / 2.0)) <= needed:
        return math.inf
    low, high = 0, trials  # `low` is too few, `high` is enough
    while high - low > 1:
        middle = (low + high) // 2
        enough = float(clopper_pearson_lower(middle, trials, error / 2.0)) > needed
        low, high = (low, middle) if enough else (middle, high)
    return high / trials


def _stage_sizes(candidates: int, samples: int) -> tuple[int, int]:
    """Draws a world and candidate of the scan (0: nothing to scan) and of the choice of the event."""
    alone = candidates == 1
    scan = 0 if alone else int(0.2 * samples) // (2 * candidates) // MULTIPLE * MULTIPLE
    choose = int((0.4 if alone else 0.3) * samples) // (2 * min(candidates, FINALISTS)) // MULTIPLE * MULTIPLE
    if (scan < FEWEST and not alone) or choose < FEWEST:
        least = 5 * FEWEST if alone else 10 * FEWEST * candidates
        raise ValueError(
            f"samples must be at least {least:,} for {candidates} pair(s) of neighbours, got {samples:,}"
        )
    return scan, choose


def _search(
    candidate: Candidate,
    index: int,
    stage: int,
    rows: int,
    final_samples: int,
    delta: float,
    error: float,
    seed: int,
) -> tuple[tuple[ChosenEvent, ChosenEvent], int]:
    """Draw both worlds and search: the first half lays events out, the second compares them.

    Returns the best event of each order and the draws a world, at most `rows` and what memory allows.
    """
    worlds = []
    for world in (False, True):
        batches = list(_draws(candidate, index, stage, world, rows, seed, LARGEST_SEARCH))
        values = (
            batches[0].values if len(batches) == 1 else np.concatenate([batch.values for batch in batches])
        )
        worlds.append(ViewSample(values, batches[0].columns))
    if worlds[0].columns != worlds[1].columns:
        raise ValueError(
            f"candidates must draw views with the same columns from both worlds ({candidate.label})"
        )
    drawn = len(worlds[0].values)
    half = drawn // 2
    found = search_events(
        (worlds[0].rows(0, half), worlds[1].rows(0, half)),
        (worlds[0].rows(half, drawn), worlds[1].rows(half, drawn)),
        final_samples=final_samples,
        delta=delta,
        error=error,
    )
    return found, drawn


def _draws(
    candidate: Candidate,
    index: int,
    stage: int,
    world: bool,
    rows: int,
    seed: int,
    most_values: int | None = None,
) -> Iterator[ViewSample]:
    """Draw `rows` views in batches, each with a seed of its own; fewer if they would hold more than
    `most_values`.

    Batch sizes depend on nothing but `rows` and the number of columns, so that draws repeat bit by bit.
    """
    size, done, number_of_batches = min(rows, FIRST_BATCH), 0, 0
    while done < rows:
        sequence = np.random.SeedSequence(seed, spawn_key=(stage, index, int(world), number_of_batches))
        batch = candidate.draw(world, size, sequence)
        if len(batch.values) != size:
            raise ValueError(f"draw must return {size} views, got {len(batch.values)} ({candidate.label})")
        yield batch
        done, number_of_batches = done + size, number_of_batches + 1
        places = len(batch.columns)
        if most_values is not None:
            rows = min(rows, max(size, most_values // places // MULTIPLE * MULTIPLE))
        size = min(rows - done, max(FIRST_BATCH, BATCH // places // MULTIPLE * MULTIPLE))


def _silent(done: float, doing: str) -> None:
    """Progress for nobody."""
