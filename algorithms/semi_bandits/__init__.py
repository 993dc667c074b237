"""Combinatorial semi-bandits and matroids: the certified learners, and those without privacy."""
