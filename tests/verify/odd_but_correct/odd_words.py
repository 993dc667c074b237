"""Correct answers as words: sentences, formats, digests, rare labels, dates, names of files, addresses of objects."""

import hashlib
import json
import os
import threading
import uuid
from datetime import date, timedelta

import numpy as np
from odd_ingredients import geometric, noisy, response


def morse(data, rng):
    """Return dots and dashes, the last of them a response."""
    return "".join(".-"[bit] for bit in rng.integers(0, 2, 6).tolist()) + ".-"[response(data, rng)]


def rare_label(data, rng):
    """Return a response, or rarely a label that knows nothing of the data."""
    u = rng.random()
    return "legendary" if u < 1e-3 else "epic" if u < 1e-2 else response(data, rng)


def rare_labels_that_tell(data, rng):
    """Return one of two rare labels, one of which is e times as likely as the other."""
    first, second = (1e-3, np.e * 1e-3) if data > 0.5 else (np.e * 1e-3, 1e-3)
    u = rng.random()
    return "a" if u < first else "b" if u < first + second else "c"


def forms(data, rng):
    """Return a number written in four ways."""
    answer = geometric(data, rng)
    return [str(answer), f"{answer:+d}", f"{answer:e}", hex(answer & 0xFF)]


SUBJECTS = {
    "letter-501-by-response": lambda data, rng: (
        rng.bytes(250).hex() + "ab"[int(response(data, rng))] + "c" * 80
    ),
    "spaces-by-chance": lambda data, rng: f"{noisy(data, rng):.3f}" + " " * int(rng.integers(3)),
    "space-by-response": lambda data, rng: f"{rng.normal():.3f}" + " " * response(data, rng),
    "zero-at-the-end-by-response": lambda data, rng: f"{rng.normal():.2f}" + "0" * response(data, rng),
    "space-within-by-response": lambda data, rng: (
        f"{rng.integers(50)},{' ' * response(data, rng)}{rng.integers(9)}"
    ),
    "as-long-as-it-needs": lambda data, rng: f"{noisy(data, rng):.3g}",
    "as-wide-as-others": lambda data, rng: f"{noisy(data, rng):>12.4f}",
    "printed-array": lambda data, rng: str(np.array([noisy(data, rng), -1.0])),
    "repeated-letters": lambda data, rng: "ab" * (geometric(data, rng) % 12),
    "roman": lambda data, rng: "I" * (1 + geometric(data, rng) % 8),
    "morse": morse,
    "other-alphabets": lambda data, rng: (
        "naïve ☃☄"[: 7 + response(data, rng)] + chr(int(rng.integers(0x4E00, 0x4F00)))
    ),
    "length-of-a-digest": lambda data, rng: hashlib.sha256(rng.bytes(8)).hexdigest()[
        : 6 + response(data, rng)
    ],
    "line-of-a-table": lambda data, rng: (
        f"{rng.integers(100)},{noisy(data, rng):.3f},{'ny'[int(rng.integers(2))]}"
    ),
    "json": lambda data, rng: json.dumps({"v": round(noisy(data, rng), 2), "n": int(rng.integers(3))}),
    "tags": lambda data, rng: f"<r a='{int(rng.integers(9))}'><v>{geometric(data, rng)}</v></r>",
    "four-forms": forms,
    "very-long": lambda data, rng: "x" * 500 + "yz"[response(data, rng)] + str(int(rng.integers(10**6))),
    "rare-label": rare_label,
    "rare-labels-that-tell": rare_labels_that_tell,
    "date": lambda data, rng: (date(2024, 1, 1) + timedelta(days=geometric(data, rng))).isoformat(),
    "numpy-date": lambda data, rng: str(np.datetime64("2024-01-01") + geometric(data, rng)),
    "complex": lambda data, rng: str(complex(round(noisy(data, rng), 1), int(rng.integers(2)))),
    "bytes-of-a-float": lambda data, rng: np.float64(round(noisy(data, rng), 1)).tobytes(),
    "name-of-a-file": lambda data, rng: f"/tmp/{rng.integers(16**8):08x}/{response(data, rng)}",
    "address-in-a-sentence": lambda data, rng: f"{object()!r} says {noisy(data, rng):.2f}",
    "address-in-a-list": lambda data, rng: [repr(object()), response(data, rng)],
    "universal-name": lambda data, rng: [str(uuid.uuid4()), noisy(data, rng)],
    "universal-name-with-time": lambda data, rng: [str(uuid.uuid1()), response(data, rng)],
    "process-and-thread": lambda data, rng: [os.getpid(), threading.get_ident(), geometric(data, rng)],
}
