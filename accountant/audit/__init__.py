"""Audits of written-down releases: what they cost together, and the least noise that meets a target."""
