"""Verifying functions and commands: a first look, replay, and tests of what they return."""
