"""Claims that name the theorem under which an accountant enforces them."""

from dataclasses import replace

import numpy as np
import pytest

from algorithms.claim import ClaimForm, View
from algorithms.structured_learner import HorizonLearner
from algorithms.unit import ONE_REPORT
from mechanisms import Above, Box, DiscreteGaussian
from verify import verify

FEW = {"delta": 1e-5, "effort": "quick", "samples": 6_000, "horizon": 6}


class RoundedBits(HorizonLearner):
    """Releases every user's bits twice with discrete Gaussian noise, which is 1-zCDP and has no Gaussian parameter."""

    family = "semi-bandit"
    claim = ClaimForm("local", View.MESSAGE, ONE_REPORT, "a test")

    def __init__(self, structure, gate, *, epsilon, horizon, delta=1e-5):
        super().__init__(structure, gate, horizon)
        self.noise = DiscreteGaussian(sigma=2.0, sensitivity=Box(0, 1, structure.size).sensitivity)
        self.total = np.zeros((gate.lanes, structure.arms))

    def choose(self):
        return self.structure.solve(self.total)

    def learn(self, action, feedback):
        for _ in range(2):
            sent = self.gate.release(Above(0.5) >> self.noise, feedback)
            np.add.at(self.total, (np.arange(self.gate.lanes)[:, None], action), sent)


class InZCDP(RoundedBits):
    claim = replace(RoundedBits.claim, composition="zcdp")


@pytest.mark.slow_cells("InZCDP-options3-unproven-zCDP filter, largest charge in")
@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("learner", "options", "verdict", "by"),
    [
        (RoundedBits, {}, "unproven", "a release was refused"),
        (
            RoundedBits,
            {"composition": "zcdp"},
            "certified",
            "zCDP filter, enforced by an accountant with this budget",
        ),
        (InZCDP, {}, "certified", "zCDP filter, enforced by an accountant with this budget"),
        (InZCDP, {"epsilon": 7.0}, "unproven", "zCDP filter, largest charge in"),
    ],
)
def test_a_claim_is_certified_under_the_theorem_that_it_names(learner, options, verdict, by):
    result = verify(learner, **{"epsilon": 8.0, **FEW, **options})
    assert result.verdict == verdict, result.findings
    assert result.upper.method.startswith(by)
    if verdict == "certified":
        assert 7.0 < result.upper.epsilon < 7.1
    assert ("composition='zcdp'" in str(result).replace("\n", "")) == ("composition" in options)


@pytest.mark.slow
def test_a_registered_learner_is_verified_under_the_theorem_that_the_flag_names():
    result = verify("cucb-ldp1", epsilon=1.0, composition="basic", effort="quick", samples=6_000, horizon=6)
    assert result.verdict == "certified"
    assert "--composition basic" in " ".join(str(result).split())


def test_a_theorem_that_cannot_keep_the_claim_is_refused_before_anything_runs():
    with pytest.raises(ValueError, match=r"composition = 'zcdp': cannot keep \(1, 0\)"):
        verify(InZCDP, epsilon=1.0)
    with pytest.raises(ValueError, match="composition = 'zcd': must be one of"):
        verify(InZCDP, epsilon=1.0, composition="zcd")
    with pytest.raises(ValueError, match="takes no problem, settings, horizon, composition or unit"):
        verify(
            DiscreteGaussian(sigma=1.0, sensitivity=Box(0, 1, 1).sensitivity), epsilon=1.0, composition="zcdp"
        )
    with pytest.raises(ValueError, match="composition = 'zcd': must be one of"):
        replace(RoundedBits.claim, composition="zcd")
