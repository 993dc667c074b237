"""Certificates: a claim with its proof and the code that it is about, which anybody proves again."""
