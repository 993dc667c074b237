"""Profiles for another neighbouring relation: conversions, and groups of records."""
