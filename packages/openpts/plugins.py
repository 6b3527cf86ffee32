"""The door to plug-ins: what one may declare, how it is found, what becomes of a broken one.

A plug-in is an installed distribution with entry points in the group ``openpts.plugins``::

    door = "openpts.plugins:DOOR_2"                  # the version of this door that it was made for
    procedure.blocksizes = "acme_openpts:PROCEDURE"  # KIND.NAME = "module:object"

Names are known from metadata alone. An object is imported when its name is asked for, and one that can't
be is refused by name: `openpts doctor` and the command that needs it say why, and nothing else fails.
"""

import os
import re
import signal
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from enum import StrEnum
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from openpts.errors import PluginError

if TYPE_CHECKING:
    from openpts.vocabulary.facts import Fact, Facts

GROUP: Final = "openpts.plugins"
DOOR_2: Final = 2
"""What the entry point ``door`` of a plug-in names: version 2 of what this module says."""

LONGEST_IMPORT_S: Final = 10.0
"""An import that takes longer is ended: scipy takes half a second, on a machine at rest."""

_DOOR: Final = f"{__name__}:DOOR_2"
_NAME: Final = r"[a-z][a-z0-9-]*(\.[a-z][a-z0-9-]*)?"


class Kind(StrEnum):
    """What a plug-in may declare."""

    PROCEDURE = "procedure"
    COMMAND = "command"
    CONCERN = "concern"
    GAUGE = "gauge"
    EXPORTER = "exporter"
    OUTPUT = "output"
    BATCH = "batch"
    PURGE = "purge"
    SCHEME = "scheme"
    TRACE_FORMAT = "trace-format"
    PAGE = "page"
    CONTENT = "content"
    ALERT = "alert"
    REQUIREMENTS = "requirements"
    JUDGE = "judge"
    JOB_FILES = "job-files"
    BATCH_OUTPUT = "batch-output"
    PURPOSE = "purpose"
    SELF_TEST = "self-test"
    FUNCTION = "function"


# Of all others an object is called. Imported with the first object of the kind: types of rooms above, and
# click, would cost each start.
_TYPES: Final = {
    Kind.PROCEDURE: "openpts.procedures.kit.procedure:Procedure",
    Kind.COMMAND: "click:Command",
    Kind.CONCERN: "builtins:type",
    Kind.BATCH: "openpts.cli.several:Several",
    Kind.PURGE: "openpts.device.purge.methods:PurgeMethod",
    Kind.SCHEME: "openpts.device.targets.target:Scheme",
    Kind.TRACE_FORMAT: "builtins:str",
    Kind.JUDGE: "openpts.procedures.kit.judge:Judge",
    Kind.JOB_FILES: "builtins:object",
    Kind.PURPOSE: "builtins:object",
}


OWN: Final = "openpts"
"""The distribution of openpts itself: its plug-ins come in by the same door."""


class InstalledPlugin(Struct, frozen=True, eq=False):
    """An installed plug-in; ``folder`` has its metadata, ``entries`` are its entry points by their names."""

    name: str
    version: str
    folder: Path
    entries: Mapping[str, str]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def is_own(self) -> bool:
        """Whether openpts itself brings it."""
        return self.name == OWN

    @property
    def fact(self) -> "Fact":
        """Version and hash of the installed files, for a run's record: an edited file changes the hash."""
        from hashlib import sha256  # noqa: PLC0415 only a run needs it
        from importlib.metadata import PathDistribution  # noqa: PLC0415 a third of the time of a start

        from openpts.vocabulary.facts import Fact  # noqa: PLC0415 likewise

        files = sorted(PathDistribution(self.folder).files or (), key=str)
        digest, count = sha256(), 0
        for file in files:
            if file.suffix != ".pyc" and file.name != "RECORD":
                with suppress(OSError):  # removed by hand
                    digest.update(f"{file}\0".encode() + Path(file.locate()).read_bytes() + b"\0")
                    count += 1
        return Fact(f"{self} sha256:{digest.hexdigest()}", f"{count} files of {self.folder.name}")


