"""Verifying learners of every family: the ledger, coupled runs and replays, and the actions an adversary reads."""
