"""The cost of private selection, thresholded keys and propose-test-release, as release files declare them.

Each is priced by a theorem on its published form, stated below; a variant is another mechanism. Scores, queries and
distances move by at most the sensitivity Δ (its linf) when one record changes; *monotone* means that all of them move
in the same direction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from mechanisms.composition.composed_profile import composed_profile
from mechanisms.domains.sensitivity import Sensitivity
from mechanisms.noise.above_threshold import AboveThresholdProfile
from mechanisms.numerics.rounding import down, up
from mechanisms.parameters import ParameterError, open_unit, positive, whole_number
from mechanisms.profiles.bounded_range import BoundedRangeProfile
from mechanisms.profiles.bounding_profiles import ApproximateProfile, PureProfile
from mechanisms.profiles.gaussian_profile import GaussianProfile
from mechanisms.profiles.laplace_profile import LaplaceProfile
from mechanisms.profiles.privacy_profile import PrivacyProfile

MOST_KEYS = 10**6


def exponential_mechanism(parameters: Mapping[str, Any], sensitivity: Sensitivity) -> PrivacyProfile:
    """Choose with weights exp(score / ``scale``), or the largest score with Gumbel noise of that scale (the same law).

    Its loss stays in an interval of length 2 Δ / scale, or Δ / scale if monotone (Dong, Durfee, Rogers 2020).
    """
    return BoundedRangeProfile(_of_scores(parameters, sensitivity))


def noisy_choice(parameters: Mapping[str, Any], sensitivity: Sensitivity) -> PrivacyProfile:
    """Choose the largest score with noise of ``scale``, and publish the choice without its noisy score.

    Pure 2 Δ / scale, or Δ / scale if monotone, whatever the number of scores: with exponential noise, which is permute
    and flip (McKenna, Sheldon 2020, Thm 1; the same law: Ding et al. 2021), or Laplace (Dwork, Roth 2014, Claim 3.9).
    """
    return PureProfile(_of_scores(parameters, sensitivity))


def sparse_vector(parameters: Mapping[str, Any], sensitivity: Sensitivity) -> PrivacyProfile:
    """Say which of a stream of queries are above a threshold, until ``positives`` of them were: one run.

    Pure Δ / threshold_scale + 2 c Δ / query_scale with Laplace noise, drawn once for the threshold and anew for every
    query, c positives; c Δ / query_scale if monotone. No answer itself is published (Lyu, Su, Li 2017, Thms 4 and 5).
    """
    positives = whole_number("positives", parameters.get("positives", 1), least=1)
    distance = Fraction(sensitivity.linf)
    threshold, query = (
        Fraction(positive(name, parameters[name])) for name in ("threshold_scale", "query_scale")
    )
    return PureProfile(distance / threshold + _sides(parameters) * positives * distance / query)


def gaussian_sparse_vector(parameters: Mapping[str, Any], sensitivity: Sensitivity) -> PrivacyProfile:
    """Say of at most ``queries`` queries which is the first above a threshold: one run, with Gaussian noise.

    Noise of standard deviation ``threshold_sigma`` is drawn once, of ``query_sigma`` anew for every query: see
    `mechanisms.noise.above_threshold`. A run with several positives is as many runs, each with a threshold's noise of
    its own.
    """
    threshold, query = (
        Fraction(positive(name, parameters[name])) for name in ("threshold_sigma", "query_sigma")
    )
    distance = Fraction(sensitivity.linf)
    return AboveThresholdProfile(
        distance / threshold, _sides(parameters) * distance / query, parameters["queries"]
    )


def propose_test_release(parameters: Mapping[str, Any], sensitivity: Sensitivity) -> PrivacyProfile:
    """Release at a proposed local sensitivity if the data are far from where it is larger.

    The distance (in records, so that Δ = 1 fits) gets Laplace noise of ``test_scale`` and must exceed
    test_scale · ln(1 / (2 δ)); then something is released that is ``epsilon``-DP wherever the local sensitivity is as
    proposed. (Δ / test_scale + epsilon, δ) (Dwork, Lei 2009): where one of two neighbours keeps the proposal, their
    releases are within epsilon and their tests within Δ / test_scale; where neither does, both distances are 0, and a
    release takes noise that occurs with probability δ.
    """
    test = Fraction(sensitivity.linf) / Fraction(positive("test_scale", parameters["test_scale"]))
    release = Fraction(positive("epsilon", parameters["epsilon"]))
    return ApproximateProfile(test + release, open_unit("delta", parameters["delta"]))


def thresholded_keys(parameters: Mapping[str, Any], sensitivity: Sensitivity) -> PrivacyProfile:
    """Release the keys of a histogram, of those that occur, with noisy counts above ``threshold``.

    A record that joins or leaves, or is zeroed out, has at most ``keys`` = k keys and moves the count of each by at
    most Δ; ``noise`` is "gaussian" of standard deviation ``scale``, or "laplace". Dominated by that noise on k counts
    together with a failure of probability δ = k P(noise > threshold - Δ), and in that sense composed.

    *Proof.* Of the record's keys j are no other's. With it one of them is shown with probability at most 1 - p^j <=
    jδ/k, p = P(noise <= threshold - Δ), without it never; else both outputs are those of noise on the other k - j
    counts, of which those below the threshold are hidden (post-processing). Noise on fewer counts, and a failure that
    is less likely, are post-processings of more. [] Attained but for the failure: if all its keys are others', too.

    Gaussian tails: Φ(-t) <= 4φ(t) / (3t + √(t² + 8)) for t >= 0 (Sampford 1953, "Some inequalities on Mill's ratio").
    """
    scale, threshold = (positive(name, parameters[name]) for name in ("scale", "threshold"))
    count = whole_number("keys", parameters["keys"], least=1)
    moved = Fraction(sensitivity.linf)
    if not moved <= threshold < math.inf:
        raise ParameterError(
            f"threshold = {threshold!r}: must be finite and at least {float(moved)!r}, which a record alone counts"
        )
    t = down((Fraction(threshold) - moved) / Fraction(scale))
    noise: PrivacyProfile
    match parameters["noise"]:
        case "gaussian":
            noise = GaussianProfile(up(moved / Fraction(scale)))
            tail = (
                4.0 * math.exp(-0.5 * t * t) / (math.sqrt(2.0 * math.pi) * (3.0 * t + math.sqrt(t * t + 8.0)))
            )
            off = 2e-15 * (4.0 + t * t)
        case "laplace":
            noise, tail, off = LaplaceProfile(float(moved), scale), 0.5 * math.exp(-t), 1e-15 * (4.0 + t)
        case other:
            raise ParameterError(f"noise = {other!r}: must be 'gaussian' or 'laplace'")
    failure = max(count * tail * (1.0 + off), 5e-324)
    if failure >= 1.0:
        raise ParameterError(
            f"threshold = {threshold!r}: a record's own keys are shown as a rule; must be larger"
        )
    return composed_profile([(noise, count), (ApproximateProfile(Fraction(0), failure), 1)])


def _of_scores(parameters: Mapping[str, Any], sensitivity: Sensitivity) -> Fraction:
    return _sides(parameters) * Fraction(sensitivity.linf) / Fraction(positive("scale", parameters["scale"]))


def _sides(parameters: Mapping[str, Any]) -> int:
    """Return the number of directions in which scores may move: 1 if they are monotone, else 2."""
    monotone = parameters.get("monotone", False)
    if not isinstance(monotone, bool):
        raise ParameterError(f"monotone = {monotone!r}: must be true or false")
    return 1 if monotone else 2
