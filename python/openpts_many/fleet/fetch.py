"""Run folders from the hosts of a fleet, once their load has ended: each whole, or not there.

A folder arrives by rsync under a name with a dot, where a fetch that was cut off goes on. It gets its own
name when each of its files is on the disk and has the content that it has on the host. The list of the
contents is written beside it last, for ``sha256sum --check``: a folder with such a list is whole.
"""

import hashlib
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

from msgspec import Struct

from openpts.errors import FleetError, RecordError, failing_as
from openpts.programs import ProgramError, Run, run_program
from openpts.record.manifest import RunState
from openpts.run_folder_files import open_file, read_file, remove_file, synchronize_folder, write_files
from openpts_many.fleet.configuration import Fleet
from openpts_many.fleet.port import Observation
from openpts_many.fleet.remote import Remote

MARK: Final = ".SHA256SUMS"
"""What the name of a fetched folder's list ends with."""

_TRANSIENT: Final = "run.db-shm"  # SQLite makes it again for each reader
_LIST: Final = 'cd "$1" && find . -type f ! -name "$2" -print0 | xargs -0 -r sha256sum -z'
_ESCAPED: Final = "\\"
_SILENT_S: Final = 60
_HASHES_S: Final = 3600.0
_TRANSFER_S: Final = 24 * 3600.0
ACTIVE: Final = frozenset({RunState.QUEUED, RunState.RUNNING})
"""Stages of runs whose load has not ended."""


class Fetched(Struct, frozen=True):
    """A run's folder as it is here; ``is_new`` unless it was whole before."""

    run_id: str
    host: str
    folder: str
    size_bytes: int
    is_new: bool


def in_the_way(observations: Sequence[Observation], run_ids: Sequence[str]) -> tuple[str, ...]:
    """Why some of the runs can't be fetched yet, a sentence for each reason; none if all can.

    Nothing is taken from a host while a run measures there, whichever run it is. Raises FleetError for a run
    that has nothing to fetch, however long one waits.
    """
    known = {seen.run_id: seen for seen in observations}
    measuring = {seen.host: seen.run_id for seen in observations if seen.stage is RunState.RUNNING}
    return tuple(
        reason for run_id in run_ids if (reason := _in_the_way_of(known[run_id], measuring)) is not None
    )


def _in_the_way_of(seen: Observation, measuring: Mapping[str | None, str]) -> str | None:
    if seen.stage in ACTIVE:
        return f"run {seen.run_id} is {seen.stage}"
    if seen.stage is RunState.UNKNOWN and measuring:
        return f"where run {seen.run_id} stands is unknown: {seen.reason}"
    if seen.stage is RunState.UNKNOWN or seen.folder is None or seen.host is None:
        raise FleetError(f"run {seen.run_id} has no folder to fetch: {seen.reason or f'it is {seen.stage}'}")
    if seen.host in measuring:
        other = measuring[seen.host]
        return (
            f"host {seen.host}, with run {seen.run_id}, measures for {other}, which a transfer would disturb"
        )
    return None


def fetch(fleet: Fleet, seen: Observation, out: Path, run: Run = run_program) -> Fetched:
    """Bring the folder of a run that has ended to ``out``, or find it there.

    Raises FleetError if the host can't be reached, or what arrives is not what is there: all that has arrived
    is kept for the next fetch. Raises RecordError if the folder can't be written.
    """
    assert seen.host is not None  # noqa: S101 _in_the_way_of has looked
    assert seen.folder is not None  # noqa: S101 likewise
    remote, source = Remote(fleet.host(seen.host), run), PurePosixPath(seen.folder)
    folder, partial = out / seen.run_id, out / f".{seen.run_id}.partial"
    try:
        out.mkdir(parents=True, exist_ok=True)
        if _is_whole(folder):
            return Fetched(seen.run_id, seen.host, str(folder), _size_bytes(folder), is_new=False)
        hashes = _hashes_on(remote, source)
        if not folder.exists():
            partial.mkdir(exist_ok=True)
            _transfer(remote, source, partial)
            _keep_equal(partial, hashes, seen)
            partial.rename(folder)
            synchronize_folder(out)
        elif other := _others(folder, hashes):  # else a fetch was cut off just before its end
            raise RecordError(
                f"{folder} is no copy of run {seen.run_id} on host {seen.host}, by {other[0]}: remove it, or "
                "fetch to another folder"
            )
        lines = [_line(f"{seen.run_id}/{name}", digest) for name, digest in sorted(hashes.items())]
        write_files(out, {f"{seen.run_id}{MARK}": os.fsencode("".join(lines))})
    except OSError as error:
        raise RecordError(f"can't write {error.filename or out}: {error.strerror}") from error
    return Fetched(seen.run_id, seen.host, str(folder), _size_bytes(folder), is_new=True)


