"""Plan files: what they give, and what is said about those that make no sense."""

import contextlib
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs.schema_files import PLAN
from openpts.config_files.toml_text import read_toml
from openpts.errors import UsageError
from openpts.fields.field import parameters_of
from openpts.parameters.overrides import conditions_of, contradictions
from openpts.parameters.plan_file import Plan, WrittenFileError, parse_plan, plan_schema, read_plan
from openpts.parameters.shipped_plans import shipped_names
from openpts.parameters.yaml_text import read_yaml
from openpts.procedures.registry import PROCEDURES
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.stimulus import ActiveRange, BlockSize, Zone, Zones
from openpts_pts.conformance.catalogue import PTS
from tests import ROOT
from tests.support.changed_values import changed_value
from tests.support.manual import section

TOML = """\
class = "client"
seed = 7
operator = "A. Tester"

[common]
active_range = 50
time_scale = "1/60"

[iops]
active_range = "10:60"
tc = 3

[wsat]
drive_fills = 2

[[wsat.workloads]]
name = "mail"
block_sizes = {"4KiB" = 70, "64KiB" = 30}
read_pct = 60
zones = [{accesses_pct = 80, range_pct = 20}, {accesses_pct = 20, range_pct = 80}]
"""
YAML = """\
class: client
seed: 7
operator: A. Tester
common:
  active_range: 50
  time_scale: 1/60
iops:
  active_range: 10:60
  tc: 3
wsat:
  drive_fills: 2
  workloads:
    - name: mail
      block_sizes: {4KiB: 70, 64KiB: 30}
      read_pct: 60
      zones:
        - {accesses_pct: 80, range_pct: 20}
        - {accesses_pct: 20, range_pct: 80}
"""


def conditions(plan: Plan, test: str) -> Any:
    return conditions_of(plan.overrides(test), PTS[test].standard_conditions(DriveClass.CLIENT, 1))


@pytest.mark.parametrize(("text", "name"), [(TOML, "plan.toml"), (YAML, "plan.yaml"), (YAML, "plan.YML")])
def test_what_a_plan_gives(tmp_path, text, name) -> None:
    (tmp_path / name).write_text(text)
    plan = read_plan(tmp_path / name)
    assert plan.settings == {"drive_class": "client", "seed": 7, "operator": "A. Tester"}
    iops, lat, wsat = (conditions(plan, test) for test in ("iops", "lat", "wsat"))
    assert (iops.active_range, iops.tc, iops.qd, iops.minute_ns) == (ActiveRange(10, 60), 3, 16, 10**9)
    assert (lat.active_range, lat.tc) == (ActiveRange(0, 50), 1)
    assert (wsat.drive_fills, wsat.longest_ns) == (2, 360 * 10**9)
    (mail,) = wsat.workloads
    assert (mail.read_pct, mail.random_pct) == (60, 100)
    assert mail.block_sizes == (BlockSize(4096, 70), BlockSize(65536, 30))
    assert mail.placement == Zones((Zone(80, 20), Zone(20, 80)))


def test_a_shipped_trace_is_not_looked_for_beside_the_plan(tmp_path) -> None:
    plan = parse_plan(b"[replay]\ntrace = 'recipe:mail'\n", str(tmp_path / "p.toml"), read_toml)
    assert plan.overrides("replay").values["trace"] == "recipe:mail"


def complaints(text: str, read: Any = read_toml) -> tuple[str, ...]:
    with pytest.raises(WrittenFileError) as caught:
        parse_plan(text.encode(), "p", read)
    assert caught.value.exit_code == 2
    return caught.value.complaints


NONSENSE = (
    "class = 'clent'", "seed = -1", "[iops]\nstep_secs = 1", "[iops]\nstep-seconds = 1",
    "time-scale = '1/60'", "mid_points = 2", "[common]\ncut_command = 'x'", "tests = ['iops', 'latt']",
    "tests = []", "[io]\ntc = 1", "iops = 3", "[iops]\ntc = 'four'", "[iops]\ntc = true",
    "[iops]\ntc = 1.5", "[iops]\nqd = 0", "[iops]\nstep_seconds = nan", "[iops]\nstep_seconds = 0",
    "[iops]\nread_pcts = [0, 101]", "[iops]\nread_pcts = []", "[iops]\nblock_sizes = ['4KiB', 8]",
    "[xsr]\ngroup_tcs = [1, 2]", "[iops]\ntc = 0\n\n[lat]\ncolor = 1\n",
    "[[wsat.workloads]]\nname = 'x'\nread_pct = 101\nblock_sizes = {'4KiB' = 0}\nzones = [{range_pct = 1}]",
    "[common]\nactive_range = '75:25'", "[common]\nactive_range = 0", "[common]\nactive_range = 101",
    "[common]\ntime_scale = '2/1'", "[common]\ntime_scale = '1/0'", "[common]\ndata_pattern = 'zeros'",
    "[common]\ndata_pattern = 'verified:1'", "[iops]\nsegments = '0x1MiB'",
    "[iops]\nblock_sizes = ['4KiB', '4100B']", "[iops]\nblock_sizes = ['4KiB', '4096']",
    "[iops]\ntracking = ['4KiB']", "[iops]\ntracking = ['RND 4KiB RW0', 'RND 5KiB RW0']",
    "[iops]\nread_pcts = [50]", "[hir]\ntracking_seconds = 5", "[cbw]\nprewrite_shortest_seconds = 3600",
    "[cbw]\ntcs = [1]\nqds = [1, 2]", "[wsat]\nworkloads = ['meta']",
    "[wsat]\nworkloads = ['oltp', 'RND 8KiB RW65']", "[wsat]\nsegments='4x1MiB'\nworkloads = ['vod']",
    "[dirth]\nsegments='4x1MiB'\nworkload = 'composite'",
    "[dirth.workload]\nname='x'\nread_pct=0\nblock_sizes={'4KiB'=1}\nzones=[{accesses_pct=1,range_pct=100}]",
    "[dirth.workload]\nname='x'\nread_pct=0\nblock_sizes={'4KiB'=9999, '8KiB'=2}",
    "[iops]\nstep_seconds = 1\nround_seconds = 56",
)  # fmt: skip


