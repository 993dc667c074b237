"""The learners of contextual linear bandits by name, for `LinearContexts` problems."""

from __future__ import annotations

from algorithms.catalogue.learner_entry import CatalogueEntry, catalogue_entries
from algorithms.linear.contextual_learner import ContextualLearner
from algorithms.linear.dp_linucb import DPLinUCB, LinUCB
from algorithms.problems import LinearContexts
from algorithms.published.tree_linucb import TreeLinUCBGaussian


class ContextualEntry(CatalogueEntry[LinearContexts, ContextualLearner]):
    """A learner of contextual linear bandits: ``make(features, gate, *, horizon, norm, ...)``."""


contextual_learners: dict[str, ContextualEntry] = catalogue_entries(
    ContextualEntry, (DPLinUCB, TreeLinUCBGaussian, LinUCB)
)
"""Learners of contextual linear bandits."""
