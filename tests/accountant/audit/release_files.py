"""Release files that the tests of audits and of their commands read."""

TABLE = """
[[release]]
mechanism = "laplace"
scale = 20
count = 1000
"""
"""A thousand Laplace releases on everyone."""

GROUPS = """
neighbours = "add or remove one"

[[release]]
mechanism = "gaussian"
sigma = 20.0
count = 1000
partition = ["north", "south"]

[[release]]
mechanism = "gaussian"
sigma = 20.0
count = 500
partition = "south"

[[release]]
mechanism = "laplace"
scale = 1.0
partition = "west"
"""
"""Three groups of records with releases of their own."""
