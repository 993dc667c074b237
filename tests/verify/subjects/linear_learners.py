"""Linear learners of a user's own: leaking ones, whose true loss is known, and honest ones in unusual forms."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from accountant import BudgetExceeded
from algorithms.claim import ClaimForm, View
from algorithms.linear.dp_dpe import DPDPELocal, _Private
from algorithms.linear.linear_phases import Phase
from algorithms.unit import ONE_REPORT
from mechanisms import Affine, Clip, Communication, Gaussian, Laplace, LinearMap, Mechanism, Sensitivity

RELEASES = ClaimForm(model="central", view=View.RELEASES, unit=ONE_REPORT, source="a test")
MESSAGE = ClaimForm(model="local", view=View.MESSAGE, unit=ONE_REPORT, source="a test")


class Reports:
    """The mean of a phase's reports, through one mechanism or several, of the sum or of every report."""

    protocol = None
    proxy = 100.0  # so wide that nothing is eliminated

    def __init__(self, learner: Any, phase: Phase, *mechanisms: Mechanism) -> None:
        self.learner, self.phase, self.mechanisms = learner, phase, mechanisms
        self.mechanism = mechanisms[0]
        self.gate, self.total = learner.gate, np.zeros(phase.support.size)
        self.sums = self.gate.sums(phase.support.size)

    @property
    def local(self) -> bool:
        return self.learner.claim.model == "local"

    def add(self, reports: Any, clients: int = 1, at: int = 0) -> Communication:
        reports = self.learner.transformed(reports)
        if self.local:
            self.total += self.noisy(reports)
        else:
            self.sums.add(reports, at=np.arange(self.phase.support.size)[np.newaxis])
        return Communication()

    def noisy(self, value: Any) -> Any:
        return np.mean([self.gate.release(each, value)[0] for each in self.mechanisms], axis=0)

    def release(self) -> Any:
        total = self.total if self.local else self.noisy(self.sums)
        self.learner.last = float(total[0])
        return total / self.phase.clients


class Own(_Private):
    """Right noise: the analytic Gaussian for the claim."""

    claim: ClassVar[ClaimForm] = RELEASES
    last = 1.0

    def transformed(self, reports: Any) -> Any:
        return reports

    def _exploration(self, left: int, widest: float | None) -> Phase | None:
        return super()._exploration(left, None)  # it goes on to explore

    def _private_mean(self, phase: Phase) -> Any:
        return Reports(self, phase, *self.noises(phase))

    def noises(self, phase: Phase) -> tuple[Mechanism, ...]:
        return (self._gaussian(phase),)

    def wrong(self, phase: Phase, delta: float) -> Gaussian:
        """Noise that is for this delta."""
        return Gaussian.for_epsilon_delta(self.epsilon, delta, sensitivity=phase.calibration)

    def twice(self, phase: Phase) -> tuple[Mechanism, ...]:
        """Two releases of half the mu² each: together no more than the claim, and more by basic composition."""
        right = self._gaussian(phase)
        half = Gaussian(
            sigma=right.sigma * math.sqrt(2.0) * (1 + 1e-9),
            sensitivity=right.sensitivity,
            delta=self.delta / 2,
        )
        return (half, half)


class OwnLocal(Own):
    claim: ClassVar[ClaimForm] = MESSAGE


# --- leaking --------------------------------------------------------------------------------------


class TwoKinds(Own):
    """Every second phase has noise for another delta; the others cost more by basic composition, and no more."""

    wrong_delta: ClassVar[float] = 0.3

    def noises(self, phase: Phase) -> tuple[Mechanism, ...]:
        return self.twice(phase) if phase.number % 2 else (self.wrong(phase, self.wrong_delta),)


class TwoKinds9(TwoKinds):
    wrong_delta: ClassVar[float] = 0.9


class TwoKinds99(TwoKinds):
    wrong_delta: ClassVar[float] = 0.99


class TwoKindsLocal(TwoKinds):
    claim: ClassVar[ClaimForm] = MESSAGE


class TwoKindsLaplace(Own):
    """Every second phase has Laplace noise for 1.4 times epsilon."""

    def noises(self, phase: Phase) -> tuple[Mechanism, ...]:
        if phase.number % 2:
            return self.twice(phase)
        moved = phase.calibration
        return (Laplace(scale=moved.l1 / (1.4 * self.epsilon), sensitivity=moved),)


class Pure(Own):
    """Laplace noise for epsilon: pure, as it claims to be."""

    share: ClassVar[float] = 1.0

    def __init__(self, actions: Any, gate: Any, *, epsilon: float, **settings: Any) -> None:
        super().__init__(actions, gate, epsilon=epsilon, delta=1e-3, **settings)

    def noises(self, phase: Phase) -> tuple[Mechanism, ...]:
        moved = phase.calibration
        return (Laplace(scale=self.share * moved.l1 / self.epsilon, sensitivity=moved),)


class Unread(Pure):
    """It declassifies all reports, shows them to nobody, and does not use them: as private as without."""

    def transformed(self, reports: Any) -> Any:
        self.gate.declassify(reports, "nobody reads it", shown=False)
        return reports


class QuarterOfTheNoise(Pure):
    """Laplace noise for four times epsilon."""

    share: ClassVar[float] = 0.25


class PureByGaussianNoise(Pure):
    """Gaussian noise, which is pure at no epsilon."""

    def noises(self, phase: Phase) -> tuple[Mechanism, ...]:
        return (self._gaussian(phase),)


