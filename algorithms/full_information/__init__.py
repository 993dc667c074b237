"""Learners that see every outcome: experts, and convex losses in a ball, on private running sums."""
