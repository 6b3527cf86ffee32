"""Computes the points of a sweep on any executor, each once, and keeps what came of them in a folder."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from openpts.errors import RecordError, failing_as
from openpts.run_folder_files import read_file, write_files
from openpts.runs.flat_rows import Row, csv_text
from openpts_many.sweep.axes import Combination
from openpts_many.sweep.point import Point, PointResult, compute

CSV_NAME: Final = "points.csv"


class SweptPoint(Struct, frozen=True):
    """A combination with its point and the point's key, or with ``refused``: why it makes no sense."""

    combination: Combination
    point: Point | None = None
    key: str = ""
    refused: str = ""


class Progress(Struct, frozen=True):
    """How far a sweep is: points computed now, found in the folder, and in all."""

    computed: int
    found: int
    total: int


class SweepFolder(Struct, frozen=True):
    """Results by the keys of their points. Several sweeps may share a folder, also at the same time."""

    folder: Path

    def result(self, key: str) -> PointResult | None:
        """What is stored of a point; a damaged file is computed again."""
        with suppress(OSError, msgspec.MsgspecError):
            result = msgspec.json.decode(read_file(self.folder, _name(key)), type=PointResult)
            return result if result.key == key else None
        return None

    def store(self, result: PointResult) -> None:
        """Store it as a whole. Raises RecordError."""
        self._write({_name(result.key): msgspec.json.format(msgspec.json.encode(result)) + b"\n"})

    def write_table(self, swept: Sequence[SweptPoint], results: Mapping[str, PointResult]) -> Path:
        """All points as rows, those of ``swept`` in their order. Raises RecordError."""
        axes = [name for name, _ in swept[0].combination]
        text = csv_text(table(swept, results), header=True, first=[*axes, *_OF_POINT])
        self._write({CSV_NAME: text.encode()})
        return self.folder / CSV_NAME

    def _write(self, contents: Mapping[str, bytes]) -> None:
        with failing_as(RecordError, f"can't write the sweep in {self.folder}"):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_files(self.folder, contents, lasting=False)


def _name(key: str) -> str:
    return f"points/{key[:2]}/{key}.json"


def run_sweep(
    swept: Sequence[SweptPoint], folder: SweepFolder, executor: Executor, heard: Callable[[Progress], object]
) -> dict[str, PointResult]:
    """Compute what the folder does not have yet; all results by their keys.

    Points that several combinations have in common are computed once. When this is interrupted, what has come
    in is stored, and what has not begun is left. Raises what the executor raises, and RecordError.
    """
    points = {each.key: each.point for each in swept if each.point is not None}
    results = {key: result for key in points if (result := folder.result(key)) is not None}
    found = len(results)
    left = [(key, point) for key, point in points.items() if key not in results]
    heard(Progress(0, found, len(points)))
    for result in _computed(left, executor):
        folder.store(result)
        results[result.key] = result
        heard(Progress(len(results) - found, found, len(points)))
    return results


def _computed(left: Sequence[tuple[str, Point]], executor: Executor) -> Iterator[PointResult]:
    futures = [executor.submit(compute, key, point) for key, point in left]
    try:
        for future in as_completed(futures):
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


_OF_POINT: Final = ("refused", "virtual_s", "processor_s", "key")


def table(swept: Sequence[SweptPoint], results: Mapping[str, PointResult]) -> list[Row]:
    """A row for each combination: its values, what came of its point, and the run's own row."""
    rows: list[Row] = []
    for each in swept:
        result = results.get(each.key)
        row: Row = dict(each.combination)
        if result is None:
            rows.append(row | {"refused": each.refused or "not computed"})
            continue
        of_point: Row = {name: getattr(result, name) or None for name in _OF_POINT}
        rows.append(row | of_point | result.row)
    return rows
