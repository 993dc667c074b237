"""The conduct of a verification of any subject: options, effort, progress and limits."""
