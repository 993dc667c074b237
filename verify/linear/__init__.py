"""Verifying learners of linear bandits."""
