"""Outputs of functions, of any Python type, read as columns of numbers and words.

Outputs (`read_outputs`, `read_lanes`) become `Readings`: numbers and words at named places. A `Layout`, fixed once from
the first of them, says which places are columns of the view, and makes a sample of the readings of all later draws.
"""
