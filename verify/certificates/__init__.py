"""Certificates: a claim with its proof and the digest of its code, which anybody can check again."""
