"""What learners know of means: running, noisy and batched ones, and their confidence bounds."""
