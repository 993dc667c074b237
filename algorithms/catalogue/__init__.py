"""Every learner by its registered name: what ``dpwitness list`` shows and what the commands build."""

from algorithms.catalogue.structured_entries import LearnerEntry, learner_builder, learners

__all__ = ["LearnerEntry", "learner_builder", "learners"]
