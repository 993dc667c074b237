"""The local randomizers' claims, true epsilons and best events."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mechanisms.arrays import FloatArray
from verify.zoo import local
from verify.zoo.local import EPSILON, OUE, SIZE, SUE
from verify.zoo.oracle import Oracle, by_likelihood_ratio
from verify.zoo.specimen import Specimen

_WANG = "Wang, Blocki, Li, Jha 2017, Locally differentially private protocols for frequency estimation"


def _oracle(law: Callable[[int], FloatArray], event: str) -> Oracle:
    return Oracle(np.array(0), np.array(1), event, lambda: by_likelihood_ratio(law(0), law(1)))


_REPORT = "the report is category 0"
_BITS = "the first bit is 1 and the second 0"

SPECIMENS = (
    Specimen(
        "grr",
        local.grr,
        EPSILON,
        EPSILON,
        True,
        "Kairouz, Oh, Viswanath 2016, k-RR",
        "truth and lie have probabilities in the ratio e^ε",
        _oracle(local.grr_law, _REPORT),
    ),
    Specimen(
        "grr-too-honest",
        local.grr_too_honest,
        EPSILON,
        math.log1p(SIZE * math.exp(EPSILON) / (SIZE - 1)),
        False,
        "a mistake of practice: the lie drawn from all categories",
        "a lie may be the truth by chance: the ratio is 1 + k e^ε / (k - 1)",
        _oracle(lambda value: local.grr_law(value, too_honest=True), _REPORT),
    ),
    Specimen(
        "sue",
        local.sue,
        EPSILON,
        EPSILON,
        True,
        f"{_WANG}, SUE",
        "two bits differ, each with the ratio e^(ε/2)",
        _oracle(lambda value: local.unary_law(value, SUE), _BITS),
    ),
    Specimen(
        "oue",
        local.oue,
        EPSILON,
        EPSILON,
        True,
        f"{_WANG}, OUE",
        "two bits differ: p (1 - q) / (q (1 - p)) = e^ε",
        _oracle(lambda value: local.unary_law(value, OUE), _BITS),
    ),
    Specimen(
        "oue-pure-ldp",
        local.oue_pure_ldp,
        EPSILON,
        math.log(math.exp(EPSILON) + 2.0),
        False,
        "pure-LDP's unary encoding client; found by Arcolezi, Gambs 2024, LDP-Audit",
        "the user's own bit is set with probability p on top of q, not in place of it: ln(e^ε + 2)",
        _oracle(lambda value: local.unary_law(value, local.pure_ldp_rates()), _BITS),
    ),
    Specimen(
        "olh",
        local.olh,
        EPSILON,
        EPSILON,
        True,
        f"{_WANG}, OLH",
        "given the hash function it is randomized response on the hash",
        _oracle(local.olh_law, "the report is the hash of category 0, which is not that of category 1"),
    ),
    Specimen(
        "subset-selection",
        local.subset_selection,
        EPSILON,
        EPSILON,
        True,
        "Ye, Barg 2018, Optimal schemes for discrete distribution estimation under locally differential privacy",
        "subsets with and without the truth have probabilities in the ratio e^ε",
        _oracle(local.subset_law, "the subset holds category 0 and not category 1"),
    ),
)
