"""Metrics of a service, in the text format of Prometheus."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Gauge:
    """A metric with a current value.

    Attributes
    ----------
    name, words
        Its name, and its description.
    value
        The current value.
    labels
        Its labels.
    """

    name: str
    words: str
    value: float
    labels: _Labels = ()


class Metrics:
    """Counters of one process, from its beginning."""

    def __init__(self) -> None:
        self._counting = threading.Lock()
        self._requests: Counter[_Labels] = Counter()
        self._problems: Counter[_Labels] = Counter()
        self._within: Counter[tuple[str, float]] = Counter()
        self._seconds: dict[str, float] = {}

    def count_request(self, route: str, status: int, problem: str | None, seconds: float) -> None:
        """Count a request, under one of few routes and problems."""
        with self._counting:
            self._requests[("route", route), ("status", str(status))] += 1
            if problem is not None:
                self._problems[(("kind", problem),)] += 1
            self._seconds[route] = self._seconds.get(route, 0.0) + seconds
            for bucket in (*(each for each in _BUCKETS if seconds <= each), float("inf")):
                self._within[route, bucket] += 1

    def text(self, gauges: Iterable[Gauge]) -> str:
        """Return all metrics, and gauges; those of one name are adjacent."""
        with self._counting:
            lines: list[str] = []
            for name, words, counts in (
                ("dpwitness_requests_total", "Requests that were answered.", self._requests),
                ("dpwitness_problems_total", "Requests that were refused or failed.", self._problems),
            ):
                lines += _family(name, "counter", words)
                lines += [_sample(name, labels, n) for labels, n in sorted(counts.items())]
            lines += _family("dpwitness_request_seconds", "histogram", "Time to an answer.")
            lines += self._histogram()
        for name, group in groupby(sorted(gauges, key=lambda gauge: gauge.name), lambda gauge: gauge.name):
            known = list(group)
            lines += _family(name, "gauge", known[0].words)
            lines += [_sample(name, each.labels, each.value) for each in known]
        return "\n".join(lines) + "\n"

    def _histogram(self) -> Iterable[str]:
        name = "dpwitness_request_seconds"
        for route, seconds in sorted(self._seconds.items()):
            labels = (("route", route),)
            for bucket in (*_BUCKETS, float("inf")):
                shown = "+Inf" if bucket == float("inf") else f"{bucket:g}"
                yield _sample(f"{name}_bucket", (*labels, ("le", shown)), self._within[route, bucket])
            yield _sample(f"{name}_sum", labels, seconds)
            yield _sample(f"{name}_count", labels, self._within[route, float("inf")])


def _family(name: str, kind: str, words: str) -> tuple[str, str]:
    return f"# HELP {name} {words}", f"# TYPE {name} {kind}"


def _sample(name: str, labels: _Labels, value: float) -> str:
    written = ",".join(f'{key}="{_escape_label(text)}"' for key, text in labels)
    return f"{name}{{{written}}} {value!r}" if labels else f"{name} {value!r}"


def _escape_label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
