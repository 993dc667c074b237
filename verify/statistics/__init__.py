"""What counts and sampled losses prove: confidence bounds on ε and δ, bands, bets."""
