"""Auditing and calibrating compositions that are written down."""
