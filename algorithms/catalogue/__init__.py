"""The catalogue of learners by registered name, for ``dpwitness list`` and the commands that build learners."""

from algorithms.catalogue.learner_entry import learner_builder
from algorithms.catalogue.structured_entries import LearnerEntry, learners

__all__ = ["LearnerEntry", "learner_builder", "learners"]
