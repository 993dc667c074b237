"""Whether what is proved of a learner's regret is true of it: the theorem, its proof, and the outcome."""
