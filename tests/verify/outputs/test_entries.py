"""How deep lists may lie within lists."""

from collections import OrderedDict

import pytest

from verify.outputs.entries import DEEPEST
from verify.outputs.output_readings import UnreadableOutput
from verify.outputs.read_outputs import read_outputs


def test_lists_too_deep_are_refused():
    for wrap in (lambda x: [x], lambda x: {"a": x}, lambda x: OrderedDict(a=x), lambda x: (x,)):
        output = 0.0
        for _ in range(DEEPEST - 1):
            output = wrap(output)
        read_outputs([output])
        for _ in range(3000):
            output = wrap(output)
        with pytest.raises(UnreadableOutput, match="more than 50 deep"):
            read_outputs([output])


def test_how_deep_lists_may_lie():
    output = 0.0
    for _ in range(DEEPEST):
        output = {"a": output}
    read_outputs([output])
    with pytest.raises(UnreadableOutput, match="more than 50 deep"):
        read_outputs([{"a": output}])
