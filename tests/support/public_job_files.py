"""Job files by which a hyperscaler qualifies drives (FioSynth), with the values of its suites."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

# what FioSynth itself fills in, and what templates need that no suite here uses
_OTHERWISE: Mapping[str, str] = {
    "JOBS": "1",
    "IOENGINE": "libaio",
    "RAMPTIME": "30",
    "RAMP": "5",
    "TIME": "600",
    "SIZE": "90%",
    "BLKSIZE": "4k",
    "DEPTH": "8",
    "DEPTH1": "4",
    "DEPTH2": "64",
    "RATE1": "10m",
    "RATE2": "10",
    "RRATE": "100",
    "OFFSET1": "0",
    "OFFSET2": "100",
    "INCREMENT": "1000",
    "MISC": "1M",
    "NUMJOBS": "2",
    "RANDRW": "randrw",
    "RWMIXREAD": "50",
    "DIRECT": "1",
    **{f"W{number}THINK": "1000" for number in range(1, 6)},
}


@dataclass(frozen=True, slots=True)
class PublicJob:
    """A job file with the values that one workload of a suite gives it."""

    path: Path
    workload: str
    values: Mapping[str, str]


def public_jobs() -> dict[str, list[PublicJob]]:
    """All of them by the names of the files. Skips the test where they are not here."""
    folder = Path(os.environ.get("OPENPTS_PEERS", "-")) / "fiosynth"
    if not folder.is_dir():
        pytest.skip("OPENPTS_PEERS names no folder with fiosynth in it")
    files = sorted((folder / "jobfiles").glob("*.fio"))
    jobs: dict[str, list[PublicJob]] = {path.name: [] for path in files}
    by_name = {path.name: path for path in files}
    for workload in _workloads(folder / "wkldsuites"):
        if path := by_name.get(workload["template"]):
            values = {name: str(value) for name, value in workload.get("values", {}).items()}
            jobs[path.name].append(PublicJob(path, workload.get("alias", ""), {**_OTHERWISE, **values}))
    for path in files:
        jobs[path.name] = jobs[path.name] or [PublicJob(path, "-", _OTHERWISE)]
    return jobs


def _workloads(folder: Path) -> Iterator[dict]:  # type: ignore[type-arg]
    for suite in sorted(folder.iterdir()):
        for part in json.loads(suite.read_text()).values():
            if isinstance(part, list):
                yield from (one for one in part if isinstance(one, dict) and "template" in one)
