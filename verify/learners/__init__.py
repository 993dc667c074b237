"""Verification of learners of every family: the ledger, coupled runs, replays, and tests of the actions."""
