"""Parameters that make no sense are told before anything is purged, on files and simulated drives."""

from pathlib import Path

import click
import pytest

from openpts.cli.main import cli
from openpts.errors import OpenptsError
from openpts.simulation.presets import load_preset
from tests.device.openpts_process import openpts
from tests.support.transcript import Golden

MARK = b"\xa5" * 4096
FILE_BYTES = 64 * 1024**2

PLAN = """\
[common]
active_range = "75:25"

[iops]
step_secs = 1
qd = 0
"""

CASES = [
    (("iops", "--active-range", "75:25"), 2, "--active-range '75:25': START must be below END"),
    (("iops", "--active-range", "0"), 2, "--active-range '0'"),
    (("iops", "--active-range", "101"), 2, "--active-range '101'"),
    (("iops", "--read-pcts", "100,101"), 2, "'--read-pcts': '100,101': expected a whole number <= 100"),
    (("iops", "--read-pcts", "-1,0"), 2, "expected a whole number >= 0"),
    (("iops", "--block-sizes", "4KiB,4100B"), 2, "--block-sizes '4100B': a transfer has whole sectors"),
    (("iops", "--tracking", "RND 2MiB RW0"), 2, "which is not an element of a round"),
    (
        ("iops", "--segments", "65x1MiB", "--tc", "1", "--qd", "4"),
        3,
        "too small for 65 LBA segments of 1024 KiB",
    ),
    (
        ("iops", "--segments", "4x64KiB", "--tc", "1", "--qd", "4"),
        2,
        "are smaller than a transfer of 1024 KiB",
    ),
    (("iops", "--tc", "64", "--qd", "64"), 3, "too small for the queue"),
    (("iops", "--tc", "0"), 2, "--tc"),
    (("all", "sim:mlc"), 2, "a suite is for one drive, not 2"),
    (("iops", "--time-scale", "3/2"), 2, "--time-scale '3/2': must be above 0 and at most 1"),
    (("iops", "--data-pattern", "verified:1"), 2, "--data-pattern 'verified:1': a test reads"),
    (("hir", "--wait-states", "1,1"), 2, "--wait-states: 1 is given twice"),
    (("hir", "--workload", "SEQ 4KiB RW0", "--segments", "4x1MiB"), 2, "segments apply to random accesses"),
    (("xsr", "--group-seconds", "1,2"), 2, "expected a list of length >= 3"),
    (("xsr", "--group-tcs", "1,2000,1"), 2, "expected a whole number <= 1024"),
    (("cbw", "--prewrite-shortest-seconds", "3600"), 2, "the shortest pre-write is longer than the longest"),
    (("wsat", "--workloads", "mail"), 2, "--workloads 'mail': is not one of read_intensive"),
    (("wsat", "--data-pattern", "entropy:46,granule:700B"), 2, "not a multiple of the sector"),
    (("wsat", "--nines", "12"), 2, "--nines"),
]


def target(kind: str) -> str:
    return "file:scratch" if kind == "file" else "sim:oracle?capacity=64MiB"


@pytest.mark.parametrize("kind", ["file", "simulated"])
@pytest.mark.parametrize(("words", "exit_code", "says"), CASES, ids=[" ".join(case[0]) for case in CASES])
def test_one_line_and_nothing_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    words: tuple[str, ...],
    exit_code: int,
    says: str,
) -> None:
    scratch = tmp_path / "scratch"
    with scratch.open("wb") as file:
        file.truncate(FILE_BYTES)
        for at in (0, FILE_BYTES // 2, FILE_BYTES - len(MARK)):
            file.seek(at)
            file.write(MARK)
    before = scratch.read_bytes()
    monkeypatch.chdir(tmp_path)
    test, *options = words
    order = ["run", test, target(kind), "--overwrite-file", "--out", "run", *options]
    with pytest.raises((OpenptsError, click.UsageError)) as caught:
        cli.main(order, standalone_mode=False)
    error = caught.value
    message = error.format_message() if isinstance(error, click.UsageError) else str(error)
    assert says in message
    assert error.exit_code == exit_code
    assert [path.name for path in tmp_path.iterdir()] == ["scratch"]
    assert scratch.read_bytes() == before


def test_a_plan_is_told_all_that_is_wrong_and_touches_nothing(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    words = ("run", "iops", "file:new?size=64MiB", "--plan", "plan.toml")
    ended = openpts(*words, "--json", cwd=tmp_path)
    lines = ended.stderr.splitlines()
    assert lines == [
        "openpts: plan.toml:5:1: unknown key step_secs in iops: did you mean step_seconds?",
        "openpts: plan.toml:6:1: qd: expected a whole number >= 1, not 0",
    ]
    assert ended.json == {
        "schema": "openpts.error/1",
        "error": "; ".join(line.removeprefix("openpts: ") for line in lines),
        "exit_code": 2,
    }
    (tmp_path / "plan.toml").write_text(PLAN.replace("step_secs = 1\nqd = 0\n", ""))
    assert "plan.toml:2:1: active_range '75:25'" in openpts(*words, cwd=tmp_path).complaint
    assert [path.name for path in tmp_path.iterdir()] == ["plan.toml"]


def test_a_size_between_sectors_is_refused_where_the_operator_asked_for_it(
    tmp_path: Path, golden: Golden
) -> None:
    (tmp_path / "large-sectors.toml").write_text(
        load_preset("oracle").text.replace("sector_bytes = 512", "sector_bytes = 4096")
    )
    words = ("run", "lat", "sim:large-sectors.toml", "--quick", "--no-report", "--out", "run")
    sizes = ("--block-sizes", "8KiB,4KiB,0.5KiB")
    ended = openpts(*words, *sizes, cwd=tmp_path)
    assert ended.exit_code == 2
    assert ended.complaint == golden
    assert not (tmp_path / "run").exists()
    assert openpts(*words, "--json", cwd=tmp_path).exit_code == 0
