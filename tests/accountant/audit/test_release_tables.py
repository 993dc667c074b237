"""Release tables: what they may say, and one clear line with the place for everything else."""

import json
from fractions import Fraction

import pytest
from poisson import joining, subsampled

from accountant.audit import AuditQuestion, audit, calibrate
from accountant.audit.release_file import read_releases
from accountant.audit.release_tables import EVERYONE
from accountant.audit.releases import ReleaseFileError, scale_noise
from mechanisms import (
    BandedCounter,
    Binomial,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    GaussianProfile,
    Laplace,
    LaplaceProfile,
    PureProfile,
    RandomizedResponse,
    Sensitivity,
)
from mechanisms.amplification.random_allocation import RandomAllocationProfile
from mechanisms.amplification.sampled_group import PoissonReplacedProfile
from mechanisms.amplification.shuffled import shuffled
from mechanisms.amplification.shuffled_response import shuffled_response
from mechanisms.composition.composed_loss import compose
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.profiles.fixed_size import FixedSizeProfile
from mechanisms.profiles.related_profile import RelatedProfile
from mechanisms.profiles.subsampled import SubsampledProfile

UNIT = Sensitivity(1, 1, 1)


@pytest.fixture
def read(tmp_path):
    def call(text, suffix=".toml"):
        file = tmp_path / f"releases{suffix}"
        file.write_text(text)
        return read_releases(file)

    return call


def one(releases, factor=1.0):
    (group,) = releases.groups
    ((profile, count),) = releases.profile_counts(group, factor)
    return profile, count


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('mechanism = "laplace"\nscale = 4', Laplace(scale=4.0).profile()),
        ('mechanism = "Laplace"\nscale = 4\nsensitivity = 2', LaplaceProfile(2.0, 4.0)),
        ('mechanism = "gaussian"\nsigma = 0.5', GaussianProfile(2.0)),
        # What moves is what the mechanism itself says, not one coordinate by 1, as if shift had not been read.
        ('mechanism = "binomial"\ntrials = 400\nshift = 3', Binomial(trials=400, shift=3).profile()),
        (
            'mechanism = "binomial"\ntrials = 400\nshift = 3\ndimension = 5',
            Binomial(trials=400, shift=3, dimension=5).profile(),
        ),
        (
            'mechanism = "gaussian"\nsigma = 2.0\ndelta = 1e-6',
            Gaussian(sigma=2.0, sensitivity=UNIT).profile(),
        ),
        (
            'mechanism = "randomized-response"\nepsilon = 0.5\nk = 3',
            RandomizedResponse(size=3, epsilon=0.5).profile(),
        ),
        (
            'mechanism = "RandomizedResponse"\nepsilon = 0.5\nsize = 3',
            RandomizedResponse(size=3, epsilon=0.5).profile(),
        ),
        ('mechanism = "discrete_laplace"\nscale = 3', DiscreteLaplace(scale=3.0).profile()),
        (
            'mechanism = "discrete gaussian"\nsigma = 3',
            DiscreteGaussian(sigma=3.0, sensitivity=UNIT).profile(),
        ),
        (
            'mechanism = "laplace"\nscale = 4\nsensitivity = {l1 = 4, l2 = 2, linf = 1}',
            Laplace(scale=4.0, sensitivity=Sensitivity(4, 2, 1)).profile(),
        ),
        (
            'mechanism = "gaussian"\nsigma = 1.0\nsampling_rate = 0.1\nneighbours = "add or remove one"',
            subsampled(GaussianProfile(1.0), 0.1),
        ),
        (
            'mechanism = "gaussian"\nsigma = 1.0\nsampling_rate = 0.1\nneighbours = "Zero_Out"',
            SubsampledProfile(RelatedProfile(GaussianProfile(1.0), Neighbouring.ZERO_OUT), 0.1),
        ),
        (
            'mechanism = "gaussian"\nsigma = 1.0\nsampling_rate = 0.1\nneighbours = "replace-one"',
            PoissonReplacedProfile(joining(GaussianProfile(1.0)), 0.1),
        ),
        (
            'mechanism = "laplace"\nscale = 2.0\nsampling_rate = 0.1\nneighbours = "replace one"',
            PoissonReplacedProfile(joining(LaplaceProfile(1.0, 2.0)), 0.1),
        ),
        (
            'mechanism = "randomized-response"\nepsilon = 1\nk = 3\nsampling_rate = 0.1\n'
            'neighbours = "replace one"\nsampling = "fixed size"',
            FixedSizeProfile(RandomizedResponse(size=3, epsilon=1.0).profile(), 0.1),
        ),
        (
            'mechanism = "gaussian"\nsigma = 2.0\nsampling_rate = 0.1\nneighbours = "replace one"\n'
            'sampling = "fixed size"\ntriangle = true',
            FixedSizeProfile(GaussianProfile(0.5), 0.1, triangle=True),
        ),
        (
            'mechanism = "gaussian"\nsigma = 2.0\nsampling_rate = 0.01\nneighbours = "zero out"\n'
            'sampling = "random allocation"',
            RandomAllocationProfile(RelatedProfile(GaussianProfile(0.5), Neighbouring.ZERO_OUT), 100),
        ),
        (
            'mechanism = "cyclic-counter"\nsigma = 2.0\nhorizon = 90\nbandwidth = 10\nparts = 10\n'
            'sampling_probability = 0.1\nneighbours = "zero out"',
            BandedCounter(
                horizon=90, bandwidth=10, mechanism=Gaussian(sigma=2.0, sensitivity=1.0)
            ).cyclic_profile(10, 0.1, Neighbouring.ZERO_OUT),
        ),
        (
            'mechanism = "banded-counter"\nsigma = 2.0\nhorizon = 90\nbandwidth = 10\nparticipations = 4\n'
            "separation = 10",
            BandedCounter(
                horizon=90,
                mechanism=Gaussian(sigma=2.0, sensitivity=Sensitivity(1.0, 1.0, 1.0)),
                bandwidth=10,
                participations=4,
                separation=10,
            ).profile(),
        ),
        (
            'mechanism = "randomized-response"\nepsilon = 1\nk = 3\nshuffled = 500',
            shuffled_response(3, 1.0, 500),
        ),
        ('mechanism = "pure"\nepsilon = 1\nshuffled = 500', shuffled(PureProfile(1), 500)),
        (
            'mechanism = "gaussian"\nsigma = 1.0\nneighbours = "add or remove one"',
            joining(GaussianProfile(1.0)),
        ),
        ('mechanism = "gaussian"\nsigma = 1.0\nsampling_rate = 1', GaussianProfile(1.0)),
    ],
)
def test_tables_stand_for_profiles(read, text, expected):
    assert one(read(f"[[release]]\n{text}\ncount = 7\n")) == (expected, 7)


