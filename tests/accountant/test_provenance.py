"""A result says when and by which code it was made."""

from datetime import UTC, datetime, timedelta

import pytest

from accountant.files.json_object import JsonError, JsonObject
from accountant.provenance import Provenance, file_digest, made_now


def test_what_is_made_now_says_so_and_comes_back():
    made = made_now(subject="ab", input="")
    assert abs(datetime.fromisoformat(made.date) - datetime.now(UTC)) < timedelta(hours=1)
    assert {"python", "dpwitness", "hypothesis"} <= made.versions.keys()
    assert made.digests.keys() == {"dpwitness", "subject"}
    read = JsonObject(made.json(), "it")
    assert Provenance.from_fields(read) == made
    read.end()


@pytest.mark.parametrize(
    "date",
    ["next tuesday", "2026-11-23", "2026-11-23T18:00:00", "2026-11-23T18:00:00+01:00", "\x1b[31m", "inf"],
)
def test_a_date_that_is_none_is_refused(date):
    written = {**made_now().json(), "date": date}
    with pytest.raises(JsonError, match=r"date = .*must be a time in UTC"):
        Provenance.from_fields(JsonObject(written, "it"))


def test_the_digest_of_a_file_is_its_sha_256(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    assert (
        file_digest(tmp_path / "empty") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )
