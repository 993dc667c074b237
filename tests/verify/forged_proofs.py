"""Forgeries of proofs that the independent checker accepted: none of them may be accepted."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

_MEASURES = ("scale", "variance", "epsilon", "trials", "rate", "levels", "threshold_scale", "query_scale")


def forgeries(proof: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what was done to a proof, and the result; none of them shows anything, however true its claim is."""
    costs = any(form["charged"] for form in proof["releases"].values())
    first = next(iter(proof["releases"]))

    def forged(*path: str | int, value: Any) -> dict[str, Any]:
        worse = copy.deepcopy(proof)
        at: Any = worse
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value
        return worse

    yield "another theorem", forged("theorem", "name", value="advanced")
    yield "another relation", forged("claim", "relation", value="replace all")
    yield "another unit", forged("claim", "unit", value="nobody")
    yield "a claim below 0", forged("claim", next(iter({*proof["claim"]} - {"relation", "unit"})), value=-1)
    yield "a release of nobody", forged("releases", "another", value=proof["releases"][first])
    yield "a kind of record of no release", forged("records", "another", value={})
    yield "a record without its release", forged("records", "another", value={"none": 1})
    yield (
        "more than its budget" if costs else "more than can be counted",
        forged("records", next(iter(proof["records"])), value=dict.fromkeys(proof["releases"], 10**7)),
    )
    for name, form in proof["releases"].items():
        for key in _MEASURES:
            if key in form["mechanism"] and not form["mechanism"]["kind"].startswith("stated"):
                yield f"{key} 0", forged("releases", name, "mechanism", key, value=0)
                yield f"{key} as a float", forged("releases", name, "mechanism", key, value=0.5)
        yield "half a term", forged("releases", name, "terms", value="1/2")
        yield "an unknown key", forged("releases", name, "note", value=1)
        if any(form["charged"].values()):
            yield "no charge", forged("releases", name, "charged", value=dict.fromkeys(form["charged"], 0))
        if form["steps"]:
            into = form["steps"][-1]["into"]
            other = "ball-1" if into["kind"] != "ball-1" else "one-hot"
            yield "another image", forged("releases", name, "steps", -1, "into", "kind", value=other)
            yield "no image", forged("releases", name, "steps", -1, "into", value=None)


def accepted_forgeries(checker: Any, proof: dict[str, Any]) -> list[str]:
    """Return what was done to a proof where the checker accepts the result."""
    found = []
    for name, forgery in forgeries(proof):
        try:
            checker.check(json.loads(json.dumps(forgery), parse_float=lambda x: None))
        except Exception:
            continue
        found.append(name)
    return found
