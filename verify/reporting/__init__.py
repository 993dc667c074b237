"""Reports on a terminal, JSON, and pictures."""
