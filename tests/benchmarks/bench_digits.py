"""A data set end to end: is a handwritten digit 5 or more? One pass of DP-FTRL, a record an image, delta = 1e-5.

Accuracy is progressive: every image is predicted before it is learned from. Run as ``python
tests/benchmarks/bench_digits.py [lanes]`` (64 by default; needs scikit-learn, for its data).
"""

import sys

import numpy as np
from sklearn.datasets import load_digits

from accountant import Simulation
from algorithms import DPFTRL
from mechanisms.arrays import FloatArray

RADIUS, DELTA = 8.0, 1e-5


def images() -> tuple[FloatArray, FloatArray]:
    """Return the images as vectors of norm 1 with a constant coordinate, in random order, and their labels."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.data))
    x = np.column_stack([digits.data / 16.0, np.ones(len(order))])[order]
    return x / np.linalg.norm(x, axis=1, keepdims=True), (digits.target >= 5)[order].astype(float)


def accuracy(epsilon: float, lanes: int) -> FloatArray:
    """Return the share of images that logistic regression predicts rightly, in each lane."""
    x, y = images()
    gate = Simulation(1, lanes)
    learner = DPFTRL(gate, x.shape[1], epsilon=epsilon, delta=DELTA, horizon=len(x), radius=RADIUS)
    right = np.zeros(lanes)
    for record, (features, label) in enumerate(zip(x, y, strict=True)):
        probability = 1.0 / (1.0 + np.exp(-learner.weights @ features))
        right += (probability > 0.5) == label
        gradient = (probability - label)[:, np.newaxis] * features
        learner.observe(gate.private(gradient, learner.feedback_domain, record))
    shares: FloatArray = right / len(x)
    return shares


if __name__ == "__main__":
    lanes = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    print("epsilon  accuracy  standard error")
    for epsilon in (1.0, 5.0, 20.0, 1e5):
        found = accuracy(epsilon, lanes)
        print(f"{epsilon:7g}  {found.mean():8.3f}  {found.std() / lanes**0.5:14.3f}")
