import pytest
from msgspec.structs import replace

from openpts.device import write_cache
from openpts.device.block_device import BlockDevice
from openpts.device.nvme_admin import NvmeCommandError, NvmeController
from openpts.device.targets.open_target import OpenTarget
from openpts.device.write_cache import read_write_cache
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import TargetFacts, TargetKind, WriteCacheReport


def _drive(name: str, roots: SystemRoots) -> OpenTarget:
    facts = TargetFacts(TargetKind.BLOCK, name, f"/dev/{name}", 10**9, 512)
    return OpenTarget(-1, facts, BlockDevice.of_name(name, roots))


def _read(name: str, roots: SystemRoots) -> WriteCacheReport:
    return read_write_cache(_drive(name, roots), False, roots)


@pytest.fixture
def nvme(monkeypatch):
    """Set what the controller says of its cache: present, enabled."""

    def install(vwc: int, enabled: bool | NvmeCommandError) -> None:
        def feature(fd: int) -> bool:
            if isinstance(enabled, NvmeCommandError):
                raise enabled
            return enabled

        controller = NvmeController(ver=0x10400, oacs=0, sanicap=0, oncs=0, fna=0, vwc=vwc)
        monkeypatch.setattr(write_cache, "identify_controller", lambda fd: controller)
        monkeypatch.setattr(write_cache, "volatile_write_cache_enabled", feature)

    return install


@pytest.mark.parametrize(
    ("vwc", "enabled", "actual"),
    [
        (7, True, "WCE"),
        (7, False, "WCD"),
        (6, True, "no volatile cache"),
        (1, NvmeCommandError("Permission denied"), "unknown"),
    ],
)
def test_nvme_is_asked_itself(vwc, enabled, actual, nvme, server, golden) -> None:
    nvme(vwc, enabled)
    report = _read("nvme0n1", server)
    assert (report.required, report.actual) == ("WCD", actual)
    assert report.source == golden


def test_a_drive_that_cannot_be_asked_is_unknown(server, tmp_path) -> None:
    with (tmp_path / "no-drive").open("wb") as file:
        target = replace(_drive("nvme0n1", server), fd=file.fileno())
        assert read_write_cache(target, False, server).actual == "unknown"


@pytest.mark.parametrize(
    ("text", "actual"),
    [
        ("write back", "WCE"),
        ("write through", "WCD"),
        ("none", "WCD"),
        ("write back, no read (daft)", "WCE"),
        ("something new", "unknown"),
        ("", "unknown"),
    ],
)
def test_scsi_has_its_mode_page_in_sysfs(text, actual, server, golden) -> None:
    disk = BlockDevice.of_name("sda", server)
    (disk.folder / "device/scsi_disk/0:0:0:0/cache_type").write_text(text)
    report = _read("sda", server)
    assert report.actual == actual
    assert report.source == golden


def test_a_scsi_device_without_a_disk_is_unknown(server) -> None:
    assert _read("sdc", server).actual == "unknown"


def test_an_ata_drive_without_a_cache_says_so(server) -> None:
    page = BlockDevice.of_name("sda", server).folder / "device/vpd_pg89"
    content = bytearray(page.read_bytes())
    content[60 + 2 * 82] &= ~(1 << 5)
    page.write_bytes(content)
    assert _read("sda", server).actual == "no volatile cache"


@pytest.mark.proves("PTS-CACHE-02")
def test_others_are_as_the_kernel_has_them(virtual_machine) -> None:
    assert _read("vdb", virtual_machine).actual == "WCE"
    assert _read("vdc", virtual_machine).actual == "WCD"
    assert _read("vda", virtual_machine).actual == "unknown"


def test_a_file_has_none_of_its_own(server, golden) -> None:
    target = OpenTarget(-1, TargetFacts(TargetKind.FILE, "x", "/srv/my data/x", 10**9, 512), None)
    report = read_write_cache(target, True, server)
    assert (report.required, report.actual) == ("WCE", "not controllable (file)")
    assert report.source == golden


def test_a_file_in_memory_has_no_drive_below(virtual_machine, golden) -> None:
    target = OpenTarget(-1, TargetFacts(TargetKind.FILE, "x", "/ramdisk/x", 10**9, 512), None)
    assert read_write_cache(target, True, virtual_machine).source == golden
