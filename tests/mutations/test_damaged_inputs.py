"""Whatever is given to a reader, it takes it or ends with one sentence of ours: exit code 2 or 8.

Some inputs each time; ``make fuzz-python`` gives each reader a million.
"""

import logging
import os
import shutil
import signal
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from types import FrameType

import pytest

from openpts.errors import OpenptsError
from tests.mutations.readers import (
    BATCHES,
    DESCRIPTIONS,
    DRIVES,
    FILES_OF_TKPERF,
    FLEETS,
    JOBS,
    LIMITS,
    OUTPUTS_OF_FIO,
    PLANS_TOML,
    PLANS_YAML,
    RESULTS_OF_FIO,
    Reader,
    readers,
)
from tests.mutations.seeds import Seeds, make_seeds

LOG = logging.getLogger(__name__)
INPUTS = int(os.environ.get("OPENPTS_MUTATIONS", "0"))
FIRST_SEED = int(os.environ.get("OPENPTS_FIRST_SEED", "0"))
LONGEST_S = 20  # of processor time: a loaded machine is no fault of a reader
MOST_CHARACTERS = 20_000
MIB = 2**20
MOST_GROWN_BYTES = 48 * MIB  # after the first quarter of the inputs
PRESETS = resources.files("openpts_sim") / "presets"
SAMPLES = {
    "histogram": 3000,
    "record file": 60,
    "record value": 60,
    "record evaluated": 15,
    "record exported": 15,
    "report": 60,
    "report rederived": 6,
    "checksums": 40,
    "capture": 6,
    "trace": 600,
    "fio's result": 300,
    "fio's output": 300,
    "TKperf's file": 150,
    "TOML plan": 150,
    "YAML plan": 100,
    "description": 600,
    "fleet file": 300,
    "fio's job file": 600,
    "list of drives": 300,
    "batch": 1500,
    "benchmark": 150,
    "limits": 300,
    "baseline": 300,
    "simulated drive's name": 3000,
    "level 0 discovery": 3000,
    "preset": 60,
}


@pytest.fixture(scope="module")
def seeds(disk_path_factory: pytest.TempPathFactory) -> Seeds:
    return make_seeds(disk_path_factory.mktemp("seeds"))


@pytest.fixture(scope="module")
def all_readers(seeds: Seeds) -> Mapping[str, Reader]:
    return readers(
        seeds, tuple((PRESETS / f"{name}.toml").read_bytes() for name in ("mlc", "theory", "oracle"))
    )


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, where there is one: a million files are written to it."""
    memory = Path("/dev/shm")
    folder = memory / f"openpts-mutations-{os.getpid()}" if memory.is_dir() else tmp_path / "scratch"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


class TookTooLongError(BaseException):
    """A reader did not come to an end."""


def too_long(_signal: int, _frame: FrameType | None) -> None:
    raise TookTooLongError


def ending(reader: Reader, path: Path, content: bytes) -> str:
    """Nothing if the reader took it or refused it as it may; else what came instead."""
    path.write_bytes(content)
    signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
    try:
        reader.read(path)
    except OpenptsError as error:
        sentences = all(line.strip() and len(line) < MOST_CHARACTERS for line in error.complaints)
        return (
            ""
            if error.exit_code in reader.exit_codes and sentences
            else f"exit code {error.exit_code}: {error!r}"
        )
    except (Exception, TookTooLongError) as error:  # noqa: BLE001 whatever it is, it is what is looked for
        return "" if isinstance(error, reader.refuses) else repr(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return ""


def resident_bytes() -> int:
    """Of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.full_matrix(most=3)
@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_damaged_is_taken_or_ends_in_a_sentence(
    all_readers: Mapping[str, Reader], scratch: Path, name: str
) -> None:
    reader = all_readers[name]
    if reader.beside is not None:
        shutil.copytree(reader.beside, scratch, dirs_exist_ok=True)
    before = signal.signal(signal.SIGPROF, too_long)
    inputs = INPUTS or SAMPLES[name]
    try:
        for number in range(inputs):
            if number == inputs // 4:
                quarter_bytes = resident_bytes()
            seed = FIRST_SEED + number
            assert ending(reader, scratch / reader.name, reader.of(seed)) == "", f"{name}, seed {seed}"
    finally:
        signal.signal(signal.SIGPROF, before)
    end_bytes = resident_bytes()
    LOG.info("%s: %s inputs, rss %d to %d MiB", name, inputs, quarter_bytes // MIB, end_bytes // MIB)
    assert end_bytes - quarter_bytes < MOST_GROWN_BYTES


def test_each_reader_takes_what_is_whole(all_readers: Mapping[str, Reader], scratch: Path) -> None:
    """Or else mutations would begin from what is refused anyway."""
    taken = {
        "TOML plan": PLANS_TOML,
        "YAML plan": PLANS_YAML,
        "description": DESCRIPTIONS,
        "fleet file": FLEETS,
        "fio's job file": JOBS,
        "list of drives": DRIVES,
        "batch": BATCHES,
        "fio's result": RESULTS_OF_FIO,
        "fio's output": OUTPUTS_OF_FIO,
        "TKperf's file": FILES_OF_TKPERF,
        "limits": LIMITS,
    }
    for name, contents in taken.items():
        for content in contents:
            (scratch / all_readers[name].name).write_bytes(content)
            all_readers[name].read(scratch / all_readers[name].name)


def with_a_long_table_id(report: bytes) -> bytes:
    """The name of a table is that of its file."""
    assert b'"id": "cover-drive"' in report
    return report.replace(b'"cover-drive"', b'"' + b"9" * 2000 + b'"')


def test_what_mutations_have_found(all_readers: Mapping[str, Reader], scratch: Path, seeds: Seeds) -> None:
    """Each ended in a traceback once."""
    run, digits = seeds.run, b"f" * 4000  # Python does not print numbers of so many
    found = {
        "YAML plan": b"seed: 0x" + digits,
        "TOML plan": b"seed = 0x" + digits,
        "YAML plan, with an anchor twice": b"iops: {block_sizes: [&a 4KiB, &a 1MiB]}",
        "report": with_a_long_table_id((run / "report.json").read_bytes()),
        "record file": (run / "run.db").read_bytes().replace(b"STRICT", b"STRIC\x81"),
        "preset": (PRESETS / "theory.toml").read_bytes().replace(b"read_us = 50.0", b"read_us = -0.0"),
    }
    job = b"[a]\nrw=randwrite\nbs=4k\ntime_based\nruntime=1\n"
    found |= {
        "fio's job file, with sizes without end": job + b"bsrange=4096-2199023255552",
        "fio's job file, with threads without end": job + b"numjobs=9223372036854775808",
        "fio's job file, with digits without end": job + b"randseed=" + b"9" * 5000,
    }
    for name, content in found.items():
        reader = all_readers[name.partition(",")[0]]
        assert ending(reader, scratch / reader.name, content) == "", name
