"""Every learner by its registered name: what ``dpwitness list`` shows and what the commands build."""

from algorithms.catalogue.learner_entry import learner_builder
from algorithms.catalogue.structured_entries import LearnerEntry, learners

__all__ = ["LearnerEntry", "learner_builder", "learners"]
