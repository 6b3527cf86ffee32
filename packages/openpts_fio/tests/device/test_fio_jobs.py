"""The same job file by fio and by openpts on one device: with rates given, the same counts and bytes."""

import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from openpts.engine.options import NativeOptions
from openpts.errors import EngineUnavailableError
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts.units import GIB, MIB
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.sample import Measured, Sample
from openpts.vocabulary.stimulus import Duration
from openpts_fio.engine.engine import find_fio
from openpts_fio.jobs.job_file import read_jobs
from openpts_fio.jobs.translation import translate
from openpts_io.measure import MeasurementEnded, MeasurementEvent, MeasurementRequest, measure
from tests.support.block_trace import BlockEvent, BlockTrace, of_event
from tests.support.public_job_files import public_jobs
from tests.support.shortened_jobs import assert_that_they_run

_WITHIN = 0.01
_BY_CHANCE = 0.08
_TRIES = 4
_FEWEST_OF_A_THREAD = 100
_SECONDS = 3
_CAPACITY = 256 * MIB

JOB = f"""
[global]
ioengine=libaio
direct=1
time_based
runtime={_SECONDS}
norandommap
[reader]
rw=randread
numjobs=2
iodepth=4
bssplit=4k/70:16k/30
rate=400k
offset=25%
size=25%
[counted]
rw=randread
iodepth=2
rate_iops=100
[split]
rw=randrw
rwmixread=70
bs=4k,8k
iodepth=4
rate_iops=60,20
[log]
rw=write
bs=64k
rate_iops=20
offset=50%
size=10%
[trims]
rw=trim
bs=1m
rate_iops=10
offset=75%
size=25%
"""


@pytest.fixture(autouse=True, scope="module")
def fio() -> str:
    try:
        return find_fio().path
    except EngineUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture
def drive(attach: Callable[..., Path]) -> Path:
    """A drive that takes trims."""
    node = attach(size_bytes=_CAPACITY)
    if not int((Path("/sys/block") / node.name / "queue/discard_max_bytes").read_text()):
        pytest.skip("the loop device takes no trims")
    return node


