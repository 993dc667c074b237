"""A command to be verified: ``python command.py HOW`` reads a question as JSON and prints one output a line."""

import json
import random
import sys
import time

question = json.loads(sys.stdin.readline())
data, lanes = question["data"], question["lanes"]
how = sys.argv[1]
rng = random.Random(None if how == "own-seed" else question["seed"])


def laplace(scale):
    return rng.expovariate(1 / scale) - rng.expovariate(1 / scale)


if how == "fails-on-one" and data > 0.75:
    sys.exit("no such bin")
if how == "fails-sometimes" and rng.random() < 0.5:
    sys.exit(3)
while how == "never-ends":
    time.sleep(0.05)
for _ in range(1 if how == "one-line" else lanes):
    if how == "no-json":
        print("noisy value:", data + laplace(1.0))
    elif how == "mixed":
        noisy = data + laplace(0.5)
        print(
            json.dumps(
                {"noisy": round(noisy, 3), "large": noisy > 0.5, "word": "high" if noisy > 0.5 else None}
            )
        )
    elif how == "histogram":
        print(json.dumps([value + laplace(1.0) for value in data]))
    else:
        print(data + laplace(0.5 if how == "half-noise" else 1.0))
