"""Privatizers: private means under central, local and shuffle trust."""
