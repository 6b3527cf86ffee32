"""fio's own example and test jobs: which are taken, and which options refuse the others, as a table."""

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from openpts.config_files.written_file import WrittenFileError
from openpts.errors import UsageError
from openpts.units import GIB
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts_fio.engine.job import FioPath, JobSetting, job_file
from openpts_fio.jobs.job_file import read_jobs
from openpts_fio.jobs.options import BY_WORD, OptionHandling
from openpts_fio.jobs.translation import translate

_DRIVE = TargetFacts(TargetKind.BLOCK, "drive", "/dev/drive", 4096 * GIB, 512)
_SETTING = JobSetting("/dev/drive", direct=True, path=FioPath.IO_URING, seed=1)
_VALUES = {"FIO_BS": "4k", "FIO_RW": "randread", "FIO_IODEPTH": "8"}
_REFUSING = re.compile(r"(?::\d+:\d+|\]): ([\w-]+)(?:=(\w*))?")
_KINDS = {
    "no I/O at all": "null cpp_null cpuio exec",
    "files are made, changed or deleted": "filecreate filestat filedelete dircreate dirstat dirdelete "
    "ftruncate falloc e4defrag",
    "a network": "net rdma",
    "storage behind a protocol or a cluster": "dfs gfapi http ime_psync ime_psyncv ime_aio libhdfs libiscsi "
    "nbd nfs rados rbd",
    "memory, flash without a controller, or a driver of its own": "libpmem mtd libblkio libcufile libzbc",
}
_REASONS = {
    "direct": "the page cache would be measured, and not the drive",
    "buffered": "the page cache would be measured, and not the drive",
    "filename": "several targets in one run: a run is of one drive",
    "rw": "backwards, a trim with a write behind it, or an amount that reads and writes have together: "
    "openpts has none of them",
    "verify": "openpts checks what a sequence has written on the whole of its range",
    "bsrange": "more than 64 sizes in one stream",
    "offset": "counts zones, and openpts has none",
    "buffer_pattern": "a pattern out of a file",
    "dedupe_mode": "duplicates out of a set, and openpts repeats blocks",
    "plids": "several placement handles in one job, and a stream has one",
}


def fio_own_jobs() -> list[Path]:
    """The files of a source tree of fio. Skips the test where it is not here."""
    folder = Path(os.environ.get("OPENPTS_PEERS", "-")) / "fio"
    if not folder.is_dir():
        pytest.skip("OPENPTS_PEERS names no folder with the source of fio in it")
    return sorted([*folder.glob("examples/*.fio"), *folder.glob("t/jobs/*.fio")])


def own_jobs_table(paths: list[Path]) -> str:
    """A row for the jobs that are taken, for those not printed, and for each option that refuses any."""
    rows: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in paths:
        for row in sorted(set(_rows(path))):
            rows[row].append(f"`{path.stem}`")
    lines = ["| Refused by | Why that is right | Jobs |", "| --- | --- | --- |"]
    lines += [f"| {by} | {why} | {', '.join(names)} |" for (by, why), names in sorted(rows.items())]
    return "\n".join(lines)


def _rows(path: Path) -> Iterator[tuple[str, str]]:
    try:
        steps = translate(read_jobs(path, _VALUES), _DRIVE).steps
    except WrittenFileError as error:
        for complaint in error.complaints:
            yield from _refusing(complaint)
        return
    try:
        for number, step in enumerate(steps):
            job_file(step, _SETTING, _DRIVE, number)
    except UsageError as error:
        yield "`--print-fio` alone", str(error)
    else:
        yield "(taken)", ""


def _refusing(complaint: str) -> Iterator[tuple[str, str]]:
    found = _REFUSING.search(complaint)
    assert found is not None, complaint
    option = BY_WORD.get(found[1])
    if option is None:
        return  # of an ioengine that is refused, or beside direct=0
    if option.name == "ioengine":
        yield "`ioengine`", next(kind for kind, engines in _KINDS.items() if found[2] in engines.split())
    else:
        refused = option.treatment is OptionHandling.REFUSED
        yield f"`{option.name}`", option.says if refused else _REASONS[option.name]
