"""Files that outlive a process: whole ones, journals that grow, locks, and the history of a ledger."""
