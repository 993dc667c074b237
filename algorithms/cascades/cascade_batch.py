"""Ranked-list learners that hold a list for a phase and release its clicks at the end: central and shuffled privacy.

Privacy: a round's click vector enters exactly one released histogram, which it moves by at most 2 in L1 norm
(by 1 with one position) and by sqrt(2) in L2 norm, and phase ends are functions of display counts, which are public.
So Laplace noise of scale ``2 / epsilon`` on every count costs each record exactly epsilon, however many phases there
are, and Gaussian noise of ``sigma = sqrt(2) / mu(epsilon, delta)`` exactly (epsilon, delta); a phase that the horizon
cuts is never released. The number of users who examined a position follows from the noisy
histogram and the public length of the phase.

Nor need a server be trusted: if users send the click vector as ones among random bits, a shuffler leaves the same
histogram with hardly more noise (`ShuffledCounts`).
"""

from __future__ import annotations

import abc
import math
from typing import ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from accountant import Gate, Private
from algorithms.anytime_learner import AnytimeLearner
from algorithms.cascades.click_estimates import ClickEstimates
from algorithms.claim import NO_CLAIM, ClaimForm
from algorithms.estimates.chernoff import NoiseTail
from algorithms.estimates.shuffled_counts import ShuffledCounts
from algorithms.lanes import gather
from algorithms.learner import ClickConfidence, check_delta, check_epsilon
from algorithms.problems import Parameter, RankedLists
from mechanisms import Gaussian, Laplace, Mechanism, OneHot
from mechanisms.arrays import FloatArray, IntArray
from mechanisms.parameters import ParameterError, quoted

_ListIndex = Literal["level-free", "confidence"]
"""Indices of items: level-free, of less regret and without a theorem on it; or of a confidence level, with one."""
_INDEX = Parameter(
    "index",
    "str",
    "level-free",
    meaning="of least regret, without a regret theorem; or of a confidence level, with one",
    choices=get_args(_ListIndex),
)


