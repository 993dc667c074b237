"""The sequential test of a claim by betting, valid at any stopping time, and the file that keeps its wealth."""
