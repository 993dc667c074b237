"""Who paid what for which release: entries, accounts and their totals, the ledger in memory, and what is said of it."""
