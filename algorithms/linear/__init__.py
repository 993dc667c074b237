"""Distributed linear bandits: phases, designs and phased elimination under three trust models."""
