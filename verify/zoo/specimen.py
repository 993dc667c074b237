"""The specimens of the zoo: mechanisms with their claims and their true privacy losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from mechanisms.parameters import ParameterError

_Subject = TypeVar("_Subject")


@dataclass(frozen=True, eq=False)
class Specimen:
    """A mechanism of the literature with its claim and its true epsilon.

    Attributes
    ----------
    name
        As in ``dpwitness verify zoo/<name>``.
    subject
        The subject that `verify.verify` takes: a function ``f(data, rng, lanes)`` marked with `claimed`, a learner
        class, or another object that makes a claim.
    epsilon, delta
        The parameters of its claim.
    true_epsilon
        The smallest epsilon at which it is (epsilon, delta)-private: the supremum over all neighbours of its
        adjacency, in real arithmetic; infinite if there is none.
    source
        Paper and algorithm number, or the code that has the bug.
    why
        One sentence with the reason for the true epsilon, or the error.
    floating_point
        True if the claim holds in real arithmetic and the specimen is here because it fails in floating point.
    hidden
        True if the claim is false by an event too rare for any test by sampling.
    """

    name: str
    subject: Any
    epsilon: float
    true_epsilon: float
    source: str
    why: str
    delta: float = 0.0
    floating_point: bool = False
    hidden: bool = False

    @property
    def correct(self) -> bool:
        """True if the claim is true in real arithmetic."""
        return self.true_epsilon <= self.epsilon * (1.0 + 1e-12)

    @property
    def refutable(self) -> bool:
        """True if sampling can show that the claim is false in real arithmetic."""
        return not self.correct and not self.hidden


_registered: dict[str, Specimen] = {}
specimens: Mapping[str, Specimen] = MappingProxyType(_registered)
"""Every specimen by its name."""


def specimen(
    name: str, *, make: Callable[[Any], Any] | None = None, **facts: Any
) -> Callable[[_Subject], _Subject]:
    """Register the decorated function or class as a specimen.

    Parameters
    ----------
    name, facts
        Those of `Specimen`; without a true epsilon the claim is tight: it is the claimed one.
    make
        Function from the decorated object to the subject, as `verify.claimed` marks a function; by default the object
        is the subject.

    Raises
    ------
    ParameterError
        If the name is taken.
    """

    def register(subject: _Subject) -> _Subject:
        if name in _registered:
            raise ParameterError(f"name = {name!r}: is another specimen's")
        made = subject if make is None else make(subject)
        _registered[name] = Specimen(name, made, **{"true_epsilon": facts["epsilon"], **facts})
        return subject

    return register
