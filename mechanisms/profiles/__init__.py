"""Privacy profiles: the curve ε -> δ(ε) of a mechanism, exact or bounded from above."""
