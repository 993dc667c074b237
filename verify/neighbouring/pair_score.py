"""The score of a pair of neighbours: roughly the epsilon that draws of its two worlds show.

Two estimates make it. One is the lower bound on ε that the final test of some event is predicted to report: a few
events are found on some draws and counted on others, so that how lucky an event was on the draws that it was found on
does not count. It sees events that are rare in both worlds. The other, the divergence, is √J, with J the symmetric
Kullback-Leibler divergence of a naive-Bayes score: a privacy loss of ±ε has J = ε tanh(ε/2)·2 ≈ ε². J uses all draws
at once, so that on few draws it ranks pairs long before any single event's frequency does. Another score, of the
innovations of measurements, sees differences that running sums hide.

Both are the sharper, the more row i of the one world goes together with row i of the other, as it does where both come
from the same random numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from verify.events.count_events import count_pairs
from verify.events.features import Draws, features, most_telling
from verify.events.innovations import innovations
from verify.events.predicted_bound import ComingTest, promised_epsilon
from verify.events.readings import ColumnValue
from verify.events.score_fit import naive_bayes
from verify.events.scores import AdditiveScore
from verify.events.search import search_events
from verify.events.view_sample import WorldSamples
from verify.neighbouring.score_slope import slope

_ENOUGH = 16_384  # fresh draws of a world from which events are confirmed: then only the bound counts
_MOST_INNOVATIONS = 4  # in a score: a record's own step is one of many, and each table has its noise


@dataclass(frozen=True, kw_only=True)
class _StandardErrors:
    """Numbers of standard errors between the bounds of an event and its estimate.

    Chosen by hand on the zoo's functions. Errors are larger on independent worlds: √J is the better guide there.
    """

    below: float = 0.75
    below_if_independent: float = 1.5
    above: float = 1.0


_STANDARD_ERRORS = _StandardErrors()


@dataclass(frozen=True, slots=True)
class PairScore:
    """The bound on ε that the final test of a pair is predicted to report.

    Attributes
    ----------
    lower
        Some standard errors below its estimate, for the best event.
    upper
        One standard error above it, for the event for which this is most.
    divergence
        The estimate √J from all draws at once; `lower` where draws are so many that events give a better one.
    """

    lower: float = -math.inf
    upper: float = -math.inf
    divergence: float = -math.inf


def score_pair(sample: WorldSamples, fresh: WorldSamples, test: ComingTest, *, coupled: bool) -> PairScore:
    """Return the score of a pair.

    Parameters
    ----------
    sample
        Draws of both worlds on which events are found (laid out on the first half, compared on the second) and a score
        is fitted.
    fresh
        Draws on which these are judged. On few of them the divergence counts as a lower bound, too.
    test
        The final test.
    coupled
        True if both worlds were drawn with the same random numbers.
    """
    fit, choose = halves(sample)
    events = search_events(fit, choose, test, quick=_fitted_scores(fit), shortlist=True).shortlist
    hits, split = count_pairs([event.event for event in events], *fresh)
    # Draws in the event of the world in which it was found to be the likelier one come first.
    counts = [
        both[::-1] if event.swapped else both for event, both in zip(events, hits.T.tolist(), strict=True)
    ]
    drawn = len(fresh[0].values)

    def best_bound(caution: float) -> float:
        return max(
            promised_epsilon(first, second, drawn, test, caution, apart)
            for (first, second), apart in zip(counts, split.tolist(), strict=True)
        )

    errors = _STANDARD_ERRORS
    lower = best_bound(errors.below if coupled else errors.below_if_independent)
    upper = best_bound(-errors.above)
    if drawn >= _ENOUGH:
        return PairScore(lower, upper, lower)
    divergence = max(_divergence(score, fresh) for score in _fitted_scores(sample))
    return PairScore(max(lower, divergence), upper, divergence)


def halves(worlds: WorldSamples) -> tuple[WorldSamples, WorldSamples]:
    """Return the first and the second half of the draws."""
    first, second = worlds
    half = len(first.values) // 2
    return (first.rows(0, half), second.rows(0, half)), (
        first.rows(half, 2 * half),
        second.rows(half, 2 * half),
    )


def fitted_score(fit: WorldSamples) -> AdditiveScore:
    """Return a naive-Bayes score of all columns."""
    values = [ColumnValue(column) for column in fit[0].columns]
    return naive_bayes(features(fit, values), _world_sizes(fit))


def _fitted_scores(fit: WorldSamples) -> list[AdditiveScore]:
    """Return naive-Bayes scores: of all columns, and of the most distinguishing innovations if there are any."""
    measured = [column for column in fit[0].columns if column.kind == "real"]
    draws = _world_sizes(fit)
    telling = most_telling(features(fit, innovations(fit, measured)), draws, _MOST_INNOVATIONS)
    return [fitted_score(fit), *([naive_bayes(telling, draws)] if telling else [])]


def _world_sizes(fit: WorldSamples) -> Draws:
    return Draws.from_sizes((len(fit[0].values), len(fit[1].values)))


def _divergence(score: AdditiveScore, fresh: WorldSamples) -> float:
    """Return √J of a score, one standard error below its estimate on fresh draws; J if negative.

    The score counts the information that columns share once for each of them; `slope` corrects this.
    """
    ours, theirs = score.values(fresh[0]), score.values(fresh[1])
    spread = math.sqrt(float((ours - theirs).var()) / len(ours))
    least = slope(ours, theirs) * (float(ours.mean()) - float(theirs.mean()) - spread)
    return math.sqrt(least) if least > 0.0 else least
