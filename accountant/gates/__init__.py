"""Gates and private values: the interfaces through which user data enter and releases leave."""
