"""The guard against uses under another name: an inode or a device may have any number of names.

Each of these was let through once, and would have cost its users their data.
"""

import os
import shutil
import subprocess
from contextlib import ExitStack, suppress
from mmap import mmap
from pathlib import Path
from time import monotonic, sleep

import pytest

from openpts.device.guard.guard import check, open_target
from openpts.device.targets.target import BlockTarget, FileTarget
from openpts.errors import RefusedError
from openpts.system_files import SystemRoots
from openpts.units import MIB
from openpts.vocabulary.purge import Consent
from openpts_testbench.serve import serve_drive
from tests.support.refusals import assert_refused, hold, hold_in_namespace, hold_in_thread, hold_mapped
from tests.support.served_drive import order, served

pytestmark = pytest.mark.needs("files")


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A file of 16 MiB in a folder of its own."""
    (tmp_path / "images").mkdir()
    path = tmp_path / "images/a"
    path.touch()
    os.truncate(path, 16 * MIB)
    return path


@pytest.fixture(params=["hard link", "bind mount", "overlay"])
def alias(request: pytest.FixtureRequest, image: Path, tmp_path: Path, run, cleanup: ExitStack) -> Path:
    """The same file by another name."""
    if request.param == "hard link":
        other = image.with_name("b")
        other.hardlink_to(image)
        return other
    folder = tmp_path / "bound"
    folder.mkdir()
    if request.param == "bind mount":
        _mounted(["--bind", image.parent], folder, run, cleanup)
        return folder / image.name
    _overlaid(image.parent, folder, run, cleanup)
    return folder / image.name


def _mounted(words: list[object], folder: Path, run, cleanup: ExitStack) -> None:
    try:
        run("mount", *words, folder)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no such mounts here: {error.stderr.strip()}")
    cleanup.callback(run, "umount", folder)


def _overlaid(upper: Path, folder: Path, run, cleanup: ExitStack) -> None:
    """An overlay that stores what is written to it in a folder."""
    lower, work = folder.with_name("lower layer"), folder.with_name("work")
    lower.mkdir()
    work.mkdir()
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    _mounted(["-t", "overlay", "overlay", "-o", options], folder, run, cleanup)


def _assert_file_refused(path: Path, rule_id: str, says: str, roots: SystemRoots) -> None:
    """By the check and by the door alike, whatever the operator gives away, and left as it is."""
    before = path.stat()
    found = check(FileTarget(path, None), roots)
    assert [(refusal.rule_id, refusal.evidence) for refusal in found if says in refusal.evidence]
    assert rule_id in {refusal.rule_id for refusal in found}
    consent = Consent(overwrite_file=True)
    with pytest.raises(RefusedError, match=rf"refused \[{rule_id}\]"):
        open_target(FileTarget(path, None), consent, roots).__enter__()
    after = path.stat()
    assert (before.st_mtime_ns, before.st_blocks) == (after.st_mtime_ns, after.st_blocks)


def test_the_file_system_in_an_image_that_is_mounted(
    alias: Path, image: Path, attach, run, mount, roots: SystemRoots
) -> None:
    run("mkfs.ext4", "-q", image)
    mount(image, "-o", "loop")
    used = f"is the backing store of {_loop_over(image, run)}"
    assert_refused(attach(on=alias), "backing", used, roots)


def test_an_image_that_is_mounted_named_as_a_file(
    alias: Path, image: Path, attach, run, mount, roots: SystemRoots
) -> None:
    run("mkfs.ext4", "-q", image)
    mount(image, "-o", "loop")
    _assert_file_refused(alias, "loop", f"is the backing store of {_loop_over(image, run)}", roots)


def _loop_over(path: Path, run) -> str:
    return str(run("losetup", "--associated", path)).split(":")[0]


def test_a_loop_device_of_another_mount_namespace(
    image: Path, tmp_path: Path, attach, cleanup: ExitStack, roots: SystemRoots
) -> None:
    hidden, told = tmp_path / "hidden", tmp_path / "told"
    hidden.mkdir()
    node = attach(on=image)
    script = f"mount --bind {image.parent} {hidden}; losetup --find --show {hidden / image.name} > {told}"
    hold_in_namespace(script, cleanup)
    other = told.read_text().strip()
    cleanup.callback(subprocess.run, ["losetup", "--detach", other], check=True)
    assert_refused(node, "backing", f"is the backing store of {other}", roots)


def test_a_file_below_a_loop_device_of_another_mount_namespace(
    image: Path, tmp_path: Path, attach, cleanup: ExitStack, roots: SystemRoots
) -> None:
    hidden, told = tmp_path / "hidden", tmp_path / "told"
    hidden.mkdir()
    script = f"mount --bind {image.parent} {hidden}; losetup --find --show {hidden / image.name} > {told}"
    hold_in_namespace(script, cleanup)
    other = told.read_text().strip()
    cleanup.callback(subprocess.run, ["losetup", "--detach", other], check=True)
    _assert_file_refused(image, "loop", f"is the backing store of {other}", roots)


def test_an_image_whose_first_name_was_removed(image: Path, attach, roots: SystemRoots) -> None:
    used = attach(on=image)
    alias = image.with_name("b")
    alias.hardlink_to(image)
    image.unlink()
    assert_refused(attach(on=alias), "backing", f"is the backing store of {used}", roots)
    assert_refused(used, "backing", "is the backing store of", roots)


def test_a_file_whose_other_name_was_removed(image: Path, attach, roots: SystemRoots) -> None:
    used = attach(on=image)
    alias = image.with_name("b")
    alias.hardlink_to(image)
    image.unlink()
    _assert_file_refused(alias, "loop", f"is the backing store of {used}", roots)


def test_a_loop_device_on_it_by_a_node_that_was_removed(attach, tmp_path: Path, roots: SystemRoots) -> None:
    node = attach()
    other = tmp_path / "my own node"
    os.mknod(other, 0o600 | 0o060000, node.stat().st_rdev)
    above = attach(on=other)
    other.unlink()
    assert_refused(node, "loop", f"{node} is the backing store of {above}", roots)
    assert_refused(above, "backing", f"{above} is a loop device over the drive", roots)


def test_mapped_by_a_process_that_has_closed_it(attach, cleanup: ExitStack, roots: SystemRoots) -> None:
    node = attach()
    pid = hold_mapped(node, cleanup)
    assert_refused(node, "open", f"{node} is mapped by process {pid} (python", roots)


def test_an_image_that_is_mapped(
    alias: Path, image: Path, attach, cleanup: ExitStack, roots: SystemRoots
) -> None:
    node = attach(on=image)
    pid = hold_mapped(alias, cleanup)
    assert_refused(node, "backing", f"is mapped by process {pid} (python", roots)


def test_a_file_that_is_mapped(alias: Path, image: Path, attach, cleanup: ExitStack, roots) -> None:
    pid = hold_mapped(alias, cleanup)
    _assert_file_refused(image, "open", f"{image} is mapped by process {pid} (python", roots)


@pytest.mark.full_matrix
@pytest.mark.parametrize("flags", [os.O_RDWR, os.O_RDONLY])
def test_an_empty_image_that_another_process_has_open(
    flags: int, alias: Path, image: Path, cleanup: ExitStack, roots: SystemRoots
) -> None:
    pid = hold(alias, flags, cleanup)
    _assert_file_refused(image, "open", f"{image} is open in process {pid} (python", roots)


@pytest.fixture
def overlaid(image: Path, tmp_path: Path, run, cleanup: ExitStack) -> Path:
    """The image through an overlay whose upper layer has it."""
    (tmp_path / "merged").mkdir()
    _overlaid(image.parent, tmp_path / "merged", run, cleanup)
    return tmp_path / "merged/a"


@pytest.mark.parametrize("sight", ["seen", "out of sight"])
@pytest.mark.parametrize("use", ["loop", "open"])
def test_a_file_that_is_in_use_below_an_overlay(
    use: str,
    sight: str,
    overlaid: Path,
    image: Path,
    attach,
    cleanup: ExitStack,
    roots: SystemRoots,
    monkeypatch,
) -> None:
    """It holds no data, so that it would be taken without any further word."""
    assert check(FileTarget(overlaid, None), roots) == ()
    if use == "loop":
        attach(on=image)
    else:
        hold(image, os.O_RDWR, cleanup)
    if sight == "out of sight":
        monkeypatch.setattr(
            "openpts.device.guard.usage.find_open_nodes", lambda _roots, _files: _NOTHING_SEEN
        )
        monkeypatch.setattr("openpts.device.guard.usage._loops", lambda _roots: ())
        _assert_file_refused(overlaid, "open", f"{image} is open elsewhere", roots)
    else:
        says = "is the backing store of" if use == "loop" else "is open in process"
        _assert_file_refused(overlaid, use, f"{overlaid} {says}", roots)


def test_a_file_on_an_overlay_whose_layers_are_out_of_sight(
    overlaid: Path, image: Path, run, cleanup: ExitStack, roots: SystemRoots, monkeypatch
) -> None:
    """As in a container: the file below may be in use by the host. A file that is made now can't be."""
    _mounted(["-t", "tmpfs", "tmpfs"], image.parent, run, cleanup)
    # A mount namespace that another test made a moment ago still shows the layer.
    monkeypatch.setattr("openpts.device.guard.usage.other_roots", lambda _roots: ())
    target = FileTarget(overlaid, 16 * MIB)
    for ask in (
        lambda: check(target, roots),
        open_target(target, Consent(overwrite_file=True), roots).__enter__,
    ):
        with pytest.raises(RefusedError, match=r"refused \[overlay\].*Remove the file"):
            ask()
    overlaid.unlink()
    with open_target(target, Consent(), roots) as opened:
        assert opened.made_here


