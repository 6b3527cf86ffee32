"""Options of a job that fio ran: which files it opened, and whether it went through the page cache."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from openpts.record.decoding import decode_json
from openpts.vocabulary.run_request import IMPORTED
from openpts.vocabulary.verdict import Deviation
from openpts_fio.jobs.job_file import JobFile

Options = Mapping[str, str | None]
_Object = Annotated[dict[str, str | None], Meta(max_length=1000)]
_ADD_UP: Final = frozenset({"filename", "directory"})
_COLON: Final = re.compile(r"(?<!\\):")
_OFF: Final = frozenset({"0", "false"})
# ioengines that move no data through the host's page cache, whatever direct says
_UNCACHED: Final = frozenset(
    {"io_uring_cmd", "sg", "null", "spdk", "xnvme", "libblkio", "rados", "rbd", "nbd", "libiscsi", "dev-dax"}
)


def options_of(pairs: Iterable[tuple[str, str | None]]) -> dict[str, str | None]:
    """Options as fio takes them, the later ones behind: of a name the last value, but all files of a list."""
    found: dict[str, str | None] = {}
    for name, value in pairs:
        before = found.pop(name, None)
        found[name] = f"{before}:{value}" if name in _ADD_UP and before and value != before else value
    return found


def stated_options(raw: msgspec.Raw) -> dict[str, str | None]:
    """Options of an object of fio's output, which has a name as often as it was given.

    Raises msgspec.MsgspecError.
    """
    decode_json(bytes(raw), _Object)
    pairs: list[Any] = json.loads(bytes(raw), object_pairs_hook=list)
    return options_of(pairs)


def options_of_jobs(jobs: JobFile) -> dict[str, dict[str, str | None]]:
    """Options of each section of a job file, by its name."""
    return {
        section.name: options_of((one.word, one.filled(jobs.values).value) for one in section.options)
        for section in jobs.sections
    }


def files_of(*options: Options) -> Sequence[str]:
    """Files and devices that jobs open, each once; none where their options name none."""
    found: list[str] = []
    for each in options:
        folders, names = (_COLON.split(each.get(name) or "") for name in ("directory", "filename"))
        found += ("/".join(filter(None, (folder.rstrip("/"), name))) for folder in folders for name in names)
    return list(dict.fromkeys(name.replace("\\:", ":") for name in found if name))


def page_cache(options: Mapping[str, Options]) -> Iterator[Deviation]:
    """The ledger's entry, if reads and writes of some job went through the host's page cache."""
    jobs = [name for name, each in options.items() if _is_cached(each)]
    if jobs:
        yield Deviation(
            IMPORTED,
            "1.1",
            "direct I/O, which fio has with direct=1",
            f"through the host's page cache: {'job' if len(jobs) == 1 else 'jobs'} {', '.join(jobs)}",
            "figures are of the host's memory as well as of the drive",
        )


def _is_cached(options: Options) -> bool:
    """As it is unless the job says otherwise; of direct and buffered what was given last counts."""
    engine = (options.get("ioengine") or "psync").partition(":")[0]
    word = options.get("rw", options.get("readwrite")) or ""
    if engine in _UNCACHED or word in {"trim", "randtrim"}:
        return False
    last = next((name for name in reversed(list(options)) if name in {"direct", "buffered"}), "buffered")
    return engine == "mmap" or (last == "direct") == ((options.get(last) or "1") in _OFF)


def verifies(options: Options) -> bool:
    """Whether fio reads back what it wrote."""
    kind = options.get("verify") or "0"
    return kind not in {"0", "none", "null"} and (options.get("do_verify") or "1") not in _OFF


def exceeds_threads(options: Options, runtime_ms: int, of_all_ms: int) -> bool:
    """Whether all threads of a job together ran for longer than as many as its options have can have done.

    Fio counts whole ms of each; a tenth of ``runtime_ms``, the longest of them, may be set-up.
    """
    threads = options.get("numjobs") or "1"
    return (
        runtime_ms > 0
        and threads.isdecimal()
        and of_all_ms > int(threads[:20]) * (runtime_ms + 1) + runtime_ms / 10
    )
