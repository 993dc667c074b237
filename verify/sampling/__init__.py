"""Black-box tests: seeded draws of both worlds, one final look, or bets while drawing."""