def test_a_file_that_only_a_lower_layer_has_is_left_as_it_is(
    tmp_path: Path, image: Path, run, cleanup: ExitStack, roots: SystemRoots
) -> None:
    """A test gets a copy of it, and only if it is not in use."""
    merged = tmp_path / "merged"
    merged.mkdir()
    _overlaid(image.parent, merged, run, cleanup)
    below = tmp_path / "lower layer/b"
    below.write_bytes(b"data" * 4 * MIB)
    with ExitStack() as held:
        hold(below, os.O_RDWR, held)
        _assert_file_refused(merged / "b", "open", f"{merged / 'b'} is open in process", roots)
    with open_target(FileTarget(merged / "b", None), Consent(overwrite_file=True), roots) as opened:
        os.pwrite(opened.fd, memoryview(mmap(-1, 4096)), 0)
    assert (merged / "b").read_bytes()[:4096] == bytes(4096)
    assert below.read_bytes() == b"data" * 4 * MIB


@pytest.mark.parametrize("first", ["lives", "ended"])
def test_a_drive_that_only_a_thread_has_open(
    first: str, attach, image: Path, cleanup: ExitStack, roots: SystemRoots
) -> None:
    """Its table of files is its own, and in the folder of the process there is nothing of it."""
    node = attach()
    pid = hold_in_thread(node, cleanup, first)
    assert not _has_open(pid, node)
    assert_refused(node, "open", f"{node} is open in process {pid} (python", roots)
    file_pid = hold_in_thread(image, cleanup, first)
    _assert_file_refused(image, "open", f"{image} is open in process {file_pid} (python", roots)


