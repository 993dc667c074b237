"""Losses that are infinite in some lanes, as where a declassified value differs."""

import math

import numpy as np
import pytest

from verify.sampling.sampled_losses import loss_lower_bound


@pytest.mark.parametrize("share", [0.0005, 0.3, 1.0])
def test_infinite_losses_at_a_positive_delta(share: float) -> None:
    """Shares at or below delta prove nothing, and say so without a warning (warnings are errors here)."""
    losses = np.zeros((2, 8192))
    losses[1, : int(share * 4096)] = math.inf
    losses[1, 4096 : 4096 + int(share * 4096)] = math.inf
    bound = loss_lower_bound(losses, 1e-3, 1e-4)
    assert (bound.epsilon == math.inf) == (share > 0.01)
