"""Privacy losses: the laws of log-likelihood ratios, which add up under composition."""
