"""DPUCB-MAT and DPTS-MAT as printed (matroid bandits paper, Algorithms 2 and 3).

Verdict on Theorems 1 and 3 (epsilon-differential privacy): **false as printed**, because of line 2. If the
round-0 vector is one record, its L noisy values lose up to ``L epsilon / K``, not epsilon; that shows in the
first actions already. With the L values taken from L different records both theorems hold. The certified
`CUCBBatch` has no line 2.
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np

from accountant import Gate, Private
from algorithms.claim import ClaimForm
from algorithms.estimates.doubling_batches import DoublingBatches
from algorithms.learner import Confidence, check_epsilon
from algorithms.problems import Parameter, SuperArms
from algorithms.structured_learner import StructuredLearner
from mechanisms import Box, Laplace
from mechanisms.arrays import FloatArray, IntArray
from mechanisms.parameters import ParameterError

_InitialRecords = Literal["one", "separate"]
_INITIAL_RECORDS = Parameter(
    "initial_records",
    "str",
    "one",
    meaning="the round-0 vector is one record (as printed), or every element's value a record of its own",
    choices=("one", "separate"),
)


class _PrintedMatroidLearner(StructuredLearner[SuperArms]):
    """Line 2 and the batches 2, 4, 8, ... that both algorithms share."""

    as_printed: ClassVar[str] = "FALSE: one round-0 record loses up to L epsilon / K"
    parameters: ClassVar[tuple[Parameter, ...]] = (_INITIAL_RECORDS,)
    default_problem: ClassVar[str] = "uniform-matroid"
    repaired_by: ClassVar[str] = "cucb-batch"
    family = "matroid"

    def __init__(
        self,
        structure: SuperArms,
        gate: Gate,
        *,
        epsilon: float,
        initial_records: _InitialRecords = "one",
    ) -> None:
        if initial_records not in ("one", "separate"):
            raise ParameterError(f"initial_records = {initial_records!r}: must be 'one' or 'separate'")
        super().__init__(structure, gate)
        self.initial_records = initial_records
        self.rank = structure.size
        self.epsilon0 = check_epsilon(epsilon) / self.rank
        self.round = 0
        # The printed scale, with the movement that it would have to cover: all L values of w_0.
        self.laplace = Laplace(scale=1 / self.epsilon0, sensitivity=Box(0, 1, structure.arms).sensitivity)
        self.batches = DoublingBatches(gate, structure.arms, self.laplace, first_size=2)

    def observe_initial(self, outcomes: Private) -> None:
        """Line 2: one noisy observation of every element."""
        self.batches.mean[:] = self.gate.release(self.laplace, outcomes)
        self.batches.size[:] = 1.0

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Lines 6-13: append to the buffers, release the full ones."""
        self.batches.add(action, feedback)

    def _noise_margin(self, log_term: float) -> FloatArray:
        """Return ``3 ln(Kt) / (epsilon0 T_e)``."""
        return 3 * log_term / (self.epsilon0 * self.batches.size)


class DPUCBMat(_PrintedMatroidLearner):
    """Algorithm 2: ``U_t(e) = mean_e + sqrt(3 ln(Kt) / T_e) + 3 ln(Kt) / (epsilon0 T_e)``.

    Here ``epsilon0 = epsilon / K``.

    Parameters
    ----------
    structure
        A matroid with L elements and rank K.
    gate
        The gate of the feedback.
    epsilon
        The claimed privacy.
    initial_records
        ``"one"``: w_0 is one record of L values, as printed; ``"separate"``: every w_0(e) is a record of
        its own.
    """

    name = "published/dpucb-mat"
    summary = "DPUCB-MAT as printed, with the round-0 vector"
    claim = ClaimForm.for_reports("central", "matroid bandits paper, Algorithm 2, Theorem 1")

    def choose(self) -> IntArray:
        """Return the greedy basis of the upper confidence bounds."""
        basis = self.structure.solve(self.confidence().index)
        self.round += 1
        return basis

    def confidence(self) -> Confidence:
        """Return the means of the last full batches, of one noise each, and the indices of the next round."""
        mean, size = self.batches.mean, self.batches.size
        log_term = math.log(self.rank * (self.round + 1))
        index = mean + np.sqrt(3 * log_term / size) + self._noise_margin(log_term)
        return Confidence(mean, size, np.ones_like(size), index)


class DPTSMat(_PrintedMatroidLearner):
    """Algorithm 3: ``theta_e ~ N(mean_e + 3 ln(Kt) / (epsilon0 T_e), 1 / T_e)``.

    Parameters
    ----------
    structure, gate, epsilon, initial_records
        As for `DPUCBMat`.
    """

    name = "published/dpts-mat"
    summary = "DPTS-MAT as printed, with the round-0 vector"
    claim = ClaimForm.for_reports("central", "matroid bandits paper, Algorithm 3, Theorem 3")

    def choose(self) -> IntArray:
        """Return the greedy basis of one sample."""
        self.round += 1
        log_term = math.log(self.rank * self.round)
        spread = self.gate.random.standard_normal(self.batches.size.shape) / np.sqrt(self.batches.size)
        return self.structure.solve(self.batches.mean + self._noise_margin(log_term) + spread)
