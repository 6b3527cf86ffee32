"""Atomic writes are refused by name where kernel and drive don't take them as one."""

from pathlib import Path

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from openpts.device.block_device import BlockDevice
from openpts.engine.program import program_json
from openpts.errors import TargetError
from openpts.runner.resource_check import check_atomic
from openpts.system_files import SystemRoots
from openpts.units import GB, KIB
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    BlockSize,
    Duration,
    Step,
    Stimulus,
    Stream,
)

DRIVE = TargetFacts(TargetKind.BLOCK, "nvme0n1", "/dev/nvme0n1", 4 * GB, 512)
WRITES = replace(Stimulus.of(AccessPattern.RANDOM, 16 * KIB, 0, 1, 4, ActiveRange()), atomic=True)


@pytest.fixture
def limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The queue of a drive that takes 4 to 64 KiB as one, as sysfs shows it."""
    folder = tmp_path / "sys/block/nvme0n1"
    (folder / "queue").mkdir(parents=True)
    (folder / "queue/atomic_write_unit_min_bytes").write_text("4096\n")
    (folder / "queue/atomic_write_unit_max_bytes").write_text("65536\n")
    roots = SystemRoots(sys=tmp_path / "sys")
    monkeypatch.setattr(BlockDevice, "of_node", lambda _path, _roots: BlockDevice(folder, roots))
    return folder


def refused(stimulus: Stimulus, target: TargetFacts = DRIVE) -> str:
    try:
        check_atomic(stimulus, target, SystemRoots())
    except TargetError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("kib", [4, 16, 64])
def test_a_drive_takes_what_its_queue_says(limits: Path, kib: int) -> None:
    writes = replace(WRITES, block_sizes=(BlockSize(kib * KIB),), alignment_bytes=kib * KIB)
    assert refused(writes) == ""


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"block_sizes": (BlockSize(2 * KIB),)}, "powers of two from 4 KiB to 64 KiB"),
        ({"block_sizes": (BlockSize(128 * KIB),)}, "powers of two from 4 KiB to 64 KiB"),
        ({"block_sizes": (BlockSize(12 * KIB),)}, "powers of two from 4 KiB to 64 KiB"),
        ({"alignment_bytes": 4 * KIB}, "begin at multiples of their size"),
    ],
)
def test_what_the_queue_does_not_take_is_refused(
    limits: Path, changes: dict[str, object], reason: str
) -> None:
    assert reason in refused(replace(WRITES, **changes))


@pytest.mark.parametrize("text", ["0\n", None])
def test_a_drive_without_them_is_refused(limits: Path, text: str | None) -> None:
    most = limits / "queue/atomic_write_unit_max_bytes"
    most.unlink() if text is None else most.write_text(text)
    assert "takes no atomic writes" in refused(WRITES)
    assert "Linux 6.11" in refused(WRITES)


def test_a_file_is_refused() -> None:
    assert "they need a block device" in refused(WRITES, replace(DRIVE, kind=TargetKind.FILE))


def test_the_engine_is_given_it_only_where_it_is_asked_for() -> None:
    step = Step.of(WRITES, Duration.seconds(1))
    assert '"atomic":true' in program_json([step], DRIVE)
    assert "atomic" not in program_json(
        [replace(step, streams=(Stream(replace(WRITES, atomic=UNSET)),))], DRIVE
    )
