"""`openpts io` and its relatives on simulated drives, as a user starts them."""

import json
from pathlib import Path

import pytest

from tests.support.openpts_process import openpts
from tests.support.oracle_presets import write_oracle
from tests.support.transcript import Golden

# of 10,000 in a row: 9000 take 100 us, 900 take 1 ms, 90 take 10 ms, 9 take 20 ms and 1 takes 50 ms
LAW_NS = {9000: 100_000, 9900: 1_000_000, 9990: 10_000_000, 9999: 20_000_000, 10_000: 50_000_000}
PERIOD = 10_000
HISTOGRAM_ERROR = 1 / 1024
LAW_TOML = f"""
[oracle.latency]
period = {PERIOD}
factor = 7919
law = [{", ".join(f"{{ below = {below}, ns = {ns} }}" for below, ns in LAW_NS.items())}]
"""


def law_percentile_ns(percentile: float) -> int:
    """By counting."""
    rank = round(percentile / 100 * PERIOD)
    return next(ns for below, ns in LAW_NS.items() if rank <= below)


def test_percentiles_are_those_of_the_law(tmp_path: Path) -> None:
    write_oracle(tmp_path, [1e6], by="seconds", extra=LAW_TOML)
    ended = openpts(
        *("io", "sim:oracle-of-a-test.toml", "--qd", "1", "--tc", "1", "--bs", "4k", "--mix", "100/0"),
        *("--ios", str(30 * PERIOD), "--seed", "5", "--json"),
        cwd=tmp_path,
    )
    assert ended.exit_code == 0, ended.stderr
    total = ended.json["total"]
    assert total["ios"] == 30 * PERIOD
    shares = zip(LAW_NS.items(), [0, *LAW_NS], strict=False)
    mean_ns = sum((below - before) * ns for (below, ns), before in shares) / PERIOD
    assert total["mean_latency_ns"] == pytest.approx(mean_ns)
    assert (total["min_latency_ns"], total["max_latency_ns"]) == (100_000, 50_000_000)
    for percentile in (50, 90, 99, 99.9, 99.99):
        told_ns = total["percentiles_ns"][f"{percentile:g}"]
        assert told_ns == pytest.approx(law_percentile_ns(percentile), rel=HISTOGRAM_ERROR)
    assert total["percentiles_ns"]["99.999"] == pytest.approx(50_000_000, rel=HISTOGRAM_ERROR)
    assert ended.json["simulated"].startswith("SIMULATED, preset oracle-of-a-test, scale 1:1")
    assert ended.json["cpu"] is None


def test_an_hour_is_told_with_its_time(tmp_path: Path, golden: Golden) -> None:
    write_oracle(tmp_path, [100], by="seconds")
    ended = openpts(
        *("io", "sim:oracle-of-a-test.toml", "--mix", "0/100", "--seconds", "3600", "--interval", "600"),
        cwd=tmp_path,
    )
    assert ended.exit_code == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert lines[0] == golden
    assert lines[1].startswith("note: SIMULATED, preset oracle-of-a-test, scale 1:1: not a measurement")
    rates = [line.split() for line in lines[3:9]]
    assert [row[0] for row in rates] == ["600.0", "1,200.0", "1,800.0", "2,400.0", "3,000.0", "3,600.0"]
    assert {row[1] for row in rates} == {"100"}
    assert any(line.startswith("simulated 1 h 0 min in ") for line in lines)
    assert not any(line.startswith(("I/O path", "probe", "processors", "CPU time")) for line in lines)


def test_two_drives_are_measured_at_once(tmp_path: Path) -> None:
    write_oracle(tmp_path, [100], by="seconds", name="slow")
    write_oracle(tmp_path, [1000], by="seconds", name="fast")
    ended = openpts("io", "sim:slow.toml", "sim:fast.toml", "--seconds", "10", "--json", cwd=tmp_path)
    assert ended.exit_code == 0, ended.stderr
    assert [target["total"]["iops"] for target in ended.json["targets"]] == pytest.approx([100, 1000])


def test_each_io_can_be_kept(tmp_path: Path) -> None:
    write_oracle(tmp_path, [1000], by="seconds")
    ended = openpts(
        *("io", "sim:oracle-of-a-test.toml", "--ios", "1000", "--capture", "all", "--json"), cwd=tmp_path
    )
    assert ended.exit_code == 0, ended.stderr
    assert ended.json["capture"]["ios"] == 1000
    assert list((tmp_path / "all").glob("*.parquet"))


@pytest.mark.parametrize("words", [("--io-path", "sync"), ("--cpus", "0")])
def test_a_test_refuses_it_too_and_leaves_no_folder(tmp_path: Path, words: tuple[str, ...]) -> None:
    write_oracle(tmp_path, [1000])
    ended = openpts("run", "iops", "sim:oracle-of-a-test.toml", *words, "--out", "run", cwd=tmp_path)
    assert ended.exit_code == 2
    assert ended.complaint.startswith(f"openpts: {words[0]}")
    assert not (tmp_path / "run").exists()


def test_fio_has_nothing_to_compare_with(tmp_path: Path, golden: Golden) -> None:
    ended = openpts("crosscheck", "sim:enterprise-tlc", cwd=tmp_path)
    assert ended.exit_code == 2
    assert ended.complaint == golden


