"""Domains, sensitivity, noise and its privacy loss: mechanisms with exact privacy profiles.

A mechanism is a frozen value: it adds noise (`release`), knows the density of what it releases
(`log_density`) and the privacy it gives (`profile`, the curve ε -> δ).

>>> from mechanisms import Laplace, Sensitivity
>>> mechanism = Laplace.for_epsilon(1.0, sensitivity=Sensitivity.of_box([1.0] * 4))
>>> mechanism.scale, mechanism.profile().pure_epsilon
(4.0, Fraction(1, 1))
"""

from mechanisms.amplification.sampling import Sampling, sampled
from mechanisms.amplification.shuffled import shuffled
from mechanisms.arrays import FloatArray, IntArray
from mechanisms.assumption import Assumption, AssumptionKind
from mechanisms.assumptions import assumptions_of, library_package
from mechanisms.composition.composed_profile import ComposedProfile
from mechanisms.counters.banded_counter import BandedCounter
from mechanisms.counters.buffered_counter import BufferedCounter
from mechanisms.counters.continual import ContinualSum, Factorization, HorizonExceeded, RunningSum
from mechanisms.counters.hybrid_counter import Hybrid
from mechanisms.counters.signed_tree import SignedTree
from mechanisms.counters.toeplitz_counter import SquareRootCounter
from mechanisms.counters.tree_counter import BinaryTree
from mechanisms.domains.choices import Categories, Integers, OneHot
from mechanisms.domains.domain import Ball, Box, Domain, Interval
from mechanisms.domains.neighbouring import MixedNeighbours, Neighbouring
from mechanisms.domains.regression_moments import RegressionMoments
from mechanisms.domains.sensitivity import Sensitivity
from mechanisms.noise.binomial import Binomial
from mechanisms.noise.combinators import Composed, PostProcessed, Repeated
from mechanisms.noise.discrete_gaussian import DiscreteGaussian, DiscreteGaussianProfile
from mechanisms.noise.discrete_laplace import DiscreteLaplace, DiscreteLaplaceProfile
from mechanisms.noise.gaussian import Gaussian
from mechanisms.noise.laplace import Laplace
from mechanisms.noise.measurement import OpenDPMeasurement, OpenDPProfile, from_opendp, to_opendp
from mechanisms.noise.mechanism import BuiltInMechanism, Mechanism, mechanism_from_dict, register
from mechanisms.noise.noise_sources import NoiseSource, NumpyNoise, OpenDPNoise, noise_source
from mechanisms.noise.randomized_response import RandomizedResponse
from mechanisms.noise.randomness import BLOCK, LaneStreams, Randomness
from mechanisms.parameters import DensityUnavailable, DomainError, DPWitnessError, ParameterError
from mechanisms.privatizers.privatizer import (
    CentralGaussian,
    Communication,
    LocalGaussian,
    Privatizer,
    private_mean,
)
from mechanisms.privatizers.shuffled_mean import ShuffledMean
from mechanisms.profiles.atomic_profile import AtomicProfile
from mechanisms.profiles.binomial_profile import BinomialProfile
from mechanisms.profiles.bounded_range import BoundedRangeProfile
from mechanisms.profiles.bounding_profiles import (
    ApproximateProfile,
    NoPrivacy,
    PerfectPrivacy,
    PureProfile,
    ZeroConcentratedProfile,
)
from mechanisms.profiles.gaussian_profile import GaussianProfile
from mechanisms.profiles.laplace_profile import LaplaceProfile
from mechanisms.profiles.privacy_profile import PrivacyProfile
from mechanisms.profiles.related_profile import RelatedProfile
from mechanisms.relations.conversion import convert
from mechanisms.relations.group_privacy import for_group
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
