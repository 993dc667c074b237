"""Neighbouring data sets: which pairs are neighbours, and which of them are told apart best.

An adjacency is one class in one file (`within`, `replace_one`, `add_or_remove_one`, `listed`), and one line in
`registry`. `neighbour_search` compares its known pairs and generated ones, and hands the best to a test.
"""
