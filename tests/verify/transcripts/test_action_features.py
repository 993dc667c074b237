"""Features of transcripts against slow, literal readings of the same words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.events.event import Event, HalfLine, RowTable
from verify.events.readings import ColumnValue
from verify.transcripts.action_features import (
    ActionAt,
    ActionPath,
    FirstSwitch,
    PlayCount,
    PlayTime,
    _anchored_features,
    _general_features,
    _longest_path,
    features_for,
    first_actions,
    read_features,
    with_paths_spelled,
    without_repeats,
)
from verify.transcripts.transcript import ActionSpace, Transcript

ARMS, ROUNDS = 3, 7
actions_of_size = st.integers(1, 2).flatmap(
    lambda size: st.lists(
        st.lists(
            st.lists(st.integers(0, ARMS - 1), min_size=size, max_size=size), min_size=ROUNDS, max_size=ROUNDS
        ),
        min_size=1,
        max_size=4,
    )
)


def rounds_played(row, arm, first, last):
    return [t for t in range(first, last + 1) if arm in row[t - 1]]


@given(
    actions_of_size, st.integers(0, ARMS - 1), st.integers(1, 3), st.integers(0, 4), st.integers(5, ROUNDS)
)
def test_times_counts_and_switches_are_what_their_words_say(rows, arm, number, after, within):
    transcript = Transcript(np.array(rows, dtype=np.int16))
    times = PlayTime(arm, number, after, within).values(transcript)
    counts = PlayCount(arm, after + 1, within).values(transcript)
    for row, time, count in zip(rows, times, counts, strict=True):
        played = rounds_played(row, arm, after + 1, within)
        assert time == (played[number - 1] if len(played) >= number else within + 1)
        assert count == len(played)
    if after >= 1:
        for row, switch in zip(rows, FirstSwitch(after, within).values(transcript), strict=True):
            changed = [t for t in range(after + 1, within + 1) if row[t - 1] != row[t - 2]]
            assert switch == (changed[0] if changed else within + 1)


@given(actions_of_size)
def test_a_path_has_a_digit_for_every_place_and_paths_differ_where_actions_do(rows):
    transcript = Transcript(np.array(rows, dtype=np.int16))
    numbers = ActionPath(2, 4, ARMS).values(transcript)
    for row, number in zip(rows, numbers, strict=True):
        digits = [arm + 1 for played in row[1:4] for arm in played]
        assert number == sum(d * (ARMS + 1) ** k for k, d in enumerate(reversed(digits)))


def test_longest_path_is_exact_in_floating_point():
    for arms, size in ((2, 1), (10, 1), (20, 4), (1000, 1)):
        rounds = _longest_path(ActionSpace(arms, size))
        assert (arms + 1) ** (rounds * size) <= 2**53 < (arms + 1) ** ((rounds + 1) * size)


def test_a_hidden_round_changes_no_feature():
    rng = np.random.default_rng(1)
    first = rng.integers(0, ARMS, (50, ROUNDS, 1)).astype(np.int16)
    second = first.copy()
    second[:, 2] = (second[:, 2] + 1) % ARMS
    features = without_repeats(
        [
            *_general_features(ROUNDS, range(ARMS), ActionSpace(ARMS, 1)),
            *_anchored_features(ROUNDS, 3, range(ARMS), ActionSpace(ARMS, 1)),
        ]
    )
    samples = []
    for actions in (first, second):
        transcript = Transcript(actions)
        assert transcript.counts(0).shape == (50, ROUNDS)  # cached before the round is hidden
        transcript.hide(3)
        samples.append(read_features(features, transcript))
    assert np.array_equal(samples[0].values, samples[1].values)


def test_columns_have_names_of_their_own_and_read_no_later_round():
    features = without_repeats(
        [
            *_general_features(16, range(4), ActionSpace(4, 2)),
            *_anchored_features(16, 5, range(4), ActionSpace(4, 2)),
            *first_actions(16, ActionSpace(4, 2)),
        ]
    )
    sample = read_features(features, Transcript(np.zeros((64, 16, 2), dtype=np.int16)))
    assert len(sample.columns) == len(features)
    rng = np.random.default_rng(2)
    actions = rng.integers(0, 4, (20, 16, 2)).astype(np.int16)
    for feature in features:
        cut = actions.copy()
        cut[:, feature.last_round :] = 0
        assert np.array_equal(feature.values(Transcript(actions)), feature.values(Transcript(cut))), feature


@pytest.mark.parametrize("ranked", [True, False])
def test_action_columns_speak_of_items_and_arms(ranked):
    words = ActionAt(3, 2, 2, ranked).column.words
    assert ("item shown at position 2" in words) == ranked


@given(actions_of_size)
def test_a_path_s_number_gives_its_actions_back(rows):
    path = ActionPath(2, 5, ARMS)
    size = len(rows[0][0])
    for row, number in zip(rows, path.values(Transcript(np.array(rows, dtype=np.int16))), strict=True):
        expected = row[1:5] if size > 1 else [arms[0] for arms in row[1:5]]
        assert path.actions(int(number), size) == expected


def test_padding_is_left_out_of_a_path_s_actions():
    path = ActionPath(1, 2, ARMS)
    number = path.values(Transcript(np.array([[[2, -1], [-1, -1]]], dtype=np.int16)))[0]
    assert path.actions(int(number), 2) == [[2], []]


def test_events_of_paths_are_said_as_lists_of_arms_and_stay_the_same_events():
    features = [ActionPath(1, 3, 2), ActionAt(1, 1, 1)]
    transcript = Transcript(np.array([[[0], [1], [1]], [[1], [0], [0]], [[0], [0], [0]]], dtype=np.int16))
    sample = read_features(features, transcript)
    path, action = (ColumnValue(column) for column in sample.columns)
    numbers = sample.values[:, 0].tolist()
    one = RowTable((path,), ((numbers[0],),))
    spelled = with_paths_spelled(one, ActionSpace(2, 1))
    assert spelled.description == "the sequence of arms of rounds 1 to 3 = [0, 1, 1]"
    two = with_paths_spelled(
        RowTable((path,), ((numbers[0],), (numbers[1],)), complement=True), ActionSpace(2, 1)
    )
    assert two.description == "the sequence of arms of rounds 1 to 3 not in {[0, 1, 1], [1, 0, 0]}"
    assert spelled.holds(sample).tolist() == one.holds(sample).tolist() == [True, False, False]
    assert Event.rebuild(spelled.to_dict(), sample.columns) == one
    other = HalfLine(action, 0.0, False)
    assert with_paths_spelled(other, ActionSpace(2, 1)) is other


@pytest.mark.parametrize(("arms", "size", "record"), [(3, 1, 4), (5, 2, 1), (20, 1, None)])
def test_features_of_a_scan_are_as_recorded(arms, size, record, snapshot):
    """A change that is meant is recorded with ``--snapshot-update``, and the difference is read like code."""
    rng = np.random.default_rng(7)
    actions = np.stack(
        [rng.permuted(np.tile(np.arange(arms), (3, 1)), axis=1)[:, :size] for _ in range(20)], axis=1
    )
    transcript = Transcript(actions.astype(np.int16))
    features = without_repeats(features_for(transcript, ActionSpace(arms, size), record))
    sample = read_features(features, transcript)
    lines = [
        f"{column.name} ({column.kind}), {column.words}: {' '.join(f'{value:g}' for value in values)}"
        for column, values in zip(sample.columns, sample.values.T, strict=True)
    ]
    assert "\n".join(lines) == snapshot
