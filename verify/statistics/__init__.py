"""Confidence bounds on probabilities, means and losses, from counts, bets and samples."""
