"""Tests of regret claims: the theorem, the assumptions of its proof, and the regret of simulations."""
