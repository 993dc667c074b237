"""What the zoo knows of a mechanism: its claim, its true privacy loss, and how well a test could do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from verify.zoo.oracle import Oracle


@dataclass(frozen=True, eq=False)
class Specimen:
    """A mechanism of the literature with its claim and its true epsilon.

    Attributes
    ----------
    name
        As in ``dpwitness verify zoo/<name>``.
    subject
        What `verify.verify` takes: a function ``f(data, rng, lanes)`` marked with `claimed`, a learner class, or
        another object that makes a claim.
    epsilon, delta
        What is claimed of it.
    true_epsilon
        The smallest epsilon at which it is (epsilon, delta)-private: the supremum over all neighbours of its
        adjacency, in real arithmetic; infinite if there is none.
    correct
        Whether the claim is true in real arithmetic.
    source
        Paper and algorithm number, or the code that has the bug.
    why
        One sentence: why the true epsilon is what it is, or what is wrong.
    oracle
        The pair and the events by which a test that knew the law would tell the neighbours apart; None where
        the law is not known in closed form.
    floating_point
        True if the claim holds in real arithmetic and the specimen is here because it fails in floating point.
    hidden
        True if the claim is false by an event too rare for any test by sampling.
    """

    name: str
    subject: Any
    epsilon: float
    true_epsilon: float
    correct: bool
    source: str
    why: str
    oracle: Oracle | None = None
    delta: float = 0.0
    floating_point: bool = False
    hidden: bool = False

    @property
    def refutable(self) -> bool:
        """Whether sampling can show that the claim is false in real arithmetic."""
        return not self.correct and not self.hidden

    def oracle_limit(self, samples: int, confidence: float = 0.95) -> float:
        """Return the best lower bound on epsilon expected of a test with `samples` draws of each world.

        See `Oracle.limit`. Not a number if the specimen has no oracle.
        """
        if self.oracle is None:
            return float("nan")
        return self.oracle.limit(samples, delta=self.delta, confidence=confidence)
