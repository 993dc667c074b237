"""The data of one record: its domain, neighbouring data sets, and the sensitivity of values to it."""
