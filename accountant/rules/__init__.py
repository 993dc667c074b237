"""Limits beside the budget: what a rule says, what it counts, of which releases, and when."""
