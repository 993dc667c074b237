"""Learners in production that can be stopped and gone on with, bit for bit."""
