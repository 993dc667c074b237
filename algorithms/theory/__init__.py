"""Theorems on the learners: regret bounds, gaps, and the releases of one record (plans)."""
