"""Learners with full feedback: experts, and convex losses in a ball, on private running sums."""
