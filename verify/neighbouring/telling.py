"""How telling a pair of neighbours is: roughly the epsilon that draws of its two worlds show.

Two numbers say it. The *promise* is the lower bound on ε that a coming test of some event may be expected to report: a
few events are found on some draws and counted on others, so that how lucky an event was on the draws that it was found
on does not count. It sees events that are rare in both worlds. The *divergence* is √J, with J the symmetric
Kullback-Leibler divergence of a naive-Bayes score: a privacy loss of ±ε has J = ε tanh(ε/2)·2 ≈ ε². J uses all draws
at once, so that on few draws it ranks pairs long before any single event's frequency does.

Both are the sharper, the more row i of the one world goes together with row i of the other, as it does where both come
from the same random numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from verify.events.event import Event
from verify.events.features import Draws, features
from verify.events.readings import Value
from verify.events.score_fit import naive_bayes
from verify.events.scores import AdditiveScore
from verify.events.search import search_events
from verify.events.view_sample import ViewSample, WorldSamples
from verify.sampling.count_events import count_pairs
from verify.statistics.predicted_bound import promised_epsilon
from verify.statistics.score_slope import slope

HOPE = 1.0  # standard errors above its estimate, from which an event is hoped for
ENOUGH = 16_384  # fresh draws of a world from which events are confirmed: the bound is what is wanted
CAUTION = 0.75  # standard errors from which an event confirmed on worlds drawn alike is judged
APART_CAUTION = 1.5  # the same on independent worlds, where errors are larger: √J is the better guide there


@dataclass(frozen=True, slots=True)
class ComingTest:
    """The test to come: its δ, its error, and its draws a side."""

    delta: float
    error: float
    final_samples: int


@dataclass(frozen=True, slots=True)
class Counted:
    """An event that was fixed before it was counted, and its counts.

    Attributes
    ----------
    event, swapped
        The event, and whether it is the likelier one in the second world.
    hits, other
        Draws in the event, of the world in which it was found to be the likelier one and of the other one.
    split
        Pairs of draws of which exactly one is in the event.
    counted
        Draws of each world.
    """

    event: Event
    swapped: bool
    hits: int = 0
    other: int = 0
    split: int = 0
    counted: int = 0

    def promised(self, tested: ComingTest, caution: float) -> float:
        """The bound that a coming test promises, `caution` standard errors below the estimate; above it if negative."""
        return promised_epsilon(
            self.hits,
            self.other,
            self.counted,
            tested.final_samples,
            tested.delta,
            tested.error,
            caution,
            self.split,
        )


def events_of(sample: WorldSamples, tested: ComingTest) -> list[Counted]:
    """Return events found on a sample of both worlds: laid out on its first half, compared on the second."""
    fit, choose = halves(sample)
    found = search_events(
        fit,
        choose,
        final_samples=tested.final_samples,
        delta=tested.delta,
        error=tested.error,
        quick=fitted_score(fit),
        shortlist=True,
    )
    return [Counted(event.event, event.swapped) for event in found.shortlist]


def counted_on(events: list[Counted], fresh: WorldSamples) -> list[Counted]:
    """Return events with their counts on fresh draws."""
    hits, split = count_pairs([event.event for event in events], *fresh)
    found = []
    for event, both, apart in zip(events, hits.T.tolist(), split.tolist(), strict=True):
        first, second = both[::-1] if event.swapped else both
        found.append(Counted(event.event, event.swapped, first, second, apart, len(fresh[0].values)))
    return found


def divergence(sample: WorldSamples, fresh: WorldSamples) -> float:
    """Return √J of a score fitted to a sample, one standard error below its estimate on fresh draws; J if negative.

    The score counts twice what two columns say; `slope` takes that back.
    """
    score = fitted_score(sample)
    ours, theirs = score.of(fresh[0]), score.of(fresh[1])
    spread = math.sqrt(float((ours - theirs).var()) / len(ours))
    least = slope(ours, theirs) * (float(ours.mean()) - float(theirs.mean()) - spread)
    return math.sqrt(least) if least > 0.0 else least


def promise_and_hope(
    sample: WorldSamples, fresh: WorldSamples, tested: ComingTest, caution: float
) -> tuple[float, float]:
    """Return what the best event of a pair promises, and what the most hopeful one may be worth.

    Events and score are found on a sample, and judged on fresh draws. On few of these the divergence counts as promise,
    too. The promise is `caution` standard errors below the estimate, the hope one above.
    """
    events = counted_on(events_of(sample, tested), fresh)
    promise = max(event.promised(tested, caution) for event in events)
    hope = max(event.promised(tested, -HOPE) for event in events)
    return promise if len(fresh[0].values) >= ENOUGH else max(promise, divergence(sample, fresh)), hope


def halves(worlds: WorldSamples) -> tuple[WorldSamples, WorldSamples]:
    """Return the first and the second half of the draws."""
    first, second = worlds
    half = len(first.values) // 2
    return (first.rows(0, half), second.rows(0, half)), (
        first.rows(half, 2 * half),
        second.rows(half, 2 * half),
    )


def telling(
    first: ViewSample,
    second: ViewSample,
    delta: float,
    error: float,
    final_samples: int | None = None,
    caution: float = CAUTION,
) -> float:
    """Return how telling two worlds are: what they promise (`promise_and_hope`).

    Parameters
    ----------
    first, second
        As many draws of each world. Events and score are found on the first half, judged on the second.
    delta, error
        Of the coming test.
    final_samples
        Its draws a side; by default half as many as these.
    caution
        Standard errors below its estimate, from which the best event is judged.
    """
    n = len(first.values) // 2 if final_samples is None else final_samples
    return promise_and_hope(*halves((first, second)), ComingTest(delta, error, n), caution)[0]


def fitted_score(fit: WorldSamples) -> AdditiveScore:
    """Return a naive-Bayes score of all columns."""
    values = [Value(i, column) for i, column in enumerate(fit[0].columns)]
    return naive_bayes(features(fit, values), Draws.of((len(fit[0].values), len(fit[1].values))))
