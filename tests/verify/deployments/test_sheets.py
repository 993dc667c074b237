"""Answer sheets: what files prove beside what people declare, and declarations that contradict it."""

import datetime
import json
import math
import re
from dataclasses import replace

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker

from accountant import Accountant, Budget
from accountant.audit import Audit, AuditQuestion, audit, read_releases
from accountant.compositions import COMPOSITIONS
from accountant.trust import Trust
from algorithms.claim import ClaimForm, View
from algorithms.problems import SettingError
from mechanisms import Gaussian, Interval, Laplace
from verify.commands.command_group import cli
from verify.deployments.deployment import KEYS, Deployment, registry_fields, registry_schema
from verify.deployments.nist_sheet import TOPICS, nist_sheet
from verify.deployments.proved_facts import (
    ProvedFacts,
    bound_words,
    check_declarations,
    known_values,
    read_proved_facts,
)
from verify.deployments.registry_entry import registry_entry
from verify.deployments.yaml_text import yaml_text
from verify.document.markdown_text import markdown
from verify.findings.finding import LowerBound, UpperBound
from verify.findings.sentences import exact
from verify.verdict.result import Verification
from verify.verdict.result_kinds import document_of
from verify.verdict.subject_kind import SubjectKind
from verify.verdict.verdict import Decision

