"""Objects that a claim can be declared for: functions, and methods bound to their object."""

import numpy as np

from mechanisms import Interval
from verify import claimed, verify
from verify.verification.resolve import resolve


class Releaser:
    """Releases with the noise that it was made with."""

    def __init__(self, scale):
        self.scale = scale

    def release(self, data, rng):
        return data + rng.laplace(scale=self.scale)

    @claimed(data=Interval(0, 1))
    def of_its_class(self, data, rng):
        return data


def test_a_bound_method_can_be_claimed_and_is_verified_with_its_own_object():
    narrow, wide = (claimed(data=Interval(0, 1))(Releaser(scale).release) for scale in (0.25, 2.0))
    assert verify(narrow, epsilon=1.0, samples=4_096).verdict == "refuted"
    assert verify(wide, epsilon=1.0, samples=4_096).verdict == "unproven"
    assert not hasattr(Releaser.release, "dpwitness_claim")


def test_a_claim_that_a_class_makes_for_its_method_holds_for_every_object():
    found = resolve(Releaser(1.0).of_its_class)
    assert found.form.source == "declared with @claimed"
    assert found.function(0.5, np.random.default_rng(0)) == 0.5
