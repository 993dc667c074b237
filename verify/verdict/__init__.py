"""The verdict on a claim from the evidence, the result of a verification, and its document."""
