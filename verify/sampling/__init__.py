"""Black-box tests: seeded draws of both worlds, one deciding test, confidence bounds, and all layers' evidence."""