class Offer(Struct, frozen=True):
    """One object of a plug-in: ``where`` is ``module:object``."""

    kind: str
    name: str
    where: str
    package: InstalledPlugin

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r} of the plug-in {self.package}"

    @property
    def refusal(self) -> str:
        """Why metadata alone is reason to load nothing; empty where they are sound."""
        door = self.package.entries.get("door")
        if door != _DOOR:
            made_for = "says no version of the door" if door is None else f"was made for {door}"
            return f"it {made_for}, and this openpts has {_DOOR}: install another version of either"
        if self.kind not in set(Kind):
            return f"openpts knows no plug-ins of the kind {self.kind!r}, only {', '.join(Kind)}"
        if not re.fullmatch(_NAME, self.name):
            return "its name is not made of a-z, 0-9 and -"
        return ""

    @property
    def summary(self) -> str:
        """For help, which imports no plug-in."""
        return f"Plug-in {self.package}{'; refused, see `openpts doctor`' if self.refusal else ''}."

    def error(self, what: str, why: object) -> PluginError:
        """What of this object failed, why, and what to do."""
        text = " ".join(str(why).split())
        remedy = "" if self.package.is_own else f"; repair it, or pip uninstall {self.package.name}"
        return PluginError(f"{what} the {self}: {text}{remedy}")


Examples = tuple[tuple[str, str], ...]


class Listing(Struct, frozen=True):
    """The order in which openpts' own objects stand, and words for them: an entry ``listing`` names it.

    ``suite`` are the tests that are run where none are named; without it, all. ``purges`` are the purge
    methods that openpts should have, the best first. ``commands`` are by what they are for, each with
    what it does in a few words, and ``subcommands`` by ``group.NAME``; ``examples`` by command: command
    lines, each with what it does. The first page shows ``first_examples``, its help also
    ``last_examples``. ``arguments`` make a command line of the path of a command, such as ``openpts run
    iops``.
    """

    tests: tuple[str, ...] = ()
    suite: tuple[str, ...] = ()
    purges: tuple[str, ...] = ()
    commands: Mapping[str, Mapping[str, str]] = {}
    subcommands: Mapping[str, str] = {}
    first_examples: Examples = ()
    last_examples: Examples = ()
    examples: Mapping[str, Examples] = {}
    arguments: Mapping[str, str] = {}


@cache
def packages() -> tuple[InstalledPlugin, ...]:
    """All plug-ins, openpts' own first; of two versions of one the first in ``sys.path``, as for Python.

    Metadata are read by hand: importlib.metadata takes a third of the time of a start.
    """
    found: dict[str, InstalledPlugin] = {}
    for place in dict.fromkeys(path or "." for path in sys.path):
        for folder in _metadata_folders(place):
            if entries := _entries(f"{place}/{folder}/entry_points.txt"):
                name, _, version = folder.removesuffix(".dist-info").rpartition("-")
                package = InstalledPlugin(name.replace("_", "-"), version, Path(place, folder), entries)
                found.setdefault(name.lower(), package)
    return tuple(sorted(found.values(), key=lambda package: not package.is_own))


def listing() -> Listing:
    """The listing of openpts' own; those of others stand behind it as metadata have them."""
    return _listing(packages())


def offers(kind: Kind, reserved: Collection[str] = ()) -> dict[str, Offer]:
    """The objects of a kind by name; ``reserved`` names and those of earlier plug-ins stay theirs."""
    found: dict[str, Offer] = {}
    for offer in _all_offers():
        if offer.kind == kind and offer.name not in reserved:
            found.setdefault(offer.name, offer)
    return found


def load(offer: Offer) -> Any:
    """Import the object. Raises PluginError if it fails, hangs, or is not what it says."""
    if offer.refusal:
        raise offer.error("can't load", offer.refusal)
    try:
        # openpts' own don't hang, and on a host whose processors are busy they may take as long
        with nullcontext() if offer.package.is_own else _ending_after(LONGEST_IMPORT_S):
            found = imported(offer.where)
    except _TooLongError:
        why = f"its import took longer than {LONGEST_IMPORT_S:g} s"
        raise offer.error("can't load", why) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit: a module must not end openpts
        raise offer.error("can't load", f"{type(error).__name__}: {error}") from error
    if not isinstance(found, imported(_TYPES.get(Kind(offer.kind), "collections.abc:Callable"))):
        raise offer.error("can't load", f"{offer.where} is of the type {type(found).__name__}")
    name = offer.name.rpartition(".")[2]
    if getattr(found, "name", name) != name:
        raise offer.error("can't load", f"{offer.where} calls itself {found.name!r}")
    if not offer.package.is_own:
        _LOADED[offer.package.name] = offer.package
    return found


