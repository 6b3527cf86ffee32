"""A made-up machine with an NVMe drive, and the purges of it, which a test's own drive answers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.device.block_device import BlockDevice
from openpts.device.nvme_admin import NvmeController
from openpts.device.targets.open_target import OpenTarget
from openpts.system_files import SystemRoots
from openpts_drives.purge.nvme_drive import SanitizeAction
from openpts_drives.purge.nvme_purges import FORMAT_CRYPTO, FORMAT_USER_DATA, NvmeFormat, NvmeSanitize
from openpts_drives.purge.purge_programs import Clock
from tests.support.held_drive import held
from tests.support.nvme_answers import Drive, sanitize_log

BLOCK_ALLOWING_EXIT = 0xA  # dword 10: SANACT 2, AUSE
DONE = sanitize_log(0xFFFF, 0x101, BLOCK_ALLOWING_EXIT)


def controller(*, oacs: int = 2, fna: int = 0, sanicap: int = 0, sn: str = "S3R1AL") -> NvmeController:
    return NvmeController(ver=0x10400, oacs=oacs, sanicap=sanicap, oncs=0, fna=fna, vwc=1, sn=sn)


def add_namespace(roots: SystemRoots, name: str, serial: str = "S3R1AL") -> BlockDevice:
    """A namespace in a made-up sysfs; its node is a file, whose device number is 0:0."""
    parent, nsid = name[: name.rindex("n")], name[name.rindex("n") + 1 :]
    folder = roots.sys / "devices/pci0000:00/nvme" / parent / name
    folder.mkdir(parents=True)
    files = {"dev": "0:0", "size": "1000", "nsid": nsid, "../serial": serial, "../state": "live"}
    for attribute, value in files.items():
        (folder / attribute).write_text(f"{value}\n")
    for link, place in (("class/nvme", folder.parent), ("class/block", folder)):
        (roots.sys / link).mkdir(parents=True, exist_ok=True)
        if not (roots.sys / link / place.name).exists():
            (roots.sys / link / place.name).symlink_to(place)
    assert roots.dev != SystemRoots().dev, "no node is made among those of this machine"
    roots.dev.mkdir(exist_ok=True)
    (roots.dev / name).write_bytes(bytes(512_000))
    return BlockDevice.of_name(name, roots)


@pytest.fixture
def roots(tmp_path: Path) -> SystemRoots:
    return SystemRoots(*(tmp_path / name for name in ("sys", "proc", "dev", "etc", "share")))


@pytest.fixture
def device(roots: SystemRoots) -> BlockDevice:
    return add_namespace(roots, "nvme0n1")


@contextmanager
def open_drive(device: BlockDevice) -> Iterator[OpenTarget]:
    """By the path of its node: namespaces that are erased together are told by theirs."""
    with held(device, 512_000) as opened:
        yield replace(opened, facts=replace(opened.facts, path=str(device.node)))


@pytest.fixture
def target(device: BlockDevice) -> Iterator[OpenTarget]:
    with open_drive(device) as opened:
        yield opened


def formatting(drive: Drive, ses: int = 1) -> NvmeFormat:
    made = FORMAT_USER_DATA if ses == 1 else FORMAT_CRYPTO
    return NvmeFormat(made.name, made.title, ses, run=drive.run, questions=drive.questions())


def sanitizing(drive: Drive, action: SanitizeAction = SanitizeAction.BLOCK) -> NvmeSanitize:
    clock = Clock(lambda: drive.now_s, drive.sleep)
    return NvmeSanitize(action, run=drive.run, questions=drive.questions(), clock=clock)


def unshown(_share: float | None, _text: str) -> None:
    pass
