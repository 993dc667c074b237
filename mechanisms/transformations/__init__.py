"""Transformations of data, as values: domain in, domain out, stability proved.

==================  ========================================================================
`Affine`            ``factor x + shift``
`Clip`              into [lower, upper]
`Choose`            coordinates at a public index
`LinearMap`         ``matrix @ x``
`CategoryToOneHot`  a category as a vector; `FirstAbove` is the way back, and the first click
`Above`             1 above a public threshold, else 0
`BitsToCategory`    bits as one category
`RandomRounding`    to whole numbers, with public randomness
`Table`             the entry of a public table for each category
==================  ========================================================================

``first >> second`` is a `Chain`, ``transformation >> mechanism`` a `Transformed` mechanism.
"""

from mechanisms.transformations.arithmetic import Affine, Choose, Clip, LinearMap
from mechanisms.transformations.before_mechanism import Transformed
from mechanisms.transformations.categories import (
    Above,
    BitsToCategory,
    CategoryToOneHot,
    FirstAbove,
    RandomRounding,
    Table,
)
from mechanisms.transformations.transformation import Chain, Transformation

__all__ = [
    "Above",
    "Affine",
    "BitsToCategory",
    "CategoryToOneHot",
    "Chain",
    "Choose",
    "Clip",
    "FirstAbove",
    "LinearMap",
    "RandomRounding",
    "Table",
    "Transformation",
    "Transformed",
]
