"""The black-box test of a linear learner's claim, in the claim's own view."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from accountant import Entry, Simulation
from algorithms.claim import Claim, View
from algorithms.linear.linear_play import BuildPhased
from mechanisms import Binomial, Gaussian, NumpyNoise, Sensitivity
from verify.conduct.conduct import Conduct
from verify.conduct.progress import stretch
from verify.events.view_sample import Column, ViewSample
from verify.linear.tipping_view import NEGLIGIBLE, tipping_pairs
from verify.sampling.tester import Candidates, Tester
from verify.sampling.worlds import NeighbouringWorlds
from verify.verdict.evidence import Evidence
from verify.verdict.stopping import stopped_by_hand

# With more actions the action view is drawn less often; less, too, where earlier phases are drawn.
_MOST_ACTIONS = 100
_FEWEST_DRAWS = 100_000
_FOR_EVER = 10**12  # draws that nobody makes in all runs of a wealth file together


def sample_view(
    evidence: Evidence,
    build: BuildPhased,
    paid: tuple[Entry, ...],
    claim: Claim,
    conduct: Conduct,
    tester: Tester,
    view_seed: np.random.SeedSequence,
) -> None:
    """Test the claim's own view by sampling: the action sequence, or one client's release at its extremes."""
    if claim.view == View.ACTIONS.value:
        learner = build(Simulation(0, 1))
        if not hasattr(learner, "after"):
            return
        candidates = _tipped_actions(build, learner.active.size, claim, conduct, tester, view_seed)
        if not candidates.worlds:
            evidence.details["action_view"] = (
                "Within this horizon no single client can tip the elimination of an action, as far as was looked."
            )
            return
    else:
        mechanism = paid[0].mechanism if len(paid) == 1 else None
        if not isinstance(mechanism, Gaussian | Binomial):
            return
        release = _release_worlds(mechanism, paid[0].sensitivity)
        candidates = Candidates([release], conduct.effort.samples // 4)
    with stopped_by_hand(evidence):
        told = replace(conduct, progress=stretch(conduct.progress, 0.5, 1.0))
        result = tester.test(candidates, told, epsilon=claim.epsilon, delta=claim.delta)
        evidence.keep(result, conduct.reproduce)


def _tipped_actions(
    build: BuildPhased,
    actions: int,
    claim: Claim,
    conduct: Conduct,
    tester: Tester,
    seed: np.random.SeedSequence,
) -> Candidates:
    """Return data sets in which one client tips the elimination of an action."""
    draws = conduct.effort.batch_samples
    pairs = tipping_pairs(build, epsilon=claim.epsilon, delta=claim.delta, samples=draws, seed=seed)
    history = max((len(pair.drawn_history(draws)) for pair in pairs), default=0)
    samples = min(draws, max(_FEWEST_DRAWS, _MOST_ACTIONS * draws // ((1 + 6 * history) * actions)))
    in_all = _FOR_EVER if tester.anytime else samples
    return Candidates([pair.worlds(in_all) for pair in pairs], samples, negligible=NEGLIGIBLE)


def _release_worlds(mechanism: Gaussian | Binomial, moved: Sensitivity | None) -> NeighbouringWorlds:
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
