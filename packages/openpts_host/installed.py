"""What openpts itself is made of: interpreter, libraries, native module, io_uring, programs of others."""

import platform
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from typing import Final

from msgspec import Struct

from openpts.engine.io_uring import refused_by
from openpts.programs import PACKAGES, find_program
from openpts.system_files import SystemRoots

IO_URING: Final = "io_uring"
"""The name of the part that containers and services often refuse."""

_PIP: Final = f"{sys.executable} -m pip install"
INSTALLERS: Final = {"PyPI": _PIP, "Debian": "apt-get install", "Fedora": "dnf install", "Arch": "pacman -S"}
"""What installs libraries and packages, by where they come from."""

_PURPOSES: Final = {"traces": "traces, replay, captures of every I/O"}
_AGAIN: Final = "pip install --no-index --find-links WHEELHOUSE --force-reinstall openpts"
_REQUIREMENT: Final = re.compile(
    r"(?P<name>[\w.-]+)(?P<versions>[^; ]*)[^;]*(?:; extra == '(?P<extra>\w+)')?"
)


class Part(Struct, frozen=True, kw_only=True):
    """A part of the installation.

    ``found`` is None if it is missing, and ``why`` says more of that. Without one that ``is_needed`` openpts
    does not work as it should; another one serves its ``purpose`` alone. ``install`` has a command for
    each distribution or index, or one for ``any``.
    """

    name: str
    found: str | None
    purpose: str
    is_needed: bool
    why: str = ""
    install: dict[str, str] = {}


def parts(roots: SystemRoots) -> tuple[Part, ...]:
    """All parts: those that are needed first."""
    return (_interpreter(), *_libraries(), *_native_module(roots), *_programs())


def _interpreter() -> Part:
    found = f"{platform.python_version()} ({sys.executable})"
    return Part(name="Python", found=found, purpose="all of openpts", is_needed=True)


def _libraries() -> Iterator[Part]:
    """Libraries that the metadata of the package name; none where it runs from a source tree."""
    try:
        lines = requires("openpts") or ()
    except PackageNotFoundError:
        return
    has_pip = find_spec("pip") is not None
    for match in map(_REQUIREMENT.match, lines):
        if match is not None:
            extra = match["extra"]
            yield Part(
                name=match["name"],
                found=_version(match["name"]),
                purpose=f"the extra {extra}" if extra else "all of openpts",
                is_needed=extra is None,
                why="" if has_pip else "this environment has no pip: make one from the wheelhouse",
                install={"PyPI": f"{_PIP} '{match['name']}{match['versions']}'"} if has_pip else {},
            )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _native_module(roots: SystemRoots) -> Iterator[Part]:
    name, purpose, install = "native module", "engine and simulated drives", {"any": _AGAIN}
    try:
        from openpts.engine import native_build  # noqa: PLC0415 one that can't be loaded is a finding
    except ImportError as error:
        yield Part(name=name, found=None, purpose=purpose, is_needed=True, why=str(error), install=install)
        return
    yield Part(name=name, found=native_build.build(), purpose=purpose, is_needed=True)
    for feature, is_built_in in native_build.FEATURES.items():
        yield Part(
            name=f"feature {feature}",
            found="built in" if is_built_in else None,
            purpose=_PURPOSES[feature],
            is_needed=False,
            why="the native module was built without it",
            install=install,
        )
    answer = native_build.io_uring()
    is_there = answer == native_build.AVAILABLE
    yield Part(
        name=IO_URING,
        found=answer if is_there else None,
        purpose="I/O without a thread for each",
        is_needed=True,
        why="" if is_there else f"{answer}: {refused_by(answer, roots)}",
    )


def _programs() -> Iterator[Part]:
    for package in dict.fromkeys(PACKAGES.values()):
        programs = [name for name, one in PACKAGES.items() if one == package]
        paths = [find_program(name) for name in programs]
        absent = [name for name, path in zip(programs, paths, strict=True) if path is None]
        yield Part(
            name=package.debian,
            found=None if absent else ", ".join(filter(None, paths)),
            purpose=package.purpose,
            is_needed=False,
            why=f"no program {', '.join(absent)}" if absent else "",
            install=_lines(package.debian, package.fedora, package.arch),
        )


def _lines(debian: str, fedora: str, arch: str) -> dict[str, str]:
    return {
        distribution: f"{INSTALLERS[distribution]} {name}"
        for distribution, name in (("Debian", debian), ("Fedora", fedora), ("Arch", arch))
    }
