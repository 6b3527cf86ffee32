"""The fleet file: which hosts there are, and what is in their slots.

A slot is a place, such as a bay of a chassis, and no drive: what is in it is read there, and compared with
the request, when a run starts.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta, Struct

from openpts.config_files.schema_errors import Path as Keys
from openpts.config_files.toml_text import read_toml
from openpts.config_files.written_file import placed_text, read_written, shaped
from openpts.did_you_mean import did_you_mean
from openpts.errors import FleetError, UsageError, failing_as
from openpts.record.decoding import decode_json
from openpts.record.manifest import RunState
from openpts.vocabulary.run_request import RunRequest
from openpts_sim.simulated_target import names_simulated

FLEET_FILE: Final = Path("/etc/openpts/fleet.toml")
"""Where the fleet file is on hosts, and where commands look for it."""

_MOST_KIB: Final = 1024
_HOST_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,62}")
_SLOT_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")  # Slurm takes a leading digit for a count
_RUNS: Final = "/var/lib/openpts/runs"
_PROGRAM: Final = "openpts"

_T = TypeVar("_T")
_Text = Annotated[str, Meta(min_length=1, max_length=500)]


class Slot(Struct, frozen=True, forbid_unknown_fields=True):
    """A place for a drive; ``target`` as for `openpts run`, best a path of /dev/disk/by-path.

    ``model`` is the model of drive that belongs there, empty for any: runs on another one are refused.
    """

    target: _Text
    model: str = ""


class _Host(Struct, frozen=True, forbid_unknown_fields=True):
    """The table of a host."""

    slots: dict[str, _Text | Slot]
    runs: _Text | None = None
    program: _Text | None = None


class FleetFile(Struct, frozen=True, forbid_unknown_fields=True):
    """All that a fleet file may have; ``runs`` and ``program`` hold where a host has none of its own."""

    hosts: dict[str, _Host]
    runs: _Text = _RUNS
    program: _Text = _PROGRAM


class FleetHost(Struct, frozen=True):
    """A host of a fleet; ``name`` is that of its node in Slurm.

    ``runs`` is the folder of its runs' folders, ``program`` the openpts that is installed there.
    ``fleet_file`` is the path of the fleet file, there and here.
    """

    name: str
    runs: Path
    program: str
    slots: dict[str, Slot]
    fleet_file: Path

    def command(self, verb: str) -> list[str]:
        """The words of its own openpts for a verb."""
        return [self.program, "fleet", verb, "--fleet", str(self.fleet_file), "--here", self.name]

    def decoded(self, answer: str, kind: type[_T]) -> _T:
        """What its openpts has answered, as a value of that type. Raises FleetError."""
        senseless = f"host {self.name} answers what makes no sense"
        with failing_as(FleetError, senseless, f"try {self.program} --version there"):
            return decode_json(answer, kind)


class Fleet(Struct, frozen=True):
    """What a fleet file says."""

    hosts: dict[str, FleetHost]

    def host(self, name: str) -> FleetHost:
        """The host of that name. Raises UsageError."""
        if name not in self.hosts:
            meant = did_you_mean(name, self.hosts, f"known are {', '.join(self.hosts) or 'none'}")
            raise UsageError(f"the fleet file has no host {name}: {meant}")
        return self.hosts[name]

    def slot(self, host: str, name: str) -> Slot:
        """A slot of a host. Raises UsageError."""
        slots = self.host(host).slots
        if name not in slots:
            raise UsageError(
                f"the fleet file has no slot {name} on {host}: known are {', '.join(slots) or 'none'}"
            )
        return slots[name]


def read_fleet(path: Path = FLEET_FILE) -> Fleet:
    """Read a fleet file. Raises UsageError with the place of everything that is wrong."""
    if not os.path.lexists(path):
        raise UsageError(
            f"there is no fleet file {path}: name one with --fleet; many-drives.md has an example"
        )
    return parse_fleet(read_written(path, _MOST_KIB, "fleet file"), str(path))


def parse_fleet(raw: bytes, path: str) -> Fleet:
    """As ``read_fleet``, from bytes; ``path`` is what complaints call them."""
    text = placed_text(raw, path, read_toml)
    file = shaped(text, FleetFile, path, _wrong)
    return Fleet({name: _host(file, name, Path(path).resolve()) for name in file.hosts})


def _host(file: FleetFile, name: str, path: Path) -> FleetHost:
    host = file.hosts[name]
    return FleetHost(
        name=name,
        runs=Path(host.runs or file.runs),
        program=host.program or file.program,
        slots={slot: Slot(given) if isinstance(given, str) else given for slot, given in host.slots.items()},
        fleet_file=path,
    )


def _wrong(file: FleetFile) -> Iterator[tuple[Keys, str]]:
    """What no type shows, each with the keys that lead to it."""
    if not file.hosts:
        yield (), "there is no host: write a table such as [hosts.h1] for each"
    yield from _wrong_places((), file.runs, file.program)
    for name, host in file.hosts.items():
        keys = ("hosts", name)
        if not _HOST_NAME.fullmatch(name):
            yield keys, f"host {name!r}: a name has letters, digits, dots and dashes, 63 at most"
        yield from _wrong_places(keys, host.runs, host.program)
        yield from _wrong_slots((*keys, "slots"), host)


def _wrong_places(keys: Keys, runs: str | None, program: str | None) -> Iterator[tuple[Keys, str]]:
    if runs is not None and not Path(runs).is_absolute():
        yield (*keys, "runs"), f"runs {runs!r}: write the whole path of the folder, from / on"
    if program is not None and "/" in program and not Path(program).is_absolute():
        yield (*keys, "program"), f"program {program!r}: write its whole path, from / on, or its name alone"


def _wrong_slots(keys: Keys, host: _Host) -> Iterator[tuple[Keys, str]]:
    used: dict[str, str] = {}
    for name, given in host.slots.items():
        target = given if isinstance(given, str) else given.target
        if not _SLOT_NAME.fullmatch(name):
            yield (*keys, name), f"slot {name!r}: a name begins with a letter; then letters, digits, _ and -"
        if not (names_simulated(target) or target.startswith(("/", "file:/"))):
            yield (
                (*keys, name),
                f"target {target!r}: write a path such as /dev/disk/by-path/pci-0000:01:00.0-nvme-1, "
                "file:/PATH?size=1GiB, or sim:PRESET",
            )
        elif target in used and not names_simulated(target):
            yield (*keys, name), f"target {target} is that of slot {used[target]} already"
        used.setdefault(target, name)


class Observation(Struct, frozen=True):
    """A run as last seen: its host's journal decides, what Slurm says is a copy.

    ``reason`` says why it is in this stage; ``job`` is Slurm's own number. ``folder`` is where its
    record is on the host, None before there is one; ``request`` what was asked for, None where neither host
    nor Slurm has it. ``is_certain`` unless a host that may know more was not asked, or did not answer: an
    end is final then, and a run that is unknown was begun nowhere.
    """

    run_id: str
    stage: RunState
    host: str | None
    reason: str = ""
    job: str | None = None
    folder: str | None = None
    request: RunRequest | None = None
    is_certain: bool = True


def request_noted(text: str) -> RunRequest | None:
    """The request that Slurm keeps as the comment of a job; None if its comment is another."""
    try:
        return decode_json(text, RunRequest)
    except msgspec.DecodeError:
        return None


class HostState(Struct, frozen=True):
    """A host and its slots by name, each with the serial number of its drive, or None if it is empty.

    A serial number is empty where the drive reports none. There are no slots where the host was not asked:
    it can't be reached, or a run is measured there; ``reason`` says which.
    """

    name: str
    is_up: bool
    reason: str
    slots: dict[str, str | None]


NOT_BEGUN: Final = "no host has begun it: it can be submitted once more under its ID"
