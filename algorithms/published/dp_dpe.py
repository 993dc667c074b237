"""Distributed phased elimination as printed (Li, Zhou & Ji 2022, Algorithm 1 with (5), (7), (9)).

Verdicts. Theorems 4.2 and 4.4 (central and local, "for any epsilon > 0"): **false for large epsilon**, the classical
Gaussian calibration fails above epsilon = 4.5 to 9.4 (5.12 at delta = 0.25, 7.46 at 1e-3); below it holds with slack.
Theorem 4.6 (shuffle): **holds**, once g is rounded up to a whole number, with a true epsilon hundreds of times
smaller than the claim. All of them need clients drawn without replacement and averages within [-B, B], to which
reports are clipped here (the paper assumes |y| <= B).

The widths hold, but bound √Σ_x (T(x) <a, V⁻¹ x>)² by √(4 S d) where the value is near 1: the certified learners in
`algorithms` compute it.
"""

from __future__ import annotations

import math
from typing import ClassVar, Unpack

import numpy.typing as npt

from accountant import Gate
from algorithms.claim import NO_CLAIM, ClaimForm
from algorithms.learner import check_delta, check_epsilon
from algorithms.linear.dp_pe import ASSUMED_BOUND
from algorithms.linear.linear_phases import PAPER, Phase
from algorithms.linear.phased_elimination import ALPHA, PhasedElimination, PhasedSettings
from algorithms.linear.report_noise import CentralNoise, GaussianNoise, LocalNoise, NoNoise, ShuffledNoise
from algorithms.problems import Parameter
from algorithms.published.exploration import ExploresToTheEnd
from mechanisms import Gaussian, ShuffledMean
from mechanisms.arrays import FloatArray
from mechanisms.parameters import ParameterError

_CLIPPING = Parameter(
    "clipping",
    "str",
    "yes",
    meaning="clip reports to [-B, B]; no: as in the paper, which assumes that they lie there",
    choices=("yes", "no"),
)
_FIXED = Parameter("fixed_clients", "int", 155, 1, None, "clients that report in every phase, U")


class _PrintedWidth(ExploresToTheEnd[Phase], PhasedElimination):
    """Algorithm 1: ``W_l = (√(2d/(|U_l| h_l)) + sigma/√|U_l| + sigma_n) √(2 ln(kT))``.

    Actions with ``max_b <theta~, b - x> > 2 W_l`` are eliminated.

    Parameters
    ----------
    actions, gate, **settings
        As for `algorithms.DPE`; reward_bound, to which averages are clipped, is 1 by default.
    """

    parameters: ClassVar[tuple[Parameter, ...]] = (ALPHA, ASSUMED_BOUND)

    def __init__(self, actions: npt.ArrayLike, gate: Gate, **settings: Unpack[PhasedSettings]) -> None:
        settings.setdefault("reward_bound", 1.0)
        super().__init__(actions, gate, **settings)
        self.dimension = d = self.actions.shape[1]
        self.support_bound = 4 * d * math.log(math.log(d)) + 16 if d > 2 else 16.0  # S; undefined for d <= 2


class DPE(NoNoise[Phase], _PrintedWidth):
    """Algorithm 1 without privacy: sigma_n = 0.

    Parameters
    ----------
    actions, gate, **settings
        As for `algorithms.DPE`; reward_bound, to which averages are clipped, is 1 by default.
    """

    name = "published/dpe"
    summary = "distributed phased elimination as printed, no privacy"
    source: ClassVar[str] = PAPER + "Algorithm 1"
    claim = NO_CLAIM


class DPEFixedU(DPE):
    """DPE-FixedU (Section 7): ``fixed_clients`` new clients in every phase.

    Parameters
    ----------
    actions, gate, **settings
        As for `DPE`; fixed_clients has to be given.
    """

    name = "published/dpe-fixed-u"
    summary = "distributed phased elimination, the same number of clients in every phase, no privacy"
    parameters = (_FIXED, ASSUMED_BOUND)
    source = PAPER + "DPE-FixedU of Section 7"

    def __init__(self, actions: npt.ArrayLike, gate: Gate, **settings: Unpack[PhasedSettings]) -> None:
        if settings.get("fixed_clients") is None:
            raise ParameterError("fixed_clients: must be given, the number of reports in every phase")
        super().__init__(actions, gate, **settings)


