"""Composition: certified bounds on the privacy loss of a multiset of mechanisms together."""
