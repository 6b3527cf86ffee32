"""The guard against every way in which a drive can be in use, on real block devices."""

import errno
import fcntl
import json
import os
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner

from openpts import programs
from openpts.cli.plan import plan_command
from openpts.device.block_device import BlockDevice
from openpts.device.guard import guard
from openpts.device.guard.guard import Safety, check, open_target
from openpts.device.guard.rules import quiet_refusals
from openpts.device.guard.usage import drive_names, read_usage
from openpts.device.targets.target import BlockTarget, parse_target
from openpts.errors import RefusedError, TargetError
from openpts.ownership import file_name
from openpts.system_files import SystemRoots
from openpts.units import MIB
from openpts.vocabulary.facts import TargetKind
from openpts.vocabulary.purge import Consent
from openpts_drives.listing import list_device, list_devices
from tests.support.processes import living
from tests.support.refusals import assert_refused, hold


def _confirmed(node: Path, erase_signatures: bool = False) -> Consent:
    return Consent(confirm_device_path=str(node), erase_signatures=erase_signatures)


def test_an_idle_drive_is_handed_out_for_us_alone(attach, run, roots: SystemRoots) -> None:
    node = attach()
    assert check(BlockTarget(node), roots) == ()
    with open_target(parse_target(str(node)), _confirmed(node), roots) as target:
        flags = fcntl.fcntl(target.fd, fcntl.F_GETFL)
        assert flags & os.O_ACCMODE == os.O_RDWR
        assert flags & os.O_DIRECT
        assert fcntl.fcntl(target.fd, fcntl.F_GETFD) & fcntl.FD_CLOEXEC
        assert target.facts.kind is TargetKind.BLOCK
        assert target.facts.name == node.name
        assert target.facts.path == str(node)
        assert target.facts.user_capacity_bytes == 64 * MIB
        assert target.facts.sector_bytes == 512
        assert target.device is not None
        assert target.device.name == node.name
        with pytest.raises(OSError, match=os.strerror(errno.EBUSY)):
            os.open(node, os.O_RDONLY | os.O_EXCL)
        with pytest.raises(subprocess.CalledProcessError):
            run("mkfs.ext4", "-q", node)
    assert check(BlockTarget(node), roots) == ()


def test_the_sectors_are_those_of_the_drive(attach, roots: SystemRoots) -> None:
    node = attach("--sector-size", "4096")
    with open_target(BlockTarget(node), _confirmed(node), roots) as target:
        assert target.facts.sector_bytes == 4096


def test_a_reader_of_the_owner_has_no_claim(attach, roots: SystemRoots) -> None:
    """As `openpts devices` for a moment, which made a run refuse its own drive."""
    node = attach()
    with open_target(BlockTarget(node), _confirmed(node), roots) as target:
        assert target.device is not None
        (name,) = drive_names(target.device)

    def read(wait: Callable[[], None]) -> None:
        with (roots.dev / "openpts" / f"{file_name(name)}.owner").open("rb"):
            wait()

    with living(read), open_target(BlockTarget(node), _confirmed(node), roots) as target:
        assert target.facts.path == str(node)


def test_a_link_to_the_node_leads_to_the_drive(attach, tmp_path: Path, roots: SystemRoots) -> None:
    node = attach()
    link = tmp_path / "by-id"
    link.symlink_to(node)
    with open_target(BlockTarget(link), _confirmed(node), roots) as target:
        assert target.facts.path == str(node)


def test_it_is_closed_at_the_end_even_of_a_failure(attach, roots: SystemRoots) -> None:
    node = attach()
    with pytest.raises(ZeroDivisionError), open_target(BlockTarget(node), _confirmed(node), roots) as target:
        raise ZeroDivisionError
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        os.fstat(target.fd)


def test_without_a_confirmation_it_is_refused(attach, roots: SystemRoots) -> None:
    node = attach()
    with pytest.raises(RefusedError, match=f"add --confirm-device-path {node}"):
        open_target(BlockTarget(node), Consent(), roots).__enter__()
    with pytest.raises(RefusedError, match="does not match"):
        open_target(BlockTarget(node), Consent(confirm_device_path="/dev/loop"), roots).__enter__()
    with pytest.raises(RefusedError, match="--confirm-device-path"):
        open_target(BlockTarget(node), Consent(confirm_serial=str(node)), roots).__enter__()


