"""The zoo: mechanisms of the literature, right and wrong, with what is claimed and what is true of each.

A test of the verifier and a gallery to learn from: ``dpwitness verify zoo/svt5``. Every file is one family, and every
specimen one function or class under `specimen`, which says what is claimed of it, who published it, what is wrong and
what its true epsilon is. (The exact probabilities behind that stand with the tests, in ``tests/verify/zoo``.)

>>> from verify.zoo import specimens
>>> specimens["svt5"].true_epsilon
inf
>>> specimens["noisy-max-3"].why
'the value is released, not the index: five noises of ε/2 each are seen at once'
"""

from verify.zoo import (
    bandits,
    discrete,
    gaussian_noise,
    histograms,
    laplace_noise,
    local,
    plain_bandits,
    rappor,
    secrets_in_the_noise,
    selection,
    sparse_vector,
    sums,
)
from verify.zoo.specimen import Specimen, specimens

FAMILIES = (
    laplace_noise,
    gaussian_noise,
    discrete,
    selection,
    sparse_vector,
    histograms,
    sums,
    local,
    rappor,
    secrets_in_the_noise,
    bandits,
    plain_bandits,
)
"""The files, each of which registers its specimens."""

__all__ = ["FAMILIES", "Specimen", "specimens"]