class _PhaseLearner(AnytimeLearner[RankedLists]):
    """Keep a list for a phase of rounds; then learn from all.

    Data of all phases are kept. With m the number of phases that an item was in, its index U is the largest u
    with ``u E <= C + R(u)``, lowered by Chernoff's inequality (`ChernoffNoiseBound`),

    ``R(u) = sqrt(2 x (n/4 + s m (1 + u^2 (K - 1)))) + b x``,

    with ``s = 2 b^2`` for Laplace and ``s = sigma^2, b = 0`` for Gaussian noise. The K largest are shown, the least
    displayed first.

    *Level-free*: ``x = ln+(tau / n)``, tau the rounds so far when something was released last, of all items of a run
    together. A list with an item that was never displayed is kept for ``b ln(T) / 2`` rounds (``sigma sqrt(2 ln T) /
    2`` with Gaussian noise), fewer of which say nothing, and others for half the displays so far of its least displayed
    item.

    *Confidence*: ``x = ln(3 L M T^2)``, where ``M = L (2 + log2 T)`` bounds the number of phases, as a list is kept for
    ``max(1, min n_e)`` rounds.
    """

    parameters: ClassVar[tuple[Parameter, ...]] = (_INDEX,)
    family = "cascade"
    needs_all_arms = "a list is shown for a phase of rounds"
    share: ClassVar[float] = 0.5
    """The length of a list's phase, as a share of its least displayed item's displays, with level-free indices."""

    def __init__(
        self, structure: RankedLists, gate: Gate, noise: NoiseTail, horizon: int | None, index: _ListIndex
    ) -> None:
        super().__init__(structure, gate, horizon)
        if index not in get_args(_ListIndex):
            raise ParameterError(f"index = {quoted(index)}: must be one of {', '.join(get_args(_ListIndex))}")
        self.level_free = index == "level-free"
        self.first = max(1, math.ceil(0.5 * noise.first_size(self.horizon)))
        self.exponent = self.exponent_for(self.horizon)
        self.estimates = ClickEstimates(gate.lanes, structure, noise)
        self.histogram = gate.sums(structure.size)
        self.list: IntArray = np.full((gate.lanes, structure.size), -1)
        self.length: IntArray = np.zeros(gate.lanes, dtype=np.int64)
        self.left: IntArray = np.zeros(gate.lanes, dtype=np.int64)  # rounds of the phase still to play

    @abc.abstractmethod
    def _awaited(self) -> Mechanism | None:
        """Return the mechanism that will release the open phase's histogram."""

    @abc.abstractmethod
    def _released(self, full: npt.NDArray[np.bool_]) -> FloatArray:
        """Release the histograms of the phases that end."""

    def exponent_for(self, horizon: int) -> float:
        """Return ``ln(3 L M T^2)``."""
        # M: every phase at least doubles the displays of its least displayed item, 0, 1, 2, 4, ...
        phases = self.structure.arms * (2 + math.log2(horizon))
        return math.log(3 * self.structure.arms * phases) + 2 * math.log(horizon)

    def renew(self, lanes: npt.NDArray[np.bool_]) -> None:
        """Compute the indices of these lanes; a list that is being shown is shown to its phase's end."""
        if not self.level_free:
            self.estimates.renew(self.exponent, lanes)

    def choose(self) -> IntArray:
        """Return the list of the phase; begin a new phase where the last one has ended."""
        ended = self.left == 0
        if ended.any():
            fresh = self.estimates.best_lists()
            displays = gather(self.estimates.displays, fresh).min(axis=1)
            if self.level_free:
                displays = np.where(displays > 0, np.ceil(self.share * displays), self.first)
            self.list = fresh if ended.all() else np.where(ended[:, np.newaxis], fresh, self.list)
            self.length = np.where(ended, np.maximum(displays, 1).astype(np.int64), self.length)
            self.left = np.where(ended, self.length, self.left)
        return self.list

    @property
    def committed_rounds(self) -> IntArray:
        """The rounds of the phase still to play, or of the epoch."""
        return self.left if self.level_free else self.until_renewed(self.left)

    def click_confidence(self) -> ClickConfidence:
        """Return the items' sums and indices."""
        return self.estimates.confidence()

    def learn(self, action: IntArray, feedback: Private, rounds: IntArray | None = None) -> None:
        """Count the clicks of a round, or of some; release the counts of the phases that end here.

        A phase waits for all its feedback, and shows its list meanwhile. Clicks on a list whose phase is over are
        not needed: they enter nothing, and cost nothing.
        """
        needed = (self.left > 0) & (action == self.list).all(axis=1)
        if not needed.any():
            return
        rounds = needed.astype(np.int64) if rounds is None else rounds
        at = np.where(needed[:, np.newaxis], np.arange(self.structure.size), -1)
        self.histogram.add(feedback, at=at, release=self._awaited())
        self.left = self.left - rounds
        ends = needed & (self.left == 0)
        if ends.any():
            full = np.repeat(ends[:, np.newaxis], self.structure.size, axis=1)
            try:
                clicks = self._released(full)
            finally:  # if a record spent its budget elsewhere meanwhile, the phase is lost, and the next one starts
                self.histogram.clear(full)
            self.estimates.count(self.list, clicks, rounds=self.length, lanes=np.flatnonzero(ends))
            exponent = self.exponent
            if self.level_free:
                clock = np.asarray(self.rounds.observed + rounds, dtype=np.float64)[:, np.newaxis]
                exponent = np.log(np.maximum(clock / np.maximum(self.estimates.displays, 1.0), 1.0))
            self.estimates.renew(exponent, ends)


class _CentralPhases(_PhaseLearner):
    """A server adds the noise to a phase's histogram, or none."""

    def __init__(
        self,
        structure: RankedLists,
        gate: Gate,
        mechanism: Laplace | Gaussian | None,
        horizon: int | None,
        index: _ListIndex,
    ) -> None:
        super().__init__(structure, gate, NoiseTail.from_mechanism(mechanism), horizon, index)
        self.mechanism = mechanism

    def _awaited(self) -> Mechanism | None:
        return self.mechanism

    def _released(self, full: npt.NDArray[np.bool_]) -> FloatArray:
        if self.mechanism is None:
            return self.gate.declassify(
                self.histogram, "without privacy the clicks of a phase are used as they are"
            )
        return self.gate.release(self.mechanism, self.histogram, where=full)


