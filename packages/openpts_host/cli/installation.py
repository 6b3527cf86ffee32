"""`openpts doctor --self`: what openpts is made of, and how what is missing is installed."""

import platform
import re
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from typing import Final

from msgspec import Struct
from rich.text import Text

from openpts.cli.console import table_console
from openpts.cli.standard_streams import print_document
from openpts.engine.native import refused_by
from openpts.errors import EngineUnavailableError, OpenptsError, UsageError
from openpts.programs import PACKAGES, find_program
from openpts.system_files import SystemRoots, printable
from openpts.vocabulary.document import Document

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
    found = f"{platform.python_version()} ({sys.executable})"
    interpreter = Part(name="Python", found=found, purpose="all of openpts", is_needed=True)
    return (interpreter, *_libraries(), *_native_module(roots), *_programs())


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
        from openpts.engine import native as native_build  # noqa: PLC0415 one that can't be loaded is a finding
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
            install={
                distribution: f"{INSTALLERS[distribution]} {getattr(package, distribution.lower())}"
                for distribution in ("Debian", "Fedora", "Arch")
            },
        )


_PIPE_COLUMNS: Final = 120


class Installation(Document, frozen=True, kw_only=True, tag="openpts.installation/1"):
    """The parts of openpts, and the programs that it may start."""

    parts: tuple[Part, ...]


def show_installation(*, is_all: bool, as_json: bool) -> None:
    """Print what openpts is made of.

    Raises UsageError if more was asked for, OpenptsError where something needed is missing.
    """
    if not is_all:
        raise UsageError("--self looks at openpts alone: leave out TARGET, --apply and --restore")
    found = parts(SystemRoots())
    failure = failure_of(found)
    if as_json:
        print_document(Installation(parts=found), failure)
    else:
        console = table_console(pipe_columns=_PIPE_COLUMNS)
        for line in installation_text(found):
            console.print(line, soft_wrap=True)
    if failure is not None:
        raise failure


def failure_of(found: Sequence[Part]) -> OpenptsError | None:
    """What the command ends with: an error where something needed is missing."""
    missing = [part for part in found if part.found is None and part.is_needed]
    if not missing:
        return None
    text = f"needed and missing: {', '.join(part.name for part in missing)}"
    return (
        EngineUnavailableError(text) if [part.name for part in missing] == [IO_URING] else OpenptsError(text)
    )


def installation_text(found: Sequence[Part]) -> Iterator[Text]:
    """What is missing, with its purpose and what installs it; what is there, a line each."""
    missing = [part for part in found if part.found is None]
    for heading, style, needed in (("NEEDED, AND MISSING", "bold red", True), ("MISSING", "yellow", False)):
        of_these = [part for part in missing if part.is_needed is needed]
        if of_these:
            yield Text(heading, style=style)
            for part in of_these:
                yield Text(
                    f"  {part.name}, for {part.purpose}{f': {printable(part.why)}' if part.why else ''}"
                )
            yield from (
                Text(f"    {line}")
                for line in dict.fromkeys(part.install["any"] for part in of_these if "any" in part.install)
            )
            for distribution, command in INSTALLERS.items():
                lines = [part.install[distribution] for part in of_these if distribution in part.install]
                names = dict.fromkeys(line.removeprefix(f"{command} ") for line in lines)
                if names:
                    yield Text(f"    {distribution + ':':8}{command} {' '.join(names)}")
            yield Text()
    yield Text("THERE", style="green")
    there = (f"  {part.name}: {printable(part.found)}" for part in found if part.found is not None)
    yield from map(Text, dict.fromkeys(there))
