"""Outputs of fio in a folder as one run, and the logs beside them as courses over time.

Values of courses are those that fio-plot draws: threads of a job are added up line by line, their response
times averaged.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Final

from msgspec.structs import replace

from openpts.config_files.written_file import read_written
from openpts.errors import UsageError
from openpts.units import KIB, NS_PER_US
from openpts.vocabulary.run_request import CourseFigure, ImportedCourse
from openpts_fio.imports.fio_import import NO_COURSES, FioJobResult, FioOutput, parse_output, results_of
from openpts_fio.imports.imported_run import MOST_KIB, ImportSettings, Results, Source

_KINDS: Final = {"iops": CourseFigure.IOPS, "bw": CourseFigure.THROUGHPUT, "lat": CourseFigure.LATENCY}
_OPERATIONS: Final = {"0": "read", "1": "write", "2": "trim"}
_NOT_IN_NAMES: Final = re.compile(r"[\[\];#]")
_MOST_POINTS: Final = 600
_SECOND_MS: Final = 1000

_Entry = tuple[int, float, float]
"""Time in ms, value, and bytes of an I/O: 0 in a log of averages."""


def results_with_logs(source: Source, settings: ImportSettings, job_path: Path | None) -> Results:
    """A round of the jobs of an output, with the courses of its logs. Raises UsageError."""
    output = parse_output(source, has_job_file=job_path is not None)
    courses, files = _logs_of(source, output)
    return _with_courses(results_of(source, settings, output, job_path), courses, files)


def folder_source(folder: Path) -> tuple[Source, tuple[Source, ...]]:
    """All outputs below a folder, and the list of their checksums as what the run is made of.

    Raises UsageError for a folder without any.
    """
    paths = sorted(
        folder.rglob("*.json"),
        key=lambda path: [int(one) if one.isdecimal() else one for one in re.split(r"(\d+)", str(path))],
    )
    if not paths:
        raise UsageError(f"cannot import {folder}: it has no file .json: write outputs of fio there")
    outputs = tuple(map(Source.read, paths))
    sums = "".join(
        f"{hashlib.sha256(one.raw).hexdigest()}  {one.path.relative_to(folder)}\n" for one in outputs
    )
    return Source(folder, sums.encode(), max(one.changed_at for one in outputs)), outputs


def results_of_set(source: Source, outputs: Sequence[Source], settings: ImportSettings) -> Results:
    """A round of the jobs of all outputs below the folder ``source``, each job called by its file.

    Raises UsageError as for one of them.
    """
    jobs: list[FioJobResult] = []
    courses: list[ImportedCourse] = []
    files: dict[str, bytes] = {}
    read = [parse_output(each) for each in outputs]
    for each, output in zip(outputs, read, strict=True):
        name = each.path.relative_to(source.path).with_suffix("")
        own = {one.name for one in output.jobs}
        names = {one: _NOT_IN_NAMES.sub("_", f"{name} {one}" if len(own) > 1 else str(name)) for one in own}
        found, logs = _logs_of(each, output)
        begin = 1 + max((one.group for one in jobs), default=-1)
        jobs += [replace(one, name=names[one.name], group=begin + one.group) for one in output.jobs]
        courses += [replace(one, of=names[one.of]) for one in found]
        kept = {each.path.name: each.raw, **logs}
        files |= {str(name.parent / file).replace("/", "_"): raw for file, raw in kept.items()}
    versions, forms = (
        ", ".join(dict.fromkeys(texts))
        for texts in ((one.version for one in read), (one.form for one in read))
    )
    ended = max((one.ended_at for one in read if one.ended_at is not None), default=None)
    output = FioOutput(versions, f"{len(read)} outputs, {forms}", ended, {}, tuple(jobs))
    return _with_courses(results_of(source, settings, output), courses, files)


def _with_courses(results: Results, courses: Sequence[ImportedCourse], files: Mapping[str, bytes]) -> Results:
    missing = tuple(text for text in results.missing if text != NO_COURSES or not courses)
    return replace(results, courses=tuple(courses), files=files, missing=missing)


def _logs_of(source: Source, output: FioOutput) -> tuple[tuple[ImportedCourse, ...], dict[str, bytes]]:
    """The courses of the jobs of an output, and the files that they are of, by their names.

    A log without all of its threads counts for nothing. Raises UsageError for a line that is none of a log.
    """
    courses: list[ImportedCourse] = []
    files: dict[str, bytes] = {}
    first = 1
    for _, same in groupby(output.jobs, lambda one: (one.group, one.name)):
        job = next(same)
        threads = int(job.options.get("numjobs") or 1)
        for kind in _KINDS:
            paths = _paths(source, job, kind, range(first, first + threads))
            raws = {path.name: read_written(path, MOST_KIB, "log of fio") for path in paths}
            files |= raws
            courses += _courses(source, output, job, kind, raws)
        first += threads
    return tuple(courses), files


def _paths(source: Source, job: FioJobResult, kind: str, threads: range) -> list[Path]:
    """Files of one kind of log; none where the job wrote none, or where one of them is not there."""
    option = f"write_{kind}_log"
    if option not in job.options:
        return []
    prefix = Path(job.options[option] or job.name).name
    together = source.path.parent / f"{prefix}_{kind}.log"
    paths = [source.path.parent / f"{prefix}_{kind}.{number}.log" for number in threads]
    return [together] if together.is_file() else paths if all(path.is_file() for path in paths) else []


def _courses(
    source: Source, output: FioOutput, job: FioJobResult, kind: str, raws: dict[str, bytes]
) -> Iterator[ImportedCourse]:
    step_ms = int(job.options.get("log_avg_msec") or 0)
    of_threads = [_entries(source, name, raw) for name, raw in raws.items()]
    unit = {"iops": 1.0, "bw": float(KIB), "lat": NS_PER_US if output.version.startswith("fio-2") else 1.0}
    for operation in _OPERATIONS.values():
        found = [entries[operation] for entries in of_threads if entries[operation]]
        if not found:
            continue
        points = _added_up(found, kind, step_ms) if step_ms else _of_seconds(found, kind)
        thinned_ms, values = _thinned(points, step_ms or _SECOND_MS)
        scaled = tuple(None if value is None else value * unit[kind] for value in values)
        yield ImportedCourse(job.name, operation, _KINDS[kind], thinned_ms, scaled)


def _entries(source: Source, name: str, raw: bytes) -> dict[str, list[_Entry]]:
    found: dict[str, list[_Entry]] = defaultdict(list)
    for number, line in enumerate(raw.decode(errors="replace").splitlines(), start=1):
        words = [word.strip() for word in line.split(",")]
        try:
            time_ms, value, direction, block_bytes = int(words[0]), float(words[1]), words[2], float(words[3])
            found[_OPERATIONS[direction]].append((time_ms, value, block_bytes))
        except (IndexError, KeyError, ValueError) as error:
            raise source.error(f"{name}:{number}: {line!r} is no line of a log of fio") from error
    return found


def _added_up(found: Sequence[Sequence[_Entry]], kind: str, step_ms: int) -> dict[int, float]:
    """Averages of each thread, line by line, by the number of their interval, which a late one shares."""
    points: dict[int, list[float]] = defaultdict(list)
    for lines in zip(*found, strict=False):
        values = [value for _, value, _ in lines]
        index = max(0, round(lines[0][0] / step_ms) - 1)
        points[index].append(fmean(values) if kind == "lat" else sum(values))
    return {index: fmean(values) for index, values in points.items()}


def _of_seconds(found: Sequence[Sequence[_Entry]], kind: str) -> dict[int, float]:
    """Figures of whole seconds, of logs with a line for each I/O."""
    seconds: dict[int, list[_Entry]] = defaultdict(list)
    for entries in found:
        for entry in entries:
            seconds[entry[0] // _SECOND_MS].append(entry)
    if len(seconds) > 1:
        del seconds[max(seconds)]  # the last one is cut
    if kind == "lat":
        return {index: fmean(value for _, value, _ in entries) for index, entries in seconds.items()}
    if kind == "bw":
        return {index: sum(size for *_, size in entries) / KIB for index, entries in seconds.items()}
    return {index: sum(value for _, value, _ in entries) for index, entries in seconds.items()}


def _thinned(points: dict[int, float], step_ms: int) -> tuple[int, tuple[float | None, ...]]:
    """The values in the order of time, averaged where there are more than a page can show."""
    together = -(-(max(points) + 1) // _MOST_POINTS)
    values = []
    for begin in range(0, max(points) + 1, together):
        some = [points[index] for index in range(begin, begin + together) if index in points]
        values.append(fmean(some) if some else None)
    return step_ms * together, tuple(values)