def test_notions_without_a_mechanism(read):
    profile, _ = one(read('[[release]]\nmechanism = "pure"\nepsilon = 0.25\n'))
    assert profile.pure_epsilon == Fraction(1, 4)
    profile, _ = one(read('[[release]]\nmechanism = "approximate"\nepsilon = 1\ndelta = 1e-6\n'))
    assert profile.infinite_mass == 1e-6
    profile, _ = one(read('[[release]]\nmechanism = "zcdp"\nrho = 0.125\n'))
    assert profile.rho == 0.125


def test_json_says_the_same(read):
    table = {"mechanism": "laplace", "scale": 4, "count": 3}
    assert one(read(json.dumps({"release": [table]}), ".json")) == (LaplaceProfile(1.0, 4.0), 3)


@pytest.mark.parametrize(
    ("kind", "name", "power"),
    [
        ('"laplace"\nscale = 4', "scale", 1),
        ('"gaussian"\nsigma = 4', "sigma", 1),
        ('"randomized-response"\nepsilon = 4\nk = 2', "epsilon", -1),
        ('"pure"\nepsilon = 4', "epsilon", -1),
        ('"zcdp"\nrho = 4', "rho", -2),
        ('"bounded-range"\nepsilon = 4', "epsilon", -1),
    ],
)
def test_a_noise_factor_changes_the_noise_parameters(read, kind, name, power):
    releases = read(f"[[release]]\nmechanism = {kind}\n")
    assert scale_noise(releases.kinds[0].parameters, 2.0) == {name: 4 * 2.0**power}
    assert one(releases, 2.0)[0].delta(0.1) < one(releases)[0].delta(0.1)


