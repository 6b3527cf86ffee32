"""`openpts trace characterize`, as its user types it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from syrupy.assertion import SnapshotAssertion

from openpts.cli.main import cli
from openpts.errors import TraceError, UsageError
from openpts_traces.characteristics.definitions import DEFINITIONS
from openpts_traces.recipes import recipes
from tests.support.made_step_table import write_step_table
from tests.support.transcript import Golden
from tests.unit.traces.characteristics.traces import random_ios, write_trace


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_trace(tmp_path_factory.mktemp("trace") / "trace.parquet", random_ios(1, devices=2))


@pytest.fixture(scope="module")
def blind(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ios = random_ios(2, 50)
    ios.done = ios.pid = None
    return write_trace(tmp_path_factory.mktemp("trace") / "blind.parquet", ios)


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, ["trace", *map(str, words)])


def test_the_pages_in_a_pipe(trace: Path, snapshot: SnapshotAssertion) -> None:
    done = run("characterize", trace, "--by", "device")
    assert done.output.replace(str(trace), "trace.parquet") == snapshot


def test_what_is_unknown_is_said(blind: Path, snapshot: SnapshotAssertion) -> None:
    lines = [
        line for line in run("characterize", blind).output.splitlines() if "unknown" in line or "n/a" in line
    ]
    assert lines == snapshot


def test_json_has_definitions_and_all_figures(trace: Path) -> None:
    shown = json.loads(run("characterize", trace, "--json").output)
    assert shown["schema"] == "openpts.characteristics/1"
    assert shown["definitions"] == DEFINITIONS
    assert len(shown["questions"]) == 5
    assert shown["whole"]["mix"]["ios"] == 400


def test_a_page_is_written(trace: Path, tmp_path: Path) -> None:
    done = run("characterize", trace, "--html", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "characteristics.html").is_file()


def test_distances_of_two(trace: Path, blind: Path, snapshot: SnapshotAssertion) -> None:
    assert run("characterize", trace, blind).output == snapshot
    shown = json.loads(run("characterize", trace, trace, "--json").output)
    assert {distance["distance"] for distance in shown["distances"]} == {0}
    assert "total" not in shown


def test_a_span_of_seconds(trace: Path) -> None:
    whole, first, last = (
        json.loads(run("characterize", trace, "--json", *words).output)["whole"]["mix"]["ios"]
        for words in ((), ("--time", ":0.1"), ("--time", "0.1:"))
    )
    assert 0 < first < whole
    assert first + last == whole


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--time", "2:1"), UsageError),
        (("--time", "1000000:"), TraceError),
        (("--device", "nothere"), TraceError),
    ],
)
def test_spans_and_devices_without_ios_are_refused(
    trace: Path, words: tuple[str, ...], error: type[Exception], snapshot: SnapshotAssertion
) -> None:
    done = run("characterize", trace, *words)
    assert isinstance(done.exception, error)
    assert str(done.exception).replace(str(trace), "trace.parquet") == snapshot


def test_three_traces_are_refused(trace: Path, snapshot: SnapshotAssertion) -> None:
    done = run("characterize", trace, trace, trace)
    assert isinstance(done.exception, UsageError)
    assert str(done.exception) == snapshot


@pytest.mark.parametrize("command", [("characterize",), ("characterize", "--json"), ("synthesize",)])
def test_a_damaged_trace_that_is_used_has_its_exit_status(command: tuple[str, ...], tmp_path: Path) -> None:
    lines = [f"{n * 1000} /dev/x read {n * 4096} 4096" for n in range(3000)]
    log = tmp_path / "log"
    for wrong, status in ((None, 0), ("2000 /dev/x read x y", 11)):
        lines[1000] = wrong or lines[1000]
        log.write_text("\n".join(["fio version 3 iolog", "0 /dev/x add", "0 /dev/x open", *lines, ""]))
        for words in (command, ("check",)):
            order = ["trace", words[0], str(log), *words[1:]]
            done = CliRunner().invoke(cli, order, standalone_mode=False)
            assert (done.return_value, done.exception) == (status, None)


def test_a_recipe_is_nearest_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: recipes()[name] for name in ("boot", "mail", "like:office")}
    monkeypatch.setattr("openpts_traces.cli.trace_characterize.recipes", lambda: few)
    shown = json.loads(run("characterize", "recipe:mail", "--nearest", "--json").output)
    assert {one["group"] for one in shown["groups"]} >= {"mix", "sizes", "arrivals", "places"}
    for group in shown["groups"]:
        assert group["recipes"][0] == {"recipe": "mail", "distance": 0}
        assert [one["distance"] for one in group["recipes"]] == sorted(
            one["distance"] for one in group["recipes"]
        )
    lines = run("characterize", "recipe:mail", "--nearest").output.splitlines()
    assert len(lines) == 1 + len(shown["groups"])
    assert isinstance(run("characterize", "recipe:mail", "--nearest", "--html").exception, UsageError)


READS, WRITES = ("read", "rnd", 4096), ("write", "seq", 131072)
STEPS = [{READS: 700, WRITES: 300}, {}, {READS: 50, WRITES: 950}]


def test_a_step_table_is_shown_with_what_it_has(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    table = write_step_table(tmp_path / "steps.parquet", STEPS)
    assert run("characterize", table).output == snapshot
    shown = json.loads(run("characterize", table, "--json").output)
    assert {stream["name"]: stream["ios"] for stream in shown["streams"]} == {
        "RND 4K R": 750,
        "SEQ 128K W": 1250,
    }
    assert [row["ios"] for row in shown["steps"]["rows"]] == [1000, 0, 1000]
    assert shown["whole"] is None
    assert run("characterize", table, "--html", "--out", tmp_path).exit_code == 0
    assert (tmp_path / "characteristics.html").is_file()


def test_a_step_table_with_lost_events_has_the_exit_status_of_a_damaged_trace(
    tmp_path: Path, golden: Golden
) -> None:
    table = write_step_table(tmp_path / "steps.parquet", STEPS, lost=3)
    done = CliRunner().invoke(cli, ["trace", "characterize", str(table)], standalone_mode=False)
    assert (done.return_value, done.exception) == (11, None)
    assert done.output == golden


@pytest.mark.parametrize(
    "words",
    [
        ("characterize", "{}", "--time", "1:"),
        ("characterize", "{}", "--by", "stream"),
        ("characterize", "{}", "{}"),
        ("characterize", "{}", "--nearest"),
        ("synthesize", "{}", "--fio", "like.fio"),
        ("check", "{}"),
    ],
)
def test_what_needs_single_ios_refuses_a_step_table(
    words: tuple[str, ...], tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    table = write_step_table(tmp_path / "steps.parquet", STEPS)
    done = run(*(word.format(table) for word in words))
    assert isinstance(done.exception, TraceError)
    assert str(done.exception).replace(str(table), "steps.parquet") == snapshot


@pytest.mark.parametrize(
    ("british", "american"), [("characterise", "characterize"), ("synthesise", "synthesize")]
)
def test_either_spelling_is_taken(british: str, american: str) -> None:
    pages = [CliRunner().invoke(cli, ["trace", word, "--help"]).output for word in (british, american)]
    assert pages[0].replace(british, american) == pages[1]
