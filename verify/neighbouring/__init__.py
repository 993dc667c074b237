"""Neighbouring data sets: which pairs a claim quantifies over, and the search for the telling one."""