def test_groups_of_records(read):
    releases = read(
        """
        [[release]]
        mechanism = "laplace"
        scale = 1
        records = ["ann", "bob", 3]
        [[release]]
        mechanism = "laplace"
        scale = 2
        count = 5
        records = "bob"
        [[release]]
        mechanism = "laplace"
        scale = 3
        """
    )
    found = {group.name: (group.records, dict(group.counts)) for group in releases.groups}
    assert found == {"ann": (2, {0: 1, 2: 1}), "bob": (1, {0: 1, 1: 5, 2: 1})}


def test_without_labels_there_is_one_group(read):
    (group,) = read('[[release]]\nmechanism = "laplace"\nscale = 1\n').groups
    assert group.name == EVERYONE


BAD = [
    ('[[release]]\nmechanism = "laplace"\nscale = 1\nshuffled = 0', 4, "shuffled = 0"),
    (
        '[[release]]\nmechanism = "banded-counter"\nsigma = 1\nhorizon = 9\nbandwidth = 10',
        5,
        "bandwidth = 10",
    ),
    ('[[release]]\nmechanism = "square-root-counter"\nsigma = 1\nhorizon = 9.5', 4, "horizon = 9.5"),
    ('[[release]]\nmechanism = "gaussian"\nsigma = 1\nshuffled = 9', 2, "no finite pure epsilon"),
    (
        '[[release]]\nmechanism = "laplace"\nscale = 1\nshuffled = 9\nneighbours = "add or remove one"',
        2,
        "need it for 'replace one'",
    ),
    (
        '[[release]]\nmechanism = "laplace"\nscale = 1\nshuffled = 9\nsampling_rate = 0.5\n'
        'neighbours = "replace one"',
        4,
        "leave out 'sampling_rate'",
    ),
    ('[[release]]\nmechanism = "laplas"\nscale = 1', 2, "did you mean 'laplace'"),
    ("[[release]]\nmechanism = 3", 2, "must be a name"),
    ("[[release]]\nscale = 1", 1, "no key 'mechanism'"),
    ('[[release]]\nmechanism = "laplace"', 1, "needs the key 'scale'"),
    ('[[release]]\nmechanism = "laplace"\nscale = -1', 3, "scale = -1"),
    ('[[release]]\nmechanism = "laplace"\nscale = 0', 3, "positive"),
    ('[[release]]\nmechanism = "laplace"\nscale = "one"', 3, "scale = 'one'"),
    ('[[release]]\nmechanism = "laplace"\nscale = inf', 3, "scale = inf"),
    ('[[release]]\nmechanism = "laplace"\nscale = nan', 3, "scale"),
    ('[[release]]\nmechanism = "gaussian"\nscale = 1', 3, "unknown key 'scale'"),
    (
        '[[release]]\nmechanism = "gaussian"\nsigma = 1\nrate = 0.1',
        4,
        "unknown key 'rate'; the only ones are sigma, ",
    ),
    ('[[release]]\nmechanism = "laplace"\nscale = 1\nsensitivty = 1', 4, "did you mean 'sensitivity'"),
    ('[[release]]\nmechanism = "laplace"\nscale = 1\n\n# a comment\ncount = 0', 6, "count = 0"),
    ('[[release]]\nmechanism = "laplace"\nscale = 1\ncount = 2.5', 4, "count = 2.5"),
    ('[[release]]\nmechanism = "laplace"\nscale = 1\ncount = true', 4, "count = True"),
    ('[[release]]\nmechanism = "laplace"\nscale = 1\nsampling_rate = 0', 4, "sampling_rate = 0"),
    ('[[release]]\nmechanism = "laplace"\nscale = 1\nsampling_rate = 1.5', 4, "(0, 1]"),
    ('[[release]]\nmechanism = "laplace"\nscale = 1\nsensitivity = -2', 4, "sensitivity = -2"),
    ('[[release]]\nmechanism = "pure"\nepsilon = 1\nsensitivity = 5', 4, "however far it moves the value"),
    (
        '[[release]]\nmechanism = "laplace"\nscale = 1\nsampling = "poisson"\nsampling_rate = 1',
        4,
        "nothing is sampled",
    ),
    ('[[release]]\nmechanism = "laplace"\nscale = 1\nsensitivity = {l1 = 1}', 4, "l1, l2 and linf"),
    (
        '[[release]]\nmechanism = "laplace"\nscale = 1\nsensitivity = {l1 = 1, l2 = 2, linf = 1}',
        4,
        "linf <= l2 <= l1",
    ),
    ('[[release]]\nmechanism = "randomized-response"\nepsilon = 1\nk = 1', 4, "size = 1"),
    ('[[release]]\nmechanism = "approximate"\nepsilon = 1\ndelta = 1', 4, "delta = 1"),
    ('[[release]]\nmechanism = "laplace"\nscale = 1\nrecords = []', 4, "a label or a list"),
    ('[[release]]\nmechanism = "laplace"\nscale = 1\nrecords = [1.5]', 4, "records = [1.5]"),
    (
        'neighbours = "zero out"\n[[release]]\nmechanism = "laplace"\nscale = 1\nrecords = "a"\npartition = "b"',
        6,
        "use one of the two keys",
    ),
    (
        'neighbours = "zero out"\n[[release]]\nmechanism = "laplace"\nscale = 1\npartition = "photos"\n'
        '[[release]]\nmechanism = "laplace"\nscale = 1\nrecords = "ann"',
        9,
        "release 2: records: an earlier release names its group by 'partition'",
    ),
    ('[[release]]\nmechanism = "laplace"\nscale = 1\ncount = 10000000000000', 4, "at most 1,000,000,000,000"),
    ('[[release]]\nmechanism = "laplace"\nscale = 1\nname = 3', 4, "name = 3"),
    (
        '[[release]]\nmechanism = "laplace"\nscale = 1\n[[release]]\nmechanism = "gaussian"\nsigma = -3',
        6,
        "release 2: sigma = -3",
    ),
    (
        '[[release]]\nmechanism = "laplace"\nscale = 1\nneighbours = "bounded"',
        4,
        "must be one of 'replace one'",
    ),
    (
        'neighbours = "replace one"\n[[release]]\nmechanism = "laplace"\nscale = 1\nneighbours = "zero out"',
        5,
        "neighbours = 'zero out': the file is for 'replace one'",
    ),
    ('neighbours = 3\n[[release]]\nmechanism = "laplace"\nscale = 1', 1, "neighbours = 3"),
    (
        '[[release]]\nmechanism = "gaussian"\nsigma = 1\nsampling_rate = 0.1',
        4,
        "the file needs the key 'neighbours'",
    ),
    (
        '[[release]]\nmechanism = "laplace"\nscale = 1\nsampling = "fixed size"',
        4,
        "needs the key 'sampling_rate'",
    ),
    (
        '[[release]]\nmechanism = "laplace"\nscale = 1\nsampling = "shuffled"\nsampling_rate = 0.1',
        4,
        "must be one of 'poisson', 'fixed size'",
    ),
    (
        '[[release]]\nmechanism = "laplace"\nscale = 1\n'
        '[[release]]\nmechanism = "laplace"\nscale = 1\nneighbours = "zero out"',
        7,
        "earlier releases are for 'replace one', and the two do not compose; a loss for 'replace one' is converted",
    ),
    (
        '[[release]]\nmechanism = "laplace"\nscale = 1\nneighbours = "add or remove one"\n'
        '[[release]]\nmechanism = "laplace"\nscale = 1',
        5,
        "neighbours = 'replace one' (the default): earlier releases are for 'add or remove one'",
    ),
    (
        '[[release]]\nmechanism = "gaussian"\nsigma = 1\nsampling_rate = 0.1\nneighbours = "replace one"\n'
        "triangle = true",
        6,
        "triangle: matters for sampling = 'fixed size' alone",
    ),
    (
        '[[release]]\nmechanism = "gaussian"\nsigma = 1\nsampling_rate = 0.1\nsampling = "fixed size"\n'
        'neighbours = "replace one"\ntriangle = 1',
        7,
        "triangle = 1: must be true or false",
    ),
    (
        '[[release]]\nmechanism = "gaussian"\nsigma = 1\nsampling_rate = 0.013\nsampling = "random allocation"\n'
        'neighbours = "zero out"',
        5,
        "it must be 1/t",
    ),
    (
        '[[release]]\nmechanism = "pure"\nepsilon = 1\nsampling_rate = 0.1\nneighbours = "replace one"',
        4,
        "and what pure loses by that is not known; give sampling = 'fixed size'",
    ),
    (
        '[[release]]\nmechanism = "gaussian"\nsigma = 1\nsampling_rate = 0.1\nsampling = "fixed size"\n'
        'neighbours = "add or remove one"',
        6,
        "a sample of fixed size has a pair for 'replace one' only",
    ),
    (
        '[[release]]\nmechanism = "randomized-response"\nepsilon = 1\nk = 2\nneighbours = "add or remove one"',
        5,
        "the number of reports is public",
    ),
    (
        '[[release]]\nmechanism = "randomized-response"\nepsilon = 1\nk = 2\nsampling_rate = 0.5\n'
        'neighbours = "replace one"',
        5,
        "and what randomized-response loses by that is not known; give sampling = 'fixed size'",
    ),
    (
        '[[release]]\nmechanism = "laplace"\nscale = 1\npartition = "a"',
        4,
        "may leave one part and enter another",
    ),
    ('epsilon = 3\n[[release]]\nmechanism = "laplace"\nscale = 1', 1, "unknown key 'epsilon'"),
    ('[[release]]\nmechanism = "laplace"\nscale = 1\n[budget]\nepsilon = 1', 4, "unknown key 'budget'"),
]