@pytest.mark.slow
def test_a_run_from_the_command_line(tmp_path: Path) -> None:
    write_oracle(tmp_path, [5000], by="seconds")
    ended = openpts(
        *("run", "iops", "sim:oracle-of-a-test.toml?seed=9", "--quick", "--seed", "1", "--out", "run"),
        "--json",
        cwd=tmp_path,
    )
    assert ended.exit_code == 0, ended.stderr
    assert ended.json["steady_state"]["round"] == 5
    assert {round(cell["iops"]) for cell in ended.json["iops"]} == {5000}
    assert ended.json["simulated"] == (
        "SIMULATED, preset oracle-of-a-test, scale 1:1 - not a measurement of a drive"
    )
    report = json.loads((tmp_path / "run/report.json").read_bytes())
    assert report["red_line"].startswith("SHORTENED RUN, SIMULATED, preset oracle-of-a-test")
    assert (tmp_path / "run/report.pdf").stat().st_size > 10_000


def test_a_drive_that_is_worn_in_is_in_the_steady_state_of_a_long_run(tmp_path: Path) -> None:
    def iops(state: str, fills: str) -> float:
        ended = openpts(
            *("io", f"sim:theory?capacity=512MiB&state={state}", "--mix", "0/100", "--bs", "4k"),
            *("--qd", "64", "--fills", fills, "--seed", "2", "--json"),
            cwd=tmp_path,
        )
        assert ended.exit_code == 0, ended.stderr
        return float(ended.json["total"]["iops"])

    # the last two drive writes of a long run, against the first tenth of one
    settled = 2 / (14 / iops("new", "14") - 12 / iops("new", "12"))
    assert iops("worn-in", "0.1") == pytest.approx(settled, rel=0.03)
    assert iops("worn-in", "0.1") < iops("new", "0.1") / 2


@pytest.mark.parametrize(("rate", "capped"), [(3000, 66.7), (900, None)])
def test_an_open_loop_that_the_queue_caps_is_told(tmp_path: Path, rate: int, capped: float | None) -> None:
    """One I/O at a time, of 1 ms each."""
    write_oracle(tmp_path, [1000.0])
    ended = openpts(
        *("io", "sim:oracle-of-a-test.toml", "--qd", "1", "--tc", "1", "--bs", "4k", "--mix", "0/100"),
        *("--rate", str(rate), "--seconds", "10"),
        cwd=tmp_path,
    )
    assert ended.exit_code == 0, ended.stderr
    lines = [line for line in ended.stdout.splitlines() if line.startswith("capped")]
    assert len(lines) == (capped is not None)
    assert all(f" {capped} % of the planned I/Os" in line and "(TC x QD = 1)" in line for line in lines)


JOB = """
[open]
rw=randwrite
bs=4k
iodepth=1
rate_process=poisson
rate_iops={rate}
time_based
runtime=2
"""


def capped_lines(tmp_path: Path, *words: str) -> list[str]:
    """Of a run on a drive that takes 1 ms for each I/O."""
    write_oracle(tmp_path, [1000.0])
    ended = openpts("run", *words, "sim:oracle-of-a-test.toml", "--out", "run", "--no-report", cwd=tmp_path)
    assert ended.exit_code == 0, ended.stderr
    return [line for line in (ended.stdout + ended.stderr).splitlines() if "capped in" in line]


@pytest.mark.parametrize(("rate", "capped"), [(3000, 66.7), (300, None)])
def test_a_job_that_the_queue_caps_is_told_by_run(tmp_path: Path, rate: int, capped: float | None) -> None:
    (tmp_path / "open.fio").write_text(JOB.format(rate=rate))
    lines = capped_lines(tmp_path, "workload", "open.fio", "--precondition-passes", "0", "--max-rounds", "1")
    assert len(lines) == (capped is not None)
    for line in lines:
        share = float(line.partition(" % of the planned I/Os were not issued")[0].rpartition(" ")[2])
        assert share == pytest.approx(capped, abs=3)
        assert "(TC x QD = 1)" in line


@pytest.mark.parametrize(("words", "capped"), [((), 2), (("--depth", "64"), 0), (("--mode", "afap"), 0)])
def test_a_replay_that_its_depth_caps_is_told(tmp_path: Path, words: tuple[str, ...], capped: int) -> None:
    """Three at a time, each 10 ms; as fast as possible is no planned load, which nothing caps."""
    head = ["fio version 3 iolog", "0 /dev/x add", "0 /dev/x open"]
    ios = [f"{number // 3 * 10_000} /dev/x read {number * 4096} 4096" for number in range(300)]
    (tmp_path / "trace.iolog").write_text("\n".join([*head, *ios, "1000000 /dev/x close", ""]))
    more = words or ("--depth", "1")
    lines = capped_lines(tmp_path, "replay", "trace.iolog", "--prefill", "none", "--passes", "2", *more)
    assert len(lines) == capped
    for line in lines:
        # of the ten ms of three I/Os, two wait for one and then for the other
        share = float(line.partition(" % of the time")[0].rpartition(" ")[2])
        assert 15 < share < 100
        assert "raise --depth" in line