class Adaptive(Own):
    """Wrong noise after a negative release."""

    def noises(self, phase: Phase) -> tuple[Mechanism, ...]:
        return (self.wrong(phase, 0.9),) if self.last < 0.0 else self.twice(phase)


class AdaptiveLocal(Adaptive):
    claim: ClassVar[ClaimForm] = MESSAGE


class Late(Own):
    """Short phases, with wrong noise from the thirtieth on."""

    def length(self, number: int) -> int:
        return 4

    def _clients(self, number: int, counts: Any) -> int:
        return 3

    def noises(self, phase: Phase) -> tuple[Mechanism, ...]:
        return self.twice(phase) if phase.number < 30 else (self.wrong(phase, 0.9),)


class LateLocal(Late):
    claim: ClassVar[ClaimForm] = MESSAGE


class Concentrated(TwoKinds9):
    """Under another theorem."""

    claim: ClassVar[ClaimForm] = ClaimForm(
        model="central", view=View.RELEASES, unit=ONE_REPORT, source="a test", composition="zcdp"
    )


class Catches(OwnLocal):
    """Asks for a second message with noise for another delta, and catches the refusal."""

    def noises(self, phase: Phase) -> tuple[Mechanism, ...]:
        return self.twice(phase)

    def _private_mean(self, phase: Phase) -> Any:
        asked = self.wrong(phase, 0.9)

        class Asking(Reports):
            def noisy(self, value: Any) -> Any:
                try:
                    return self.gate.release(asked, value)[0]
                except BudgetExceeded:
                    return super().noisy(value)

        return Asking(self, phase, *self.noises(phase))


# --- honest ---------------------------------------------------------------------------------------


class Unclipped(OwnLocal):
    """Reports come as they are, and are bounded by the learner itself."""

    def _planned(self, number: int, support: Any, counts: Any, clients: int) -> Phase:
        return Phase(number, support, counts, clients, self._bounds(counts, clients), clipped=False)


class ClipsItself(Unclipped):
    def transformed(self, reports: Any) -> Any:
        return reports.map(Clip(-1.0, 1.0))


class ScalesAndClips(Unclipped):
    def transformed(self, reports: Any) -> Any:
        return reports.map(Affine(factor=2.0, shift=0.25) >> Clip(-1.0, 1.0))


class Turns(OwnLocal):
    """Turns a report and turns it back: charged by what it may move in L1, and moves as before."""

    def transformed(self, reports: Any) -> Any:
        size = reports.shape[1]
        turn = np.linalg.qr(np.random.default_rng(size).standard_normal((size, size)))[0]
        return reports.map(LinearMap(turn)).map(LinearMap(turn.T))

    def noises(self, phase: Phase) -> tuple[Mechanism, ...]:
        wide = 4.0 * phase.calibration.l1
        return (
            Gaussian.for_epsilon_delta(self.epsilon, self.delta, sensitivity=Sensitivity(wide, wide, wide)),
        )


class TwiceHonest(Own):
    def noises(self, phase: Phase) -> tuple[Mechanism, ...]:
        return self.twice(phase)


class TwiceLocal(TwiceHonest):
    claim: ClassVar[ClaimForm] = MESSAGE


class Alternates(Own):
    """Gaussian and Laplace noise by turns."""

    def noises(self, phase: Phase) -> tuple[Mechanism, ...]:
        if phase.number % 2:
            return (self._gaussian(phase),)
        moved = phase.calibration
        return (Laplace(scale=moved.l1 / self.epsilon, sensitivity=moved),)


class Careful(Own):
    """More noise after a negative release."""

    def noises(self, phase: Phase) -> tuple[Mechanism, ...]:
        right = self._gaussian(phase)
        more = Gaussian(sigma=2.0 * right.sigma, sensitivity=right.sensitivity, delta=self.delta)
        return (more,) if self.last < 0.0 else (right,)


class ShortPhases(Own):
    def length(self, number: int) -> int:
        return 4

    def _clients(self, number: int, counts: Any) -> int:
        return 3


class Mine(DPDPELocal):
    """A class of a user's own that changes nothing."""


class ForOne(OwnLocal):
    """Its noise is for epsilon = 1, whatever it claims."""

    def _gaussian(self, phase: Phase) -> Gaussian:
        return Gaussian.for_epsilon_delta(1.0, self.delta, sensitivity=phase.calibration)


class Coin(ForOne):
    """Uses a report only if a coin that nobody sees says so; else it sends noise alone."""

    def transformed(self, reports: Any) -> Any:
        return reports * float(self.gate.random.random() < 0.5)


class CoinOnce(ForOne):
    """One coin, thrown in the beginning, says whether any report is used."""

    uses: float | None = None

    def transformed(self, reports: Any) -> Any:
        if self.uses is None:
            self.uses = float(self.gate.random.random() < 0.5)
        return reports * self.uses


class CoinOfThem(ForOne):
    """A coin for each report says whether it enters the sum."""

    claim: ClassVar[ClaimForm] = RELEASES

    def transformed(self, reports: Any) -> Any:
        return reports * float(self.gate.random.random() < 0.5)


class CoinOnScale(ForOne):
    """A coin says how much noise there is: once half of what is right would be charged, so never less."""

    def noises(self, phase: Phase) -> tuple[Mechanism, ...]:
        right = self._gaussian(phase)
        more = Gaussian(sigma=2.0 * right.sigma, sensitivity=right.sensitivity, delta=self.delta)
        return (more,) if self.gate.random.random() < 0.5 else (right,)
