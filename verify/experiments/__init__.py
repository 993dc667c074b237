"""The papers' experiments by name: what is played, what is drawn, and what the papers say of it.

A figure or table is an entry in the file of its paper; `registry` has them all. `reproduce` runs the configurations of
one, keeps each on disk as it is done, and writes picture, table and report.
"""
