"""`openpts fleet fetch`: run folders from the hosts."""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import click

from openpts.cli.printed_document import print_document
from openpts.errors import FleetError
from openpts.units import format_capacity
from openpts.vocabulary.document import Document
from openpts_batch.fleet.configuration import Fleet
from openpts_batch.fleet.fetch import ACTIVE, Fetched, fetch, in_the_way
from openpts_batch.fleet.observation import Observation
from openpts_batch.fleet.slurm import SlurmBackend

_POLL_S: Final = 60.0


class FleetFetched(Document, frozen=True, kw_only=True, tag="openpts.fleet-fetched/1"):
    """Run folders that are here now; ``failures`` say why others could not be fetched."""

    runs: tuple[Fetched, ...]
    failures: tuple[str, ...]


def fetched(
    backend: SlurmBackend, fleet: Fleet, run_ids: Sequence[str], out: Path, *, wait: bool, as_json: bool
) -> int:
    """Fetch the folders of runs, or without any those of all that have ended, and print where they are.

    One that can't be fetched holds up no other. The exit code: that of a FleetError if there was one.
    """
    seen = _seen_idle(backend, run_ids, wait=wait)
    done: list[Fetched] = []
    failed: list[str] = []
    for one in seen:
        try:
            done.append(fetch(fleet, one, out))
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
