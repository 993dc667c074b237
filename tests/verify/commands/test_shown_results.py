"""Files of results."""

import json

from verify.commands.shown_results import json_text


def test_half_a_surrogate_pair_is_written_as_json_escapes_it():
    data = {"output": "\ud800", "é": "\\ud800", "n": 1}
    assert json.loads(json_text(data).decode("utf-8")) == data
    assert "é".encode() in json_text(data)
