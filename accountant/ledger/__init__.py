"""Ledgers: entries, records' accounts and their totals, the ledger in memory, and its summary."""
