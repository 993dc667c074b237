"""Where the theorems are published that results name."""

from __future__ import annotations

from collections.abc import Iterable

_REFERENCES = (
    (
        ("basic composition", "sum of"),
        "Basic composition: C. Dwork, F. McSherry, K. Nissim, A. Smith, Calibrating noise to sensitivity in private "
        "data analysis, TCC 2006.",
    ),
    (
        ("advanced composition",),
        "Advanced composition: C. Dwork, G. Rothblum, S. Vadhan, Boosting and differential privacy, FOCS 2010.",
    ),
    (
        ("optimal composition",),
        "Optimal composition: P. Kairouz, S. Oh, P. Viswanath, The composition theorem for differential privacy, ICML "
        "2015; J. Murtagh, S. Vadhan, The complexity of computing the optimal composition of differential privacy, TCC "
        "2016.",
    ),
    (("zcdp", "zero-concentrated"), "zCDP: M. Bun, T. Steinke, Concentrated differential privacy, TCC 2016."),
    (("renyi", "rényi"), "Rényi differential privacy: I. Mironov, CSF 2017."),
    (("gaussian",), "Gaussian differential privacy: J. Dong, A. Roth, W. Su, JRSSB 84, 2022."),
    (
        ("privacy profile",),
        "Privacy profiles: B. Balle, G. Barthe, M. Gaboardi, Privacy profiles and amplification by subsampling, JPC "
        "10, 2020.",
    ),
    (
        ("privacy-loss distribution",),
        "Privacy-loss distributions: A. Koskela, J. Jälkö, A. Honkela, Computing tight differential privacy guarantees "
        "using FFT, AISTATS 2020.",
    ),
    (
        ("confidence",),
        "Bounds on probabilities from counts: C. Clopper, E. Pearson, The use of confidence or fiducial limits "
        "illustrated in the case of the binomial, Biometrika 26, 1934.",
    ),
    (
        ("bets",),
        "Tests that may stop at any time: I. Waudby-Smith, A. Ramdas, Estimating means of bounded random variables by "
        "betting, JRSSB 86, 2024.",
    ),
)


def references(words: Iterable[str]) -> tuple[str, ...]:
    """Return the references of the theorems that some words name."""
    said = " ".join(words).lower()
    return tuple(reference for names, reference in _REFERENCES if any(name in said for name in names))
