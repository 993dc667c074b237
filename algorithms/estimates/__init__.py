"""Estimates of means: running, noisy and batched ones, and their confidence bounds."""
