"""A folder of fio's own outputs and logs as one run. The oracle is what fio wrote, as fio-plot draws it."""

import json
import subprocess
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from click.testing import CliRunner

from openpts.cli.main import cli
from openpts.record.reader import Run, read_run
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.report.sources import default_date
from openpts.units import KIB
from openpts.vocabulary.run_request import CourseFigure

DEMANDS = ((1, 1), (4, 1), (4, 2))
AVERAGED_MS = 200


@pytest.fixture(scope="module")
def benched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What bench-fio leaves: an output and its logs for each queue depth and number of jobs."""
    folder = tmp_path_factory.mktemp("fio")
    for depth, jobs in DEMANDS:
        name = f"randread-{depth}-{jobs}"
        logs = [f"--write_{kind}_log={folder / name}" for kind in ("bw", "iops", "lat")]
        averaged = [] if (depth, jobs) == (1, 1) else [f"--log_avg_msec={AVERAGED_MS}"]
        subprocess.run(
            ["fio", "--name=randread", f"--filename={folder}/file", "--size=16m", "--rw=randread", "--bs=4k",
             "--ioengine=libaio", "--time_based", "--runtime=1", f"--iodepth={depth}", f"--numjobs={jobs}",
             "--rate_iops=2000", "--group_reporting", *logs, *averaged, "--output-format=json+",
             f"--output={folder / name}.json"],
            check=True, capture_output=True,
        )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def run(benched: Path) -> Run:
    out = str(benched.parent / "run")
    ended = CliRunner().invoke(cli, ["import", "fio", str(benched), "--capacity", "100GB", "--out", out])
    assert ended.exit_code == 0, ended.output
    return read_run(Path(out))


def stated(folder: Path, name: str) -> Any:
    return json.loads((folder / f"{name}.json").read_text())["jobs"][0]["read"]


def lines(folder: Path, name: str, kind: str, number: int) -> list[tuple[int, int]]:
    text = (folder / f"{name}_{kind}.{number}.log").read_text()
    return [(int(line.split(",")[0]), int(line.split(",")[1])) for line in text.splitlines()]


def test_each_output_is_a_step_with_its_figures(benched: Path, run: Run) -> None:
    found = {one["stream"]: one for one in summarize(run)["streams"] if one["stream"] != "all"}
    assert list(found) == [f"randread-{depth}-{jobs}" for depth, jobs in DEMANDS]
    for name, one in found.items():
        assert one["ios"] == stated(benched, name)["total_ios"]
        assert one["iops"] == pytest.approx(stated(benched, name)["iops"], rel=0.01)
    sums = (run.folder / "input" / "SHA256SUMS").read_text()
    assert sums.count(".json") == len(DEMANDS)


@pytest.mark.parametrize("axis", ["qd", "tc"])
def test_charts_are_over_depth_and_jobs(benched: Path, run: Run, axis: str) -> None:
    tables = build_report(run, default_date(run)).tables()
    shown = tables[f"workload-{axis}-iops-values"]
    found = {
        (row.head.text.rpartition(" ")[2], column.value): cell.value
        for row in shown.rows
        for column, cell in zip(shown.columns, row.cells, strict=True)
        if cell.value is not None
    }
    for depth, jobs in DEMANDS:
        key = (str(jobs), depth) if axis == "qd" else (str(depth), jobs)
        assert found[key] == pytest.approx(stated(benched, f"randread-{depth}-{jobs}")["iops"], rel=0.01)


@pytest.mark.parametrize(
    ("kind", "figure", "unit", "together"),
    [
        ("iops", CourseFigure.IOPS, 1, sum),
        ("bw", CourseFigure.THROUGHPUT, KIB, sum),
        ("lat", CourseFigure.LATENCY, 1, fmean),
    ],
)
def test_courses_are_the_lines_of_logs_with_threads_together(
    benched: Path, run: Run, kind: str, figure: CourseFigure, unit: int, together: Any
) -> None:
    """fio-plot adds the lines of several jobs up, and averages their latencies."""
    assert run.manifest.imported is not None
    courses = {(one.of, one.figure): one for one in run.manifest.imported.courses}
    for depth, jobs in DEMANDS[1:]:
        name = f"randread-{depth}-{jobs}"
        course = courses[name, figure]
        assert (course.step_ms, course.operation) == (AVERAGED_MS, "read")
        of_threads = [lines(benched, name, kind, number) for number in range(1, jobs + 1)]
        drawn: dict[int, list[float]] = {}
        for line in zip(*of_threads, strict=False):
            # on a busy machine fio is late with a line, and the next one is of the same interval
            place = max(0, round(line[0][0] / AVERAGED_MS) - 1)
            drawn.setdefault(place, []).append(together([value for _, value in line]) * unit)
        assert len(drawn) >= 3
        found = {place: value for place, value in enumerate(course.values) if value is not None}
        assert found == pytest.approx({place: fmean(values) for place, values in drawn.items()})


def test_a_log_of_each_io_is_added_up_by_the_second(benched: Path, run: Run) -> None:
    assert run.manifest.imported is not None
    name = "randread-1-1"
    found = {one.figure: one.values for one in run.manifest.imported.courses if one.of == name}
    assert found[CourseFigure.IOPS][0] == sum(
        time_ms < 1000 for time_ms, _ in lines(benched, name, "iops", 1)
    )
    assert found[CourseFigure.THROUGHPUT][0] == 4 * KIB * found[CourseFigure.IOPS][0]  # type: ignore[operator]
    assert found[CourseFigure.LATENCY][0] == pytest.approx(
        fmean(value for time_ms, value in lines(benched, name, "lat", 1) if time_ms < 1000)
    )


def test_a_line_that_is_late_is_averaged_with_the_next(benched: Path, tmp_path: Path) -> None:
    output = (benched / "randread-4-1.json").read_text().replace(str(benched / "randread-4-1"), "a")
    (tmp_path / "a.json").write_text(output)
    (tmp_path / "a_iops.1.log").write_text("200, 10, 0, 4096\n530, 20, 0, 4096\n600, 40, 0, 4096\n")
    words = ["import", "fio", str(tmp_path / "a.json"), "--capacity", "1GB", "--out", str(tmp_path / "out")]
    assert CliRunner().invoke(cli, words).exit_code == 0
    imported = read_run(tmp_path / "out").manifest.imported
    assert imported is not None
    assert [one.values for one in imported.courses] == [(10.0, None, 30.0)]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("1000, x, 0, 0", "a_iops.1.log:1: '1000, x, 0, 0' is no line of a log of fio"), ("", "")],
)
def test_a_damaged_log_is_refused_by_its_line(
    benched: Path, tmp_path: Path, text: str, complaint: str
) -> None:
    output = (benched / "randread-4-1.json").read_text().replace(str(benched / "randread-4-1"), "a")
    (tmp_path / "a.json").write_text(output)
    (tmp_path / "a_iops.1.log").write_text(text)
    words = ["import", "fio", str(tmp_path / "a.json"), "--capacity", "1GB", "--out", str(tmp_path / "out")]
    ended = CliRunner().invoke(cli, words)
    assert complaint in ended.output + str(ended.exception)
    assert bool(ended.exit_code) is bool(complaint)


def test_a_folder_without_outputs(tmp_path: Path) -> None:
    ended = CliRunner().invoke(cli, ["import", "fio", str(tmp_path), "--capacity", "1GB"])
    assert "has no file .json" in ended.output + str(ended.exception)