def test_what_makes_no_sense_is_told_with_its_place(golden) -> None:
    said = {text: complaints(text) for text in NONSENSE}
    # the names that there are depend on plug-ins
    lists = re.compile("(known are|is not one of|belongs in common)( .*|$)")
    assert {text: [lists.sub(r"\1 ...", one) for one in all_of] for text, all_of in said.items()} == golden


def test_the_table_of_a_test_wins_over_the_common_one_even_in_other_words() -> None:
    plan = parse_plan(b"[common]\nstep_seconds = 1\n[iops]\nround_seconds = 112\n", "p", read_toml)
    assert conditions(plan, "iops").minute_ns == 2 * 10**9
    assert conditions(plan, "lat").minute_ns == 10**9


def test_what_several_tests_have_may_be_common_and_is_for_those_that_have_it() -> None:
    plan = parse_plan(b"[common]\ntc = 3\nqd = 5\nmax_rounds = 7\n[lat]\nqd = 1\n", "p", read_toml)
    assert plan.overrides("iops").values == {"tc": 3, "qd": 5, "max_rounds": 7}
    assert plan.overrides("lat").values == {"tc": 3, "qd": 1, "max_rounds": 7}
    assert plan.overrides("wsat").values == {"tc": 3, "qd": 5}
    assert plan.overrides("cbw").values == {"max_rounds": 7}


def test_what_is_common_may_contradict_only_tests_that_the_plan_is_for(golden) -> None:
    common = "[common]\nread_pcts = [100, 50, 0]\n"  # RND 64 KiB RW65 decides in the IOPS test
    assert parse_plan(f"{common}[tp]\nqd = 8\n".encode(), "p", read_toml)
    for own in ("tests = ['tp', 'iops']\n" + common, common + "[iops]\nqd = 8\n"):
        (complaint,) = complaints(own)
        assert complaint == golden


@pytest.mark.parametrize("name", shipped_names())
def test_a_plan_that_ships_makes_sense_and_says_what_it_is(name) -> None:
    plan = read_plan(Path(name))
    assert plan.path == f"{name}.toml"
    assert plan.settings["title"]
    assert plan.raw.decode().startswith("# ")
    for test in plan.settings.get("tests", ()):
        standard = PROCEDURES[test].standard_conditions(DriveClass.ENTERPRISE, 1)
        assert not contradictions(plan.overrides(test), conditions_of(plan.overrides(test), standard))


def test_a_name_of_no_plan_is_told_with_the_one_that_was_meant() -> None:
    with pytest.raises(UsageError, match=r"there is no plan 'TKPerf': did you mean tkperf\?"):
        read_plan(Path("TKPerf"))
    with pytest.raises(UsageError, match=r"there is no plan 'lab': plans that ship are .*tkperf"):
        read_plan(Path("lab"))


def test_a_file_that_is_no_plan(tmp_path) -> None:
    with pytest.raises(UsageError, match=r"ends in \.toml, \.yaml or \.yml"):
        read_plan(tmp_path / "plan.json")
    with pytest.raises(UsageError, match="can't be read: No such file"):
        read_plan(tmp_path / "plan.toml")
    (tmp_path / "large.toml").write_bytes(b"#" * (1024**2 + 1))
    with pytest.raises(UsageError, match="larger than 1024 KiB"):
        read_plan(tmp_path / "large.toml")
    (tmp_path / "latin.toml").write_bytes(b"seed = 1\noperator = '\xe9'\n")
    with pytest.raises(WrittenFileError, match=r"latin\.toml:2:1: is not UTF-8"):
        read_plan(tmp_path / "latin.toml")


