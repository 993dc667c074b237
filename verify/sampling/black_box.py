"""Black-box tests of a privacy claim: the adversary's view is sampled.

Four stages, each on draws of its own, so that a stage's choice is independent of the draws of the next:

A. *scan*: every candidate pair of neighbours gets a small share; the most promising are kept.
B. *choose*: for those, events are laid out on one half of fresh draws and compared on the other half; a few
   events of each pair are listed, and the events of the band.
C. *confirm*: the listed events of all pairs are counted on fresh draws, independent of their choice; one event of one
   pair, in one order, is chosen. Where that is uncertain, a few are counted once more
   (`verify.sampling.confirmation`). The way to invert the counts of the chosen event is fixed here, too.
F. *final*: that one event, fixed by now, is counted on fresh draws of both worlds.

A, B and C draw both worlds with the same random numbers (`verify.sampling.draws`): they only compare, and a comparison
of draws that go together is far sharper. F draws them independently, as its bounds demand.

Because F tests a single event that was fixed before F was drawn, the choices made in A, B and C cost nothing:
there is one look, and no correction to pay (`BlackBoxResult.looks` is 1). The reported bound holds at
`confidence`. The *refutation* is decided at a stricter level only: the bound computed from the same counts
at error `significance` must exceed the claim. So a true claim is refuted with probability at most
`significance`, at any confidence.

A test that is stopped (Ctrl-C, the time limit) before F ends uses F's draws until then, and pays for all the
other batches at whose end it could have been stopped; one that is stopped before F begins has no result.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import methodcaller

from algorithms.blocks import Executor, Serial
from mechanisms import BLOCK
from mechanisms.parameters import ParameterError
from verify.conduct.progress import Progress, no_progress
from verify.events.event import Event
from verify.events.worlds import NeighbouringWorlds
from verify.sampling.binomial_bounds import Inversion
from verify.sampling.black_box_result import BlackBoxResult
from verify.sampling.confirmation import Confirmation
from verify.sampling.count_inversion import best_share, choose_inversion
from verify.sampling.delta_band import delta_band
from verify.sampling.detection_floor import detection_floor
from verify.sampling.draws import LookPlan
from verify.sampling.event_choice import Searched, choose_events
from verify.sampling.final_test import STOPPED_EARLY, final_counts
from verify.sampling.stage_sizes import BEFORE_FINAL, stage_sizes


def black_box_test(
    candidates: Sequence[NeighbouringWorlds],
    *,
    claim_epsilon: float,
    claim_delta: float,
    samples: int,
    confidence: float = 0.95,
    significance: float = 1e-4,
    seed: int,
    progress: Progress | None = None,
    executor: Executor | None = None,
    lattice: bool = False,
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
        The confidence of the reported bounds.
    significance
        Error level of the refutation.
    seed
        The seed of everything random; the result is the same for the same seed, bit by bit.
    progress
        Function that is called with the fraction done and the present stage, in words.
    executor
        The processes that draw and count, by default this one; the result does not depend on it.
    lattice
        True to test only the place of numbers on the floating-point lattice.

    Returns
    -------
    BlackBoxResult
        The final test of the one chosen event; of the draws until then, if it was stopped by Ctrl-C or by a
        time limit.

    Raises
    ------
    ParameterError
        If a parameter is out of range, there are too few samples for the candidates, or a candidate draws
        something else than it was asked for.
    Stop
        If it came before any final draws.
    """
    if not candidates:
        raise ParameterError("candidates must not be empty")
    if not claim_epsilon >= 0.0:
        raise ParameterError(f"claim_epsilon = {claim_epsilon!r}: must be at least 0")
    if not 0.0 <= claim_delta < 1.0:
        raise ParameterError(f"claim_delta = {claim_delta!r}: must lie in [0, 1)")
    for name, level in (("confidence", confidence), ("significance", significance)):
        if not 0.0 < level < 1.0:
            raise ParameterError(f"{name} = {level!r}: must lie in (0, 1)")
    tell = progress if progress is not None else no_progress
    sizes = stage_sizes(len(candidates), samples)
    error = (1.0 - confidence) * (1.0 - STOPPED_EARLY)  # of a test that runs to its end
    strict_error = significance * (1.0 - STOPPED_EARLY)
    plan = LookPlan(
        candidates, samples, samples // 4, claim_epsilon, claim_delta, error, strict_error, seed, lattice
    )
    with (executor or Serial()).open(methodcaller("result", plan)) as processes:
        finalists, spent = choose_events(processes, plan, sizes, tell)
        # Draws that the choice could not hold in memory go to the comparison of its events.
        rows = max(sizes.confirm, (int(BEFORE_FINAL * samples) - spent) // (2 * len(finalists)))
        rows = rows // BLOCK * BLOCK
        winner, spent = Confirmation(processes, plan, tell).winner(finalists, rows, spent)
        index, searched = winner.index, winner.searched
        best = searched.events[winner.place]
        trials = (samples - spent) // 2 // BLOCK * BLOCK
        estimates = (*winner.estimates, winner.counted, trials, claim_delta)
        inversion = choose_inversion(*estimates, error)
        strict_inversion = choose_inversion(*estimates, strict_error)
        events = _band_events(searched, winner.place, trials, error)
        counts = final_counts(
            processes,
            index,
            [event for event, _, _ in events],
            searched.bins[winner.place],
            trials=trials,
            columns=searched.columns,
            progress=lambda done: tell((spent + done * 2 * trials) / samples, "final test"),
        )
    if counts.stopped is not None and counts.trials == 0:
        raise counts.stopped
    tell(1.0, "done")
    n, share = counts.trials, counts.share_of_error
    hits, hits_prime = map(int, counts.hits[::-1, 0] if best.swapped else counts.hits[:, 0])
    bounds = _bounds(inversion, hits, hits_prime, n, claim_epsilon, claim_delta, (1.0 - confidence) * share)
    strict, _ = _bounds(
        strict_inversion, hits, hits_prime, n, claim_epsilon, claim_delta, significance * share
    )
    dependent = counts.dependence
    return BlackBoxResult(
        candidate=index,
        worlds=candidates[index],
        swapped=best.swapped,
        event=best.event,
        hits=hits,
        hits_prime=hits_prime,
        trials=n,
        claim_epsilon=claim_epsilon,
        claim_delta=claim_delta,
        epsilon_lower=bounds[0],
        delta_lower=bounds[1],
        confidence=confidence,
        inverted_by=inversion,
        strict_epsilon_lower=strict,
        strictly_inverted_by=strict_inversion,
        share_of_error=share,
        band=delta_band(events, counts.hits, n, confidence=confidence, share_of_error=share),
        refuted=strict > claim_epsilon + best.event.rounding and dependent is None,
        dependent=dependent,
        significance=significance,
        looks=1,
        samples=spent + 2 * n,
        search_samples=0,
        detection_floor=detection_floor(claim_epsilon, claim_delta, n, significance * share),
        interrupted=counts.stopped is not None,
        seed=seed,
        final_batches=counts.sizes,
        laws=counts.laws(searched.bins[winner.place], swapped=best.swapped),
    )


def _band_events(
    searched: Searched, chosen: int, trials: int, error: float
) -> list[tuple[Event, bool, float]]:
    """The tested event, the best of each order and those of the band, each with the best split of its error."""
    listed = len(searched.found.shortlist)
    known = searched.events[chosen]
    others = [
        i
        for i in (*range(len(searched.found.best)), *range(listed, len(searched.events)))
        if (searched.events[i].event, searched.events[i].swapped) != (known.event, known.swapped)
    ]
    level = error / (1 + len(others))
    events = []
    for i in (chosen, *others):
        event = searched.events[i]
        first, second = searched.hits[::-1, i] if event.swapped else searched.hits[:, i]
        p, q = ((int(count) + 0.5) / (searched.chosen_on + 1) for count in (first, second))
        events.append((event.event, event.swapped, best_share(p, q, trials, level)))
    return events


def _bounds(
    inversion: Inversion, hits: int, other: int, n: int, epsilon: float, delta: float, error: float
) -> tuple[float, float]:
    """Lower bounds on ε at the claimed δ and on δ at the claimed ε; at least 0."""
    return (
        max(0.0, inversion.epsilon_lower(hits, n, other, n, delta, error)),
        max(0.0, inversion.delta_lower(hits, n, other, n, epsilon, error)),
    )
