"""Tests of bandits that use no gate: played on neighbouring reward tables."""
