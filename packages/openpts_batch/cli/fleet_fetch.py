"""`openpts fleet fetch`: run folders from the hosts."""

import hashlib
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import click
from msgspec import Struct

from openpts.cli.standard_streams import print_document
from openpts.errors import FleetError, RecordError, failing_as
from openpts.output_files import refuse_run_folder
from openpts.programs import ProgramError, ProgramRunner
from openpts.record.manifest import RunState
from openpts.run_folder_files import open_file, read_file, remove_file, synchronize_folder, write_files
from openpts.units import format_capacity
from openpts.vocabulary.document import Document
from openpts_batch.fleet.configuration import Fleet, FleetHost, Observation
from openpts_batch.fleet.slurm import SlurmBackend, job_on, run_with_open_stdin, slurm_answer

MARK: Final = ".SHA256SUMS"
"""What the name of a fetched folder's list ends with."""

_TRANSIENT: Final = "run.db-shm"  # SQLite makes it again for each reader
_PACK: Final = 'cd "$1" && exec tar --create --file=- --exclude="$2" .'
_UNPACK: Final = '"$@" | tar --extract --file=- --directory="$0"'
_LIST: Final = 'cd "$1" && find . -type f ! -name "$2" -print0 | xargs -0 -r sha256sum -z'
_ESCAPED: Final = "\\"
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
    if seen.host in measuring:
        other = measuring[seen.host]
        return (
            f"host {seen.host}, with run {seen.run_id}, measures for {other}, which a transfer would disturb"
        )
    if seen.stage is RunState.UNKNOWN or seen.folder is None or seen.host is None:
        raise FleetError(f"run {seen.run_id} has no folder to fetch: {seen.reason or f'it is {seen.stage}'}")
    return None


def fetch(fleet: Fleet, seen: Observation, out: Path, run: ProgramRunner = run_with_open_stdin) -> Fetched:
    """Bring the folder of a run that has ended to ``out``, or find it there.

    Raises FleetError if the host can't be reached, or measures, or what arrives is not what is there. Raises
    RecordError if the folder can't be written.
    """
    assert seen.host is not None  # noqa: S101 _in_the_way_of has looked
    assert seen.folder is not None  # noqa: S101 likewise
    host = fleet.host(seen.host)
    folder, partial = out / seen.run_id, out / f".{seen.run_id}.partial"
    refuse_run_folder(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
        if _is_whole(folder):
            return Fetched(seen.run_id, seen.host, str(folder), _size_bytes(folder), is_new=False)
        hashes = _hashes_on(host, seen.folder, run)
        if not folder.exists():
            partial.mkdir(exist_ok=True)
            _transfer(host, seen.folder, partial, run)
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


def _hashes_on(host: FleetHost, source: str, run: ProgramRunner) -> dict[str, str]:
    """SHA-256 of each file of a folder on the host by its name in the folder. Raises FleetError."""
    with failing_as(FleetError, f"host {host.name} can't read {source}", of=FleetError):
        answer = slurm_answer(_alone_on(host, _HASHES_S, _LIST, source), _HASHES_S, run)
    entries = [entry.partition("  ./") for entry in answer.split("\0") if entry]
    return {name: digest for digest, _, name in entries}


def _transfer(host: FleetHost, source: str, to: Path, run: ProgramRunner) -> None:
    """Put all files of the folder on the host into ``to``."""
    with failing_as(FleetError, f"{to.name} can't be fetched", of=ProgramError):
        answer = run(
            ["sh", "-c", _UNPACK, str(to), *_alone_on(host, _TRANSFER_S, _PACK, source)], _TRANSFER_S
        )
    if answer.returncode:
        raise FleetError(f"the transfer from host {host.name} broke off: {answer.complaint}; fetch again")


def _alone_on(host: FleetHost, patience_s: float, script: str, source: str) -> list[str]:
    """A job that begins only while nothing runs on the host; until it ends, no run begins there."""
    return [*job_on(host, patience_s), "--exclusive", "/bin/sh", "-c", script, "sh", source, _TRANSIENT]


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
            f"{seen.host} when the fetch began, {others[0]} among them. Fetch again, which takes these again"
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


_POLL_S: Final = 60.0


class FleetFetched(Document, frozen=True, kw_only=True, tag="openpts.fleet-fetched/1"):
    """Run folders that are here now; ``failures`` say why others could not be fetched."""

    runs: tuple[Fetched, ...]
    failures: tuple[str, ...]


def fetched(backend: SlurmBackend, run_ids: Sequence[str], out: Path, *, wait: bool, as_json: bool) -> int:
    """Fetch the folders of runs, or without any those of all that have ended, and print where they are.

    One that can't be fetched holds up no other. The exit code: that of a FleetError if there was one.
    """
    seen = _seen_idle(backend, run_ids, wait=wait)
    done: list[Fetched] = []
    failed: list[str] = []
    for one in seen:
        try:
            done.append(fetch(backend.fleet, one, out))
        except FleetError as error:
            failed.append(str(error))
            if not as_json:
                click.echo(f"openpts: {error}", err=True)
            continue
        if not as_json:
            last = done[-1]
            what = format_capacity(last.size_bytes) if last.is_new else "was there"
            click.echo(f"{last.folder}  {what}, from {last.host}")
    if as_json:
        print_document(FleetFetched(runs=tuple(done), failures=tuple(failed)))
    elif not seen:
        click.echo("no runs have ended")
    return FleetError.exit_code if failed else 0


def _seen_idle(backend: SlurmBackend, run_ids: Sequence[str], *, wait: bool) -> list[Observation]:
    """The runs, once they have ended and their hosts are idle. Raises FleetError unless it may wait."""
    reported = ""
    while True:
        known = {run.run_id: run for run in backend.list()}
        known |= {run_id: backend.observe(run_id) for run_id in run_ids if run_id not in known}
        requested = run_ids or _ended(known.values())
        reasons = in_the_way(list(known.values()), requested)
        if not reasons:
            return [known[run_id] for run_id in requested]
        if not wait:
            raise FleetError(f"{'; '.join(reasons)}: give --wait to fetch when that has ended")
        if reported != (reported := "; ".join(reasons)):
            click.echo(f"waiting: {reported}", err=True)
        time.sleep(_POLL_S)


def _ended(runs: Iterable[Observation]) -> list[str]:
    """The runs that have a folder, on hosts where none is in progress; names the other hosts on stderr."""
    runs = list(runs)
    busy = dict.fromkeys(run.host for run in runs if run.stage in ACTIVE and run.host is not None)
    for host in busy:
        click.echo(f"{host} measures: its runs are left there", err=True)
    return [run.run_id for run in runs if run.folder is not None and run.host not in busy]
