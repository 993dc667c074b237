"""What can be verified: learners, mechanisms, functions, commands, plain bandits."""
