"""The catalogue of regret theorems by learner name, and the reason where a learner has none.

>>> bound = BOUNDS["omm"].per_arm  # 8 (2/Delta - 1/Delta_max) log(T) + 4 pi^2 Delta_max k / 3
>>> sorted(str(symbol) for symbol in bound.free_symbols)
['Delta', 'Delta_max', 'T', 'k']
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping

from algorithms.theory.best_arm import BEST_ARM_BOUNDS
from algorithms.theory.cascade_regret import CASCADE_BOUNDS
from algorithms.theory.contextual_regret import CONTEXTUAL_BOUNDS
from algorithms.theory.expert_regret import EXPERT_BOUNDS
from algorithms.theory.level_free_regret import LEVEL_FREE_BOUNDS
from algorithms.theory.linear_regret import LINEAR_BOUNDS
from algorithms.theory.matroid_regret import MATROID_BOUNDS
from algorithms.theory.published_bandit_regret import PUBLISHED_BANDIT_BOUNDS
from algorithms.theory.regret_bound import RegretBound
from algorithms.theory.semi_bandit_regret import SEMI_BANDIT_BOUNDS

_OTHERS: dict[str, RegretBound] = {
    **CONTEXTUAL_BOUNDS,
    **LEVEL_FREE_BOUNDS,
    **BEST_ARM_BOUNDS,
    **EXPERT_BOUNDS,
    **PUBLISHED_BANDIT_BOUNDS,
    **SEMI_BANDIT_BOUNDS,
    **MATROID_BOUNDS,
    **CASCADE_BOUNDS,
}
BOUNDS: Mapping[str, RegretBound] = ChainMap(LINEAR_BOUNDS, _OTHERS)  # type: ignore[arg-type]  # it is only read
"""Regret bounds by the learner's registered name."""

WITHOUT_BOUND: dict[str, str] = {
    "cts": "its sources give no explicit constants for Gaussian priors on a matroid",
    "published/dpts-mat": "Theorem 4 is O(.), and its proof's constant, 288 ln(L^2 (n + e^32)) / Delta^2, is that of "
    "a lemma with a doubled logarithm; cucb-batch has a theorem",
    "cascade-ucb-kl": "no theorem is known of a level-free index of lists",
    "published/cascade-ucb-hybrid": "Theorem 2 has constants c_1, c_2 and xi that are never given, and its proof drops "
    "the sampling term; cascade-ucb-batch has a theorem with index=confidence",
    "published/dp-imed": "Theorem 2 is about T to infinity: sum (1 + growth) Delta ln(T) / d_epsilon + o(ln T), and "
    "the last term, which measurements show to be large, has no bound; dp-bandit has a theorem at every T",
    "published/lazy-dp-ts": "Theorem 4 is O(.), without constants; dp-bandit has a theorem",
    "published/dpe-fixed-u": "the paper states none",
}
"""The reason why a learner has no numeric bound, by its registered name."""