def by_fio(fio: str, job: Path, drive: Path, values: Mapping[str, str]) -> dict[str, Counter[str]]:
    """I/Os and bytes of each job, all its threads together."""
    environment = {**os.environ, **values, "DEV": str(drive)}
    words = [fio, str(job), f"--filename={drive}", "--output-format=json"]
    ended = subprocess.run(words, env=environment, check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    said = ended.stdout
    found: dict[str, Counter[str]] = {}
    for one in json.loads(said[said.index("{") :])["jobs"]:
        counts = found.setdefault(one["jobname"], Counter())
        for operation in ("read", "write", "trim"):
            counts[f"{operation} ios"] += one[operation]["total_ios"]
            counts[f"{operation} bytes"] += one[operation]["io_bytes"]
    return found


def by_openpts(job: Path, drive: Path, values: Mapping[str, str]) -> dict[str, Counter[str]]:
    """The same of each section, all its streams together."""
    facts = UnopenedTarget.of(str(drive), SystemRoots()).facts
    steps = translate(read_jobs(job, {**values, "DEV": ""}), facts).steps
    order = MeasurementRequest(str(drive), steps, NativeOptions(), Consent(confirm_device_path=str(drive)))
    events: list[MeasurementEvent] = []
    measure([order], events.append)
    found: dict[str, Counter[str]] = {}
    for event in events:
        if isinstance(event, MeasurementEnded):
            for stream, measured in zip(event.sample.step.streams, _parts(event.sample), strict=True):
                counts = found.setdefault(stream.name.split(".")[0], Counter())
                for operation, sample in measured.operations.items():
                    counts[f"{operation} ios"] += sample.ios
                    counts[f"{operation} bytes"] += sample.bytes
    return found


def _parts(sample: Sample) -> tuple[Measured, ...]:
    return sample.streams or (sample,)


def differences(
    ours: Mapping[str, Counter[str]], theirs: Mapping[str, Counter[str]], mixed: frozenset[str]
) -> list[str]:
    """Bytes apart by more than a hundredth and a block; counts likewise, but where fio draws the sizes."""
    assert ours.keys() == theirs.keys()
    found = []
    for name, counts in theirs.items():
        for what, count in counts.items():
            counts_bytes = what.endswith("bytes")
            share = _BY_CHANCE if name in mixed and not counts_bytes else _WITHIN
            if ours[name][what] != pytest.approx(count, rel=share, abs=MIB if counts_bytes else 1):
                found.append(f"{name}: {what}: {ours[name][what]}, {count} by fio")
    return found


def assert_alike(
    fio: str, job: Path, drive: Path, mixed: frozenset[str], values: Mapping[str, str] | None = None
) -> None:
    """In one of a few tries: threads of either that get no processor for a moment are late at the end."""
    given = values or {}
    for _ in range(_TRIES):
        theirs = by_fio(fio, job, drive, given)
        assert all(sum(counts.values()) for counts in theirs.values())
        found = differences(by_openpts(job, drive, given), theirs, mixed)
        if not found:
            return
    assert found == []


@pytest.mark.long("jobs of seconds, by openpts and by fio")
def test_counts_and_bytes_of_each_job_are_those_of_fio(fio: str, drive: Path, tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text(JOB)
    assert_alike(fio, job, drive, frozenset({"reader"}))


@pytest.mark.slow
def test_a_public_job_file_does_what_fio_does(fio: str, drive: Path, tmp_path: Path) -> None:
    source = public_jobs()["backup.fio"][0]
    job = tmp_path / "backup.fio"
    # fio's own result is by job without it
    job.write_text(source.path.read_text().replace("group_reporting=1", ""))
    rates = {"RATE1": "1m", "RATE2": "1m", "DEPTH1": "4", "DEPTH2": "4"}
    values = {**source.values, **rates, "TIME": str(_SECONDS), "RAMPTIME": "0"}
    assert_alike(fio, job, drive, frozenset({"restore"}), values)


@pytest.mark.slow
def test_at_least_60_of_66_public_job_files_run_on_a_drive(attach_memory: Callable[[int], Path]) -> None:
    drive = str(attach_memory(200 * GIB))  # sparse: as much as is written takes memory
    assert_that_they_run(drive, Consent(confirm_device_path=drive), Duration.seconds(0.1))


def test_each_job_stays_in_its_part_of_the_drive(traceable: None, drive: Path, tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text(
        JOB.replace("[counted]\nrw=randread", "[counted]\nrw=randread\nsize=5%").replace(
            "bs=4k,8k", "bs=4k,8k\nsize=20%"
        )
    )
    with BlockTrace(drive) as trace:
        by_openpts(job, drive, {})
    queued = of_event(trace.events, BlockEvent.QUEUE)
    pct = 100 * queued["sector"] * 512 / _CAPACITY
    kinds = queued["rwbs"].astype(str)
    # udev reads what lies where on a drive that was open for writing
    by_task = Counter(queued["task"].tolist())
    ours = np.array([by_task[task] >= _FEWEST_OF_A_THREAD for task in queued["task"].tolist()])
    reads = pct[ours & [kind.startswith("R") for kind in kinds]]
    writes = queued[[kind.startswith("W") for kind in kinds]]
    trims = pct[[kind.startswith("D") for kind in kinds]]
    assert len(trims) >= 10 * _SECONDS * 0.9
    assert trims.min() >= 75
    assert ((reads < 20) | ((reads >= 25) & (reads < 50))).all()
    large = writes["sectors"] == 128
    places = 100 * writes["sector"] * 512 / _CAPACITY
    assert ((places[large] >= 50) & (places[large] < 60)).all()
    assert (places[~large] < 20).all()
