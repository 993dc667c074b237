"""Calling other people's bandits as they are: their methods, arguments, states and environments."""
