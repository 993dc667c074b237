"""Proofs as data: what is released of each kind of record, how it was derived, and the theorem that adds it up."""
