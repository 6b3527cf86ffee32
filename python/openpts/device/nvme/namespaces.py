"""Namespaces of a controller: what is sent to the controller as a whole concerns them all."""

import re
from pathlib import Path
from typing import Final

# nvme0n2, and not nvme0c1n2, which is one path to it
NAMESPACE: Final = re.compile(r"nvme[0-9]+n[0-9]+")
"""The kernel's names of namespaces."""
_ONE_PATH: Final = re.compile(r"nvme([0-9]+)c[0-9]+n([0-9]+)")


def namespaces_of(controller: Path) -> tuple[str, ...]:
    """Kernel names of the namespaces that a controller's folder in sysfs leads to."""
    names = (namespace_behind(folder.name) for folder in sorted(controller.glob("nvme*")))
    return tuple(name for name in names if NAMESPACE.fullmatch(name))


def namespace_behind(name: str) -> str:
    """The namespace's own name where ``name`` is that of one path to it: nvme0n1 of nvme0c1n1."""
    return _ONE_PATH.sub(r"nvme\1n\2", name)
