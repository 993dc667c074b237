"""Deployments of differential privacy: entries of the public registry, and answer sheets for a user's own."""
