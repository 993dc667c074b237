"""The faults of learners by name."""

from __future__ import annotations

from functools import partial

from faults.data_faults import (
    AnotherName,
    FunctionWithMemory,
    HalvedSensitivity,
    InTwoBatches,
    NarrowDomain,
    NeverCleared,
    ParameterFromData,
    TransformationWithMemory,
)
from faults.fault import Fault, Misuse
from faults.noise_faults import (
    AgainByHand,
    AgainIfImplausible,
    AskedNoise,
    CachedNoise,
    HalvedNoise,
    PublicNoise,
    QuietClass,
    RawValue,
    ReleasedTwice,
    SharedNoise,
)

_RARE = (0.6, 0.62)
_RAW = "nothing stands between the data and what follows from them: some neighbours are told apart with certainty"
_DIFFERENCES = (
    "the difference of two such values is exact, so that whoever knows one record learns the others"
)
_TWICE = "a record is in two values that have full noise each, and loses as much in both of them"

LEARNER_FAULTS: dict[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault(
            "none",
            "nothing: the learner as it is, on a gate that passes everything on",
            "it is the learner that was certified",
            Misuse,
            factor=1.0,
        ),
        Fault(
            "more-noise",
            "public noise is added to released numbers",
            "what is computed from released values costs nothing",
            PublicNoise,
            factor=1.0,
        ),
        Fault(
            "doubled-noise",
            "the gate is asked for a mechanism with twice the noise",
            "the loss of a mechanism falls with its noise",
            partial(AskedNoise, 2.0),
            factor=1.0,
        ),
        Fault("raw-value", "raw values are used in place of released ones", _RAW, RawValue),
        Fault("raw-value-from-40", "the same from round 40 on", _RAW, RawValue, start=40),
        Fault("raw-value-from-1001", "the same from round 1,001 on", _RAW, RawValue, start=1_001),
        Fault("raw-value-on-one-lane", "the same, but never in lanes", _RAW, RawValue, one_lane=True),
        Fault(
            "raw-value-after-rare-value",
            f"the same once a report lay in ({_RARE[0]:g}, {_RARE[1]:g}) of its domain",
            _RAW,
            RawValue,
            span=_RARE,
        ),
        Fault(
            "no-noise",
            "values are released through a class of the author's own that adds no noise, and says it does",
            _RAW,
            QuietClass,
        ),
        Fault(
            "half-noise",
            "half of the noise is taken away again, with the help of the raw value",
            "noise of half the scale lets twice as much through",
            HalvedNoise,
            factor=1.5,
        ),
        Fault(
            "half-noise-asked-for",
            "the gate is asked for a mechanism with half the noise",
            "noise of half the scale lets twice as much through",
            partial(AskedNoise, 0.5),
            factor=1.5,
        ),
        Fault(
            "shared-noise", "the first noise that is drawn serves for all values", _DIFFERENCES, SharedNoise
        ),
        Fault("shared-noise-from-40", "the same from round 40 on", _DIFFERENCES, SharedNoise, start=40),
        Fault(
            "cached-noise",
            "noise is drawn once for every value, and a value that comes again gets the same noise",
            "two equal outputs tell that two values are equal, with certainty",
            CachedNoise,
        ),
        Fault("released-twice", "every value is released twice", _TWICE, ReleasedTwice, factor=1.5),
        Fault(
            "released-again-by-hand",
            "every value is released a second time without the gate, with the mechanism itself",
            _TWICE,
            AgainByHand,
            factor=1.5,
        ),
        Fault(
            "released-again-if-implausible",
            "a message that is too far outside of its domain to be plausible is asked for again",
            "after such an outcome the record has sent two messages; how likely it is does not matter for delta = 0",
            partial(AgainIfImplausible, 10.0),
            factor=1.5,
        ),
        Fault(
            "never-cleared",
            "sums are not cleared once they are released",
            "a record is part of every later release of its sum, and loses as much in each",
            NeverCleared,
            factor=1.5,
        ),
        Fault(
            "boundary-off-by-one",
            "a batch starts with the last value of the batch before",
            "the last record of every batch is in two releases, and loses as much in both",
            InTwoBatches,
            factor=1.5,
        ),
        Fault(
            "another-name",
            "every value is used twice, the second time under the name of another record",
            _TWICE,
            AnotherName,
            factor=1.5,
        ),
        Fault(
            "function-with-memory",
            "feedback passes a Python function that remembers the report before",
            _TWICE,
            FunctionWithMemory,
            factor=1.5,
        ),
        Fault(
            "transformation-with-memory",
            "feedback passes a transformation of the author's own class that remembers the report before",
            _TWICE,
            TransformationWithMemory,
            factor=1.5,
        ),
        Fault(
            "parameter-from-data",
            "feedback passes a transformation whose parameter follows from the raw report before",
            "a record is in its own message and, through the parameter, in the next, which has no noise for it",
            ParameterFromData,
            factor=1.5,
        ),
        Fault(
            "half-sensitivity",
            "noise is calibrated for half of the distance that a record can move a value",
            "noise of half the scale lets twice as much through",
            HalvedSensitivity,
            factor=1.5,
        ),
        Fault(
            "narrow-domain",
            "feedback comes from a domain of the author's own class that says half of its width",
            "noise of half the scale lets twice as much through",
            NarrowDomain,
            factor=1.5,
        ),
    )
}
"""Every fault of a learner; those that are harmless come first."""
