"""The learners of contextual linear bandits by name: they play `LinearContexts`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from algorithms.catalogue.learner_entry import CatalogueEntry, builder
from algorithms.learner import DEFAULT_DELTA
from algorithms.linear.contextual_learner import ContextualLearner
from algorithms.linear.contextual_play import BuildContextual
from algorithms.linear.dp_linucb import DPLinUCB, LinUCB
from algorithms.problems import LinearContexts, Parameter, ProblemError, Value
from algorithms.published.tree_linucb import TreeLinUCBGaussian


class ContextualEntry(CatalogueEntry[LinearContexts, ContextualLearner]):
    """A learner of contextual linear bandits: ``make(features, gate, *, horizon, norm, ...)``."""

    def _built(
        self, problem: LinearContexts, offered: dict[str, Any], settings: Mapping[str, Value]
    ) -> BuildContextual:
        return contextual_builder(self.make, problem, settings=settings, **offered)


def contextual_builder(
    make: type[Any],
    problem: LinearContexts,
    *,
    epsilon: float,
    horizon: int | None,
    delta: float = DEFAULT_DELTA,
    settings: Mapping[str, Value] | None = None,
) -> BuildContextual:
    """Return a function that makes a learner of class `make` on a gate.

    Passed are those of epsilon, delta and horizon that the class takes.

    Raises
    ------
    ProblemError
        If the problem has no contexts.
    ParameterError
        If the class takes epsilon, delta or horizon and it is out of range.
    """
    if not isinstance(problem, LinearContexts):
        raise ProblemError(f"{make.__name__} plays contexts, not {type(problem).__name__}")
    offered = {"epsilon": epsilon, "delta": delta, "horizon": horizon}
    return builder(make, problem.features, offered, settings or {}, unnamed=frozenset({"horizon"}))


_NORM = Parameter("norm", "float", 1.0, 1e-9, None, "S, a bound on the length of theta*")

contextual_learners: dict[str, ContextualEntry] = {
    entry.name: entry
    for entry in (
        ContextualEntry(
            "dp-linucb",
            DPLinUCB,
            "LinUCB on growing batches of moments, analytic Gaussian noise on each batch",
            "certified (joint differential privacy)",
            (_NORM,),
        ),
        ContextualEntry(
            "published/tree-linucb-gaussian",
            TreeLinUCBGaussian,
            "LinUCB on a binary tree of noisy moments, a leaf for every round",
            "holds with much slack (joint differential privacy)",
            (_NORM,),
            repaired_by="dp-linucb",
        ),
        ContextualEntry(
            "linucb",
            LinUCB,
            "LinUCB on growing batches, no privacy",
            parameters=(_NORM,),
            source="Li et al. 2010; widths of Abbasi-Yadkori, Pal & Szepesvari 2011",
        ),
    )
}
"""Learners of contextual linear bandits."""
