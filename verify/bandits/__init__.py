"""Bandits that know nothing of gates: played on telling rewards, and tested."""
