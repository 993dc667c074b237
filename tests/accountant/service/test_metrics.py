"""Prometheus's text format."""

from accountant.service.metrics import Gauge, Metrics


def test_histograms_add_up_and_labels_are_escaped() -> None:
    metrics = Metrics()
    for seconds in (0.001, 0.3, 99.0):
        metrics.count_request('a"\\\n', 200, None, seconds)
    gauges = [Gauge("share", "Of it.", 0.25), Gauge("open", "Of each.", 1, (("run", "a"),))]
    lines = metrics.text([*gauges, Gauge("open", "Of each.", 2, (("run", "b"),))]).splitlines()
    name = 'dpwitness_request_seconds_bucket{route="a\\"\\\\\\n",le='
    counts = [line.rpartition(" ")[2] for line in lines if line.startswith(name)]
    assert counts == ["1"] * 5 + ["1"] + ["2"] * 5 + ["3"]
    assert lines[-7:] == [
        "# HELP open Of each.",
        "# TYPE open gauge",
        'open{run="a"} 1',
        'open{run="b"} 2',
        "# HELP share Of it.",
        "# TYPE share gauge",
        "share 0.25",
    ]
