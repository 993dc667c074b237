"""Verifying bandits: the ledger, coupled runs and replays, and the transcript that an adversary reads."""