@pytest.mark.parametrize(("text", "line", "words"), BAD)
def test_what_breaks_a_rule_is_named_with_its_line(read, text, line, words):
    with pytest.raises(ReleaseFileError) as error:
        read(text + "\n")
    assert f"line {line}: " in str(error.value)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_json_errors_have_lines_too(read):
    text = json.dumps(
        {"release": [{"mechanism": "laplace", "scale": 1}, {"mechanism": "laplace", "scale": -1}]}, indent=1
    )
    with pytest.raises(ReleaseFileError, match=r"line 9: release 2: scale = -1"):
        read(text, ".json")
    with pytest.raises(ReleaseFileError, match=r"line 2: not valid JSON"):
        read('{"release":\n]', ".json")
    with pytest.raises(ReleaseFileError, match=r"line 3: unknown key 'more'"):
        read('{"release": [{"mechanism": "laplace", "scale": 1}]\n,\n"more": {"scale": 2}}', ".json")


@pytest.mark.parametrize("text", ["", "[release]\nscale = 1", "release = 3", "release = []"])
def test_there_must_be_tables(read, text):
    with pytest.raises(ReleaseFileError, match=r"\[\[release\]\]"):
        read(text)


GAUSSIAN = """
neighbours = "{neighbours}"
[[release]]
mechanism = "gaussian"
sigma = 1.0
sampling_rate = 0.01
count = 500
{more}
"""

