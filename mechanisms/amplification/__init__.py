"""Privacy amplification: profiles of mechanisms on random samples, on shuffled records and messages."""
