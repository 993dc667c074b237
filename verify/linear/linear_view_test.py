"""The black-box test of a linear learner's claim, in the claim's own view."""

from __future__ import annotations

import numpy as np

from accountant import Entry, Simulation
from algorithms.claim import Claim, View
from algorithms.linear.linear_play import BuildPhased
from mechanisms import Binomial, Gaussian, NumpyNoise, Sensitivity
from verify.betting.anytime_bettor import Instead
from verify.conduct.conduct import Conduct
from verify.conduct.progress import stretch
from verify.events.view_sample import Column, ViewSample
from verify.linear.tipping_view import NEGLIGIBLE, tipping_pairs
from verify.sampling.black_box import black_box_test
from verify.sampling.worlds import NeighbouringWorlds
from verify.verdict.evidence import Evidence
from verify.verdict.stopping import stopped_by_hand

# With more actions the action view is drawn less often; less, too, where earlier phases are drawn.
_MOST_ACTIONS = 100
_FEWEST_DRAWS = 100_000
_FOR_EVER = 10**12  # draws that nobody makes in all runs of a wealth file together


def add_black_box(
    evidence: Evidence,
    build: BuildPhased,
    paid: tuple[Entry, ...],
    claim: Claim,
    conduct: Conduct,
    view_seed: np.random.SeedSequence,
    instead: Instead | None,
) -> None:
    """Test the claim's own view by sampling: the action sequence, or one client's release at its extremes."""
    effort = conduct.effort
    samples, false_alarm = effort.samples // 4, effort.false_alarm
    if claim.view == View.ACTIONS.value:
        learner = build(Simulation(0, 1))
        if not hasattr(learner, "after"):
            return
        pairs = tipping_pairs(
            build, epsilon=claim.epsilon, delta=claim.delta, samples=effort.batch_samples, seed=view_seed
        )
        history = max((len(pair.drawn_history(effort.batch_samples)) for pair in pairs), default=0)
        most = _MOST_ACTIONS * effort.batch_samples // ((1 + 6 * history) * learner.active.size)
        samples = min(effort.batch_samples, max(_FEWEST_DRAWS, most))
        # Bets of many runs are one test.
        candidates = [pair.candidate(samples if instead is None else _FOR_EVER) for pair in pairs]
        false_alarm -= NEGLIGIBLE
        if not candidates:
            evidence.details["action_view"] = (
                "Within this horizon no single client can tip the elimination of an action, as far as was looked."
            )
            return
    else:
        mechanism = paid[0].mechanism if len(paid) == 1 else None
        if not isinstance(mechanism, Gaussian | Binomial):
            return
        candidates = [_release_candidate(mechanism, paid[0].sensitivity)]
    if instead is not None:
        instead(evidence, candidates, samples, negligible=effort.false_alarm - false_alarm)
        return
    with stopped_by_hand(evidence):
        result = black_box_test(
            candidates,
            claim_epsilon=claim.epsilon,
            claim_delta=claim.delta,
            samples=samples,
            confidence=effort.confidence,
            false_alarm=false_alarm,
            seed=conduct.seed,
            progress=stretch(conduct.progress, 0.5, 1.0),
            workers=effort.workers,
        )
        evidence.keep(result, result.witness(conduct.reproduce))


def _release_candidate(mechanism: Gaussian | Binomial, moved: Sensitivity | None) -> NeighbouringWorlds:
    """Return the pair of one release at both ends of what a client can move it by, in every coordinate."""
    allowed = moved if moved is not None else mechanism.sensitivity
    size = max(1, round(allowed.l1 / allowed.linf))
    whole = isinstance(mechanism, Binomial)
    step = np.full(size, round(allowed.linf) if whole else allowed.linf)
    columns = tuple(Column(f"released[{i}]", f"released value {i}", "real") for i in range(1, size + 1))

    def draw(other: bool, n: int, seed: np.random.SeedSequence) -> ViewSample:
        value = np.tile(np.zeros_like(step) if other else step, (n, 1))
        released = mechanism.release(value, NumpyNoise(np.random.default_rng(seed)))
        return ViewSample(np.asarray(released, dtype=np.float64), columns)

    return NeighbouringWorlds(("a client's report is at its upper bound", "it is at its lower bound"), draw)
