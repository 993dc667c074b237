"""Plans: mechanisms and counts fixed in advance, with numbers or with symbols."""
