"""An event that was counted in two worlds, as the witness of a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from verify.events.event import Event
from verify.verdict import Witness


class CountedEvent(Protocol):
    """What tests say of the event that they counted; the first world is D′ if `swapped`."""

    @property
    def swapped(self) -> bool: ...  # noqa: D102 (the attributes are those of the tests' results)
    @property
    def event(self) -> Event: ...  # noqa: D102
    @property
    def probability(self) -> float: ...  # noqa: D102
    @property
    def probability_prime(self) -> float: ...  # noqa: D102
    @property
    def hits(self) -> int: ...  # noqa: D102
    @property
    def hits_prime(self) -> int: ...  # noqa: D102
    @property
    def trials(self) -> int: ...  # noqa: D102
    def to_dict(self) -> dict[str, Any]: ...  # noqa: D102


def witness_of(counted: CountedEvent, neighbours: Mapping[str, str], reproduce: str) -> Witness:
    """Return the witness for a verdict.

    Parameters
    ----------
    counted
        What a test saw.
    neighbours
        ``{"data", "data_prime"}`` of the tested pair, in the candidate's order; swapped here if need be.
    reproduce
        A command that repeats the test.
    """
    data, data_prime = neighbours["data"], neighbours["data_prime"]
    if counted.swapped:
        data, data_prime = data_prime, data
    return Witness(
        neighbours={"data": data, "data_prime": data_prime},
        event=counted.event.words,
        probability=counted.probability,
        probability_prime=counted.probability_prime,
        reproduce=reproduce,
        details=counted.to_dict(),
        hits=counted.hits,
        hits_prime=counted.hits_prime,
        trials=counted.trials,
    )
