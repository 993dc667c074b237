"""Domains, sensitivity, noise and its privacy loss: mechanisms with exact privacy profiles.

A mechanism is a frozen value: it adds noise (`release`), knows the density of what it releases
(`log_density`) and the privacy it gives (`profile`, the curve ε -> δ).

>>> from mechanisms import Laplace, Sensitivity
>>> mechanism = Laplace.for_epsilon(1.0, sensitivity=Sensitivity.of_box([1.0] * 4))
>>> mechanism.scale, mechanism.profile().pure_epsilon
(4.0, Fraction(1, 1))
"""

from mechanisms.arrays import FloatArray, IntArray
from mechanisms.assumptions import Assumption, AssumptionKind, assumptions_of, library_package
from mechanisms.atomic import AtomicProfile
from mechanisms.banded_counter import BandedCounter
from mechanisms.binomial import Binomial
from mechanisms.binomial_profile import BinomialProfile
from mechanisms.bounded_range import BoundedRangeProfile
from mechanisms.bounds import (
    ApproximateProfile,
    NoPrivacy,
    PerfectPrivacy,
    PureProfile,
    ZeroConcentratedProfile,
)
from mechanisms.buffered_counter import BufferedCounter
from mechanisms.choices import Categories, Integers, OneHot
from mechanisms.combinators import Composed, PostProcessed, Repeated
from mechanisms.continual import ContinualSum, Factorization, HorizonExceeded, RunningSum
from mechanisms.conversion import convert
from mechanisms.discrete_gaussian import DiscreteGaussian, DiscreteGaussianProfile
from mechanisms.discrete_laplace import DiscreteLaplace, DiscreteLaplaceProfile
from mechanisms.domain import Ball, Box, Domain, Interval
from mechanisms.gaussian import Gaussian, GaussianProfile
from mechanisms.group_privacy import for_group
from mechanisms.hybrid_counter import Hybrid
from mechanisms.laplace import Laplace, LaplaceProfile
from mechanisms.losses.composed_profile import ComposedProfile
from mechanisms.measurement import OpenDPMeasurement, OpenDPProfile, from_opendp, to_opendp
from mechanisms.mechanism import BuiltInMechanism, Mechanism, mechanism_from_dict, register
from mechanisms.neighbouring import MixedNeighbours, Neighbouring
from mechanisms.noise import NoiseSource, NumpyNoise, OpenDPNoise, noise_source
from mechanisms.parameters import DensityUnavailable, DomainError, DPWitnessError, ParameterError
from mechanisms.privatizer import CentralGaussian, Communication, LocalGaussian, Privatizer, private_mean
from mechanisms.profile import PrivacyProfile
from mechanisms.randomized_response import RandomizedResponse
from mechanisms.randomness import BLOCK, LaneStreams, Randomness
from mechanisms.regression_moments import RegressionMoments
from mechanisms.related_profile import RelatedProfile
from mechanisms.sampling import Sampling, sampled
from mechanisms.sensitivity import Sensitivity
from mechanisms.shuffle import ShuffledMean
from mechanisms.shuffled import shuffled
from mechanisms.signed_tree import SignedTree
from mechanisms.toeplitz_counter import SquareRootCounter
from mechanisms.transformations import (
    Above,
    Affine,
    BitsToCategory,
    CategoryToOneHot,
    Chain,
    Choose,
    Clip,
    FirstAbove,
    LinearMap,
    RandomRounding,
    Table,
    Transformation,
    Transformed,
)
from mechanisms.tree_counter import BinaryTree

__all__ = [
    "BLOCK",
    "Above",
    "Affine",
    "ApproximateProfile",
    "Assumption",
    "AssumptionKind",
    "AtomicProfile",
    "Ball",
    "BandedCounter",
    "BinaryTree",
    "Binomial",
    "BinomialProfile",
    "BitsToCategory",
    "BoundedRangeProfile",
    "Box",
    "BufferedCounter",
    "BuiltInMechanism",
    "Categories",
    "CategoryToOneHot",
    "CentralGaussian",
    "Chain",
    "Choose",
    "Clip",
    "Communication",
    "Composed",
    "ComposedProfile",
    "ContinualSum",
    "DPWitnessError",
    "DensityUnavailable",
    "DiscreteGaussian",
    "DiscreteGaussianProfile",
    "DiscreteLaplace",
    "DiscreteLaplaceProfile",
    "Domain",
    "DomainError",
    "Factorization",
    "FirstAbove",
    "FloatArray",
    "Gaussian",
    "GaussianProfile",
    "HorizonExceeded",
    "Hybrid",
    "IntArray",
    "Integers",
    "Interval",
    "LaneStreams",
    "Laplace",
    "LaplaceProfile",
    "LinearMap",
    "LocalGaussian",
    "Mechanism",
    "MixedNeighbours",
    "Neighbouring",
    "NoPrivacy",
    "NoiseSource",
    "NumpyNoise",
    "OneHot",
    "OpenDPMeasurement",
    "OpenDPNoise",
    "OpenDPProfile",
    "ParameterError",
    "PerfectPrivacy",
    "PostProcessed",
    "PrivacyProfile",
    "Privatizer",
    "PureProfile",
    "RandomRounding",
    "RandomizedResponse",
    "Randomness",
    "RegressionMoments",
    "RelatedProfile",
    "Repeated",
    "RunningSum",
    "Sampling",
    "Sensitivity",
    "ShuffledMean",
    "SignedTree",
    "SquareRootCounter",
    "Table",
    "Transformation",
    "Transformed",
    "ZeroConcentratedProfile",
    "assumptions_of",
    "convert",
    "for_group",
    "from_opendp",
    "mechanism_from_dict",
    "noise_source",
    "private_mean",
    "register",
    "sampled",
    "shuffled",
    "to_opendp",
]

library_package(__name__)  # before any other code can change what was imported