def test_a_file_that_is_open_out_of_sight(
    image: Path, cleanup: ExitStack, roots: SystemRoots, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container, where the processes of the machine aren't listed: the kernel knows all the same."""
    hold(image, os.O_RDWR, cleanup)
    monkeypatch.setattr("openpts.device.guard.usage.find_open_nodes", lambda _roots, _files: _NOTHING_SEEN)
    _assert_file_refused(image, "open", f"{image} is open elsewhere", roots)


class _NOTHING_SEEN:  # noqa: N801 stands for one
    claims, secretive = (), ()


@pytest.fixture
def swap(image: Path, run) -> Path:
    """The image, in use as swap space."""
    image.write_bytes(bytes(16 * MIB))
    image.chmod(0o600)
    run("mkswap", image)
    try:
        run("swapon", image)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"swapon does not work here: {error.stderr.strip()}")
    return image


def test_a_swap_file(swap: Path, alias: Path, attach, run, cleanup: ExitStack, roots: SystemRoots) -> None:
    cleanup.callback(run, "swapoff", swap)
    assert_refused(attach(on=alias), "backing", "is in use as swap space", roots)
    _assert_file_refused(alias, "swap", f"{alias} is in use as swap space", roots)


@pytest.mark.parametrize("lives", [True, False], ids=["lives", "is gone"])
def test_a_swap_file_of_another_mount_namespace(
    lives: bool, image: Path, tmp_path: Path, attach, run, cleanup: ExitStack, roots: SystemRoots
) -> None:
    """The kernel tells the path that it had there. Of one that can't be found, any file may be meant."""
    image.write_bytes(bytes(16 * MIB))
    image.chmod(0o600)
    run("mkswap", image)
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    script = f"mount --bind {image.parent} {hidden}; swapon {hidden / image.name}"
    with ExitStack() as namespace:
        hold_in_namespace(script, cleanup if lives else namespace)
    cleanup.callback(run, "swapoff", image)
    if lives:
        _assert_file_refused(image, "swap", f"{image} is in use as swap space", roots)
    else:
        _assert_file_refused(image, "open", f"{image} is open elsewhere", roots)
    assert_refused(attach(on=image), "backing", "is in use as swap space", roots)


