"""Ranked lists under the cascade model: the certified learners, and the one without privacy."""
