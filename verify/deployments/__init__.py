"""Deployments of differential privacy: entries of the public registry, and answer sheets on one's own."""
