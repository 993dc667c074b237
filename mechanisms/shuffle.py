"""Sums of bounded vectors under shuffle trust: random bits, a shuffler, a count of ones.

Every client turns each coordinate into a whole number of ones, at most g, adds b random bits and sends
g + b bits, labelled with the coordinate. Bits of one coordinate are exchangeable and their number is public:
what the shuffler lets through is the number of ones of each coordinate, and what it costs is the profile of
Bin(bn, p) noise on a sum of whole numbers (`BinomialProfile`).

Noise of one coordinate of the mean, times n / 2B√s (the central Gaussian's in brackets):

====================  ======  =======  ===========  =================  ======================
claim (ε, δ)          s       n        as printed   calibrated (b)     true ε of the printed
====================  ======  =======  ===========  =================  ======================
(1, 1e-6)             50      37,641   2011 (5.3)   see the tests      0.0018 (at δ = 1e-6)
(14.9, 1e-6)          50      37,641   135 (0.36)   see the tests      0.035
====================  ======  =======  ===========  =================  ======================
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray, IntArray
from mechanisms.binomial import Binomial, BinomialProfile
from mechanisms.gaussian import Gaussian
from mechanisms.noise import NoiseSource, noise_source
from mechanisms.parameters import DomainError, ParameterError, open_unit, positive, whole
from mechanisms.privatizer import Communication, TrustModel, checked_vectors
from mechanisms.profile import PrivacyProfile
from mechanisms.sensitivity import Sensitivity
