"""Traces of others: what `openpts trace check` counts in them, or why it refuses them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests import DATA
from tests.repository.test_first_contact import as_typed, seen

CASES = DATA / "cases"
REFUSED = 12


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


def taken(name: str) -> Path:
    """A copy in this folder, so that messages have no path."""
    return Path(shutil.copy(CASES / name, "."))


@pytest.mark.parametrize(
    "name",
    [
        "fio-log-bw-as-latency/l_bw.1.log",
        "fio-log-bw-as-latency/l_iops.1.log",
        "trace-without-ios/biosnoop-zero.txt",
        "iolog-without-header/nohead.iolog",
    ],
)
def test_what_is_no_trace_is_refused_for_its_own_reason(name, snapshot) -> None:
    path = taken(name)
    assert as_typed("trace", "check", path.name) == snapshot
    assert seen("trace", "convert", path.name, "-o", "out.parquet")[1] == REFUSED
    assert not Path("out.parquet").exists()


@pytest.mark.parametrize("kind", ["bw", "iops"])
def test_a_log_of_rates_is_refused_also_without_its_name(kind) -> None:
    shutil.copy(CASES / "fio-log-bw-as-latency" / f"l_{kind}.1.log", "log")
    assert seen("trace", "check", "log")[1] == REFUSED


def test_a_log_of_submissions_is_refused_by_its_name() -> None:
    shutil.copy(CASES / "fio-log-bw-as-latency/l_lat.1.log", "job_slat.2.log")
    text, code = seen("trace", "check", "job_slat.2.log")
    assert (code, "times of submission" in text) == (REFUSED, True)


@pytest.mark.parametrize(
    ("name", "format_", "ios", "skipped"),
    [
        ("fio-log-bw-as-latency/l_lat.1.log", "fio_log", 400, 0),
        ("fio-log-5-columns-old/old_lat.1.log", "fio_log_old", 60, 0),
        ("hfplayer-in/in.csv", "hfplayer", 40, 1),
        ("biosnoop-without-disk/biosnoop.txt", "biosnoop", 76, 11),
        ("msr-tar-as-distributed/msr.tar", "msr", 300, 0),
        ("msr-tar-as-distributed/only-csv.tar", "msr", 300, 0),
        ("p-trace-prio/t1.tracefs", "tracepoints", 40, 47),
        ("p-trace-prio/v8.blktrace.0", "blktrace", 200, 200),
        ("p-trace-corpora/msr-crlf.csv", "msr", 300, 0),
        ("p-trace-corpora/systor.tar", "systor17", 400, 2),
        ("p-trace-corpora/alibaba.csv", "alibaba", 6, 0),
        ("p-trace-corpora/umass.spc", "spc", 400, 0),
        ("p-fio-iologs/a.iolog", "fio_iolog", 3, 4),
        ("p-fio-iologs/windows.iolog", "fio_iolog", 5, 4),
        ("p-fio-iologs/v3.iolog", "fio_iolog", 30, 7),
    ],
)
def test_records_are_counted_as_they_are_in_the_file(name, format_, ios, skipped) -> None:
    text, code = seen("trace", "check", taken(name).name, "--json")
    found: dict[str, Any] = json.loads(text.splitlines()[-1])
    records = found["header"]["records"]
    assert (code, found["header"]["format"], found["ios"]) == (0, format_, ios)
    assert (sum(records["skipped"].values()), records["damaged"]) == (skipped, {})
    if name.startswith("hfplayer"):
        operations = {one: found["figures"]["operations"][one] for one in ("read", "write")}
        assert [one["ios"] for one in operations.values()] == [27, 13]
        assert sum(one["bytes"] for one in operations.values()) == 765_952
    if name.startswith("biosnoop"):
        assert records["skipped"]["request without a disk"] == 10
    if name.endswith("msr.tar"):
        assert "MSR-Cambridge-README.txt" in found["warnings"][0]
        assert "md5.txt" in found["warnings"][0]
