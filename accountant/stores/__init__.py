"""Durable ledgers: a chained log of entries in a database, shared by threads, processes and restarts."""
