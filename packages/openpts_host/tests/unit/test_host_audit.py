"""The audit of a machine and of the way to one drive, with what can be changed of it."""

from collections.abc import Callable
from typing import cast

import pytest

from openpts.device.block_device import BlockDevice
from openpts.journal import Journal
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import ChangeReport, Scenario
from openpts_host.advice.advice import Grade, Group
from openpts_host.advice.table import ADVICE
from openpts_host.changes import tuned_host
from openpts_host.cli.doctor import AuditedSetting, Doctor, restore
from openpts_host.tests.unit.recorded_systemd import RecordedSystemd
from openpts_host.tests.unit.test_changes import settings_of
from tests.data.system_trees import container, laptop, server, virtual_machine
from tests.support.processes import in_process, living

__all__ = ["container", "laptop", "server", "virtual_machine"]


def doctor(roots: SystemRoots, disk: str | None, scenario: Scenario = Scenario.SYNTHETIC) -> Doctor:
    device = None if disk is None else BlockDevice.of_name(disk, roots)
    return Doctor(scenario, roots, device, RecordedSystemd("fstrim.timer"))


def applied(examined: Doctor, journal: Journal) -> tuple[ChangeReport, ...]:
    """By a process that ends, as the command does."""
    _, changes = in_process(lambda: examined.apply(journal))
    return cast("tuple[ChangeReport, ...]", changes)


def by_key(examined: Doctor) -> dict[str, AuditedSetting]:
    return {finding.key: finding for finding in examined.settings()}


def test_with_a_drive_each_item_of_the_table_is_looked_at(server) -> None:
    assert [finding.key for finding in doctor(server, "nvme0n1").settings()] == [
        advice.key for advice in ADVICE
    ]


def test_without_one_what_belongs_to_a_drive_is_left_out(server) -> None:
    groups = {finding.group for finding in doctor(server, None).settings() if finding.key != "io_limit"}
    assert groups == set(Group) - {Group.QUEUE, Group.LINK}


def test_every_item_that_is_wrong_has_a_remedy_or_a_reason(laptop) -> None:
    for scenario in Scenario:
        for finding in doctor(laptop, "sdb", scenario).settings():
            wrong = finding.grade is Grade.BAD
            assert not wrong or finding.remedy not in {None, "this kernel has no setting for it"}, finding


def test_a_drive_on_usb(laptop) -> None:
    found = by_key(doctor(laptop, "sdb"))
    told = {
        "scheduler": ("mq-deadline", Grade.BAD),
        "nr_requests": ("16 of 30", Grade.NOTE),
        "max_sectors_kb": ("512 KiB of 1024 KiB", Grade.BAD),
        "usb_suspend": ("may be suspended", Grade.BAD),
        "disk_suspend": ("kept awake", Grade.GOOD),
        "apst": ("none (not of SCSI)", Grade.GOOD),
        "governor": ("powersave", Grade.BAD),
        "aspm": (None, Grade.UNKNOWN),
    }
    assert {key: (found[key].now, found[key].grade) for key in told} == told


@pytest.mark.parametrize(
    ("allowed", "threads", "grade"),
    [
        # the drive hangs on node 1, whose processors are 2-3,6-7
        ("0-7", "2,3,6,7", Grade.GOOD),
        ("3-5", "3", Grade.GOOD),
        ("0-1,4-5", "0-1,4-5", Grade.BAD),
    ],
)
def test_a_drive_on_the_other_node_than_the_processors(allowed, threads, grade, server) -> None:
    (server.proc / "self/status").write_text(f"Name:\topenpts\nCpus_allowed_list:\t{allowed}\n")
    finding = by_key(doctor(server, "nvme0n1"))["numa_node"]
    assert finding.now == f"node 1 of 2, processors 2-3,6-7; threads: {threads}"
    assert finding.grade is grade


def test_only_limits_on_that_drive_count(container) -> None:
    (container.sys / "fs/cgroup/docker-4f1c.scope/io.max").write_text("8:0 rbps=1\n")
    (container.sys / "fs/cgroup/docker-4f1c.scope/io.latency").unlink()
    (container.sys / "fs/cgroup/io.max").unlink()
    assert by_key(doctor(container, "loop7"))["io_limit"].grade is Grade.GOOD
    assert by_key(doctor(container, None))["io_limit"].grade is Grade.BAD


def test_what_was_applied_is_good_and_restored_as_it_was(laptop) -> None:
    before = settings_of(laptop)
    examined, journal = doctor(laptop, "sdb"), Journal(laptop.sys.parent / "journal", laptop)
    changeable = {f.key for f in examined.settings() if f.remedy == "--apply changes it"}
    assert {"scheduler", "usb_suspend", "governor", "trim_timer", "c_states"} <= changeable
    assert [change.failure for change in applied(examined, journal) if change.failure] == []
    after = by_key(examined)
    of_systemd = {"trim_timer"}  # its made-up one lives in another process
    assert {key for key in changeable - of_systemd if after[key].grade is not Grade.GOOD} == set()
    assert isinstance(examined.run, RecordedSystemd)
    examined.run.active.clear()  # by the process that applied it
    healed = restore(journal, laptop, examined.run)
    assert all(healing.put_back for healing in healed)
    assert settings_of(laptop) == before
    assert journal.entries() == ()
    assert restore(journal, laptop, examined.run) == ()


def test_what_is_left_alone_is_in_the_table(server) -> None:
    keys = {advice.key for advice in ADVICE}
    changed = {
        change.key for scenario in Scenario for change in doctor(server, "nvme0n1", scenario)._changes()
    }
    assert changed <= keys
    left_alone = {advice.key for advice in ADVICE if advice.remedy}
    assert left_alone
    assert changed & left_alone <= {"max_sectors_kb"}


def test_what_a_killed_run_has_set_is_put_back_before_anything_is_applied(server, golden) -> None:
    merging = BlockDevice.of_name("nvme0n1", server).folder / "queue/nomerges"
    merging.write_text("0\n")
    journal = Journal(server.sys.parent / "journal", server)

    def measure(wait: Callable[[], None]) -> None:
        examined = doctor(server, "nvme0n1")
        with tuned_host(examined._changes(), Scenario.REAL_WORLD, server, journal, examined.run):
            wait()

    with living(measure) as run:
        assert merging.read_text() == "2"
        refused = applied(doctor(server, "nvme0n1", Scenario.REAL_WORLD), journal)
        (report,) = (change for change in refused if change.key == "nomerges")
        assert report.failure == f"the run of process {run.pid} has set 2 and is still running"
        run.kill()
    healed, changes = in_process(lambda: doctor(server, "nvme0n1", Scenario.REAL_WORLD).apply(journal))
    assert [healing.text for healing in healed] == golden
    assert "nomerges" not in {change.key for change in changes}
    restore(journal, server)
    assert merging.read_text().strip() == "0"
    assert journal.entries() == ()
