"""Every regret theorem by its learner's registered name, and why some learners have none.

>>> str(BOUNDS["omm"].per_arm)
'8*(2/Delta - 1/Delta_max)*log(T) + 4*pi**2*Delta_max*k/3'
"""

from __future__ import annotations

from algorithms.theory.bandit_regret import BANDIT_BOUNDS
from algorithms.theory.best_arm import BEST_ARM_BOUNDS
from algorithms.theory.cascade_regret import CASCADE_BOUNDS
from algorithms.theory.linear_regret import LINEAR_BOUNDS
from algorithms.theory.matroid_regret import MATROID_BOUNDS
from algorithms.theory.published_bandit_regret import PUBLISHED_BANDIT_BOUNDS
from algorithms.theory.regret_bound import RegretBound
from algorithms.theory.semi_bandit_regret import SEMI_BANDIT_BOUNDS

BOUNDS: dict[str, RegretBound] = {
    **BANDIT_BOUNDS,
    **BEST_ARM_BOUNDS,
    **PUBLISHED_BANDIT_BOUNDS,
    **SEMI_BANDIT_BOUNDS,
    **MATROID_BOUNDS,
    **CASCADE_BOUNDS,
    **LINEAR_BOUNDS,
}
"""Regret bounds by the learner's registered name."""

WITHOUT_BOUND: dict[str, str] = {
    "cts": "its sources give no explicit constants for Gaussian priors on a matroid",
    "published/dpts-mat": "Theorem 4 is O(.), and its proof's constant, 288 ln(L^2 (n + e^32)) / Delta^2, is that of "
    "a lemma with a doubled logarithm; dpts-mat has a theorem",
    "published/cascade-ucb-hybrid": "Theorem 2 has constants c_1, c_2 and xi that are never given, and its proof drops "
    "the sampling term; cascade-ucb-batch has a theorem",
    "published/dp-imed": "Theorem 2 is about T to infinity: sum (1 + growth) Delta ln(T) / d_epsilon + o(ln T), and "
    "the last term, which measurements show to be large, has no bound; dp-bandit has a theorem at every T",
    "published/lazy-dp-ts": "Theorem 4 is O(.), without constants; dp-bandit has a theorem",
    "published/dpe-fixed-u": "the paper states none",
    "dp-linucb": "a third of all rounds may be in one batch, so that no useful bound holds for contexts which change "
    "late; its confidence widths are proved",
    "linucb": "as of dp-linucb: batches grow with the horizon",
    "published/tree-linucb-gaussian": "Theorem 5 is `algorithms.published.tree_linucb.theorem_5`, which is above 2 T, "
    "what no learner exceeds, up to 25 million rounds at d = 4, epsilon = 1, delta = 1e-5; no proof is read from "
    "learners of contexts",
    "published/tree-linucb-wishart": "as of published/tree-linucb-gaussian, with more noise",
}
"""Why a learner has no bound that is a number, by its registered name."""
