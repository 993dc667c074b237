"""The zoo: mechanisms of the literature, right and wrong, with their claims and their true privacy losses.

A test of the verifier and a gallery to learn from: ``dpwitness verify zoo/svt5``. Every file is one family, and every
specimen one function or class under `specimen`, with its claim, its source, its error if there is one, and its true
epsilon. (The exact probabilities behind that are with the tests, in ``tests/verify/zoo``.)

>>> from verify.zoo import specimens
>>> specimens["svt5"].true_epsilon
inf
>>> specimens["noisy-max-3"].why
'the value is released, not the index: five noises of ε/2 each are seen at once'
"""

from importlib import import_module
from pkgutil import iter_modules

from verify.zoo.specimen import Specimen, specimens

# Importing a file registers its specimens: a new file is all a family needs.
for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")

__all__ = ["Specimen", "specimens"]
