"""Builds made-up machines: the files of /sys, /proc, /etc and /usr/share as a ``.tree`` text tells them.

A tree has these lines; a name is relative to the section above it::

    # a comment
    [sys/devices/virtual/block/loop0]      a section: where the names below it start
    size = 2048                            a file with a line of text; the same name again: a further line
    serial = "AB12   "                     the same, as a Python string: blanks, control characters
    vpd_pg80 = hex 00 80 00 02 41 42       a file with these bytes
    vpd_pg89 = bytes identify/disk.bin     a file with the bytes of another one below tests/data
    device -> ../../nvme0                  a symbolic link
    holders/                               an empty folder

The links that the kernel makes for each block device and each PCI function are made here as well.
"""

import ast
import os
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from openpts.system_files import SystemRoots

DATA = Path(__file__).parent


def build_system(name: str, root: Path) -> SystemRoots:
    """Write the tree ``systems/NAME.tree`` below ``root`` and return its roots."""
    folders, files, links = _made_once(name)
    for folder in folders:
        (root / folder).mkdir(exist_ok=True)
    for path, content in files:
        (root / path).write_bytes(content)
    for path, target in links:
        (root / path).symlink_to(target)
    return SystemRoots(*(root / folder for folder in ("sys", "proc", "dev", "etc", "share", "run")))


@cache
def _made_once(name: str) -> tuple[list[str], list[tuple[str, bytes]], list[tuple[str, str]]]:
    """Folders, files and links of a tree: hundreds of tests write it, and to read its text takes longer."""
    folders, files, links = [], [], []
    with TemporaryDirectory() as place:
        root = Path(place)
        _make(name, root)
        for path in sorted(root.rglob("*")):
            inside = path.relative_to(root).as_posix()
            if path.is_symlink():
                links.append((inside, str(path.readlink())))
            elif path.is_dir():
                folders.append(inside)
            else:
                files.append((inside, path.read_bytes()))
    return folders, files, links


def _make(name: str, root: Path) -> None:
    section = ""
    for line in (DATA / "systems" / f"{name}.tree").read_text().splitlines():
        text = line.strip()
        if text.startswith("["):
            section = text.strip("[]")
        elif text and not text.startswith("#"):
            _write_entry(root / section, text)
    _link_block_devices(root)
    _link_pci_functions(root)
    for folder in ("sys", "proc", "dev", "etc", "share", "run"):
        (root / folder).mkdir(exist_ok=True)


def _write_entry(folder: Path, text: str) -> None:
    if " -> " in text:
        name, target = text.split(" -> ")
        path = _below(folder, name)
        path.symlink_to(target)
    elif text.endswith("/"):
        _below(folder, text).mkdir(exist_ok=True)
    else:
        name, value = text.split(" = ", 1) if " = " in text else (text.removesuffix(" ="), "")
        with _below(folder, name).open("ab") as file:
            file.write(_content(value))


def _below(folder: Path, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _content(value: str) -> bytes:
    if value.startswith("hex "):
        return bytes.fromhex(value.removeprefix("hex "))
    if value.startswith("bytes "):
        return (DATA / value.removeprefix("bytes ")).read_bytes()
    if value.startswith('"'):
        value = ast.literal_eval(value)
    return f"{value}\n".encode()


def _link_block_devices(root: Path) -> None:
    for size in sorted((root / "sys/devices").rglob("size")):
        device = size.parent
        number = (device / "dev").read_text().strip()
        _link(root / "sys/class/block" / device.name, device)
        _link(root / "sys/dev/block" / number, device)
        if not (device / "partition").exists():
            _link(root / "sys/block" / device.name, device)


def _link_pci_functions(root: Path) -> None:
    for vendor in sorted((root / "sys/devices").rglob("class")):
        _link(root / "sys/bus/pci/devices" / vendor.parent.name, vendor.parent)


def _link(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(os.path.relpath(target, link.parent))


@pytest.fixture
def server(tmp_path: Path) -> SystemRoots:
    """A two-socket server with many drives."""
    return build_system("server", tmp_path)


@pytest.fixture
def virtual_machine(tmp_path: Path) -> SystemRoots:
    """A small virtual machine on ARM."""
    return build_system("virtual-machine", tmp_path)


@pytest.fixture
def malformed(tmp_path: Path) -> SystemRoots:
    """A machine on which nothing is as it should be."""
    return build_system("malformed", tmp_path)


@pytest.fixture
def laptop(tmp_path: Path) -> SystemRoots:
    """A laptop on its battery, tuned for that."""
    return build_system("laptop", tmp_path)


@pytest.fixture
def container(tmp_path: Path) -> SystemRoots:
    """A container with limits."""
    return build_system("container", tmp_path)


@pytest.fixture
def shelf(tmp_path: Path) -> SystemRoots:
    """A host with many drives behind few links."""
    return build_system("shelf", tmp_path)
