"""Writes a library as a folder: the same runs, the same bytes.

Chromium lets a page that lies in a file load scripts and nothing else. Each file that a page reads has
therefore a twin, a script that hands over the same bytes as text.
"""

import base64
import gzip
import hashlib
import io
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from openpts.errors import RecordError, UsageError, failing_as
from openpts.run_folder_files import remove_file, write_files
from openpts_web.pages import style
from openpts_web.publish.page import index_page, own_file, script, vega_script
from openpts_web.publish.sources import ABOUT, DEVIATIONS, FORMAT, RUNS, VERSION, About, Library, about

if TYPE_CHECKING:
    import pyarrow

RUNS_OF_BLOCK: Final = 250
"""Measures of so many runs are a file, some 160 kB: what a page of one run loads, and a new run changes."""
BROWSER: Final = Path(__file__).parent / "browser"  # packaging/browser.mk makes it
_MISSING: Final = (
    "can't publish: this openpts was built without DuckDB for browsers; install a wheel, or run "
    "`make browser` where its sources are"
)


def check_folder(folder: Path) -> None:
    """Raise UsageError where a folder is neither a library nor empty but for hidden names, as of git."""
    if folder.is_dir() and about(folder) is None:
        strange = next((one.name for one in folder.iterdir() if not one.name.startswith(".")), None)
        if strange:
            raise UsageError(f"{folder} is no library, and not empty: it has {strange}; name a new folder")
    if not (BROWSER / "duckdb.wasm.gz").is_file():
        raise UsageError(_MISSING)


def write_library(library: Library, folder: Path) -> int:
    """Write all files of a library, ``library.json`` last, and remove what an earlier one had beyond them.

    Returns how many bytes it has. Raises RecordError.
    """
    contents = dict(_with_twins(_contents(library)))
    data = {name: hashlib.sha256(content).hexdigest()[:16] for name, content in contents.items()}
    measures = tuple(name for name in contents if name.startswith("data/measures-") and name.endswith("t"))
    contents["index.html"] = index_page(library.runs, measures, RUNS_OF_BLOCK, data).encode()
    files = tuple(sorted(contents))
    written = About(FORMAT, VERSION, library.runs.num_rows, measures, files)
    contents[ABOUT] = msgspec.json.format(msgspec.json.encode(written), indent=1) + b"\n"
    with failing_as(RecordError, f"can't write the library {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        before = about(folder)
        write_files(folder, contents, lasting=False)
        for name in sorted(set(before.files if before else ()) - {*files}):
            with suppress(FileNotFoundError):
                remove_file(folder, name)
    return sum(map(len, contents.values()))


def _contents(library: Library) -> Iterator[tuple[str, bytes, bool]]:
    """Each file with its name, and whether scripts read it, rather than that it is loaded by itself."""
    reports = {run: f"reports/{_file_word(run)}.html" for run in library.reports}
    runs = library.runs["run"].to_pylist()
    yield RUNS, _parquet(_with_reports(library.runs, reports)), True
    for number, block in enumerate(_blocks(library.measures, runs)):
        yield f"data/measures-{number:04}.parquet", _parquet(block), True
    yield DEVIATIONS, _parquet(library.deviations), True
    for run, name in reports.items():
        yield name, library.reports[run], False
    worker = gzip.decompress((BROWSER / "duckdb.js.gz").read_bytes()) + own_file("worker.js")
    yield "pages/worker.js.gz", gzip.compress(worker, mtime=0), True
    yield "pages/duckdb.wasm.gz", (BROWSER / "duckdb.wasm.gz").read_bytes(), True
    yield "pages/page.js", (BROWSER / "parquet.js").read_bytes() + script(), False
    yield "pages/licenses.txt", (BROWSER / "licenses.txt").read_bytes(), False
    yield "pages/vega.js", vega_script(), False
    yield "pages/style.css", style(), False


def _with_twins(files: Iterator[tuple[str, bytes, bool]]) -> Iterator[tuple[str, bytes]]:
    for name, content, is_read in files:
        yield name, content
        if is_read:
            yield f"{name}.js", b'openptsFile("%s","%s");\n' % (name.encode(), base64.b64encode(content))


def _blocks(measures: "pyarrow.Table", runs: list[str]) -> Iterator["pyarrow.Table"]:
    """The measures of so many runs after each other; at least one block."""
    numbers = {run: number // RUNS_OF_BLOCK for number, run in enumerate(runs)}
    counts = [0] * (max(numbers.values(), default=0) + 1)
    for run in measures["run"].to_pylist():  # in the order of the runs
        counts[numbers[run]] += 1
    first = 0
    for count in counts:
        yield measures.slice(first, count)
        first += count


def _with_reports(runs: "pyarrow.Table", reports: Mapping[str, str]) -> "pyarrow.Table":
    import pyarrow as arrow  # noqa: PLC0415 a package that only archives need

    names = [reports.get(run) for run in runs["run"].to_pylist()]
    return runs.append_column("report", arrow.array(names, arrow.string()))


def _file_word(run: str) -> str:
    """A name for a file of the run, whatever its ID is."""
    return hashlib.sha256(run.encode()).hexdigest()[:16]


def _parquet(table: "pyarrow.Table") -> bytes:
    """One that a small reader in a page can decompress."""
    from pyarrow import parquet  # noqa: PLC0415 a package that only archives need

    file = io.BytesIO()
    parquet.write_table(table.combine_chunks(), file, compression="snappy", write_statistics=False)
    return file.getvalue()
