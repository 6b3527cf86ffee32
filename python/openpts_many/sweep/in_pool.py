"""Computes the points of a sweep in a pool of processes, each once; its folder keeps what came of them."""

import concurrent.futures
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from openpts.batch.executor import Executor, batch_claimed, now
from openpts.errors import RecordError, failing_as
from openpts.record.batch import Batch, BatchEntry
from openpts.record.manifest import RunState
from openpts.run_folder_files import read_file, write_files
from openpts.runs.flat_rows import Row, csv_text
from openpts_many.sweep.point import PointResult, compute, conditions_of, point

CSV_NAME: Final = "points.csv"
_ID: Final = "sweep"
"""Of the batch of each sweep: several share a folder, one after the other or at the same time."""


def new_sweep(entries: Sequence[BatchEntry], jobs: int | None = None, words: Sequence[str] = ()) -> Batch:
    """A sweep that has not begun, in so many processes; None: one for each processor."""
    return Batch(
        batch_id=_ID,
        command_line=tuple(words),
        started_at=now("seconds"),
        at_most=jobs,
        entries=tuple(entries),
        is_sweep=True,
    )


def what_is_left(batch: Batch) -> Batch:
    """The sweep once more: with another build, or another preset, points have other keys."""
    entries = (
        entry
        if entry.conditions is None
        else point(tuple(entry.request.labels.items()), str(entry.request.target), conditions_of(entry))
        for entry in batch.entries
    )
    return replace(batch, entries=tuple(entries), ended_at=None)


@dataclass(kw_only=True)
class InPool(Executor):
    """Computes what the folder does not have yet in ``pool``, any executor of ``concurrent.futures``.

    Points that several combinations have in common are computed once. When this is interrupted, what has come
    in is stored, and what has not begun is left. ``results`` are those of all points, by their keys: files
    below the folder say what was computed, and batch.json is written at the beginning and at the end. Of
    several sweeps in a folder at the same time it is that of the first, which others compute beside.
    """

    pool: concurrent.futures.Executor
    is_alone: bool = True
    results: dict[str, PointResult] = field(init=False)

    def __post_init__(self) -> None:
        """Find what the folder has."""
        keys = [entry.folder for entry in self.batch.entries if entry.conditions is not None]
        self.results = {key: one for key in keys if (one := _stored(self.folder, key)) is not None}
        entries = (
            replace(entry, **_outcome(self.results[entry.folder])) if entry.folder in self.results else entry
            for entry in self.batch.entries
        )
        self.batch = replace(self.batch, entries=tuple(entries))

    def run(self) -> Batch:
        """As any executor, also where another sweep, maybe of another host, has the folder.

        Raises what the pool raises, and RecordError, also for a folder that is not of sweeps.
        """
        with ExitStack() as held:
            try:
                held.enter_context(batch_claimed(self.folder, self.batch, self.roots))
            except RecordError as error:
                if not isinstance(
                    error.__cause__, OSError
                ):  # what is not locked by others, but belongs to them
                    raise
                self.is_alone = False
                self._carry_out()
                return self.batch
            return super().run()

    def _carry_out(self) -> None:
        left: dict[str, list[int]] = {}
        for index, entry in enumerate(self.batch.entries):
            if entry.state is RunState.WAITING:
                left.setdefault(entry.folder, []).append(index)
        points = [self.batch.entries[indices[0]] for indices in left.values()]
        for result in _computed(points, self.pool):
            _write(self.folder, _name(result.key), msgspec.json.format(msgspec.json.encode(result)) + b"\n")
            self.results[result.key] = result
            for index in left[result.key]:
                self._change(index, **_outcome(result))

    def write_table(self) -> Path:
        """All entries as rows, in their order. Raises RecordError."""
        rows = [_row(entry, self.results.get(entry.folder)) for entry in self.batch.entries]
        first = [*self.batch.entries[0].request.labels, *_OF_POINT]
        _write(self.folder, CSV_NAME, csv_text(rows, header=True, first=first).encode())
        return self.folder / CSV_NAME


def _computed(left: Sequence[BatchEntry], pool: concurrent.futures.Executor) -> Iterator[PointResult]:
    futures = [pool.submit(compute, entry) for entry in left]
    try:
        for future in concurrent.futures.as_completed(futures):
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


def _outcome(result: PointResult) -> dict[str, Any]:
    state = RunState.REFUSED if result.refused else RunState.COMPLETE
    return {"state": state, "reason": result.refused or None}


_OF_POINT: Final = ("refused", "virtual_s", "processor_s", "key")


def _row(entry: BatchEntry, result: PointResult | None) -> Row:
    """The values of a combination, what came of its point, and the run's own row."""
    values: Row = dict(entry.request.labels)
    if result is None:
        return values | {"refused": entry.reason or "not computed"}
    of_point: Row = {name: getattr(result, name) or None for name in _OF_POINT}
    return values | of_point | result.row


def _stored(folder: Path, key: str) -> PointResult | None:
    """What came of a point; a damaged file is computed again."""
    with suppress(OSError, msgspec.MsgspecError):
        result = msgspec.json.decode(read_file(folder, _name(key)), type=PointResult)
        return result if result.key == key else None
    return None


def _name(key: str) -> str:
    return f"points/{key[:2]}/{key}.json"


def _write(folder: Path, name: str, content: bytes) -> None:
    """Write it as a whole. Raises RecordError."""
    with failing_as(RecordError, f"can't write the sweep in {folder}"):
        write_files(folder, {name: content}, lasting=False)
