"""Every kind of finding belongs to a layer."""

import pytest

from verify.findings import FindingKind
from verify.mutants.layers import LAYER_OF, Layer, layers_in_the_way
from verify.verification import verify


def test_every_kind_of_finding_has_its_layer():
    assert set(LAYER_OF) == set(FindingKind)


@pytest.mark.slow
def test_nothing_is_in_the_way_of_a_certificate():
    result = verify("dp-pe-local", epsilon=1.0, delta=1e-3, effort="quick")
    assert result.verdict == "certified"
    assert layers_in_the_way(result) == ()


def test_a_refutation_of_the_view_is_named():
    result = verify("zoo/gaussian-wrong-sensitivity", effort="quick", samples=20_000)
    assert result.verdict == "refuted"
    assert layers_in_the_way(result) == (Layer.VIEW,)
