"""Verification of functions and commands: a first look, replay, and tests of their outputs."""
