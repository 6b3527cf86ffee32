"""Outputs of fio 3.33 from practice: imported as what they are, or refused for the reason that is true."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from openpts.analysis.latency import LatencyDistribution
from openpts.cli.main import cli
from openpts.record.reader import Run, read_run
from openpts_compare.tests.unit.exchange.test_imports import SMALL, WANTED, exported, written
from openpts_fio.imports.fio_import import fio_results
from openpts_fio.imports.fio_options import exceeds_threads, files_of, options_of, page_cache
from openpts_fio.imports.imported_run import Source
from tests import DATA
from tests.support.refusals import refusal

CASES = DATA / "cases"
OUTPUTS = sorted([*CASES.glob("import-*/*.json"), *CASES.glob("p-fio-gtod/*.json")])


def imported(path: Path, folder: Path, *words: str) -> str:
    """All that the command prints, and why it refuses."""
    given = ["--capacity", "128MiB", "--out", str(folder), *words]
    ended = CliRunner().invoke(cli, ["import", "fio", str(path), *given])
    return f"{ended.output}{ended.exception or ''}"


def run_of(name: str, folder: Path, *words: str) -> Run:
    imported(CASES / name, folder, *words)
    return read_run(folder)


@pytest.mark.parametrize("path", OUTPUTS, ids=lambda path: path.stem)
def test_what_the_command_says(path, tmp_path, golden) -> None:
    there = shutil.copy(path, tmp_path)
    assert imported(Path(there), tmp_path / "run") == golden


@pytest.mark.parametrize(
    "name", ["import-slow-job/rate-2-iops", "import-slow-job/thinktime", "p-fio-gtod/gtod", "p-fio-gtod/latp"]
)
def test_counts_and_bytes_are_those_of_the_output(name, tmp_path) -> None:
    run = run_of(f"{name}.json", tmp_path / "run")
    (job,) = json.loads((CASES / f"{name}.json").read_text())["jobs"]
    ((done, stated),) = ((step.sample.read, job["read"]) for step in run.steps)
    assert (done.ios, done.bytes) == (stated["total_ios"], stated["io_bytes"])
    if "gtod" in name.rpartition("/")[2]:
        assert (done.latency_sum_ns, done.latency_min_ns, done.latency_max_ns) == (0, None, None)
    else:
        assert done.latency_sum_ns / done.ios == pytest.approx(stated["lat_ns"]["mean"], rel=1e-6)


@pytest.mark.parametrize("bw", [0, 1, 2, 7, 19])
@pytest.mark.parametrize("unit", [1, 1024])
def test_slow_jobs_have_bytes_or_kib_as_their_throughput_has(bw, unit, tmp_path) -> None:
    """Just below the next whole KiB/s, in a second: fio 3 has bytes, fio 2 KiB."""
    moved_bytes = bw * 1024 + 1023 if unit == 1 or not bw else bw * 1024
    content = SMALL.replace("40960", str(moved_bytes // unit if bw else 512)).replace(
        '"bw": 40', f'"bw": {bw}'
    )
    source = Source.read(written(tmp_path / "fio.json", content))
    ((_, sample),) = fio_results(source, WANTED).steps
    assert sample.read.bytes == (moved_bytes if bw else 512)


def test_times_of_fdatasync_are_kept(tmp_path) -> None:
    name = "import-fsync-latency-lost/sync.json"
    run = run_of(name, tmp_path / "run")
    stated = json.loads((CASES / name).read_text())["jobs"][0]["sync"]["lat_ns"]
    (done,) = (step.sample.flush for step in run.steps)
    assert (done.ios, done.latency_min_ns, done.latency_max_ns) == (911, stated["min"], stated["max"])
    assert done.latency_sum_ns / done.ios == pytest.approx(stated["mean"])
    found = LatencyDistribution.merged([done.histogram]).percentile_ns(99)
    assert found == pytest.approx(13_172_736, rel=1 / 64)
    (job,) = exported(run, tmp_path / "fio")
    assert (job["sync"]["total_ios"], job["sync"]["lat_ns"]["max"]) == (911, stated["max"])


def syncing(tmp_path, **options: str) -> dict[str, Any]:
    """What comes back of a job with percentiles of syncs and without bins."""
    output = json.loads((CASES / "import-fsync-latency-lost/sync.json").read_text())
    tmp_path.mkdir()
    (job,) = output["jobs"]
    del job["job options"]["fdatasync"], job["sync"]["lat_ns"]["bins"]
    job["job options"] |= options
    imported(written(tmp_path / "fio.json", json.dumps(output)), tmp_path / "run")
    run = read_run(tmp_path / "run")
    about = run.manifest.imported
    (step,) = run.steps
    (back,) = exported(run, tmp_path / "fio")
    return {
        "counts": (step.sample.flush.ios, step.sample.fsync.ios),
        "p99": back["sync"]["lat_ns"].get("percentile", {}).get("99.000000"),
        "n/a": any(text.startswith("times of fsync") for text in about.missing),
    }


def test_times_of_syncs_are_of_what_the_options_ask_for(tmp_path) -> None:
    assert syncing(tmp_path / "1", fdatasync="1") == {"counts": (911, 0), "p99": 13_172_736, "n/a": False}
    assert syncing(tmp_path / "2", fsync="1") == {"counts": (0, 911), "p99": 13_172_736, "n/a": False}
    found = syncing(tmp_path / "3", sync_file_range="write:1")
    assert (found["counts"], found["n/a"]) == ((0, 0), True)


def test_the_job_file_gives_what_a_server_loses(tmp_path) -> None:
    folder = CASES / "import-client-without-job-options"
    run = run_of("import-client-without-job-options/n2.json", tmp_path, "--job", str(folder / "n2.fio"))
    (one,), (two,) = (step.sample.step.stimuli for step in run.steps)
    assert [(stream.tc, stream.qd) for stream in (one, two)] == [(2, 4), (2, 32)]
    assert [step.sample.read.ios for step in run.steps] == [14_276, 23_626]


def test_a_server_that_gives_the_options_of_another_job_is_refused(tmp_path, golden) -> None:
    """fio 3.33 gave the one entry of three jobs, iodepth 10 to 12, with group_reporting those of the last."""
    job = {**json.loads(SMALL)["jobs"][0], "hostname": "h", "port": 1, "latency_depth": 12}
    output = {**json.loads(SMALL), "jobs": [], "client_stats": [job]}
    runtime = job["read"]["runtime"]
    for options, depth, total in (({"iodepth": "12"}, 12, 4 * runtime), ({"iodepth": "12"}, 10, runtime)):
        job |= {"job options": options, "latency_depth": depth, "job_runtime": total}
        assert refusal(imported_or_refused, written(tmp_path / "fio.json", json.dumps(output))) == golden
    options = {"ioengine": "libaio", "iodepth": "12"}
    job |= {"job options": options, "latency_depth": 12, "job_runtime": runtime}
    ((_, sample),) = imported_or_refused(written(tmp_path / "fio.json", json.dumps(output))).steps
    assert sample.step.stimuli[0].qd == 12


@pytest.mark.parametrize(
    ("threads", "longest_ms", "in_all_ms", "exceeds"),
    [
        # as fio 3.33 has them: with a ramp, end_fsync, thinktime, numjobs; startdelay, other depths, two jobs
        (None, 1004, 1003, False),
        (None, 56, 55, False),
        (None, 232, 231, False),
        ("4", 176, 499, False),
        ("3", 2003, 6004, False),
        (None, 1003, 2002, True),
        ("1", 2001, 4000, True),
        ("2", 2028, 6046, True),
        # a result of fio before 2.14
        (None, 1000, 0, False),
    ],
)
def test_jobs_that_fio_added_up_have_more_threads(threads, longest_ms, in_all_ms, exceeds) -> None:
    assert exceeds_threads({"numjobs": threads}, longest_ms, in_all_ms) is exceeds


def imported_or_refused(path: Path) -> Any:
    return fio_results(Source.read(path), WANTED)


def test_what_went_through_the_page_cache_is_in_the_ledger(tmp_path, golden) -> None:
    run = run_of("import-page-cache/no-direct.json", tmp_path / "run")
    assert [entry.used for entry in run.ledger[:2]] == golden
    direct = run_of("p-fio-gtod/latp.json", tmp_path / "direct")
    assert not [entry for entry in direct.ledger if "page cache" in entry.used]


@pytest.mark.parametrize(
    ("lines", "cached"),
    [
        ("", True),
        ("direct=1", False),
        ("direct", False),
        ("direct=0", True),
        ("buffered=1", True),
        ("buffered=0", False),
        ("direct=1 buffered=1", True),
        ("direct=0 buffered=0", False),
        ("direct=1 direct=0", True),
        ("direct=1 ioengine=mmap", True),
        ("ioengine=sync", True),
        ("ioengine=io_uring_cmd", False),
        ("rw=randtrim", False),
    ],
)
def test_the_page_cache_is_used_unless_fio_was_told(lines, cached) -> None:
    pairs = (line.partition("=") for line in ("rw=read", *lines.split()))
    options = options_of((name, value if equals else None) for name, equals, value in pairs)
    assert bool(list(page_cache({"a": options}))) is cached


@pytest.mark.parametrize(
    ("lines", "files"),
    [
        ("filename=/a", ["/a"]),
        ("filename=/a filename=/a", ["/a"]),
        ("filename=/a filename=/b", ["/a", "/b"]),  # fio opens both, of [global] and of the job, too
        ("filename=/a:/b", ["/a", "/b"]),
        (r"filename=/dev/disk/by-path/pci-0\:1", ["/dev/disk/by-path/pci-0:1"]),
        ("directory=/m", ["/m"]),
        ("directory=/m:/n", ["/m", "/n"]),
        ("directory=/m filename=f", ["/m/f"]),
        ("", []),
    ],
)
def test_the_files_of_a_job_are_those_that_fio_opens(lines, files) -> None:
    pairs = (line.split("=") for line in lines.split())
    assert files_of(options_of((name, value) for name, value in pairs)) == files


def test_jobs_of_several_drives_are_refused(tmp_path, golden) -> None:
    """Side by side, one after the other, and by the job file alone."""
    job = json.loads(SMALL)["jobs"][0]
    for group in (0, 1):
        other = {**job, "jobname": "b", "groupid": group, "job options": {"filename": "/dev/nvme1n1"}}
        output = {**json.loads(SMALL), "jobs": [{**job, "job options": {"filename": "/dev/nvme0n1"}}, other]}
        assert refusal(imported_or_refused, written(tmp_path / "fio.json", json.dumps(output))) == golden
    by_job = written(tmp_path / "two.fio", "[a]\nrw=randread\nbs=4k\ndirect=1\nfilename=/a:/b\n")
    source = Source.read(written(tmp_path / "fio.json", SMALL))
    assert refusal(fio_results, source, WANTED, by_job) == golden


def test_names_that_come_twice_are_refused(tmp_path, golden) -> None:
    job = json.loads(SMALL)["jobs"][0]
    jobs = (
        [job, job],  # two sections that are alike
        [job, {**job, "job options": {"iodepth": "32"}}],
        [job, {**job, "jobname": "b"}, job],
    )
    for several in jobs:
        output = {**json.loads(SMALL), "jobs": several}
        assert refusal(imported_or_refused, written(tmp_path / "fio.json", json.dumps(output))) == golden
    threads = {**job, "job options": {"numjobs": "2"}}
    output = {**json.loads(SMALL), "jobs": [threads, threads]}
    ((_, sample),) = imported_or_refused(written(tmp_path / "fio.json", json.dumps(output))).steps
    assert (sample.read.ios, sample.step.stimuli[0].tc) == (20, 2)


def test_what_encloses_the_output_and_what_failed_is_named(tmp_path, golden) -> None:
    job = json.loads(SMALL)["jobs"][0]
    failed = {**json.loads(SMALL), "jobs": [{**job, "error": 5, "total_err": 2}]}
    cases = (
        json.dumps([json.loads(SMALL)] * 2),
        json.dumps({"results": {"fio": json.loads(SMALL)}}, indent=2),
        json.dumps([json.loads(SMALL)], indent=0),
        json.dumps(failed),
    )
    for content in cases:
        assert refusal(imported_or_refused, written(tmp_path / "fio.json", content)) == golden
    damaged = tmp_path / "utf16.json"
    damaged.write_bytes(b"\xff\xfe{\0\n")
    assert refusal(imported_or_refused, damaged) == golden
