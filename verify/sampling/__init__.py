"""Black-box tests: seeded draws of both worlds, one final look, and the evidence that every layer adds to."""
