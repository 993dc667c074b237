"""Limits beside the budget: rules, the charges that they count, and the scopes and times of these."""