ASKED = [
    ("add or remove one", "", 1.5803318997),
    ("zero out", "", 1.5803318997),
    ("replace one", "", 2.2382069821),
    ("replace one", 'sampling = "fixed size"', 1.7977803895),
    ("replace one", 'sampling = "fixed size"\nsensitivity = 2', 12.898057742),
]


@pytest.mark.parametrize(("neighbours", "more", "epsilon"), ASKED)
def test_a_sampled_gaussian_costs_what_its_relation_says(read, neighbours, more, epsilon):
    """Issue 12, point 10, to eight digits and more."""
    releases = read(GAUSSIAN.format(neighbours=neighbours, more=more))
    answer = AuditQuestion(delta=1e-6).evaluate(compose(releases.profile_counts(releases.groups[0])))
    assert answer.upper == pytest.approx(epsilon, abs=2e-10, rel=5e-11)
    assert answer.width < (
        0.15 * epsilon if "fixed" in more else 1e-9
    )  # whose lower end is that of fixed data
    assert releases.neighbouring.value == neighbours
    joins, replaced = "a record that joins or leaves it", "a record of it that is replaced"
    moved = releases.kinds[0].sensitivity_text
    assert (replaced if "fixed" in more else "zeroed" if neighbours == "zero out" else joins) in moved


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title = 3", "line 1: title = 3: must be a text"),
        ('date = "soon"', "line 1: date = 'soon': must be a date"),
        ("notes = []", "line 1: notes = []: must be a text"),
    ],
)
def test_what_a_file_says_about_itself_is_checked(read, text, words):
    with pytest.raises(ReleaseFileError) as error:
        read(f'{text}\n[[release]]\nmechanism = "laplace"\nscale = 1\n')
    assert words in str(error.value)


