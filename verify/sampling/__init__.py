"""Black-box tests: seeded draws of both worlds, one deciding test, and the evidence of all layers."""
