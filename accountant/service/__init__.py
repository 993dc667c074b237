"""An HTTP service in front of a durable ledger, with API keys, for clients in any language (the extra ``serve``)."""
