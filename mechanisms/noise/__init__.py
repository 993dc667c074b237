"""Mechanisms that add noise, their random sources, and mechanisms made of mechanisms."""
