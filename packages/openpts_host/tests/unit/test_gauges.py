"""Which gauges a run has, on a drive and on a file of a made-up machine."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.targets.open_target import OpenTarget
from openpts.engine.contract import EngineProgress
from openpts.engine.options import Demand, IoPath
from openpts.gauge import Gauge
from openpts.runner.telemetry import sampler_of
from openpts.system_files import SystemRoots
from openpts.units import KIB
from openpts.vocabulary.facts import Fact, Facts, TargetFacts, TargetKind
from openpts_drives.concerns import target_gauges
from openpts_host.concerns import host_gauges
from tests.data.system_trees import server

__all__ = ["server"]

FOREIGN = "I/O of others on the target"


@dataclass
class Engine:
    """Has completed so many bytes on a path."""

    path: IoPath = IoPath.IO_URING
    completed: int = 0
    cpus: tuple[int, ...] = (0,)
    facts: Facts = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.facts = {"io_path": Fact(self.path, "a test")}

    def progress(self) -> EngineProgress:
        return EngineProgress(1, 0, 0, self.completed)


def of_drive(engine: Engine, roots: SystemRoots) -> dict[str, Gauge]:
    device = BlockDevice.of_name("nvme0n1", roots)
    (device.folder / "stat").write_text("1 0 1000 9 1 0 2000 9 0 9 9 1 0 0 9 0 0\n")
    (roots.proc / "diskstats").touch()
    facts = TargetFacts(TargetKind.BLOCK, "nvme0n1", "/dev/nvme0n1", 10**9, 512)
    gauges = target_gauges(OpenTarget(-1, facts, device), engine, Demand(2, 8, 64 * KIB), roots)  # type: ignore[arg-type]
    return {gauge.name: gauge for gauge in gauges}


def test_a_drive_has_all_of_them(server) -> None:
    gauges = of_drive(Engine(), server)
    of_drive_alone = ["temperature", "PCIe link", "PCIe errors", "interrupts"]
    assert list(gauges) == [*of_drive_alone, "I/O of others", "links to the drive", FOREIGN]
    assert gauges[FOREIGN].resolution == 2 * 8 * 64 * KIB


@pytest.mark.parametrize(("path", "foreign"), [(IoPath.IO_URING, 0), (IoPath.NVME_PASSTHROUGH, 3000 * 512)])
def test_what_goes_past_the_block_layer_is_not_taken_off_the_kernels_count(path, foreign, server) -> None:
    gauge = of_drive(Engine(path, completed=3000 * 512), server)[FOREIGN]
    content = gauge.paths[0].read_bytes()
    assert gauge.understand([content], 0) == {"foreign_bytes": foreign}


def test_a_file_has_no_temperature_and_others_are_all_but_the_disk_below_it(server) -> None:
    (server.proc / "diskstats").touch()
    facts = TargetFacts(TargetKind.FILE, "x", "/srv/my data/x", 10**9, 512)
    gauges = target_gauges(OpenTarget(-1, facts, None), Engine(), Demand(1, 1, 4 * KIB), server)  # type: ignore[arg-type]
    assert [(gauge.name, bool(gauge.paths)) for gauge in gauges] == [
        ("temperature", False),
        ("I/O of others", True),
        ("links to the drive", True),
    ]
    assert "(sdb)" in str(gauges[1].what)


def test_every_gauge_of_a_machine_says_what_it_reads_or_why_nothing(server) -> None:
    for gauge in (*of_drive(Engine(), server).values(), *host_gauges(server, (0,))):
        assert (gauge.what is None) == (not gauge.paths), gauge
        assert gauge.source


def _unasked() -> Sequence[Gauge]:
    raise AssertionError("nothing is sampled")


def test_telemetry_that_is_off_says_so_and_asks_for_nothing(server) -> None:
    sampler = sampler_of(None, {}, _unasked)
    assert sampler.facts == {"telemetry": Fact(None, "switched off by the operator")}
