"""The proof of an audit: the releases of a file as data, with sensitivities as the file states them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

from accountant.audit.releases import Release, Releases, WrittenRelease
from accountant.gates.derivation import ExactDomain
from accountant.proofs.proof_document import (
    NoProof,
    claim_data,
    exact_number,
    moved_domain,
    noise_data,
    proof_data,
    release_data,
)
from mechanisms import (
    Binomial,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mechanism,
    RandomizedResponse,
)
from mechanisms.amplification.sampling import Sampling
from mechanisms.domains.neighbouring import Neighbouring

ONE_REPORT = "one report"
_SAMPLES = {Sampling.POISSON: "poisson sample", Sampling.FIXED_SIZE: "fixed size sample"}


def audit_proof(
    releases: Releases, epsilon: float | Fraction, delta: float | Fraction, resolution: int = 9
) -> dict[str, Any]:
    """Return the claim that every record of a file loses at most this, and its proof, as data.

    Parameters
    ----------
    releases
        Those of a release file.
    epsilon, delta
        The claim.
    resolution
        The resolution of the check, from 4 to 16; each step takes twice the time.

    Raises
    ------
    NoProof
        If a release has no rule: the message names it.
    """
    if releases.group_size > 1:
        raise NoProof("group size: there is no rule for records that change together")
    if releases.chosen_under is not None:
        raise NoProof("a ledger's releases were chosen on the way: its budget is what holds, not their sum")
    used = sorted({kind for group in releases.groups for kind in group.counts})
    records = {
        f"group {i + 1}": {f"release {kind + 1}": count for kind, count in group.counts.items()}
        for i, group in enumerate(releases.groups)
    }
    return proof_data(
        claim_data(
            releases.neighbouring, ONE_REPORT, epsilon=exact_number(epsilon), delta=exact_number(delta)
        ),
        {f"release {kind + 1}": _release(releases.kinds[kind]) for kind in used},
        records,
        {"name": "plan", "resolution": resolution},
    )


def _release(release: Release) -> dict[str, Any]:
    written = release.written
    if written is None:
        raise NoProof(f"{release.name}: only its curve is known")
    if written.clients is not None:
        raise NoProof(f"{release.name}: there is no rule for shuffled messages")
    if written.rate < 1.0 and written.sampling not in _SAMPLES:
        raise NoProof(f"{release.name}: there is no rule for {written.sampling.value}")
    if written.kind not in _RULES:
        raise NoProof(f"{release.name}: there is no rule for {written.kind}")
    domain, mechanism = _RULES[written.kind](written)
    if written.rate < 1.0:
        mechanism = {"kind": _SAMPLES[written.sampling], "rate": exact_number(written.rate), "of": mechanism}
    return release_data(domain, mechanism, charged={})


_Rule = Callable[[WrittenRelease], tuple[ExactDomain, dict[str, Any]]]


def _is_replaced(written: WrittenRelease) -> bool:
    return written.relation is Neighbouring.REPLACE_ONE


def _noise(mechanism: type[Any]) -> _Rule:
    """Return the rule of a mechanism of this library: its noise, on values that move as the file states."""

    def rule(written: WrittenRelease) -> tuple[ExactDomain, dict[str, Any]]:
        if mechanism is RandomizedResponse and not _is_replaced(written):
            raise NoProof(f"{written.kind}: there is no rule for {written.relation.value!r}")
        calibrated = any(each.name == "sensitivity" for each in fields(mechanism))
        own = {"sensitivity": written.moved} if calibrated else {}
        noise: Mechanism = mechanism(**written.parameters, **own)
        return moved_domain(noise, written.moved, replaced=_is_replaced(written)), noise_data(noise)

    return rule


def _scores(*names: str) -> _Rule:
    def rule(written: WrittenRelease) -> tuple[ExactDomain, dict[str, Any]]:
        given, distance = {"positives": 1, **written.parameters}, Fraction(written.moved.linf)
        monotone = given.get("monotone", False)
        if monotone and _is_replaced(written):
            raise NoProof(
                f"{written.kind}: no rule says that scores move in one direction if a record is replaced"
            )
        low = Fraction(0) if monotone or _is_replaced(written) else -distance
        kind = "noisy-max" if written.kind == "permute-and-flip" else written.kind  # with exponential noise
        return ExactDomain("box", low, distance, 1), {
            "kind": kind.replace("-", " "),
            **{name: exact_number(given[name]) for name in names},
        }

    return rule


def _counter(*names: str) -> _Rule:
    def rule(written: WrittenRelease) -> tuple[ExactDomain, dict[str, Any]]:
        given: Mapping[str, Any] = {"participations": 1, "separation": 1, **written.parameters}
        kind = written.kind.replace("-", " ")
        domain, noise = _noise(Gaussian)(replace(written, parameters={"sigma": given["sigma"]}))
        return domain, {"kind": kind, **{name: given[name] for name in names}, "of": noise}

    return rule


def _notion(kind: str, *names: str) -> _Rule:
    def rule(written: WrittenRelease) -> tuple[ExactDomain, dict[str, Any]]:
        given = {"delta": 0, **written.parameters}
        stated = {name: exact_number(given[name]) for name in names}
        return ExactDomain("box", Fraction(0), Fraction(1), 1), {"kind": f"stated {kind}", **stated}

    return rule


_RULES: Mapping[str, _Rule] = {
    "laplace": _noise(Laplace),
    "gaussian": _noise(Gaussian),
    "discrete-laplace": _noise(DiscreteLaplace),
    "discrete-gaussian": _noise(DiscreteGaussian),
    "binomial": _noise(Binomial),
    "randomized-response": _noise(RandomizedResponse),
    "exponential-mechanism": _scores("scale"),
    "noisy-max": _scores("scale"),
    "permute-and-flip": _scores("scale"),
    "sparse-vector": _scores("threshold_scale", "query_scale", "positives"),
    "square-root-counter": _counter("horizon", "participations", "separation"),
    "banded-counter": _counter("horizon", "participations", "separation", "bandwidth"),
    "pure": _notion("approximate", "epsilon", "delta"),
    "bounded-range": _notion("bounded range", "epsilon"),
    "approximate": _notion("approximate", "epsilon", "delta"),
    "zcdp": _notion("zcdp", "rho"),
}
"""From the mechanisms of release files to the domains and the mechanisms of the format."""