def test_mounted(attach, run, mount, roots: SystemRoots) -> None:
    node = attach()
    run("mkfs.ext4", "-q", node)
    mount_point = mount(node)
    assert_refused(node, "mounted", f"{node} is mounted at {mount_point}", roots)


def test_mounted_by_another_name(attach, run, mount, tmp_path: Path, roots: SystemRoots) -> None:
    node = attach()
    run("mkfs.ext4", "-q", node)
    other = tmp_path / "my own node"
    os.mknod(other, 0o600 | 0o060000, node.stat().st_rdev)
    mount_point = mount(other)
    assert_refused(node, "mounted", str(mount_point), roots)


@pytest.fixture
def whole(attach) -> Path:
    """A loop device that shows its partitions."""
    node: Path = attach("--partscan")
    return node


@pytest.fixture
def partition(whole: Path, run) -> Path:
    """The first of two partitions of the loop device ``whole``."""
    layout = "label: gpt\n,16M\n,16M\n"
    run("sfdisk", "--quiet", whole, stdin=layout)
    part = Path(f"{whole}p1")
    if not part.exists():
        run("partx", "--add", whole)  # a kernel that reads no partition tables takes partitions all the same
    return part


def test_a_partition_mounted(whole: Path, partition: Path, run, mount, roots: SystemRoots) -> None:
    run("mkfs.ext4", "-q", partition)
    mount_point = mount(partition)
    assert_refused(whole, "mounted", f"{partition} is mounted at {mount_point}", roots)


def test_a_partition_is_no_drive(whole: Path, partition: Path, roots: SystemRoots) -> None:
    assert_refused(partition, "whole-disk", f"{partition} is a partition of {whole}", roots)


def test_a_partition_table_alone(whole: Path, partition: Path, roots: SystemRoots) -> None:
    assert_refused(whole, "signature", "gpt at 0x200", roots)


def test_mounted_in_another_mount_namespace(attach, run, tmp_path: Path, cleanup: ExitStack, roots) -> None:
    node = attach()
    run("mkfs.ext4", "-q", node)
    run("unshare", "--version")
    script = f"mount {node} {tmp_path} && echo mounted && cat"
    hidden = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    cleanup.enter_context(hidden)
    assert hidden.stdout is not None
    if hidden.stdout.readline() != b"mounted\n":
        pytest.skip("no mount namespaces here")
    where = f"in the mount namespace of process {hidden.pid} ("
    assert_refused(node, "mounted", f"{node} is mounted at {tmp_path} {where}", roots)


def test_swap(attach, run, cleanup: ExitStack, roots: SystemRoots) -> None:
    node = attach()
    run("mkswap", node)
    try:
        run("swapon", node)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"swapon does not work here: {error.stderr.strip()}")
    cleanup.callback(run, "swapoff", node)
    assert_refused(node, "swap", f"{node} is in use as swap space", roots)


def test_a_mapped_device_on_it(attach, run, cleanup: ExitStack, roots: SystemRoots) -> None:
    node = attach()
    try:
        run("dmsetup", "create", f"openpts-{node.name}", "--table", f"0 2048 linear {node} 0")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no device mapper in this kernel: {error.stderr.splitlines()[-1]}")
    cleanup.callback(run, "dmsetup", "remove", "--retry", f"openpts-{node.name}")
    assert_refused(node, "holder", f"(openpts-{node.name})", roots)


def test_a_loop_device_on_it(attach, roots: SystemRoots) -> None:
    node = attach()
    above = attach(on=node)
    assert_refused(node, "loop", f"{node} is the backing store of {above}", roots)
    assert_refused(above, "backing", f"{above} is a loop device over the drive {node}", roots)


def test_two_loop_devices_on_the_same_file(attach, tmp_path: Path, roots: SystemRoots) -> None:
    backing = tmp_path / "image"
    backing.touch()
    os.truncate(backing, 16 * MIB)
    first = attach(on=backing)
    assert check(BlockTarget(first), roots) == ()
    second = attach(on=backing)
    assert_refused(
        first,
        "backing",
        f"{backing}, which {first} stores its data in, is the backing store of {second}",
        roots,
    )
    assert_refused(second, "backing", f"is the backing store of {first}", roots)