TABLE_TEXTS = st.sampled_from(
    [
        f"[{test}]\n{name} = {value}\n"
        for test, procedure in PROCEDURES.items()
        for name in parameters_of(procedure.conditions)
        for value in (
            "1", "-1", "'x'", "[1]", "['1', '2']", "{a = 1}", "1e300", "'1/2'", "true", "[[1]]", "0.5",
        )
    ]
)  # fmt: skip


@given(parts=st.lists(TABLE_TEXTS | st.text(max_size=20), max_size=4))
def test_no_plan_ends_in_anything_but_a_complaint(parts) -> None:
    raw = "".join(parts).encode(errors="surrogatepass")
    for read in (read_toml, read_yaml):
        with contextlib.suppress(WrittenFileError):
            parse_plan(raw, "p", read)


def _written(test: str) -> dict[str, Any]:
    procedure = PROCEDURES[test]
    standard = procedure.standard_conditions(DriveClass.ENTERPRISE, 1)
    values = {name: changed_value(name, standard) for name in parameters_of(procedure.conditions)}
    values.pop("round_seconds", None)
    plain: dict[str, Any] = msgspec.to_builtins(values)
    return plain


@pytest.mark.parametrize("test", list(PROCEDURES))
def test_the_schema_takes_what_the_reader_takes(test) -> None:
    validator = jsonschema.Draft202012Validator(plan_schema())
    content = {"class": "client", test: _written(test)}
    validator.validate(content)
    if test in PTS:
        with_segments = {key: value for key, value in content[test].items() if key != "tracking"}  # type: ignore[attr-defined]
        parse_plan(json.dumps({test: with_segments}).encode(), "p", read_yaml)


@pytest.mark.parametrize(
    "text",
    [
        "color = 1", "class = 'clent'", "[iops]\ntc = 'four'", "[iops]\ntc = 0",
        "[iops]\nread_pcts = [101]", "[xsr]\ngroup_tcs = [1, 2]", "[[wsat.workloads]]\nname = 'x'",
        "[common]\ncut_command = 'x'", "tests = ['latt']",
    ],
)  # fmt: skip
def test_the_schema_refuses_what_the_reader_refuses(text) -> None:
    complaints(text)
    validator = jsonschema.Draft202012Validator(plan_schema())
    assert not validator.is_valid(tomllib.loads(text))


def test_the_schema_in_the_manual_is_current() -> None:
    current = json.dumps(plan_schema(), indent=2) + "\n"
    assert PLAN.read_text() == current, "make docs writes it anew"


@pytest.mark.parametrize(
    "text", ["auto", "none", "discard", "nvme-sanitize-block,nvme-format,discard", "A", "a,"]
)
def test_the_words_for_a_purge_are_those_of_the_command_line(text) -> None:
    pattern = plan_schema()["$defs"]["PlanFile"]["properties"]["purge"]["pattern"]
    if re.search(pattern, text):
        assert str(PurgeChoice.parse(text)) == text
    else:
        with pytest.raises(ValueError, match=text):
            PurgeChoice.parse(text)


def test_complaints_come_in_the_order_of_the_file() -> None:
    text = "[lat]\ntracking = ['x']\n[iops]\nsegments = 'y'\ntracking = ['z']\n[common]\nactive_range = 0\n"
    places = [complaint.split(": ")[0] for complaint in complaints(text)]
    assert places == ["p:2:1", "p:4:1", "p:5:1", "p:7:1"]


def test_the_examples_of_the_manual_are_true() -> None:
    manual = section(ROOT / "packages/openpts/docs/plan.md", "Parameters and plan files")
    toml, purpose = re.findall(r"```toml\n(.*?)```", manual, re.DOTALL)
    (yaml,) = re.findall(r"```yaml\n(.*?)```", manual, re.DOTALL)
    (said,) = re.findall(r"openpts: plan\.toml(.*)", manual)
    (complaint,) = complaints(toml)
    assert complaint == f"p{said}"
    parse_plan(toml[: toml.index("[[wsat")].encode(), "p", read_toml)
    parse_plan(yaml.encode(), "p", read_yaml)
    assert parse_plan(purpose.encode(), "p", read_toml).settings["purpose"].use_case == "gaming"


def test_benchmarks_have_a_table_like_any_other_test() -> None:
    text = "class = 'client'\n[benchmarks]\nbenchmarks = ['atto']\npasses = 3\n"
    plan = parse_plan(text.encode(), "p.toml", read_toml)
    assert plan.settings == {"drive_class": "client"}
    assert plan.overrides("benchmarks").values == {"benchmarks": ["atto"], "passes": 3}
    with pytest.raises(
        WrittenFileError,
        match=r"p\.toml:2:1: benchmarks: 'attto' is not one of the benchmarks that ship: did you mean atto",
    ):
        parse_plan(b"[benchmarks]\nbenchmarks = ['attto']\n", "p.toml", read_toml)


def test_steady_state_after_an_amount_needs_nothing_else_in_the_preconditioning_comparison() -> None:
    plan = parse_plan(b"[precon]\nsteady_after_drive_fills = 1\n", "p.toml", read_toml)
    assert plan.overrides("precon").values == {"steady_after_drive_fills": 1}
