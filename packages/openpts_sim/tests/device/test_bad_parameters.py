"""Parameters that make no sense are told before anything is purged, on files and simulated drives."""

import shlex
from pathlib import Path

import click
import pytest

from openpts.cli.main import cli
from openpts.errors import OpenptsError
from openpts_sim.presets import load_preset
from tests.support.openpts_process import openpts
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

WRONG = (
    ("iops", "--active-range", "75:25"),
    ("iops", "--active-range", "0"),
    ("iops", "--active-range", "101"),
    ("iops", "--read-pcts", "100,101"),
    ("iops", "--read-pcts", "-1,0"),
    ("iops", "--block-sizes", "4KiB,4100B"),
    ("iops", "--tracking", "RND 2MiB RW0"),
    ("iops", "--segments", "65x1MiB", "--tc", "1", "--qd", "4"),
    ("iops", "--segments", "4x64KiB", "--tc", "1", "--qd", "4"),
    ("iops", "--tc", "64", "--qd", "64"),
    ("iops", "--tc", "0"),
    ("all", "sim:mlc"),
    ("iops", "--time-scale", "3/2"),
    ("iops", "--data-pattern", "verified:1"),
    ("hir", "--wait-states", "1,1"),
    ("hir", "--workload", "SEQ 4KiB RW0", "--segments", "4x1MiB"),
    ("xsr", "--group-seconds", "1,2"),
    ("xsr", "--group-tcs", "1,2000,1"),
    ("cbw", "--prewrite-shortest-seconds", "3600"),
    ("wsat", "--workloads", "mail"),
    ("wsat", "--data-pattern", "entropy:46,granule:700B"),
    ("wsat", "--nines", "12"),
)


def target(kind: str) -> str:
    return "file:scratch" if kind == "file" else "sim:oracle?capacity=64MiB"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "simulated"])
def test_one_line_and_nothing_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, golden: Golden
) -> None:
    scratch = tmp_path / "scratch"
    with scratch.open("wb") as file:
        file.truncate(FILE_BYTES)
        for at in (0, FILE_BYTES // 2, FILE_BYTES - len(MARK)):
            file.seek(at)
            file.write(MARK)
    before = scratch.read_bytes()
    monkeypatch.chdir(tmp_path)
    said = []
    for test, *options in WRONG:
        order = ["run", test, target(kind), "--overwrite-file", "--out", "run", *options]
        with pytest.raises((OpenptsError, click.UsageError)) as caught:
            cli.main(order, standalone_mode=False)
        error = caught.value
        message = error.format_message() if isinstance(error, click.UsageError) else str(error)
        said.append(f"$ {shlex.join(order)}\n{message}\n[{error.exit_code}]\n")
    assert "".join(said) == golden
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