class _Printed(_PrintedWidth, GaussianNoise[Phase]):
    """An instance with a privacy claim.

    Parameters
    ----------
    actions, gate, **settings
        As for `DPE`.
    epsilon, delta
        As claimed.
    clipping
        ``"yes"``: reports are clipped to [-B, B]. ``"no"``: they are not, as in the paper, which assumes that they
        lie there; with unbounded rewards the sensitivity is then infinite.
    """

    parameters: ClassVar[tuple[Parameter, ...]] = (ALPHA, ASSUMED_BOUND, _CLIPPING)

    def __init__(
        self,
        actions: npt.ArrayLike,
        gate: Gate,
        *,
        epsilon: float,
        delta: float,
        clipping: str = "yes",
        **settings: Unpack[PhasedSettings],
    ) -> None:
        self.epsilon, self.delta = check_epsilon(epsilon), check_delta(delta)
        if clipping not in ("yes", "no"):
            raise ParameterError(f"clipping = {clipping!r}: must be 'yes' or 'no'")
        super().__init__(actions, gate, **settings)
        self.clipped = clipping == "yes"

    @property
    def bound(self) -> float:
        """B."""
        assert self.reward_bound is not None
        return self.reward_bound

    def _gaussian(self, phase: Phase) -> Gaussian:
        """Return the textbook mechanism: sigma = 2 √(2 s ln(1.25/delta)) / epsilon in units of B."""
        return Gaussian.classical(self.epsilon, self.delta, sensitivity=phase.calibration)

    def _sigma(self, phase: Phase) -> float:
        """Return sigma_nl = 2B √(2 s ln(1.25/delta)) / epsilon."""
        return self.bound * self._gaussian(phase).sigma


class DPDPECentral(CentralNoise[Phase], _Printed):
    """Instance (5): the mean + N(0, sigma_nc²), ``sigma_nc = sigma_nl / |U_l|``, ``sigma_n = 2 sigma_nc √(Sd)``."""

    name = "published/dp-dpe-central"
    summary = "as printed: classical Gaussian noise, common width"
    as_printed = "FALSE for large epsilon (above 5.12 at delta = 0.25); below, holds with slack"
    claim = ClaimForm.for_reports("central", PAPER + "Algorithm 1 with (5), Theorem 4.2")

    def _width_of_noise(self, phase: Phase, noise: FloatArray) -> float:
        return 2 * self._sigma(phase) / phase.clients * math.sqrt(self.support_bound * self.dimension)


class DPDPELocal(LocalNoise[Phase], _Printed):
    """Instance (7): the mean of y_u + N(0, sigma_nl²), ``sigma_n = 2 sigma_nl √(Sd / |U_l|)``."""

    name = "published/dp-dpe-local"
    summary = "as printed: classical Gaussian noise on each report, common width"
    as_printed = "FALSE for large epsilon (above 5.12 at delta = 0.25); below, holds with slack"
    claim = ClaimForm.for_reports("local", PAPER + "Algorithm 1 with (7), Theorem 4.4")

    def _width_of_noise(self, phase: Phase, noise: FloatArray) -> float:
        return 2 * self._sigma(phase) * math.sqrt(self.support_bound * self.dimension / phase.clients)


class DPDPEShuffle(ShuffledNoise[Phase], _Printed):
    """Instance (9): Algorithm 2 with Delta_2 = B√s, ``sigma_n = 2 sigma_ns √(Sd)``.

    sigma_ns² = 360 Delta_2² ln(4s/delta) / (|U_l|² epshat²), the constant of the proof (A.2), which its
    arithmetic would make 540; epshat = epsilon / (18 √ln(2/delta)).
    """

    name = "published/dp-dpe-shuffle"
    summary = "as printed: Algorithm 2's bits, common width"
    as_printed = "holds with huge slack (g rounded up): true epsilon is claim / 200 or less"
    parameters = (ALPHA, ASSUMED_BOUND)
    claim = ClaimForm.for_reports("shuffle", PAPER + "Algorithm 1 with (9), Theorem 4.6")

    def _protocol(self, clients: int, size: int) -> ShuffledMean:
        return ShuffledMean.vector_as_printed(self.epsilon, self.delta, clients=clients, size=size, bound=1.0)

    def _width_of_noise(self, phase: Phase, noise: FloatArray) -> float:
        s = phase.support.size
        shrunk = self.epsilon / (18 * math.sqrt(math.log(2 / self.delta)))
        sigma = self.bound * math.sqrt(360 * s * math.log(4 * s / self.delta)) / (phase.clients * shrunk)
        return 2 * sigma * math.sqrt(self.support_bound * self.dimension)
