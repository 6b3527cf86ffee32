"""Streams of a job file with placement handles, on simulated drives with them and without."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.errors import TargetError
from openpts.fields.conditions import Conditions
from openpts.record.reader import Run
from openpts.vocabulary.drive_class import DriveClass
from openpts_fio.workload import WorkloadConditions
from openpts_fio.workload.job import FioJob
from tests.support.whole_tests import run_whole

DRIVE = (
    "sim:theory?capacity=250MB&page_mapped.mapping.physical_per_user=1.28"
    "&page_mapped.geometry.superblocks=400"
)
HANDLES = "page_mapped.placement.handles"


def written(folder: Path, target: str, soon: int, late: int) -> Run:
    """A tenth of the drive again and again beside one pass over the rest, in turns, three times."""
    job = FioJob(
        "placed.fio",
        (
            *("[global]", "ioengine=io_uring_cmd", "rw=write", "bs=16k", "iodepth=4", "fdp=1", "flow=1"),
            *("[soon]", "size=10%", "io_size=225m", f"fdp_pli={soon}"),
            *("[late]", "offset=10%", "size=90%", "io_size=225m", f"plids={late}"),
        ),
    )

    def adjust(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, WorkloadConditions)
        return replace(conditions, job=job, precondition_passes=0, max_rounds=3)

    return run_whole("workload", DriveClass.ENTERPRISE, folder, adjust, target)


def amplification(run: Run) -> float:
    """By the host's own count, and the model's of what it programmed, over all rounds."""
    before, after = run.health[0].reading.values, run.health[-1].reading.values
    media_bytes = after["nand_write_bytes"] - before["nand_write_bytes"]
    host_bytes = sum(step.sample.write.bytes for step in run.steps)
    counted_bytes = after["placement_host_write_bytes"] - before["placement_host_write_bytes"]
    assert host_bytes <= counted_bytes <= 1.001 * host_bytes  # marks of the purge are written, too
    return media_bytes / host_bytes


@pytest.mark.parametrize(("ignored", "is_saved"), [("false", True), ("true", False)])
def test_handles_of_their_own_keep_streams_apart(tmp_path: Path, ignored: str, is_saved: bool) -> None:
    drive = f"{DRIVE}&{HANDLES}=4&page_mapped.placement.ignored={ignored}"
    together, apart = written(tmp_path / "one", drive, 2, 2), written(tmp_path / "two", drive, 0, 3)
    assert amplification(together) > 1.1
    assert (amplification(apart) == pytest.approx(1, abs=0.005)) is is_saved


def test_streams_are_shown_with_their_handles(tmp_path: Path) -> None:
    run = written(tmp_path / "run", f"{DRIVE}&{HANDLES}=4", 0, 3)
    assert [str(stream) for stream in run.steps[-1].sample.step.streams] == [
        "soon: SEQ 16 KiB 0/100 placement handle 0",
        "late: SEQ 16 KiB 0/100 placement handle 3",
    ]


@pytest.mark.parametrize("handles", ["", f"&{HANDLES}=3"])
def test_a_drive_without_the_handles_is_refused_before_it_is_changed(tmp_path: Path, handles: str) -> None:
    with pytest.raises(TargetError, match=r"placement handle"):
        written(tmp_path / "run", DRIVE + handles, 0, 3)
    assert not (tmp_path / "run").exists()
