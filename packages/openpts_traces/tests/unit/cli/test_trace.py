"""`openpts trace`: what is printed, what is written, and with which status it ends."""

import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tests.repository.test_first_contact import as_typed, seen
from tests.repository.test_visible_output import at_a_terminal
from tests.support.made_traces import damaged, reads_and_writes, record
from tests.support.openpts_command import COMMAND

TRACE = reads_and_writes(4000) + record(40_000, length_bytes=0)


@pytest.fixture(autouse=True)
def _in_a_folder_with_a_trace(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    Path("trace").write_bytes(TRACE)


def result(*words: str) -> tuple[dict[str, Any], int]:
    text, code = seen("trace", *words, "--json")
    parsed: dict[str, Any] = json.loads(text.splitlines()[-1])
    return parsed, code


def test_what_is_seen(snapshot) -> None:
    Path("damaged").write_bytes(damaged(TRACE, [2000]))
    Path("ruined").write_bytes(damaged(TRACE, range(1000, 1100)))
    Path("late").write_bytes(reads_and_writes(3, apart_us=900_000) + record(0))
    Path("empty").touch()
    Path("keys").write_text("0,abc,17,213,4,get,0\n1,abc,17,213,4,get,0\n")
    assert (
        "\n".join(
            [
                as_typed("trace", "check", "trace"),
                as_typed("trace", "check", "damaged"),
                as_typed("trace", "check", "ruined"),
                as_typed("trace", "check", "ruined", "--damaged-limit", "5"),
                as_typed("trace", "check", "late"),
                as_typed("trace", "check", "late", "--reorder", "any"),
                as_typed("trace", "check", "empty"),
                as_typed("trace", "check", "keys"),
                as_typed("trace", "check", "missing"),
                as_typed("trace", "check", "trace", "--device", "sda"),
                as_typed("trace", "check", "trace", "--reorder", "soon"),
                as_typed("trace", "convert", "trace", "-o", "trace"),
                as_typed("trace", "convert", "trace", "-o", "iolog", "--to", "fio_iolog"),
            ]
        )
        == snapshot
    )
    assert sorted(path.name for path in Path().iterdir()) == [
        "damaged", "empty", "iolog", "keys", "late", "ruined", "trace",
    ]  # fmt: skip


def test_status_tells_clean_from_damaged_and_refused() -> None:
    Path("damaged").write_bytes(damaged(TRACE, [2000]))
    clean, code = result("check", "trace")
    assert (clean["clean"], code) == (True, 0)
    used, code = result("check", "damaged")
    assert (used["clean"], code) == (False, 11)
    refused, code = result("check", "damaged", "--damaged-limit", "0")
    assert (refused["exit_code"], code) == (12, 12)
    (damage,) = used["damages"]
    assert (damage["file"], damage["place"]) == ("damaged", "line 2001")
    for records in (clean["header"]["records"], used["header"]["records"]):
        left = sum(records["skipped"].values()) + sum(records["damaged"].values())
        assert records["read"] == records["accepted"] + left == 4001


def test_the_canonical_form_is_read_by_others() -> None:
    result("convert", "trace", "-o", "canonical")
    table = pyarrow.parquet.read_table("canonical")
    assert table.num_rows == 4000
    assert table["seq"].to_pylist() == list(range(4000))
    assert table["t_ns"].to_pylist()[:3] == [0, 10_000, 20_000]
    assert set(table["latency_ns"].to_pylist()) == {100_000}
    assert table["operation"].to_pylist()[-2:] == ["read", "write"]
    header = json.loads(table.schema.metadata[b"openpts.trace_header"])
    assert header["sources"][0]["name"] == "trace"


def test_a_trace_comes_from_a_pipe_and_compressed() -> None:
    Path("packed").write_bytes(gzip.compress(TRACE))
    assert result("check", "packed")[0]["ios"] == 4000
    with Path("packed").open("rb") as packed:
        command = subprocess.run(
            [*COMMAND, "trace", "convert", "-", "-o", "piped"], stdin=packed, capture_output=True, check=True
        )
    assert b"4,000" in command.stdout
    assert result("check", "piped")[0]["ios"] == 4000


@pytest.mark.parametrize("to", ["fio_iolog", "blktrace", "msr"])
def test_what_is_written_in_another_format_is_read_again(to) -> None:
    Path("only").write_bytes(reads_and_writes(4000))
    written, code = result("convert", "only", "-o", "other", "--to", to)
    assert (written["ios"], code) == (4000, 0)
    result("convert", "only", "-o", "whole")
    result("convert", "other", "-o", "again")
    names = ["t_ns", "operation", "offset_bytes", "length_bytes"]
    whole, again = (pyarrow.parquet.read_table(name, columns=names) for name in ("whole", "again"))
    assert whole.equals(again)
    latencies = pyarrow.parquet.read_table("again", columns=["latency_ns"])["latency_ns"]
    assert latencies.null_count == (4000 if to == "fio_iolog" else 0)
    if to == "fio_iolog":
        assert written["losses"]["completions"] == 4000


def test_a_capture_of_openpts_is_a_trace() -> None:
    subprocess.run(
        [*COMMAND, "io", "sim:mlc", "--seconds", "0.01", "--seed", "1", "--capture", "captured"],
        check=True,
        capture_output=True,
    )
    read, code = result("check", "captured")
    assert (code, read["header"]["class"], read["header"]["level"]) == (0, "A", "queue")
    table = pyarrow.parquet.read_table("captured")
    assert read["ios"] == table.num_rows
    result("convert", "captured", "-o", "canonical")
    ours = pyarrow.parquet.read_table("canonical")
    submitted = sorted(table["submitted_ns"].to_pylist())
    assert ours["t_ns"].to_pylist() == [moment - submitted[0] for moment in submitted]


def test_the_figures_are_those_of_a_trace_whose_figures_are_known() -> None:
    """4,000 I/Os of 4 KiB, 10 us apart, each at a block of its own, for 100 us: ten are in flight."""
    Path("only").write_bytes(reads_and_writes(4000))
    figures = result("check", "only")[0]["figures"]
    depth = figures.pop("depth")
    assert depth["max"] == 10
    assert depth["mean"] == pytest.approx(4000 * 100 / (3999 * 10 + 100))
    assert figures == {
        "operations": {name: {"ios": 2000, "bytes": 2000 * 4096} for name in ("read", "write")},
        "sizes": [[4096, 4000]],
        "span_ns": 3999 * 10_000,
        "most_in_a_second": 4000,
        "sequential": {"read": 0.0, "write": 0.0},
        "footprint_bytes": 4000 * 4096,
        "footprint_error": 0.0,
        "hottest_share": pytest.approx(0.01),
    }
    assert result("convert", "only", "-o", "written")[0]["figures"] is None


@pytest.mark.needs("terminals")
def test_a_terminal_shows_progress_in_one_line_and_takes_it_away(tmp_path) -> None:
    Path("long").write_bytes(reads_and_writes(20_000))
    shown = at_a_terminal(*COMMAND, "trace", "check", "long", cwd=tmp_path)
    drawn, _, found = shown.rpartition("\r\x1b[K")
    assert drawn.startswith("\r\x1b[K8,192 I/Os, ")
    assert (found.startswith("trace     long"), "\\x1b" in shown) == (True, False)


def test_an_interrupted_conversion_leaves_nothing(monkeypatch) -> None:
    def stop(_: object, ios: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("openpts_traces.cli.trace_commands.ProgressLine.__call__", stop)
    before = set(Path().iterdir())
    _, code = seen("trace", "convert", "trace", "-o", "new")
    assert (set(Path().iterdir()), code) == (before, 130)


def test_a_device_is_never_written(tmp_path, golden) -> None:
    Path("link").symlink_to("/dev/null")
    text, code = seen("trace", "convert", "trace", "-o", "link")
    assert code == 12
    assert text == golden


def test_reads_alone_are_questioned(golden) -> None:
    Path("reads").write_bytes(b"".join(record(number, block=number) for number in range(2000)))
    assert result("check", "reads")[0]["warnings"] == golden


@pytest.mark.on_disk
def test_own_captures_of_reads_alone_raise_no_doubt_of_their_codes(golden) -> None:
    ios = 2000
    lines = [f"{128166372003061629 + 1000 * n},host,0,Read,{4096 * n},4096,500" for n in range(ios)]
    Path("reads.csv").write_text("\n".join([*lines, ""]))
    checked, code = result("check", "reads.csv")
    assert (checked["ios"], code) == (ios, 0)
    assert "".join(checked["warnings"]) == golden
    assert result("convert", "reads.csv", "-o", "reads.parquet")[1] == 0
    Path("drive").write_bytes(bytes(1 << 20) * 8)
    text, code = seen("io", "file:drive", "--ios", str(ios), "--capture", "own")
    assert code == 0, text
    for source in ("reads.parquet", "own", "recipe:like:model-loading"):
        checked, code = result("check", source)
        assert (code, checked["warnings"]) == (0, [])