def test_equal_tables_are_one_kind_whatever_is_said_of_them(read):
    table = '[[release]]\nmechanism = "laplace"\nscale = 1\ncount = {}\ndate = 2026-01-0{}\nnotes = "{}"\n'
    releases = read(table.format(2, 1, "a") + table.format(3, 2, "b"))
    assert [kind.name for kind in releases.kinds] == ["1: laplace scale=1"]
    assert one(releases) == (LaplaceProfile(1.0, 1.0), 5)


RESPONSE = '[[release]]\nmechanism = "randomized-response"\nepsilon = 1\n'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (RESPONSE + "size = 2\nsensitivity = 0.5", "each norm must be 0 or at least 1"),
        (
            RESPONSE + "size = 2\nsensitivity = {l1 = 2, l2 = 1, linf = 0.5}",
            "each norm must be 0 or at least 1",
        ),
        ('[[release]]\nmechanism = "binomial"\ntrials = 400\nshift = 1\nsensitivity = 0.5', "each norm"),
        (
            '[[release]]\nmechanism = "cyclic-counter"\nsigma = 2.0\nhorizon = 90\nbandwidth = 10\nparts = 10\n'
            "sampling_probability = 0.1",
            "sampling_probability = 0.1: what a sampled release costs depends on the neighbouring relation",
        ),
        (RESPONSE + "size = 2\nk = 100000", "line 5: release 1: k: is another name of 'size'"),
        (RESPONSE + 'size = 2\nrecords = ["ann", "bob", "ann"]', "records: 'ann' is listed twice"),
        (RESPONSE + 'size = 2\nrecords = [7, "7"]', "records: '7' is listed twice"),
        (RESPONSE + 'size = 2\nrecords = ["ann", "ann "]', "records: 'ann' is listed twice"),
        (RESPONSE + 'size = 2\nrecords = " "', "line 5: release 1: records = '': must be visible characters"),
        (RESPONSE + 'size = 2\nrecords = "a\u00a0b"', r"records = 'a\\xa0b': must be .* say 'a b'"),
        (RESPONSE + 'size = 2\nrecords = "a\u200b"', r"records = 'a\\u200b': must be .* say 'a'"),
        (RESPONSE + 'size = 2\nrecords = "a  b"', "records = 'a  b': must be"),
        (
            '[[release]]\nmechanism = "pure"\nepsilon = 9007199254740993',
            "epsilon = 9007199254740993: must be a float",
        ),
        (
            '[[release]]\nmechanism = "pure"\nepsilon = 1\ndate = "2026-W01"',
            "date = '2026-W01': must be a date",
        ),
        (
            '[[release]]\nmechanism = "pure"\nepsilon = 1\ndate = "20260101"',
            "date = '20260101': must be a date",
        ),
        (RESPONSE + 'size = 2\nrecords = ["ann;bob"]', "records: 'ann;bob': names no semicolon"),
        (
            '[[release]]\nmechanism = "approximate"\nepsilon = 1\ndelta = 1e-400',
            "1e-400 is smaller than every float",
        ),
    ],
)
def test_what_would_cost_less_than_it_may_is_refused(read, text, problem):
    """Half a category moved nothing, the larger of two sizes hid the other, and who stood twice counted once."""
    with pytest.raises(ReleaseFileError, match=problem):
        read(text)


@pytest.mark.parametrize("other", ["café ", "cafe\u0301"])
def test_a_label_is_one_however_unicode_writes_it(read, other):
    """A record whose name was written in two ways was two records, each of which had lost half."""
    table = '[[release]]\nmechanism = "laplace"\nscale = 1\nrecords = "{}"\n'
    for suffix, text in (
        (".toml", table.format("café") + table.format(other)),
        (".csv", f"mechanism,scale,records\nlaplace,1,café\nlaplace,1,{other}\n"),
    ):
        assert one(read("\ufeff" + text, suffix))[1] == 2


def test_kinds_that_share_a_name_are_told_apart(read):
    """Of the first it was said that as many more fit as of the second."""
    table = '[[release]]\nname = "{}"\nmechanism = "laplace"\nscale = {}\n'
    releases = read(table.format("x", 1) + table.format("2: x", 10) + table.format("x", 100))
    found = audit(releases, AuditQuestion(delta=0.0), budget=3.0).remaining
    assert found.more == {"x": 1, "2: x": 18, "3: x": 189}
    assert set(calibrate(releases, 1.0, 0.0).parameters) == {"x", "2: x", "3: x"}
