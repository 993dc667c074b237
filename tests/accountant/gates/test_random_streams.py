"""Random numbers of one run: no two kinds share a stream, and none changes its own."""

from accountant.gates.random_streams import RandomStream


def test_streams_are_those_that_seeded_results_follow_from() -> None:
    assert dict(RandomStream.__members__) == {
        "NOISE": 0,
        "OWN_DRAWS": 1,
        "ENVIRONMENT": 2,
        "ACCOUNTANT_DRAWS": 0x9D1C,
    }
    assert len(RandomStream) == len(RandomStream.__members__), (
        "one that has another's number is the same stream"
    )
