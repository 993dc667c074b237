"""The zoo: mechanisms of the literature, right and wrong, with what is claimed and what is true of each.

A test of the verifier and a gallery to learn from: ``dpwitness verify zoo/svt5``. Every file is one family; a
specimen's docstring says what it is, who published it, what is wrong and what its true epsilon is. The exact
probabilities behind that stand beside it (`verify.zoo.oracle` says what a test could see of them).

>>> from verify.zoo import specimens
>>> specimens["svt5"].true_epsilon
inf
>>> specimens["noisy-max-3"].why
'the value is released, not the index: five noises of ε/2 each are seen at once'
"""

from collections.abc import Mapping
from itertools import chain
from types import MappingProxyType

from verify.zoo import (
    bandits,
    bounded_numbers,
    discrete,
    exponential,
    gaussian_noise,
    hemisphere,
    histograms,
    laplace_noise,
    local_specimens,
    noisy_max,
    plain_bandits,
    rappor,
    rounded_noise,
    secrets_in_the_noise,
    sparse_vector_specimens,
    sums,
)
from verify.zoo.oracle import Oracle
from verify.zoo.specimen import Specimen

FAMILIES = (
    laplace_noise,
    gaussian_noise,
    discrete,
    rounded_noise,
    noisy_max,
    exponential,
    sparse_vector_specimens,
    histograms,
    sums,
    rappor,
    local_specimens,
    bounded_numbers,
    hemisphere,
    secrets_in_the_noise,
    bandits,
    plain_bandits,
)
"""Modules with a tuple SPECIMENS, in the order of the gallery."""

specimens: Mapping[str, Specimen] = MappingProxyType(
    {specimen.name: specimen for specimen in chain.from_iterable(family.SPECIMENS for family in FAMILIES)}
)
"""Every specimen by its name."""

__all__ = ["FAMILIES", "Oracle", "Specimen", "specimens"]