# by one of the names: that each of them leads to the file is proven by the tests above
@pytest.mark.full_matrix(most=1)
def test_the_image_of_a_virtual_machine(
    alias: Path, image: Path, attach, cleanup: ExitStack, roots: SystemRoots
) -> None:
    program = shutil.which("qemu-system-x86_64")
    if program is None:
        pytest.skip("the program qemu-system-x86_64 is not installed")
    command = [program, "-machine", "none", "-nodefaults", "-display", "none"]
    drive = f"file={alias},format=raw,if=none,id=disk"
    machine = subprocess.Popen([*command, "-drive", drive], stdin=subprocess.DEVNULL)
    cleanup.enter_context(machine)
    cleanup.callback(machine.terminate)
    used = f"is open in process {machine.pid} (qemu-system-x86)"
    deadline_s = monotonic() + 30
    while not _has_open(machine.pid, alias):
        assert machine.poll() is None
        assert monotonic() < deadline_s
        sleep(0.05)
    _assert_file_refused(image, "open", used, roots)
    assert_refused(attach(on=image), "backing", used, roots)


def _has_open(pid: int, path: Path) -> bool:
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since, or what it leads to is no file
            if descriptor.samefile(path):
                return True
    return False


def test_nothing_is_left_of_a_question(image: Path, attach, roots: SystemRoots) -> None:
    """No lease, no lock, no attribute: the next one to ask gets the same answer."""
    for _ in range(2):
        assert check(FileTarget(image, None), roots) == ()
    node = attach(on=image)
    assert check(BlockTarget(node), roots) == ()
    assert os.listxattr(image) == []


def test_the_image_of_a_mounted_file_system_keeps_no_contents_of_a_served_drive(
    alias: Path, image: Path, attach, run, mount
) -> None:
    preset = "client-qlc?capacity=256MB"
    with served(preset) as drive:
        os.truncate(image, drive.capacity_bytes)
    run("mkfs.ext4", "-q", image)
    mount(image, "-o", "loop")
    for overwrite_file in (False, True):
        with pytest.raises(RefusedError, match=r"refused \[loop\].*is the backing store of"):
            serve_drive(order(preset, data=alias, overwrite_file=overwrite_file)).__enter__()
