"""What selections, sparse vectors and tests before a release cost: mechanisms that are written down, not drawn here.

Each is priced by a theorem on its published form, stated below; a variant is another mechanism. Scores, queries and
distances move by at most the sensitivity Δ (its linf) when one record changes; *monotone* means that all of them move
in the same direction.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from mechanisms import ApproximateProfile, BoundedRangeProfile, PrivacyProfile, PureProfile, Sensitivity
from mechanisms.parameters import ParameterError, open_unit, positive, whole_number


def exponential_mechanism(parameters: Mapping[str, Any], sensitivity: Sensitivity) -> PrivacyProfile:
    """Choose with weights exp(score / ``scale``), or the largest score with Gumbel noise of that scale (the same law).

    Its loss stays in an interval of length 2 Δ / scale, or Δ / scale if monotone (Dong, Durfee, Rogers 2020).
    """
    return BoundedRangeProfile(_of_scores(parameters, sensitivity))


def permute_and_flip(parameters: Mapping[str, Any], sensitivity: Sensitivity) -> PrivacyProfile:
    """Choose the largest score with exponential noise of ``scale``.

    Pure 2 Δ / scale, or Δ / scale if monotone (McKenna, Sheldon 2020, Thm 1; the same law: Ding et al. 2021).
    """
    return PureProfile(_of_scores(parameters, sensitivity))


def noisy_max(parameters: Mapping[str, Any], sensitivity: Sensitivity) -> PrivacyProfile:
    """Choose the largest score with Laplace noise of ``scale``, and publish the choice without its noisy score.

    Pure 2 Δ / scale, or Δ / scale if monotone, whatever the number of scores (Dwork, Roth 2014, Claim 3.9).
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


def _of_scores(parameters: Mapping[str, Any], sensitivity: Sensitivity) -> Fraction:
    return _sides(parameters) * Fraction(sensitivity.linf) / Fraction(positive("scale", parameters["scale"]))


def _sides(parameters: Mapping[str, Any]) -> int:
    """Return in how many directions scores may move."""
    monotone = parameters.get("monotone", False)
    if not isinstance(monotone, bool):
        raise ParameterError(f"monotone = {monotone!r}: must be true or false")
    return 1 if monotone else 2
