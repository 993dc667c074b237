"""References: the publications of the theorems and methods that results use."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

_DWORK_2006 = (
    "C. Dwork, F. McSherry, K. Nissim, A. Smith, Calibrating noise to sensitivity in private data analysis, "
    "TCC 2006"
)
_DWORK_2010 = "C. Dwork, G. Rothblum, S. Vadhan, Boosting and differential privacy, FOCS 2010"
_KAIROUZ = "P. Kairouz, S. Oh, P. Viswanath, The composition theorem for differential privacy, ICML 2015"
_MURTAGH = (
    "J. Murtagh, S. Vadhan, The complexity of computing the optimal composition of differential privacy, TCC "
    "2016"
)
_BUN = "M. Bun, T. Steinke, Concentrated differential privacy: simplifications, extensions, and lower bounds, TCC 2016"
_CANONNE = "C. Canonne, G. Kamath, T. Steinke, The discrete Gaussian for differential privacy, NeurIPS 2020"
_MIRONOV = "I. Mironov, Rényi differential privacy, CSF 2017"
_DONG = "J. Dong, A. Roth, W. Su, Gaussian differential privacy, J. R. Stat. Soc. B, 2022"
_DONG_2020 = (
    "J. Dong, D. Durfee, R. Rogers, Optimal differential privacy composition for exponential mechanisms, ICML "
    "2020"
)
_ZHU = (
    "Y. Zhu, J. Dong, Y.-X. Wang, Optimal accounting of differential privacy via characteristic function, "
    "AISTATS 2022"
)
_ROGERS = (
    "R. Rogers, A. Roth, J. Ullman, S. Vadhan, Privacy odometers and filters: pay-as-you-go composition, NIPS "
    "2016"
)
_FELDMAN = "V. Feldman, T. Zrnic, Individual privacy accounting via a Rényi filter, NeurIPS 2021"
_LECUYER = (
    "M. Lécuyer, Practical privacy filters and odometers with Rényi differential privacy and applications to "
    "differentially private deep learning, arXiv, 2021"
)
_WHITEHOUSE = (
    "J. Whitehouse, A. Ramdas, R. Rogers, Z. S. Wu, Fully-adaptive composition in differential privacy, "
    "ICML 2023"
)
_SMITH = "A. Smith, A. Thakurta, Fully adaptive composition for Gaussian differential privacy, arXiv, 2022"
_KOSKELA = (
    "A. Koskela, M. Tobaben, A. Honkela, Individual privacy accounting with Gaussian differential privacy, "
    "ICLR 2023"
)
_BALLE = (
    "B. Balle, G. Barthe, M. Gaboardi, Privacy amplification by subsampling: tight analyses via couplings and "
    "divergences, NeurIPS 2018"
)
_CLOPPER = (
    "C. Clopper, E. Pearson, The use of confidence or fiducial limits illustrated in the case of the binomial, "
    "Biometrika, 1934"
)
_WAUDBY_SMITH = (
    "I. Waudby-Smith, A. Ramdas, Estimating means of bounded random variables by betting, J. R. Stat. Soc. B, "
    "2024"
)

_CHEN = (
    "X. Chen, K. Zheng, Z. Zhou, Y. Yang, W. Chen, L. Wang, (Locally) differentially private combinatorial "
    "semi-bandits, ICML 2020"
)
_WANG = "K. Wang, J. Dong, B. Wang, S. Li, S. Shao, Cascading bandit under differential privacy, arXiv 2105.11126, 2021"
_CHANDAK = (
    "K. Chandak, B. Hu, N. Hegde, Differentially private algorithms for efficient online matroid optimization, "
    "CoLLAs 2023"
)
_LI = (
    "F. Li, X. Zhou, B. Ji, Differentially private linear bandits with partial distributed feedback, arXiv "
    "2207.05827, 2022"
)

_SAJED = (
    "T. Sajed, O. Sheffet, An optimal private stochastic-MAB algorithm based on an optimal private stopping "
    "rule, ICML 2019"
)
_AZIZE_2022 = (
    "A. Azize, D. Basu, When privacy meets partial information: a refined analysis of differentially private "
    "bandits, NeurIPS 2022"
)
_AZIZE_2025 = (
    "A. Azize, Y. Wu, J. Honda, F. Orabona, S. Ito, D. Basu, Optimal regret of Bernoulli bandits under global "
    "differential privacy, arXiv 2505.05613, 2025"
)
_HU = (
    "B. Hu, N. Hegde, Near-optimal Thompson sampling-based algorithms for differentially private stochastic "
    "bandits, UAI 2022"
)
_KVETON_2014 = (
    "B. Kveton, Z. Wen, A. Ashkan, H. Eydgahi, B. Eriksson, Matroid bandits: fast combinatorial optimization "
    "with learning, UAI 2014"
)
_KVETON_2015 = (
    "B. Kveton, C. Szepesvári, Z. Wen, A. Ashkan, Cascading bandits: learning to rank in the cascade model, "
    "ICML 2015"
)
_CHEN_2013 = (
    "W. Chen, Y. Wang, Y. Yuan, Combinatorial multi-armed bandit: general framework and applications, "
    "ICML 2013"
)

COUNTS = "bounds on probabilities from counts"
PROFILE = "the mechanism's privacy profile"
EXACT_COMPOSITION = "the exact composition of the releases' privacy profiles"
BETS = "tests that may stop at any time"

PUBLICATIONS = MappingProxyType(
    {
        "basic composition": (_DWORK_2006, _ROGERS),
        "advanced composition": (_DWORK_2010,),
        "optimal composition, closed bound": (_KAIROUZ,),
        "optimal composition": (_KAIROUZ, _MURTAGH),
        "corollary 4.1": (_KAIROUZ,),
        "zCDP": (_BUN, _CANONNE),
        "Renyi DP": (_MIRONOV, _CANONNE),
        "Renyi DP over all data": (_MIRONOV,),
        "adaptive worst case": (_DONG_2020,),
        "Gaussian DP": (_DONG,),
        "privacy-loss distributions": (_ZHU,),
        "advanced composition filter": (_ROGERS, _WHITEHOUSE),
        "zCDP filter": (_BUN, _FELDMAN, _LECUYER, _WHITEHOUSE),
        "Rényi filter": (_MIRONOV, _FELDMAN, _LECUYER, _CANONNE),
        "Gaussian DP filter": (_DONG, _SMITH, _KOSKELA),
        "declared plan": (_ZHU,),
        COUNTS: (_CLOPPER,),
        PROFILE: (_BALLE,),
        EXACT_COMPOSITION: (_BALLE, _ZHU),
        BETS: (_WAUDBY_SMITH,),
        "Azize & Basu 2022": (_AZIZE_2022,),
        "Azize, Wu, Honda, Orabona, Ito & Basu 2025": (_AZIZE_2025,),
        "Chen et al. 2020": (_CHEN,),
        "Chen, Wang & Yuan 2013": (_CHEN_2013,),
        "Hu & Hegde 2022": (_HU,),
        "Kveton et al. 2014": (_KVETON_2014,),
        "Kveton et al. 2015": (_KVETON_2015,),
        "Sajed & Sheffet 2019": (_SAJED,),
        "cascading bandits paper": (_WANG,),
        "matroid bandits paper": (_CHANDAK,),
        "distributed linear bandits paper": (_LI,),
    }
)
"""The publication of each theorem, filter, method and claim, by its name in results."""


def references(names: Iterable[str]) -> tuple[str, ...]:
    """Return a line for each name that is known, alone or followed by a comma and how it was used."""
    found = {}
    for words in names:
        known = (one for one in PUBLICATIONS if words == one or words.startswith(f"{one},"))
        name = max(known, key=len, default="")
        if name:
            title = name.capitalize() if name.islower() else name
            found[name] = f"{title}: {'; '.join(PUBLICATIONS[name])}."
    return tuple(found.values())
