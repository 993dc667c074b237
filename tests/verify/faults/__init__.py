"""Faults that can be planted in a subject, as a careless author would have written them, to see who catches them."""
