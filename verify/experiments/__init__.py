"""The papers' experiments by name: configurations, figures and tables, and the papers' statements about them.

A figure or table is an entry in the file of its paper; `registry` has them all. `reproduce` runs the configurations of
one, keeps each on disk as it is done, and writes picture, table and report.
"""
