"""Mechanisms of a user's own are held to the profile that they declare."""

import numpy as np
import pytest

from accountant import Place
from mechanisms import Laplace, Sensitivity
from verify.conduct.conduct import Conduct
from verify.conduct.effort import EFFORTS
from verify.findings import FindingKind
from verify.verdict.evidence import Evidence
from verify.verify_mechanism import add_false_profiles

MOVED = Sensitivity(l1=1.0, l2=1.0, linf=1.0)


class HalfNoise(Laplace):
    """Half of the noise that it declares."""

    def release(self, value, noise):
        return (np.asarray(value) + super().release(value, noise)) / 2.0


class OwnNoise(Laplace):
    """The noise that it declares, in a class of a user's own."""

    def release(self, value, noise):
        return super().release(value, noise)


@pytest.mark.parametrize(("own", "false"), [(HalfNoise, True), (OwnNoise, False), (Laplace, False)])
def test_a_declared_profile_is_tested_where_nobody_else_answers_for_it(own, false):
    """A true one is refuted with probability 1e-4 at most."""
    mechanism = own.for_epsilon(1.0, sensitivity=MOVED)
    evidence = Evidence()
    conduct = Conduct(EFFORTS["quick"], 1, "again")
    add_false_profiles(evidence, {mechanism: Place("own.py", 3)}, conduct, np.random.SeedSequence(2))
    assert [finding.kind for finding in evidence.findings] == ([FindingKind.MECHANISM] if false else [])
    if false:
        assert "declares epsilon = 1 but loses at least 1." in evidence.findings[0].message