def test_a_loop_device_whose_file_another_process_has_open(
    attach, tmp_path: Path, cleanup: ExitStack, roots: SystemRoots
) -> None:
    backing = tmp_path / "image"
    backing.touch()
    os.truncate(backing, 16 * MIB)
    node = attach(on=backing)
    pid = hold(backing, os.O_RDWR, cleanup)
    assert_refused(node, "backing", f"is open in process {pid} (python", roots)


def test_open_by_a_node_of_another_name(
    attach, tmp_path: Path, cleanup: ExitStack, roots: SystemRoots
) -> None:
    node = attach()
    other = tmp_path / "my own node"
    os.mknod(other, 0o600 | 0o060000, node.stat().st_rdev)
    pid = hold(other, os.O_RDONLY, cleanup)
    assert_refused(node, "open", f"{node} is open in process {pid} (python", roots)


def test_a_loop_device_on_a_partition(whole: Path, partition: Path, attach, roots: SystemRoots) -> None:
    above = attach(on=partition)
    assert_refused(whole, "loop", f"{partition} is the backing store of {above}", roots)


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDWR | os.O_EXCL])
def test_open_in_another_process(flags: int, attach, cleanup: ExitStack, roots: SystemRoots) -> None:
    node = attach()
    pid = hold(node, flags, cleanup)
    assert_refused(node, "open", f"{node} is open in process {pid} (python", roots)


