"""The noise on a phase's reports in each trust model: added by the server, the clients, or a shuffler's bits."""

from __future__ import annotations

from algorithms.linear.elimination import Elimination
from algorithms.linear.linear_phases import (
    SHUFFLED,
    CentralMean,
    LocalMean,
    Phase,
    PhaseType,
    RawMean,
    ReportMean,
    ShuffledReportMean,
    calibrated_bits,
)
from mechanisms import Gaussian, ShuffledMean
from mechanisms.arrays import FloatArray


class NoNoise(Elimination[PhaseType]):
    """Base class of learners without privacy: reports are published."""

    def _private_mean(self, phase: PhaseType) -> ReportMean:
        return RawMean(self.gate, phase)


class GaussianNoise(Elimination[PhaseType]):
    """Base class of learners with privacy parameters."""

    epsilon: float
    delta: float

    def _gaussian(self, phase: Phase) -> Gaussian:
        """Return the analytic Gaussian mechanism for a whole report."""
        return Gaussian.for_epsilon_delta(self.epsilon, self.delta, sensitivity=phase.calibration)


class CentralNoise(GaussianNoise[PhaseType]):
    """Base class of learners with a trusted server: it adds Gaussian noise to each phase's sums."""

    def _private_mean(self, phase: PhaseType) -> ReportMean:
        return CentralMean(self.gate, phase, self._gaussian(phase))


class LocalNoise(GaussianNoise[PhaseType]):
    """Base class of learners in the local model: each client adds Gaussian noise to its report."""

    def _private_mean(self, phase: PhaseType) -> ReportMean:
        return LocalMean(self.gate, phase, self._gaussian(phase))


class ShuffledNoise(GaussianNoise[PhaseType]):
    """Base class of learners in the shuffle model: clients send random bits."""

    def _protocol(self, clients: int, size: int) -> ShuffledMean:
        return calibrated_bits(self.epsilon, self.delta, clients, size)

    def _private_mean(self, phase: PhaseType) -> ReportMean:
        return ShuffledReportMean(self.gate, phase, self._protocol)

    def _expected_noise(self, phase: PhaseType) -> FloatArray:
        """Return the theorem's: SHUFFLED times the central deviation, which needs no calibration."""
        central: FloatArray = self._gaussian(phase).sigma / phase.reports * phase.bounds
        return (float(SHUFFLED) * central) ** 2
