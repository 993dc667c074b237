"""Counters: private running sums after every increment, for the price of one mechanism per record."""
