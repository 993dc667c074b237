"""The worst data inside the good event: a test of a proof's lemmas and of their sum, not of a learner.

The statements of a proof about the good event are about any data in it. So an adversary chooses the outcomes: ones of
the bad arm and zeros of the best one, for as long as the estimates stay within their radii. Data drawn at random never
come near a lemma's constant; these do, and a lemma that is wrong by a factor of two shows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from algorithms.learner import Confidence
from algorithms.play import BuildLearner
from algorithms.theory.regret_bound import Instance, RegretBound
from mechanisms.arrays import FloatArray, IntArray
from mechanisms.numerics.printed_numbers import as_given
from verify.findings.sentences import exact
from verify.regret_claims.mean_checks import MeanRun
from verify.regret_claims.plain_problem import plain_instance
from verify.regret_claims.proof_run import ProofRun, play_checked
from verify.regret_claims.regret_report import ProofCheck

WORST_EPSILON = 1000.0
"""There is next to no noise, which an adversary does not choose."""

_MEANS = np.array([0.3, 0.7])
_ROUNDS = 1024


def worst_instance(family: str, bound: RegretBound, played: Instance) -> Instance:
    """Return two arms (paths of one arm), one of which is played at a time, with next to no noise."""
    return plain_instance(family, bound, replace(played, epsilon=WORST_EPSILON, horizon=_ROUNDS), _MEANS)


def check_worst_data(
    build: BuildLearner, bound: RegretBound, instance: Instance, *, seed: int
) -> tuple[ProofCheck, ...]:
    """Play a learner on the worst data inside the good event.

    Parameters
    ----------
    build
        Makes an `ExplainedLearner` on a gate.
    bound, instance
        A theorem with a `ConfidenceTheorem`, and a `worst_instance`.
    seed
        Of the noise.

    Returns
    -------
    tuple
        Whether lemmas and bound hold; and whether the lemma does that the paper printed, where it is another. Nothing
        where the learner contradicts its theorem otherwise.
    """
    run = _StartedRun(bound, instance, 1)
    adversary = _Adversary(run)
    contradiction = play_checked(run, build, seed=seed, data=adversary.outcomes)
    gap, plays = float(_MEANS[1] - _MEANS[0]), int(run.feeds[0, 0])
    checks = worst_found(
        run, contradiction, f"two arms: the one that is worse by {gap:g} is played {plays:,} times, and"
    )
    if checks and contradiction is None and bound.printed_plays is not None:
        allowed = bound.value_of(bound.printed_plays, instance, Delta=gap)
        said = exact(
            "on the same data the arm that is worse by {gap:g} is played {plays:,} times; the paper's lemma allows "
            "{allowed:,.0f}",
            gap=gap,
            plays=plays,
            allowed=allowed,
        )
        checks += (ProofCheck("printed lemma", float(plays <= allowed), 0.0, said),)
    return checks


def worst_found(run: ProofRun, contradiction: ProofCheck | None, words: str) -> tuple[ProofCheck, ...]:
    """Return the result of a run of a single lane on the worst data; nothing where that is the part of another check.

    Parameters
    ----------
    run, contradiction
        The run that has ended, and with which counterexample, if there was one.
    words
        The play in words, to be followed by "regret is ...".
    """
    if contradiction is not None:
        lemma = contradiction.name in ("gap lemma", "path")
        return (replace(contradiction, name="worst data"),) if lemma else ()
    if run.failed[0]:
        return ()
    instance = run.instance
    said = exact(
        "on the most misleading data that the good event allows, {horizon:,} rounds at ε = {epsilon} of {words} regret "
        "is {regret:.4g}, bound {bound:.4g}",
        horizon=instance.horizon,
        epsilon=as_given(instance.epsilon),
        words=words,
        regret=float(run.regret[0]),
        bound=run.bound.evaluate(instance),
    )
    return (ProofCheck("worst data", 1.0, 0.0, said),)


class _StartedRun(MeanRun):
    """A run that keeps the outcomes that a learner starts on."""

    started: FloatArray = np.zeros(2)

    def check_start(self, state: Confidence, outcomes: FloatArray) -> None:
        """Keep them, and check the state."""
        self.started = outcomes[0]
        super().check_start(state, outcomes)


@dataclass
class _Adversary:
    """Chooses outcomes of two arms: the first looks as good, the second as bad, as the good event lets them."""

    run: _StartedRun
    total: FloatArray = field(default_factory=lambda: np.zeros(2))

    def outcomes(self, action: IntArray) -> FloatArray:
        """Return the outcome of the arm played, shape (1, 1)."""
        outcome = self._outcome(int(action[0, 0]))
        self.total[int(action[0, 0])] += outcome
        return np.array([[outcome]])

    def _outcome(self, arm: int) -> float:
        run, theorem = self.run, self.run.theorem
        inside, released = float(run.filled[0, arm]), float(run.feeds[0, arm] - run.filled[0, arm])
        total = float(run.open[0, arm]) if run.fresh else self.total[arm] + run.started[arm]
        due = float(run.batch[0, arm]) + (0.0 if run.fresh else released)
        inside += 0.0 if run.fresh else released
        noises = np.array([float(run.round.bit_count()) if run.tree else run.releases[0, arm] + 1.0])
        if run.fresh:
            noises = np.ones(1)
        reach = due * float(run.radius(np.array([due]), noises, run.exponent)[0])
        mean = due * float(run.problem.means[arm])
        margin = 0.0 if theorem.noise == "bit" else 25 * run.scale * float(np.sqrt(noises[0]))
        if arm == 0:
            return float(total + 1 <= mean + reach - margin)
        if (
            theorem.index == "mixture"
        ):  # where the index of the best arm is valid, is less than its radius below
            reach /= 2
        return float(total + due - inside - 1 < mean - reach + margin)
