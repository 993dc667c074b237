"""Other accountants' cost of the same compositions, for each library that is installed.

Each function returns ε as its library states it. dp-accounting and prv-accountant discretise losses (the first rounds
up, the second says between which bounds ε is), Opacus and autodp add up Rényi divergences: an upper bound and no more.
autodp's characteristic functions return a negative ε for Laplace noise with the SciPy of today.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec


@dataclass(frozen=True)
class Release:
    """Noise of a scale (Laplace) or standard deviation, on a sample of a rate (1: on all), so often."""

    kind: str
    scale: float
    rate: float = 1.0
    count: int = 1


@dataclass(frozen=True)
class Said:
    """What a library says: ε, and how far apart its own bounds are, if it has two."""

    epsilon: float
    width: float | None = None


Peer = Callable[[Sequence[Release], float], Said | None]
"""Returns None for what the library has no function for."""


def dp_accounting(releases: Sequence[Release], delta: float) -> Said | None:
    from dp_accounting.pld import privacy_loss_distribution as pld

    def one(release: Release) -> pld.PrivacyLossDistribution:
        if release.kind == "laplace":
            own = pld.from_laplace_mechanism(release.scale)
        else:
            own = pld.from_gaussian_mechanism(release.scale, sampling_prob=release.rate)
        return own if release.count == 1 else own.self_compose(release.count)

    total = one(releases[0])
    for release in releases[1:]:
        total = total.compose(one(release))
    return Said(total.get_epsilon_for_delta(delta))


def prv_accountant(releases: Sequence[Release], delta: float) -> Said | None:
    import prv_accountant as prv
    from prv_accountant import GaussianMechanism, LaplaceMechanism

    def one(release: Release) -> object:
        if release.kind == "laplace":
            return LaplaceMechanism(mu=1.0 / release.scale)
        if release.rate == 1.0:
            return GaussianMechanism(release.scale)
        return prv.PoissonSubsampledGaussianMechanism(
            noise_multiplier=release.scale, sampling_probability=release.rate
        )

    counts = [release.count for release in releases]
    accountant = prv.PRVAccountant(
        prvs=[one(release) for release in releases],
        max_self_compositions=counts,
        eps_error=0.01,
        delta_error=delta * 1e-4,
    )
    low, _, high = accountant.compute_epsilon(delta=delta, num_self_compositions=counts)
    return Said(high, high - low)


def opacus(releases: Sequence[Release], delta: float) -> Said | None:
    from opacus.accountants import RDPAccountant

    if any(release.kind == "laplace" for release in releases):
        return None
    accountant = RDPAccountant()
    accountant.history = [(release.scale, release.rate, release.count) for release in releases]
    return Said(accountant.get_epsilon(delta))


def autodp(releases: Sequence[Release], delta: float) -> Said | None:
    from autodp import mechanism_zoo, transformer_zoo

    counts = [release.count for release in releases]
    if any(release.rate < 1.0 for release in releases):
        sampled = [
            mechanism_zoo.SubsampleGaussianMechanism(
                {"prob": release.rate, "sigma": release.scale, "coeff": release.count}
            )
            for release in releases
        ]
        return Said(float(transformer_zoo.Composition()(sampled, [1] * len(sampled)).get_approxDP(delta)))
    if all(release.kind == "laplace" for release in releases):
        noises = [mechanism_zoo.LaplaceMechanism(b=release.scale) for release in releases]
        return Said(float(transformer_zoo.Composition()(noises, counts).get_approxDP(delta)))
    every = [mechanism_zoo.GaussianMechanism(sigma=release.scale) for release in releases]
    return Said(float(transformer_zoo.ComposeGaussian()(every, counts).get_approxDP(delta)))


PEERS: dict[str, tuple[str, Peer]] = {
    "dp-accounting": ("dp_accounting", dp_accounting),
    "prv-accountant": ("prv_accountant", prv_accountant),
    "Opacus": ("opacus", opacus),
    "autodp": ("autodp", autodp),
}
"""Names, the package each needs, and what asks it."""


def installed() -> dict[str, Peer]:
    """Return the peers whose package is here."""
    return {name: peer for name, (package, peer) in PEERS.items() if find_spec(package) is not None}
