"""Calls of bandits written without this library: their methods, arguments, states and environments."""
