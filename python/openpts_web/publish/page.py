"""The page of a library: its first runs as they are to be seen, and what its scripts are told."""

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from openpts.report.html import VEGA
from openpts_many.archive.tables import columns_of_archive
from openpts_web.pages import as_json, templates, themes

if TYPE_CHECKING:
    import pyarrow

_SCRIPTS: Final = ("files", "library", "list", "run", "compare", "plot", "sql", "main")
_PAGES: Final = Path(__file__).parent / "pages"
_FIRST_RUNS: Final = 100
_COLUMNS: Final = {
    "run": "Run",
    "test": "Test",
    "model": "Model",
    "firmware": "Firmware",
    "serial": "Serial",
    "started_at": "Started (UTC)",
    "state": "State",
    "steady": "Steady",
    "conformant": "Conformant",
}


def index_page(runs: "pyarrow.Table", measures: Sequence[str], block: int, hashes: Mapping[str, str]) -> str:
    """The whole page. ``measures`` are the files of so many runs each, ``hashes`` those of all files."""
    newest = list(reversed(runs.slice(max(0, runs.num_rows - _FIRST_RUNS)).to_pylist()))
    tables = columns_of_archive()
    told = {
        "columns": _COLUMNS,
        "shown": _FIRST_RUNS,
        "block": block,
        "measures": measures,
        "files": hashes,
        "tables": {name: tables[name] for name in ("runs", "measures", "deviations")},
        "config": themes(),
    }
    template = templates(_PAGES).get_template("index.html.j2")
    return template.render(
        columns=_COLUMNS,
        rows=[[cell_text(name, row[name]) for name in _COLUMNS] + [row["mark"] or ""] for row in newest],
        count=runs.num_rows,
        hashes=hashes,
        told=as_json(told),
    )


def cell_text(name: str, value: Any) -> str:
    """What the list shows of a run; `cellText` in library.js says the same."""
    text = "" if value is None else str(value)
    return text[:16].replace("T", " ") if name == "started_at" else text


def vega_script() -> bytes:
    """Vega, Vega-Lite and Vega-Embed, as reports have them."""
    return zlib.decompress(VEGA.read_bytes())


def script() -> bytes:
    """The scripts of all pages, one after the other."""
    return b'"use strict";\n' + b"".join(own_file(f"{name}.js") for name in _SCRIPTS)


def own_file(name: str) -> bytes:
    """A script of the pages."""
    return (_PAGES / name).read_bytes()
