"""How a verification is carried out, whatever is verified: options, effort, progress and limits."""
