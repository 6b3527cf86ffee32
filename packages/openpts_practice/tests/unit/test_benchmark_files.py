"""Benchmarks of an operator's own: what their files give, and what is said of those that make no sense."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from syrupy.assertion import SnapshotAssertion

from openpts.cli.main import cli
from openpts.config_files.written_file import WrittenFileError
from openpts.errors import UsageError
from openpts.parameters.overrides import Overrides, conditions_of
from openpts.parameters.plan_file import read_plan
from openpts.procedures.registry import PROCEDURES
from openpts.units import GIB, KIB, MIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.stimulus import BlockSize, RandomData, RandomOnce, ReducibleData
from openpts_practice.rows import NAMES, BenchmarkProfile, FigureUnit, ProfileRow, Statistic
from openpts_practice.rows.profiles import BENCHMARKS, benchmark_of, parse_benchmark
from tests.support.transcript import Transcript

MINE = """\
title = "Mine"
rows = [
  { name = "Log", order = "SEQ", size = "16KiB", qd = 1, read_pct = 0, data = "entropy:46" },
  {name="Mix", order = "RND/SEQ", random_pct = 3, sizes = [["4KiB", 3], ["64KiB", 1]], qd = 4, read_pct = 7},
]

[defaults]
threads = 2
span = "2GiB"
passes = 3
warm_up_s = 0
pass_s = 0.5
pass_size = "8MiB"
pause_s = 1.5
statistic = "median"
units = ["us", "IOPS"]
"""


@pytest.fixture
def transcript(snapshot) -> SnapshotAssertion:
    return snapshot.use_extension(Transcript)


def listed(*words: str) -> str:
    """What `openpts run benchmarks --list` prints."""
    return CliRunner().invoke(cli, ["run", "benchmarks", "--list", *words], catch_exceptions=False).output


def complaints(text: str) -> tuple[str, ...]:
    with pytest.raises(WrittenFileError) as refused:
        parse_benchmark(text.encode(), "mine.toml", "mine")
    return refused.value.complaints


def test_a_row_has_the_defaults_unless_it_says_otherwise() -> None:
    common: dict[str, Any] = {
        "tc": 2,
        "span_bytes": 2 * GIB,
        "passes": 3,
        "pass_ns": NS_PER_S // 2,
        "pass_bytes": 8 * MIB,
        "pause_ns": 3 * NS_PER_S // 2,
        "statistic": Statistic.MEDIAN,
        "units": (FigureUnit.MICROSECONDS, FigureUnit.IOPS),
    }
    assert parse_benchmark(MINE.encode(), "a/mine.toml", "mine") == BenchmarkProfile(
        name="mine",
        title="Mine",
        source="a/mine.toml, by its operator",
        rows=(
            ProfileRow(
                name="Log",
                random_pct=0,
                block_sizes=(BlockSize(16 * KIB),),
                read_pct=0,
                qd=1,
                data=ReducibleData(46),
                **common,
            ),
            ProfileRow(
                name="Mix",
                random_pct=3,
                block_sizes=(BlockSize(4 * KIB, 3), BlockSize(64 * KIB, 1)),
                read_pct=7,
                qd=4,
                **common,
            ),
        ),
    )


MISTAKES = (
    ("qd = 1", "queue = 1"),
    ("qd = 1, ", ""),
    ("qd = 1", "qd = 0"),
    ("qd = 1", "qd = "),
    ('"SEQ"', '"SEK"'),
    ('"median"', '"medain"'),
    ('"us", ', '"mbs", '),
    ('["us", "IOPS"]', "[]"),
    ('"16KiB"', '"16.1KiB"'),
    ('"16KiB"', '"5"'),
    ("entropy:46", "entropie:46"),
    ("entropy:46", "verified:1"),
    ('"2GiB"', '"2GiBB"'),
    ("random_pct = 3, ", ""),
    ("sizes = [", 'size = "4KiB", sizes = ['),
    ('["64KiB", 1]', '["64KiB"]'),
    ("threads = 2\n", ""),
    ("passes = 3", "passes = 100"),
    ("pass_s = 0.5", "pass_s = inf"),
    ('"Mine"', '""'),
    ("title", "titel"),
    ("[defaults]", "[default]"),
)


def test_what_is_wrong_is_said_with_its_place(transcript) -> None:
    lines = []
    for old, new in MISTAKES:
        assert old in MINE
        lines += [f"{old!r} -> {new!r}", *(f"  {one}" for one in complaints(MINE.replace(old, new, 1)))]
    assert "\n".join(lines) == transcript


def test_name_or_mix_tells_rows_apart() -> None:
    for old, new in (('"Mix"', '"Log"'), ("read_pct = 7", "read_pct = 0")):
        assert len(parse_benchmark(MINE.replace(old, new).encode(), "mine.toml", "mine").rows) == 2


def test_all_errors_are_said_at_once() -> None:
    twice = MINE.replace('"Mix"', '"Log"').replace("read_pct = 7", "read_pct = 0")
    assert complaints(twice) == ("mine.toml:4:3: name and read_pct are those of the row in line 3",)
    found = complaints(MINE.replace('"16KiB"', '"1"').replace('"2GiB"', '"0GiB"').replace('"64KiB"', '"x"'))
    assert [one.split(":")[1] for one in found] == ["3", "9", "4"]


@pytest.mark.parametrize("name", NAMES)
def test_a_printed_file_is_accepted_back(tmp_path, name) -> None:
    printed = listed(name)
    copy = tmp_path / f"{name}.toml"
    copy.write_text(printed, encoding="utf-8")
    assert benchmark_of(str(copy)) == BENCHMARKS[name]
    assert listed(str(copy)) == printed


def test_all_that_ship_are_listed() -> None:
    assert [line.split()[0] for line in listed().splitlines()[1:]] == list(NAMES)
    of_json = json.loads(listed("--json"))["benchmarks"]
    assert [one["title"] for one in of_json] == [one.title for one in BENCHMARKS.values()]
    (atto,) = json.loads(listed("atto", "--json"))["benchmarks"]
    assert (atto["confirmed"], len(atto["rows"])) == (False, len(BENCHMARKS["atto"].rows))
    with pytest.raises(UsageError, match=r"'atta' is not one of .*did you mean atto\?"):
        listed("atta")


def test_other_rows_need_another_title_and_another_name(tmp_path) -> None:
    text = listed("short").replace("qd = 32", "qd = 31", 1)
    copy = tmp_path / "mine.toml"
    copy.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"mine\.toml: title: 'Short profile' ships with other rows"):
        benchmark_of(str(copy))
    renamed = tmp_path / "short.toml"
    renamed.write_text(text.replace("Short profile", "Mine"), encoding="utf-8")
    with pytest.raises(UsageError, match="short ships with other rows; give the file another name"):
        benchmark_of(str(renamed))
    renamed.rename(copy)
    assert benchmark_of(str(copy)).title == "Mine"


def given(**values: Any) -> Overrides:
    return Overrides(values, {name: f"--{name.replace('_', '-')}" for name in values})


@pytest.mark.parametrize(
    ("word", "data"),
    [
        ("repeating-bytes", ReducibleData(0)),
        ("pseudo-random", RandomOnce()),
        ("full-random", RandomData()),
        ("entropy:46", ReducibleData(46)),
    ],
)
def test_rows_write_the_patterns_of_iometer_by_their_names(word, data) -> None:
    standard = PROCEDURES["benchmarks"].standard_conditions(DriveClass.ENTERPRISE, 1)
    chosen = conditions_of(given(benchmarks=["iometer"], row_data=word), standard)
    assert {row.data for row in chosen.benchmarks[0].rows} == {data}


@pytest.mark.parametrize("test", ["benchmarks", "precon"])
def test_tests_take_files_and_names_alike(tmp_path, test) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(MINE, encoding="utf-8")
    standard = PROCEDURES[test].standard_conditions(DriveClass.ENTERPRISE, 1)
    chosen = conditions_of(given(benchmarks=[str(path), "atto"], file_size="4GiB", row_data="zero"), standard)
    mine, atto = chosen.benchmarks
    assert (mine.title, atto.title) == ("Mine", "ATTO Disk Benchmark 4")
    assert {row.span_bytes for one in chosen.benchmarks for row in one.rows} == {4 * GIB}
    for values, said in (
        ({"benchmarks": ["atta"]}, "--benchmarks: 'atta' is not one of .*did you mean atto?"),
        ({"benchmarks": [str(tmp_path / "none.toml")]}, "none.toml can't be read: No such file"),
        ({"benchmarks": ["atto", "atto"]}, "--benchmarks: ATTO Disk Benchmark 4 is given twice"),
        ({"leave_free": "10"}, "--leave-free '10': write it as"),
        ({"leave_free": "50x2%"}, "--leave-free '50x2%': must leave more than 0"),
        ({"leave_free": "0x2GB"}, "--leave-free '0x2GB': write it as"),
        ({"row_data": "zeros"}, "--row-data 'zeros': is not one of"),
    ):
        with pytest.raises(UsageError, match=said):
            conditions_of(given(**values), standard)


def test_a_plan_has_the_paths_of_files_beside_it(tmp_path, monkeypatch, golden) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there/mine.toml").write_text(MINE, encoding="utf-8")
    plan = tmp_path / "there/plan.toml"
    plan.write_text('[benchmarks]\nbenchmarks = ["./mine.toml", "short"]\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    read = read_plan(Path("there/plan.toml")).overrides("benchmarks")
    chosen = conditions_of(read, PROCEDURES["benchmarks"].standard_conditions(DriveClass.ENTERPRISE, 1))
    assert [one.title for one in chosen.benchmarks] == ["Mine", "Short profile"]
    plan.write_text('[precon]\nbenchmarks = ["mine.tml", "./none.toml"]\n', encoding="utf-8")
    with pytest.raises(WrittenFileError) as refused:
        read_plan(plan)
    (complaint,) = refused.value.complaints
    assert complaint == golden
