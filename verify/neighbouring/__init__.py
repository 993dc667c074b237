"""Neighbouring data sets: adjacencies, and the search for the pairs that are easiest to distinguish.

An adjacency is one class in one file (`within`, `replace_one`, `add_or_remove_one`, `listed`), and one line in
`registry`. `neighbour_search` compares its known pairs and generated ones, and hands the best to a test.
"""