def first(kind: Kind) -> Any:
    """The first object of a kind; None where there is none. Raises PluginError."""
    offer = next(iter(offers(kind).values()), None)
    return None if offer is None else load(offer)


def function(name: str) -> Any:
    """What is called as ``openpts.NAME`` from Python. Raises PluginError, also where none is installed."""
    offer = offers(Kind.FUNCTION).get(name)
    if offer is None:
        raise PluginError(
            f"openpts.{name} is in no plug-in that is installed: pip install --force-reinstall {OWN}"
        )
    return load(offer)


@contextmanager
def calling(offer: Offer, passed: type[Exception] = PluginError) -> Iterator[None]:
    """Raise as PluginError what goes wrong in a plug-in's own code; ``passed`` errors stay as they are."""
    try:
        yield
    except passed:
        raise
    except Exception as error:
        raise offer.error("an error in", f"{type(error).__name__}: {error}") from error


def audit(reserved: Mapping[Kind, Collection[str]]) -> Iterator[tuple[Offer, str]]:
    """Each object of each plug-in, loaded, with what is wrong with it. ``reserved``: openpts' own names."""
    for offer in _all_offers():
        kept = None if offer.refusal else offers(Kind(offer.kind), reserved[Kind(offer.kind)]).get(offer.name)
        try:
            if not offer.refusal and kept != offer:
                owner = OWN if kept is None or kept.package.is_own else f"the plug-in {kept.package}"
                raise offer.error("refused:", f"{owner} has one of that name")
            load(offer)
        except PluginError as error:
            yield offer, str(error)
        else:
            yield offer, ""


def plugin_facts(*, sampling: bool) -> "Facts":
    """The plug-ins of a run: those that something was loaded of, and if it samples, all that have gauges."""
    sampled = {offer.package.name: offer.package for offer in offers(Kind.GAUGE).values() if sampling}
    return {
        f"plugin_{name.replace('-', '_')}": package.fact
        for name, package in sorted({**_LOADED, **sampled}.items())
    }


_LOADED: Final[dict[str, InstalledPlugin]] = {}


@cache
def _listing(found: tuple[InstalledPlugin, ...]) -> Listing:
    where = next((package.entries.get("listing") for package in found if package.is_own), None)
    return Listing() if where is None else imported(where)


def _all_offers() -> Iterator[Offer]:
    for package in packages():
        for entry, where in package.entries.items():
            kind, _, name = entry.partition(".")
            if entry != "door" and not (entry == "listing" and package.is_own):
                yield Offer(kind, name, where, package)


def _metadata_folders(place: str) -> list[str]:
    try:
        names = os.listdir(place)  # noqa: PTH208 Path takes three times as long, at each start
    except OSError:  # sys.path may name what is not there, or a zip file
        return []
    return sorted(name for name in names if name.endswith(".dist-info"))


def _entries(file: str) -> dict[str, str]:
    """The entry points of our group; none of a file that can't be read."""
    try:
        with open(file, "rb", buffering=0) as stream:  # noqa: PTH123 a hundred files at each start
            content = stream.read()
    except OSError:
        return {}
    if GROUP.encode() not in content:
        return {}
    found, is_ours = dict[str, str](), False
    for line in map(str.strip, content.decode(errors="replace").splitlines()):
        if line.startswith("["):
            is_ours = line == f"[{GROUP}]"
        elif is_ours and "=" in line and not line.startswith("#"):
            name, _, where = line.partition("=")
            found[name.strip()] = where.strip()
    return found


def imported(where: str) -> Any:
    """The object at ``module:object``, as pkgutil's resolve_name gives it; a start need not load pkgutil."""
    module, _, attributes = where.partition(":")
    found: Any = import_module(module)
    for attribute in attributes.split("."):
        found = getattr(found, attribute)
    return found


class Parts(Struct, frozen=True):
    """Fields that name objects as ``module:object``, each loaded on first use."""

    def part(self, name: str) -> Any:
        """The object of that field; None where it names none."""
        where = getattr(self, name)
        return imported(where) if where else None


class _TooLongError(BaseException):
    """No Exception: a module that catches those while it is imported must not swallow it."""


@contextmanager
def _ending_after(limit_s: float) -> Iterator[None]:
    """Interrupt what takes longer. Signals reach the main thread alone: elsewhere there is no limit."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _end)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _end(_number: int, _frame: FrameType | None) -> None:
    raise _TooLongError
