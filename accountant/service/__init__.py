"""A service in front of a ledger that lasts: HTTP, with keys, for clients in any language (the extra ``serve``)."""