LAPLACE = Laplace(scale=10.0)
VERIFIED = Verification(
    "noise",
    SubjectKind.MECHANISM,
    ClaimForm("central", View.OUTPUT, "one report", "its parameters").with_parameters(1.0),
    Decision("certified", (exact("proved"),)),
    UpperBound(1.0, 0.0, "its profile"),
    None,
    None,
    (),
    0,
)
TODAY = datetime.datetime.now(datetime.UTC).date()
REQUIRED = """
[deployment]
name = "URL reports – März"
curators = [{name = "Example Ltd", type = "Industry"}]
description = "Daily counts of views of a URL."
intended_use = "Research on shared links."
product_type = "Dataset"
region = "EU"
[administrative]
authors = ["A. Person"]
"""
FULL = f"""
[deployment]
name = "URL reports – März"
curators = [{{name = "Example Ltd", type = "Industry"}}]
description = "Daily counts of views of a URL."
intended_use = "Research on shared links."
product_type = "Dataset"
region = "EU"
sector = "Technology"
published = {TODAY + datetime.timedelta(days=40)}
[privacy]
unit = "one user"
unit_details = "All rows of one user id, at most 10."
units = 12000
domain = "All multisets of rows."
unprotected = ["the number of URLs"]
other_releases = "none of these data"
[model]
name = "Central"
name_details = "One curator."
trust_assumptions = "Operators and analysts do not collude."
actors = '''Curator sees raw data.
Analysts see releases.'''
release = "Many releases"
release_details = "Daily."
data_source = "Dynamic"
data_source_details = "New rows every day."
access = "Non-interactive"
access_details = "Files."
[processing]
post_processing = "Counts below 0 are set to 0."
preprocessing = "Rows are clipped."
justification = "White paper, section 4."
utility = "Mean error below 3 %."
access_control = "Two named operators."
side_channels = "Released once a day."
bias = "Rare URLs are under-represented."
data_collection = "Raw rows are kept for 30 days."
[administrative]
sources = ["https://example.org/paper", {{title = "Code", url = "https://example.org/code"}}]
authors = ["A. Person"]
notes = "yes: # no"
"""
RELEASES = """
neighbours = "add or remove one"
[[release]]
mechanism = "gaussian"
sigma = 4.0
count = 14
date = 2026-01-01
[[release]]
mechanism = "laplace"
scale = 10.0
date = 2026-02-03
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sheets")

    def ledger(name, budget, count=1, mechanism=LAPLACE, declassified=0, **settings):
        accountant = Accountant(budget, **settings)
        for _ in range(count):
            accountant.release(mechanism, accountant.private([0.5], Interval(0, 1), record="ann"))
        for _ in range(declassified):
            accountant.declassify(
                accountant.private([0.5], Interval(0, 1), record="bob"), reason="a count\nof all"
            )
        accountant.export(folder / name)

    ledger("ledger.json", Budget(2.0), 14)
    ledger("strict.json", Budget(2.0), strict=True)
    ledger("gone.json", Budget(math.inf), declassified=1)
    ledger("raw.json", Budget(math.inf), declassified=3)
    ledger(
        "infinite.json",
        Budget(math.inf),
        2,
        Gaussian(sigma=20.0, sensitivity=1.0),
        composition=COMPOSITIONS["zCDP filter"](),
    )
    ledger("local.json", Budget(2.0), trust=Trust.LOCAL)
    ledger(
        "zcdp.json",
        Budget(1.0, 1e-6),
        2,
        Gaussian(sigma=20.0, sensitivity=1.0),
        composition=COMPOSITIONS["zCDP filter"](),
    )
    (folder / "year.toml").write_text(RELEASES)
    (folder / "rho.toml").write_text('[[release]]\nmechanism = "zcdp"\nrho = 0.1\ncount = 3\n')
    (folder / "laplace.toml").write_text('[[release]]\nmechanism = "laplace"\nscale = 10.0\n')
    (folder / "cyclic.toml").write_text(
        'neighbours = "add or remove one"\n[[release]]\nmechanism = "cyclic-counter"\nsigma = 1\nhorizon = 9\n'
        "bandwidth = 2\nparts = 3\nsampling_probability = 0.1\n"
    )
    (folder / "gone.toml").write_text('[[release]]\nmechanism = "declassified"\n')
    CliRunner().invoke(
        cli, ["audit", str(folder / "year.toml"), "--delta", "1e-6", "-o", str(folder / "audit.json")]
    )
    CliRunner().invoke(
        cli, ["audit", str(folder / "laplace.toml"), "--delta", "1e-6", "-o", str(folder / "pure.json")]
    )
    return folder


def declared(folder, text, newline="\n"):
    path = folder / "deployment.toml"
    path.write_bytes(text.replace("\n", newline).encode())
    return path


def schema_errors(entry):
    return [
        error.message
        for error in Draft202012Validator(registry_schema(), format_checker=FormatChecker()).iter_errors(
            entry
        )
    ]


def filled(entry):
    found = entry["deployment"]
    return [
        path for path in registry_fields() if path.partition(".")[2] in found.get(path.partition(".")[0], {})
    ]


@pytest.mark.parametrize(
    "file", ["ledger.json", "zcdp.json", "year.toml", "audit.json", "rho.toml", "gone.json"]
)
@pytest.mark.parametrize("text", [FULL, REQUIRED])
def test_entries_validate_against_the_registrys_schema(files, tmp_path, file, text):
    if "published" not in text and file in ("rho.toml",):
        text = text.replace("[administrative]", "published = 2026-01-01\n[administrative]")
    shown = CliRunner().invoke(
        cli,
        ["report", str(files / file), "--format", "registry", "--deployment", str(declared(tmp_path, text))],
    )
    assert shown.exit_code == 0, shown.exception
    entry = yaml.safe_load(shown.output)
    assert schema_errors(entry) == []
    assert entry["deployment"]["administrative"]["status"] == "Draft"
    if text is FULL and file != "gone.json":  # without a finite ε there are no parameters and no variant
        assert len(filled(entry)) == len(registry_fields()) == 33
        assert entry["deployment"]["administrative"]["tier"] == 3
    if text is REQUIRED:
        assert entry["deployment"]["administrative"]["tier"] == 1


def test_a_ledger_alone_fills_nine_fields(files, tmp_path):
    least = Deployment.load(declared(tmp_path, REQUIRED))
    entry = registry_entry(least, read_proved_facts(files / "ledger.json", least))
    assert len([path for path, basis in entry.basis.items() if basis == "Known"]) == 9
    assert entry.data["deployment"]["basic"]["publication_date"] == str(TODAY)
    strict = registry_entry(least, read_proved_facts(files / "strict.json", least))
    assert "none left without noise" in strict.data["deployment"]["dp_variant"]["unprotected_quantities"]


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("ledger.json", '[model]\nname = "Local"', "model.name = 'Local': .*trust model is 'Central'"),
        ("ledger.json", '[model]\nname = "Federated"', "trust model is 'Central'"),
        ("local.json", '[model]\nname = "Central"', "trust model is 'Local'"),
        ("ledger.json", '[model]\nrelease = "One release"', "model.release = 'One release': .*14 releases"),
        ("year.toml", '[model]\nrelease = "One release"', "15 releases"),
        (
            "gone.json",
            "[privacy]\nunprotected = []",
            r"privacy.unprotected = 'None.': .*a count of all \(test_",
        ),
        ("gone.toml", "[privacy]\nunprotected = []", "left without noise"),
        ("gone.json", '[privacy]\nvariant = "Zero-concentrated DP"', "left without noise: a count"),
        ("raw.json", '[model]\nrelease = "One release"', "4 releases"),
        (
            "infinite.json",
            '[privacy]\nvariant = "Pure DP"',
            "Approximate DP: no finite ε at δ = 0 by Gaussian",
        ),
        ("ledger.json", "[privacy]\nepsilon = 1.0", "privacy.epsilon = 1.0: .*ε ≤ 2 at δ = 0"),
        ("ledger.json", "[privacy]\nepsilon = 4", "ε ≤ 2 at δ = 0"),
        ("gone.json", "[privacy]\nepsilon = 4", "no finite ε is proved"),
        ("audit.json", "[privacy]\nepsilon = 0.5", "at δ = 1e-06"),
        ("audit.json", "[privacy]\ndelta = 1e-5", "privacy.delta = 1e-05: .*at δ = 1e-06"),
        ("ledger.json", "[privacy]\ndelta = 1e-5", "ε ≤ 2 at δ = 0"),
        ("audit.json", '[privacy]\nvariant = "Pure DP"', "privacy.variant = 'Pure DP': .*Approximate DP"),
        ("year.toml", '[privacy]\nvariant = "Pure DP"', "Approximate DP"),
        ("cyclic.toml", '[privacy]\nvariant = "Pure DP"', "Approximate DP: .* by cyclic-counter"),
        ("ledger.json", '[privacy]\nneighbours = "add or remove one"', "the audit is for 'replace one'"),
        (
            "year.toml",
            "[deployment]\npublished = 2025-12-31",
            "published = 2025-12-31: .*first release is of 2026-01-01",
        ),
        ("ledger.json", "[deployment]\npublished = 2020-02-29", f"first release is of {TODAY}"),
    ],
)
@pytest.mark.parametrize("sheet", ["nist", "registry"])
def test_declarations_that_contradict_the_files_are_refused(files, tmp_path, file, text, says, sheet):
    path = declared(tmp_path, text)
    shown = CliRunner().invoke(
        cli, ["report", str(files / file), "--format", sheet, "--deployment", str(path)]
    )
    assert isinstance(shown.exception, SettingError)
    said = str(shown.exception)
    assert said.startswith("deployment.toml: ")
    assert " contradicts the proved fact: " in said
    assert re.search(says, said)


def test_declarations_that_agree_or_say_less_are_taken(files, tmp_path):
    for file, text in (
        ("ledger.json", "[privacy]\nepsilon = 2\ndelta = 0"),
        ("audit.json", '[privacy]\nvariant = "Approximate DP"\nneighbours = "add or remove one"'),
        ("ledger.json", f'[model]\nname = "Central"\n[deployment]\npublished = {TODAY}'),
        ("strict.json", '[model]\nrelease = "Many releases"\n[privacy]\nunprotected = []'),
        ("gone.json", '[privacy]\nunprotected = ["the number of URLs"]'),
        ("laplace.toml", '[privacy]\nvariant = "Pure DP"\ndelta = 1e-6'),
        ("pure.json", '[privacy]\nvariant = "Pure DP"'),
        ("laplace.toml", '[privacy]\nvariant = "Zero-concentrated DP"'),
        ("ledger.json", '[privacy]\nvariant = "Approximate DP"'),
        ("audit.json", '[privacy]\nvariant = "Zero-concentrated DP"'),
        ("zcdp.json", '[privacy]\nvariant = "Zero-concentrated DP"'),
        ("infinite.json", '[privacy]\nvariant = "Renyi DP"'),
        ("rho.toml", '[privacy]\nvariant = "Zero-concentrated DP"\ndelta = 1e-7'),
    ):
        read = Deployment.load(declared(tmp_path, text))
        check_declarations(
            read,
            read_proved_facts(files / file, read)
            if file not in ("audit.json", "pure.json")
            else audited_facts(files, file),
        )


def audited_facts(files, name="audit.json"):
    return ProvedFacts(Audit.load(files / name))


def test_rounding_up_is_no_contradiction_and_rounding_down_is_one(files):
    facts = audited_facts(files)
    up = math.ceil(facts.bound[0] * 100) / 100
    check_declarations(Deployment({"privacy.epsilon": up}), facts)
    for wrong in (up - 0.01, up + 0.01, 10 * up):
        with pytest.raises(SettingError, match="contradicts"):
            check_declarations(Deployment({"privacy.epsilon": round(wrong, 2)}), facts)


@pytest.mark.parametrize("name", ["audit.json", "ledger.json", "zcdp.json"])
def test_the_numbers_of_an_entry_are_those_of_the_proof(files, name):
    facts = audited_facts(files) if name == "audit.json" else read_proved_facts(files / name, Deployment())
    known, (epsilon, delta) = known_values(facts), facts.bound
    parameters = {"epsilon": epsilon, "delta": delta or None, "rho": facts.rho}
    shown = known["privacy_loss.privacy_parameters"]
    assert shown == {key: value for key, value in parameters.items() if value is not None}
    assert all(
        f"- {each.count:,} × " in known["implementation.composition"]
        for each in facts.audit.released
        if each.count
    )


def test_an_enforced_budget_is_stated_and_not_what_was_spent(files):
    facts = read_proved_facts(files / "zcdp.json", Deployment())
    assert facts.bound == (1.0, 1e-6)
    assert facts.variant == "Approximate DP"
    assert read_proved_facts(files / "ledger.json", Deployment()).bound == (2.0, 0.0)
    assert read_proved_facts(files / "gone.json", Deployment()).bound is None
    assert (
        read_proved_facts(files / "local.json", Deployment()).release_type is None
    )  # one message of each record
    assert read_proved_facts(files / "strict.json", Deployment()).release_type == "One release"
    found = read_proved_facts(files / "rho.toml", Deployment())
    assert found.variant == "Zero-concentrated DP"
    assert found.rho == 0.3


def test_a_bound_that_no_accountant_limited_states_its_condition(files):
    condition = "if the releases were fixed in advance"
    facts = read_proved_facts(files / "infinite.json", Deployment())
    sheet = nist_sheet(Deployment(), facts, "again")
    for each in (sheet.summary.claimed, sheet.summary.found, sheet.summary.person):
        assert condition in str(each).lower()
    known = topics(sheet)
    for topic in ("Privacy parameters and their meaning", "Variant of differential privacy"):
        assert all(condition in said.lower() for basis, said in known[topic] if basis == "Known")
    entry = registry_entry(Deployment.load(declared(files, REQUIRED)), facts)
    assert condition in entry.basis["dp_variant.variant_name"]
    details = entry.data["deployment"]["privacy_loss"]["privacy_parameters_details"]
    assert condition in details.lower()
    enforced = nist_sheet(Deployment(), read_proved_facts(files / "zcdp.json", Deployment()), "again")
    assert condition not in str(enforced.summary.found)


def test_values_without_noise_are_counted_one_by_one_and_by_their_mechanism(files, tmp_path):
    facts = read_proved_facts(files / "raw.json", Deployment())
    assert (facts.releases, facts.release_type, sum(facts.declassified.values())) == (4, "Many releases", 3)
    assert ": 3 values left without noise" in bound_words(facts)
    assert facts.unprotected.endswith(", 3 times")
    path = tmp_path / "named.toml"
    path.write_text(
        '[[release]]\nmechanism = "laplace"\nscale = 9.0\nname = "declassified"\n[[release]]\nname = "sum"\n'
        'mechanism = "declassified"\ncount = 2\n'
    )
    facts = read_proved_facts(path, Deployment())
    assert facts.declassified == {"sum": 2}
    assert "at least 2 values left without noise" in bound_words(facts)


def test_mechanisms_of_other_records_are_listed_without_a_count(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(
        '[[release]]\nmechanism = "laplace"\nscale = 9.0\ncount = 3\nrecords = ["ann"]\n'
        '[[release]]\nmechanism = "laplace"\nscale = 50.0\nrecords = ["bob"]\n'
    )
    facts = read_proved_facts(path, Deployment())
    known = known_values(facts)
    assert known["implementation.mechanisms"] == "- laplace scale=9\n- laplace scale=50"
    assert known["implementation.composition"].endswith("of the worst-case record:\n- 3 × laplace scale=9")
    assert "from 3 releases of the worst-case record" in str(facts.first_screen("again").found)


def test_a_budget_of_groups_is_said_to_be_of_groups(files):
    of_groups = read_releases(files / "ledger.json").for_groups_of(30)
    found = audit(of_groups, AuditQuestion(delta=0.0))
    words = bound_words(ProvedFacts(found))
    assert "ε = 60, δ = 0 for every group of 30 records" in words
    assert "every record" not in words
    assert "for groups of 30 records" in str(ProvedFacts(found).first_screen("again").found)
    assert "ε = 60, δ = 0 (basic composition) for each group of 30 records" in markdown(
        [document_of(found)], ""
    )


def test_every_topic_has_an_answer_with_one_of_three_bases(files, tmp_path):
    assert len(TOPICS) == 14
    full = Deployment.load(declared(tmp_path, FULL))
    for deployment in (full, Deployment()):
        for file in ("ledger.json", "year.toml", "gone.json"):
            found = topics(
                nist_sheet(deployment, read_proved_facts(files / file, deployment), "dpwitness report")
            )
            assert found.keys() == TOPICS.keys()
            assert all(found.values())
            answers = [pair for pairs in found.values() for pair in pairs]
            assert {basis for basis, _ in answers} <= {
                "Known",
                "Declared",
                "Not assessed",
            }
            assert all("\n" not in words for _, words in answers)
    assert "Declared" not in {basis for basis, _ in answers}
    found = topics(nist_sheet(full, read_proved_facts(files / "ledger.json", full), "dpwitness report"))
    assert not [words for pairs in found.values() for _, words in pairs if "not declared" in words]


def topics(sheet):
    return {section.title: section.blocks[0].pairs for section in sheet.sections if section.title in TOPICS}


def test_the_same_sheet_on_a_page_in_markdown_and_as_yaml(files, tmp_path):
    path = declared(tmp_path, FULL)
    outputs = [tmp_path / f"entry{suffix}" for suffix in (".html", ".md", ".yaml")]
    arguments = ["report", str(files / "ledger.json"), "--format", "registry", "--deployment", str(path)]
    shown = CliRunner().invoke(cli, [*arguments, *(part for each in outputs for part in ("-o", str(each)))])
    assert shown.exit_code == 0
    assert all("URL reports – März" in each.read_text() for each in outputs)
    assert (
        yaml.safe_load(outputs[2].read_text())["url_slug"]
        == f"url-reports-marz-example-ltd-{(TODAY + datetime.timedelta(days=40)).year}"
    )


def test_what_nobody_declared_is_a_comment(files, tmp_path):
    path = declared(tmp_path, REQUIRED)
    shown = CliRunner().invoke(
        cli, ["report", str(files / "ledger.json"), "--format", "registry", "--deployment", str(path)]
    )
    assert "    # privacy_unit: not declared (privacy.unit)" in shown.output
    assert "    # evidence_sources: not declared (administrative.sources)" in shown.output
    assert not schema_errors(yaml.safe_load(shown.output))


def test_the_registrys_requirements_are_listed(files):
    shown = CliRunner().invoke(cli, ["report", str(files / "ledger.json"), "--format", "registry"])
    assert isinstance(shown.exception, SettingError)
    for key in ("deployment.name", "deployment.curators", "deployment.region", "administrative.authors"):
        assert key in str(shown.exception)
    assert "published" not in str(shown.exception)  # the ledger knows


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[modell]\nname = "Local"', "unknown table of .*'modell': did you mean model"),
        ('[model]\nrelese = "One release"', r"unknown key of \[model\] .*'relese': did you mean release"),
        ('[model]\nname = "local"', "model.name = 'local': must be one of 'Local', 'Central'"),
        ("model = 3", "model = 3: must be a table"),
        ("x = [", "not valid TOML"),
        ("\ufeff\x00", "not valid TOML"),
        ('[deployment]\nname = "a"\nname = "b"', "not valid TOML"),
        ("[deployment]\nname = 3", "deployment.name = 3: must be a text"),
        ('[deployment]\ncurators = "A"', "must be a list"),
        ('[deployment]\ncurators = ["A"]', 'must be {name = "...", type = "Government"}'),
        ('[deployment]\ncurators = [{name = "A", type = "Shop"}]', "'Shop': must be one of 'Government'"),
        ("[deployment]\npublished = 2026-02-03T00:00:00", "must be a date"),
        ('[deployment]\npublished = "3.2.2026"', "must be a date"),
        ("[deployment]\ntier = true", "must be one of 1, 2, 3"),
        ("[privacy]\nepsilon = -1", "must be a number of at least 0"),
        ("[privacy]\nepsilon = inf", "must be a number of at least 0"),
        ("[privacy]\nepsilon = nan", "must be a number of at least 0"),
        ("[privacy]\ndelta = 2", "must be a number of at least 0 and at most 1"),
        ("[privacy]\nunits = 2.5", "must be a whole number"),
        ('[administrative]\nsources = [{titel = "A"}]', "'titel': did you mean title"),
        ("[administrative]\nsources = [{}]", "must be a source with a title or url"),
        ('[administrative]\nsources = [{url = "u", evidence = "hearsay"}]', "must be one of 'Peer-reviewed"),
        ("[administrative]\nauthors = [1]", "must be a text"),
        ("[administrative]\nsources = [{year = 2020}]", "must be a source with a title or url"),
        ('[administrative]\nsources = [{title = ["a"]}]', "sources: title = .*must be a text"),
        ('[administrative]\nsources = [{title = "a", year = nan}]', "sources: year = nan: must be a text"),
        ('[administrative]\nsources = [{title = "a", year = true}]', "sources: year = True: must be a text"),
        ('[administrative]\nsources = [{title = " "}]', "sources: title = ' ': must be a text"),
        (
            '[deployment]\nslug = "../../etc/x y"',
            "slug = .*must be lower-case letters and digits, with single hyphens",
        ),
        ('[deployment]\nslug = "é"', "must be lower-case letters"),
        ('[deployment]\nslug = "a--b"', "must be lower-case letters"),
        ("[deployment]\nslug = 3", "must be lower-case letters"),
        ('[privacy]\nunprotected = "All values are protected."', "must be a list of quantities"),
        ('[privacy]\nunprotected = ["None."]', "must be a list of quantities"),
        ("[privacy]\nunprotected = [3]", "must be a list of quantities"),
    ],
)
def test_bad_declarations_are_refused_by_name(tmp_path, text, says):
    path = declared(tmp_path, text)
    with pytest.raises(SettingError, match=says) as refused:
        Deployment.load(path)
    assert "deployment.toml" in str(refused.value)


def test_newlines_marks_and_empty_values_do_not_matter(tmp_path):
    plain = Deployment.load(declared(tmp_path, FULL)).declared
    assert Deployment.load(declared(tmp_path, FULL, "\r\n")).declared == plain
    assert Deployment.load(declared(tmp_path, f"\ufeff{FULL}")).declared == plain
    assert Deployment.load(declared(tmp_path, "")).declared == {}
    assert (
        Deployment.load(declared(tmp_path, '[model]\nname = "  "\n[administrative]\nauthors = []')).declared
        == {}
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--deployment", "{deployment}"], "--deployment .*: must come with --format"),
        (["--format", "nist", "-o", "{folder}/x.yaml"], "must end in .html or .md"),
        (["-o", "{folder}/x.yaml"], "must end in .html or .md"),
        (["{folder}/audit.json", "--format", "nist"], "must be the only file of releases"),
    ],
)
def test_options_that_do_not_go_together(files, tmp_path, arguments, says):
    path = declared(tmp_path, FULL)
    given_ = [each.format(deployment=path, folder=files) for each in arguments]
    shown = CliRunner().invoke(cli, ["report", str(files / "ledger.json"), *given_])
    with pytest.raises(SettingError, match=says):
        raise shown.exception


def test_other_results_answer_on_algorithms_and_not_for_the_entry(tmp_path):
    (tmp_path / "verified.json").write_text(json.dumps(VERIFIED.json()))
    shown = CliRunner().invoke(cli, ["report", str(tmp_path / "verified.json"), "--format", "nist"])
    assert "| Known | CERTIFIED: noise" in shown.output
    refused = CliRunner().invoke(cli, ["report", str(tmp_path / "verified.json"), "--format", "registry"])
    assert "must have a ledger, releases, or their audit" in str(refused.exception)


def test_a_refuted_result_is_in_the_sheet_as_one_and_refuses_an_entry(files, tmp_path):
    refuted = replace(
        VERIFIED,
        decision=Decision("refuted", (exact("counted"),)),
        upper=None,
        lower=LowerBound(9.0, 0.0, confidence=0.95, samples=89984, method="test", decisive=True),
    )
    facts = read_proved_facts(files / "ledger.json", Deployment())
    for wrong in (
        replace(facts, results=(document_of(refuted),)),
        replace(facts, utility=(document_of(refuted),)),
    ):
        sheet = nist_sheet(Deployment(), wrong, "again")
        rows = [said for pairs in topics(sheet).values() for basis, said in pairs if basis == "Refuted"]
        assert len(rows) == 1
        assert rows[0].startswith("REFUTED: noise")
        assert "95 % confidence" in rows[0]
        assert "below" not in rows[0]
        assert "Refuted in the files: REFUTED: noise" in str(sheet.summary.sure)
        assert "1 refuted" in str(sheet.meaning)
        assert not [
            said
            for pairs in topics(sheet).values()
            for basis, said in pairs
            if basis == "Known" and "noise," in said
        ]
        with pytest.raises(SettingError, match=r"REFUTED: noise.*no entry is drafted"):
            registry_entry(Deployment.load(declared(tmp_path, FULL)), wrong)


@pytest.mark.parametrize("plane", [0x0, 0x1, 0x10])
def test_yaml_reads_back_every_character_of_a_plane(plane):
    for code in range(plane << 16, (plane + 1) << 16, 64):
        text = "a\n" + "".join(map(chr, range(code, code + 64))) + "b"
        if not 0xD800 <= code < 0xE000:
            assert yaml.safe_load(yaml_text({"a": text}, {})) == {"a": text}, hex(code)


@settings(max_examples=50, deadline=None)
@given(
    st.recursive(
        st.text() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: (
            st.dictionaries(
                st.text(min_size=1, max_size=5) | st.sampled_from(["no", "null", "url", "y"]),
                inner,
                min_size=1,
                max_size=3,
            )
            | st.lists(
                st.text() | st.dictionaries(st.text(min_size=1), st.text(), min_size=1, max_size=2),
                min_size=1,
                max_size=3,
            )
        ),
        max_leaves=8,
    )
)
def test_yaml_reads_back(value):
    data = {"value": value}
    assert yaml.safe_load(yaml_text(data, {"": "a comment: # with\nlines"})) == data


def test_every_key_is_a_field_of_the_registry_or_of_the_sheets():
    fields = registry_fields()
    for key, path in KEYS.items():
        if path and not path.startswith(("administrative", "privacy_loss.privacy_parameters")):
            assert path in fields or path.endswith("release_type_details"), key