class CascadeUCBBatch(_CentralPhases):
    """UCB on lists held for phases, with Laplace noise on click counts: exactly epsilon for every round.

    An item's index is from all phases that it was in, see ``_PhaseLearner``; the largest are shown.

    Parameters
    ----------
    structure
        The ranked lists: L items, K positions.
    gate
        The gate of the feedback.
    epsilon
        The privacy of one round, in the view of everything released.
    horizon
        The number of rounds T; None if it is not known: then a level-free index has the first phases of T = 2048, and
        one of a confidence level an epoch's (`algorithms.epochs`).
    index
        "level-free", or "confidence", which has a regret theorem, and in simulation 1.7 to 20 times the regret.
    """

    name = "cascade-ucb-batch"
    summary = "UCB on ranked lists, lists held for phases whose click counts get Laplace noise"
    as_printed = (
        "certified private, no regret theorem but with index=confidence; repair of "
        "published/cascade-ucb-hybrid"
    )
    claim = ClaimForm.for_reports(
        "central", "cascading bandits paper, Algorithm 1, repaired: phases and noisy click histograms"
    )

    def __init__(
        self,
        structure: RankedLists,
        gate: Gate,
        *,
        epsilon: float,
        horizon: int | None,
        index: _ListIndex = "level-free",
    ) -> None:
        clicks = OneHot(self.size_of(structure)).sensitivity
        mechanism = Laplace.for_epsilon(check_epsilon(epsilon), sensitivity=clicks)
        super().__init__(structure, gate, mechanism, horizon, index)


class CascadeUCBBatchGaussian(_CentralPhases):
    """`CascadeUCBBatch` with Gaussian noise: exactly (epsilon, delta) for every round.

    A click vector moves few counts however many positions there are, so this has less noise than `CascadeUCBBatch`
    only where ``mu(epsilon, delta) > epsilon / 2``: delta above 1e-3, 7e-3 and 0.14 at epsilon = 0.2, 1 and 5.

    Parameters
    ----------
    structure, gate, epsilon, horizon, index
        As for `CascadeUCBBatch`.
    delta
        The delta of one round, in (0, 1).
    """

    name = "cascade-ucb-batch-gaussian"
    summary = "UCB on ranked lists, lists held for phases whose click counts get Gaussian noise"
    as_printed = "certified repair of published/cascade-ucb-hybrid, (epsilon, delta)"
    claim = ClaimForm.for_reports(
        "central",
        "cascading bandits paper, Algorithm 1, repaired: phases and click histograms with Gaussian noise",
    )

    def __init__(
        self,
        structure: RankedLists,
        gate: Gate,
        *,
        epsilon: float,
        delta: float,
        horizon: int | None,
        index: _ListIndex = "level-free",
    ) -> None:
        clicks = OneHot(self.size_of(structure)).sensitivity
        mechanism = Gaussian.for_epsilon_delta(check_epsilon(epsilon), check_delta(delta), sensitivity=clicks)
        super().__init__(structure, gate, mechanism, horizon, index)


class CascadeUCBBatchShuffle(_PhaseLearner):
    """`CascadeUCBBatch` on shuffled bits of users: exactly (epsilon, delta), and no server is trusted.

    A click is g ones among the random bits of its position, and the shuffled counts of a phase have the noise of
    `CascadeUCBBatchGaussian` and a tenth more, at most. Two click vectors differ in two counts, however many positions
    there are.

    Parameters
    ----------
    structure, gate, epsilon, delta, horizon, index
        As for `CascadeUCBBatchGaussian`; an accountant's trust is `Trust.SHUFFLE`.
    """

    name = "cascade-ucb-batch-shuffle"
    summary = "UCB on ranked lists, lists held for phases whose users' clicks are shuffled bits"
    as_printed = (
        "certified, (epsilon, delta); hardly more noise than cascade-ucb-batch-gaussian, and no server is "
        "trusted"
    )
    claim = ClaimForm.for_reports("shuffle", "this library: phases and click histograms of shuffled bits")

    def __init__(
        self,
        structure: RankedLists,
        gate: Gate,
        *,
        epsilon: float,
        delta: float,
        horizon: int | None,
        index: _ListIndex = "level-free",
    ) -> None:
        size = self.size_of(structure)
        self.counts = ShuffledCounts(check_epsilon(epsilon), check_delta(delta), size, min(2, size))
        super().__init__(structure, gate, self.counts.noise, horizon, index)

    def _awaited(self) -> Mechanism:
        return self.counts.mechanism(int(self.length[0]))

    def _released(self, full: npt.NDArray[np.bool_]) -> FloatArray:
        return self.counts.release(self.gate, self.histogram, full, self.length)


class CascadeUCBKL(_CentralPhases):
    """`CascadeUCBBatch` without noise, and without privacy: phases are a tenth of the displays of an item.

    Parameters
    ----------
    structure, gate
        As for `CascadeUCBBatch`.
    """

    name = "cascade-ucb-kl"
    summary = "cascade-ucb-batch without noise: lists held for short phases, level-free index, no privacy"
    source = "this library; Garivier & Cappe 2011"
    parameters = ()
    claim = NO_CLAIM
    share = 0.1

    def __init__(self, structure: RankedLists, gate: Gate) -> None:
        super().__init__(structure, gate, None, None, "level-free")