def _is_whole(folder: Path) -> bool:
    """Whether the folder's list is there, and all that it names."""
    try:
        lines = os.fsdecode(read_file(folder.parent, f"{folder.name}{MARK}")).split("\n")[:-1]
    except FileNotFoundError:
        return False
    return all((folder.parent / _name_in(line)).is_file() for line in lines)


def _line(name: str, digest: str) -> str:
    """As sha256sum writes it, where a name that would end a line has a backslash, and the line another."""
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n")
    return f"{'' if escaped == name else _ESCAPED}{digest}  {escaped}\n"


def _name_in(line: str) -> str:
    name = line.partition("  ")[2]
    if line.startswith(_ESCAPED):
        name = re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], name)
    return name


def _size_bytes(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def _hashes_on(remote: Remote, source: PurePosixPath) -> dict[str, str]:
    """SHA-256 of each file of a folder on the host by its name in the folder. Raises FleetError."""
    answer = remote.ask(["sh", "-c", _LIST, "sh", str(source), _TRANSIENT], _HASHES_S)
    if answer.returncode:
        raise FleetError(f"host {remote.host.name} can't read {source}: {answer.complaint}")
    entries = [entry.partition("  ./") for entry in answer.stdout.split("\0") if entry]
    return {name: digest for digest, _, name in entries}


def _transfer(remote: Remote, source: PurePosixPath, to: Path) -> None:
    """Make ``to`` what the folder on the host is; goes on with files of which a part is there."""
    address = remote.host.address
    literal = f"[{address}]" if ":" in address else address
    destination = remote.destination.removesuffix(address) + literal
    command = [
        *("rsync", "--recursive", "--times", "--inplace", "--delete", "--protect-args"),
        f"--exclude={_TRANSIENT}",
        f"--timeout={_SILENT_S}",
        f"--rsh={shlex.join(remote.client())}",
        f"--rsync-path={shlex.join(remote.quiet(['rsync']))}",
        f"{destination}:{source}/",
        f"{to}/",
    ]
    with failing_as(FleetError, f"{to.name} can't be fetched", of=ProgramError):
        answer = remote.run(command, _TRANSFER_S)
    if answer.returncode:
        raise FleetError(
            f"the transfer from host {remote.host.name} broke off: {answer.complaint}; fetch again, "
            f"which goes on from what has arrived in {to}"
        )


def _keep_equal(folder: Path, hashes: Mapping[str, str], seen: Observation) -> None:
    """Return when every file is on the disk, and is what it was on the host; others are removed.

    Raises FleetError.
    """
    if others := _others(folder, hashes):
        for name in others:
            with suppress(FileNotFoundError):
                remove_file(folder, name)
        raise FleetError(
            f"{len(others)} of {len(hashes)} files of run {seen.run_id} are not what they were on host "
            f"{seen.host} when the fetch began, {others[0]} among them: fetch again, which takes these anew"
        )
    for below in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        synchronize_folder(below)


def _others(folder: Path, hashes: Mapping[str, str]) -> list[str]:
    """Names of files that are missing, too many, or have another content; all others are on the disk."""
    here = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}
    return [name for name in sorted(here | set(hashes)) if _hash_here(folder, name) != hashes.get(name)]


def _hash_here(folder: Path, name: str) -> str | None:
    """Of a file that is on the disk then; None if there is none."""
    try:
        with open_file(folder, name) as file:
            os.fsync(file.fileno())
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None
