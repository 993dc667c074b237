"""The test that may stop at any time: bets against a claim, their wealth, and the file that keeps it."""
