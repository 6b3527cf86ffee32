"""The same job file by fio and by openpts on one device: with rates given, the same counts and bytes."""

import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from openpts.device.guard.consent import Consent
from openpts.engine.fio.process import find_fio
from openpts.engine.options import NativeOptions
from openpts.errors import EngineUnavailableError
from openpts.fio_jobs.job_file import read_jobs
from openpts.fio_jobs.translation import translate
from openpts.runner.measure import MeasurementEnded, MeasurementEvent, MeasurementOrder, measure
from openpts.runner.unopened_target import UnopenedTarget
from openpts.system_files import SystemRoots
from openpts.units import MIB
from openpts.vocabulary.sample import Measured, Sample
from tests.support.block_trace import BlockEvent, BlockTrace, of_event
from tests.support.public_job_files import public_jobs

_WITHIN = 0.01
_SECONDS = 3

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
rate=4m
offset=25%
size=25%
[counted]
rw=randread
iodepth=2
rate_iops=400
[split]
rw=randrw
rwmixread=70
bs=4k,8k
iodepth=4
rate_iops=300,100
[log]
rw=write
bs=64k
rate_iops=40
offset=50%
size=10%
[trims]
rw=trim
bs=1m
rate_iops=20
offset=75%
size=25%
"""


@pytest.fixture(autouse=True)
def fio() -> str:
    try:
        return find_fio().path
    except EngineUnavailableError as error:
        pytest.skip(str(error))


def by_fio(fio: str, job: Path, drive: Path, values: Mapping[str, str]) -> dict[str, Counter[str]]:
    """I/Os and bytes of each job, all its threads together."""
    environment = {**os.environ, **values, "DEV": str(drive)}
    words = [fio, str(job), f"--filename={drive}", "--output-format=json"]
    said = subprocess.run(words, env=environment, check=True, capture_output=True, text=True).stdout
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
    order = MeasurementOrder(str(drive), steps, NativeOptions(), Consent(confirm_device_path=str(drive)))
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


def assert_alike(ours: Mapping[str, Counter[str]], theirs: Mapping[str, Counter[str]]) -> None:
    assert ours.keys() == theirs.keys()
    for name, counts in theirs.items():
        for what, count in counts.items():
            # of few, one more or less is not a matter of rates
            assert ours[name][what] == pytest.approx(
                count, rel=_WITHIN, abs=2 * MIB if "bytes" in what else 2
            ), f"{name}: {what}"


def test_counts_and_bytes_of_each_job_are_those_of_fio(
    fio: str, attach_memory: Callable[[int], Path], tmp_path: Path
) -> None:
    drive, job = attach_memory(256 * MIB), tmp_path / "job.fio"
    job.write_text(JOB)
    theirs = by_fio(fio, job, drive, {})
    assert_alike(by_openpts(job, drive, {}), theirs)
    assert all(sum(counts.values()) for counts in theirs.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "values"),
    [("rsw_cp.fio", {"RATE1": "500", "RATE2": "4", "DEPTH1": "1"}), ("70_30_LE.fio", {"BLKSIZE": "4k"})],
)
def test_a_public_job_file_does_what_fio_does(
    fio: str, attach_memory: Callable[[int], Path], tmp_path: Path, name: str, values: dict[str, str]
) -> None:
    source = public_jobs()[name][0]
    job = tmp_path / name
    # its ramp-up takes half a minute, its rates are those of a drive
    text = source.path.read_text().replace("ramp_time=30s", "").replace("5250,1750", "525,175")
    job.write_text(text)
    values = {**source.values, **values, "TIME": str(_SECONDS), "RAMPTIME": "0"}
    drive = attach_memory(256 * MIB)
    assert_alike(by_openpts(job, drive, values), by_fio(fio, job, drive, values))


def test_each_job_stays_in_its_part_of_the_drive(
    traceable: None, attach_memory: Callable[[int], Path], tmp_path: Path
) -> None:
    drive, job = attach_memory(256 * MIB), tmp_path / "job.fio"
    job.write_text(
        JOB.replace("[counted]\nrw=randread", "[counted]\nrw=randread\nsize=5%").replace(
            "bs=4k,8k", "bs=4k,8k\nsize=20%"
        )
    )
    with BlockTrace(drive) as trace:
        by_openpts(job, drive, {})
    queued = of_event(trace.events, BlockEvent.QUEUE)
    pct = 100 * queued["sector"] * 512 / (256 * MIB)
    kinds = queued["rwbs"].astype(str)
    reads = pct[[kind.startswith("R") for kind in kinds]]
    writes = queued[[kind.startswith("W") for kind in kinds]]
    trims = pct[[kind.startswith("D") for kind in kinds]]
    assert len(trims) >= 20 * _SECONDS * 0.9
    assert trims.min() >= 75
    assert ((reads < 20) | ((reads >= 25) & (reads < 50))).all()
    large = writes["sectors"] == 128
    places = 100 * writes["sector"] * 512 / (256 * MIB)
    assert ((places[large] >= 50) & (places[large] < 60)).all()
    assert (places[~large] < 20).all()
