"""Mechanisms in a user's file."""

from mechanisms import Composed, Laplace

LAPLACE = Laplace(scale=1.0)
COMPOSED = Composed((Laplace(scale=2.0), Laplace(scale=2.0) >> abs))


class Quiet(Laplace):
    """A mechanism of the user's own."""


OWN = Quiet(scale=1.0)
