"""Proofs as data: the releases of each kind of record, their derivations, and the theorem that adds them up."""
