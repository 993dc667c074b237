"""The line numbers of keys in TOML and JSON."""

import tracemalloc

from accountant.audit.line_numbers import TomlLineNumbers


def test_lines_follow_nested_tables_and_strings():
    text = 'title = "[[release]]"\n[[release]]\nscale = 1\n[release.sensitivity]\nl1 = 1\n[[ release ]]\n"count" = 2\n'
    lines = TomlLineNumbers(text, toml=True)
    assert [lines.key(0, "scale"), lines.key(0, "l1"), lines.key(1, "count"), lines.key(1, None)] == [
        3,
        5,
        7,
        6,
    ]
    assert lines.top_level("title") == 1
    assert lines.key(5, "scale") == 1
    nested = '{"a": {"release": [{"x": 1}]},\n"release": [\n{"b": {"scale": 3}, "c": [1, 2],\n"scale": 4}]}'
    assert TomlLineNumbers(nested, toml=False).key(0, "scale") == 4


def test_strings_that_are_values_are_no_keys():
    text = '{"delta": "neighbours",\n"names": ["delta", "scale"],\n"neighbours": "scale",\n"release": [\n'
    text += '{"kind": "scale",\n"tags": ["count", "l1"],\n"count": "l1",\n"scale": 1,\n"l1": {}}]}'
    lines = TomlLineNumbers(text, toml=False)
    assert [lines.top_level(key) for key in ("delta", "names", "neighbours", "release")] == [1, 2, 3, 4]
    assert [lines.key(0, key) for key in ("kind", "tags", "count", "scale", "l1")] == [5, 6, 7, 8, 9]


class Counted(str):
    """A text that knows how many of its characters were searched for line breaks."""

    searched = 0

    def count(self, what: str, start: int, end: int) -> int:
        self.searched += end - start
        return super().count(what, start, end)


def test_each_line_is_counted_once():
    """A file of 8,000 releases took 13 seconds, and one of twice as many four times as long."""
    text = Counted('{"release": [\n' + '{"scale": 1},\n' * 500 + '{"scale": 2}]}')
    assert TomlLineNumbers(text, toml=False).key(500, "scale") == 502
    assert 0 < text.searched <= len(text)


def test_lines_are_looked_for_when_one_is_asked_for():
    text = Counted('{"title": 1}')
    lines = TomlLineNumbers(text, toml=False)
    assert text.searched == 0
    assert lines.top_level("title") == 1
    assert text.searched > 0


def test_a_long_text_takes_no_memory_of_its_own():
    """Every character took 127 bytes."""
    text = '{"notes": "' + r"a\"" * 100_000 + '",\n"title": 1}'
    tracemalloc.start()
    try:
        assert TomlLineNumbers(text, toml=False).top_level("title") == 2
        assert tracemalloc.get_traced_memory()[1] < 4 * len(text)
    finally:
        tracemalloc.stop()