@pytest.mark.parametrize(
    "refusals",
    [
        lambda node, roots: check(BlockTarget(node), roots),
        lambda node, roots: list_device(BlockDevice.of_node(node, roots), roots).safety.refusals,
    ],
    ids=["guard", "listing"],
)
def test_open_in_another_process_for_a_moment(
    refusals, attach, cleanup: ExitStack, roots: SystemRoots, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As another openpts has it that lists drives."""
    node = attach()
    with node.open("rb") as file:
        reader = cleanup.enter_context(subprocess.Popen(["sleep", "60"], stdin=file))
    assert quiet_refusals(BlockDevice.of_node(node, roots), read_usage(roots)) != ()
    pauses, sleep = [], time.sleep

    def pause(pause_s: float) -> None:
        if pause_s < 0.1:  # subprocess waits for a program to end
            sleep(pause_s)
        else:
            pauses.append(pause_s)
            reader.kill()
            reader.wait()

    monkeypatch.setattr(guard.time, "sleep", pause)
    assert refusals(node, roots) == ()
    assert pauses == [0.1]


def test_open_in_another_process_for_a_moment_after_the_claim(
    attach, cleanup: ExitStack, roots: SystemRoots, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run was refused because a list of drives had its own drive open, which it had claimed by then."""
    node = attach()
    looks = 0

    def look(of: SystemRoots):
        nonlocal looks
        looks += 1
        if looks != 2:  # the first is before the claim
            return read_usage(of)
        with node.open("rb") as file:
            reader = cleanup.enter_context(subprocess.Popen(["sleep", "60"], stdin=file))
        found = read_usage(of)
        reader.kill()
        reader.wait()
        return found

    monkeypatch.setattr(guard, "read_usage", look)
    target = cleanup.enter_context(open_target(BlockTarget(node), _confirmed(node), roots))
    assert looks == 3
    assert target.facts.path == str(node)


def test_claimed_by_a_process_out_of_sight(
    attach, cleanup: ExitStack, roots: SystemRoots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "_UDEV_LOOKS_S", 1.0)  # this claim outlives any patience
    node = attach()
    claim = os.open(node, os.O_RDONLY | os.O_EXCL)
    cleanup.callback(os.close, claim)
    assert_refused(node, "busy", "in use, and the kernel doesn't show by what", roots)


def test_read_only(attach, run, cleanup: ExitStack, roots: SystemRoots) -> None:
    node = attach()
    run("blockdev", "--setro", node)
    cleanup.callback(
        run, "blockdev", "--setrw", node
    )  # or else the next user of this loop device is surprised
    assert_refused(node, "read-only", f"{node} is set read-only", roots)


def test_a_file_system_that_is_not_mounted(attach, run, roots: SystemRoots) -> None:
    node = attach()
    run("mkfs.ext4", "-q", "-L", "precious", node)
    assert_refused(node, "signature", "ext4 labeled precious at 0x438", roots)
    with open_target(BlockTarget(node), _confirmed(node, erase_signatures=True), roots) as target:
        assert target.facts.name == node.name


def test_without_wipefs_only_the_operator_can_tell(
    attach, roots: SystemRoots, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = attach()
    monkeypatch.setattr(programs, "find_program", lambda name: None)
    assert_refused(node, "signature", "the program wipefs is missing: install the package util-linux", roots)
    with open_target(BlockTarget(node), _confirmed(node, erase_signatures=True), roots):
        pass


@pytest.mark.parametrize("between", ["a loop device", "a file system"])
def test_what_happens_between_the_look_and_the_claim_is_seen(
    between: str, attach, run, roots: SystemRoots, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = attach()
    run("mkfs.ext4", "-q", node) if between == "a file system" else attach(on=node)
    monkeypatch.setattr(guard, "check_drive", lambda device, usage: ())
    with pytest.raises(RefusedError, match=r"refused \[(loop|signature)\]"):
        open_target(BlockTarget(node), _confirmed(node), roots).__enter__()


def test_the_operators_word_is_asked_for_again_while_the_drive_is_held(
    attach, roots: SystemRoots, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = attach()
    _let_pass_once("unconfirmed", monkeypatch)
    with pytest.raises(RefusedError, match=r"refused \[confirmation\]"):
        open_target(BlockTarget(node), Consent(), roots).__enter__()
    assert check(BlockTarget(node), roots) == ()


def test_what_may_be_erased_with_a_drive_is_asked_for_again_while_it_is_held(
    attach, roots: SystemRoots, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, stranger = attach(), attach()
    _let_pass_once("not_a_sibling", monkeypatch)
    consent = Consent(confirm_device_path=str(node), confirm_namespaces=(stranger,))
    with pytest.raises(RefusedError, match=r"refused \[namespaces\]"):
        open_target(BlockTarget(node), consent, roots).__enter__()
    assert check(BlockTarget(node), roots) == check(BlockTarget(stranger), roots) == ()


def _let_pass_once(question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the drive of the first answer had been another one than that which is opened then."""
    asked = getattr(guard, question)
    first = iter([None])
    monkeypatch.setattr(
        guard, question, lambda *given: next(first) if first.__length_hint__() else asked(*given)
    )


def test_a_drive_without_a_medium(attach, run, roots: SystemRoots) -> None:
    attach()
    empty = Path(run("losetup", "--find"))
    with pytest.raises(TargetError, match=r"can't be opened|has no capacity"):
        open_target(BlockTarget(empty), _confirmed(empty), roots).__enter__()


def test_the_list_tells_which_drives_are_free(attach, run, mount, roots: SystemRoots) -> None:
    idle, used = attach(), attach(size_bytes=16 * MIB)
    run("mkfs.ext4", "-q", used)
    mount(used)
    listed = {listing.path: listing for listing in list_devices(roots)}
    assert listed[str(idle)].safety.verdict is Safety.FREE
    assert listed[str(idle)].safety.reason is None
    assert listed[str(idle)].capacity_bytes == 64 * MIB
    assert listed[str(used)].safety.verdict is Safety.REFUSED
    assert [one.rule_id for one in listed[str(used)].safety.refusals] == ["mounted"]


def test_the_list_leaves_every_drive_as_it_was(attach, roots: SystemRoots) -> None:
    node = attach()
    before = node.read_bytes()
    list_devices(roots)
    assert node.read_bytes() == before
    assert check(BlockTarget(node), roots) == ()


def test_a_plan_tells_of_the_refusal_to_come(attach, run, mount) -> None:
    node = attach(size_bytes=256 * MIB)
    words = ["iops", str(node), "--class", "client"]
    free = CliRunner().invoke(plan_command, words, catch_exceptions=False)
    assert free.output.splitlines()[-1] == "guard       allows the target as it is now"
    run("mkfs.ext4", "-q", node)
    signed = CliRunner().invoke(plan_command, words, catch_exceptions=False)
    assert "guard       a run would be refused [signature]: " in signed.output
    mount_point = mount(node)
    told = CliRunner().invoke(plan_command, words, catch_exceptions=False)
    assert told.exit_code == 0
    expected = (
        f"guard       a run would be refused [mounted]: {node} is mounted at {mount_point}; see findmnt"
    )
    assert told.output.splitlines()[-1].startswith(expected)
    safety = json.loads(CliRunner().invoke(plan_command, [*words, "--json"]).output)["safety"]
    assert (safety["verdict"], [found["rule"] for found in safety["refusals"]]) == ("refused", ["mounted"])
