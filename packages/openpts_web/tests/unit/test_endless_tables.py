"""A record whose tables lead to the same pages again and again is refused by all that reads it."""

import sqlite3
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.errors import RecordError
from openpts.record.health import TelemetryPoint
from openpts.record.reader import read_run, refuse_other_histograms
from openpts.record.schema import PAGE_BYTES
from openpts.record.writer import DATABASE_NAME, RunWriter
from tests.support.openpts_process import openpts
from tests.support.record_parts import DEVIATION, manifest, round_place, sample

_LEVELS = 15
_LEAF_OF_TABLE, _LEAF_OF_INDEX = 13, 10
_PAGES_AT = 28
"""In the file's header: how many pages it has."""

_TABLES = ("manifest", "step", "interval", "telemetry", "sqlite_schema")


def _record(folder: Path) -> Path:
    with closing(RunWriter.create(folder, manifest())) as writer:
        for position in range(3):
            writer.add_step(round_place(1, position), sample())
        writer.add_deviations((DEVIATION,) * 3)
        writer.add_telemetry([TelemetryPoint(number, "temperature_c", 40.0) for number in range(3)])
    return folder


def _interior(kind: int, cell: bytes, children: list[int], before: bytes) -> bytes:
    """A page of the b-tree with these children, each but the last with a cell, behind a header."""
    cells = [struct.pack(">I", child) + cell for child in children[:-1]]
    places = [PAGE_BYTES - (number + 1) * len(one) for number, one in enumerate(cells)]
    head = struct.pack(">BHHHBI", kind - 8, 0, len(cells), min(places), 0, children[-1])
    head = before + head + struct.pack(f">{len(places)}H", *places)
    return head + bytes(min(places) - len(head)) + b"".join(reversed(cells))


def _smallest_cell(leaf: bytes) -> bytes:
    """What an interior page of an index has in front of each child but the last."""
    (count,) = struct.unpack_from(">H", leaf, 3)
    places = sorted(struct.unpack_from(f">{count}H", leaf, 8))
    cells = [leaf[begin:end] for begin, end in zip(places, [*places[1:], len(leaf)], strict=True)]
    return min(cells, key=len)


def _root_of(database: Path, table: str) -> int:
    with closing(sqlite3.connect(database)) as connection:
        query = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
        found = connection.execute(query, [table]).fetchone()
    return int(found[0]) if found else 1


def _forged(folder: Path, table: str, children: Callable[[int, int, int], list[int]], levels: int) -> Path:
    """The record of a table with pages above its rows: ``children`` of a page, by its number, that of the
    next, and how many have room.
    """
    database = _record(folder) / DATABASE_NAME
    root = _root_of(database, table)
    raw = bytearray(database.read_bytes())
    pages = len(raw) // PAGE_BYTES
    header = raw[:100] if root == 1 else b""
    page = raw[(root - 1) * PAGE_BYTES + len(header) : root * PAGE_BYTES]
    kind, rows = page[0], struct.unpack_from(">H", page, 3)[0]
    assert kind in {_LEAF_OF_TABLE, _LEAF_OF_INDEX}
    cell = b"\x01" if kind == _LEAF_OF_TABLE else _smallest_cell(page)
    room = min(500, (PAGE_BYTES - 200) // (len(cell) + 6))
    above, leaf = [root, *range(pages + 1, pages + levels)], pages + levels
    made = {
        number: _interior(kind, cell, children(number, following, room), header if number == root else b"")
        for number, following in zip(above, [*above[1:], leaf], strict=True)
    }
    head_bytes = 8 + 2 * rows
    made[leaf] = page[:head_bytes] + bytes(len(header)) + page[head_bytes:]  # cells are where they were
    raw += bytes(levels * PAGE_BYTES)
    for number, content in made.items():
        raw[(number - 1) * PAGE_BYTES : number * PAGE_BYTES] = content
    struct.pack_into(">I", raw, _PAGES_AT, len(raw) // PAGE_BYTES)
    database.write_bytes(raw)
    return folder


def _again_and_again(folder: Path, table: str) -> Path:
    return _forged(folder, table, lambda _, following, room: [following] * room, _LEVELS)


def _itself(folder: Path, table: str) -> Path:
    return _forged(folder, table, lambda own, following, room: [following] + [own] * (room - 1), 1)


def _said_by(reader: str, folder: Path) -> str:
    """What comes of ``module:function`` on the record, in a new process: in ours SQLite can't be interrupted,
    and a child of a process with threads may inherit a lock that nobody frees.
    """
    module, _, function = reader.partition(":")
    code = f"import sys, pathlib, {module} as m; print('read:', m.{function}(pathlib.Path(sys.argv[1])))"
    words = [sys.executable, "-c", code, folder]
    ended = subprocess.run(words, check=False, capture_output=True, text=True, timeout=60)
    return f"{ended.stdout}{ended.stderr}"


def _typed(*words: str | Path) -> str:
    ended = openpts(*map(str, words), cwd=Path(words[-1]).parent)
    return f"{ended.stdout}{ended.stderr}"


@pytest.mark.full_matrix(most=4)
@pytest.mark.parametrize("forge", [_again_and_again, _itself])
@pytest.mark.parametrize("table", _TABLES)
def test_a_table_that_leads_to_the_same_pages_is_refused(tmp_path, table, forge) -> None:
    folder = forge(tmp_path / "run", table)
    said = _said_by("openpts.record.reader:read_run", folder)
    assert f"RecordError: can't read {folder / DATABASE_NAME}: " in said, said


@pytest.mark.full_matrix(most=3)
@pytest.mark.parametrize(
    ("table", "reader"),
    [
        ("manifest", "openpts.record.reader:read_manifest"),
        ("manifest", "openpts_web.documents:page_of_folder"),
        ("step", "openpts.record.database:last_step"),
        ("step", "report"),
        ("manifest", "openpts_compare.record_check:check_record"),
        ("step", "resume"),
        ("deviation", "openpts.record.reader:stored_ledger"),
    ],
)
def test_all_that_read_a_record_end(tmp_path, table, reader) -> None:
    folder = _again_and_again(tmp_path / "run", table)
    said = _said_by(reader, folder) if ":" in reader else _typed(reader, folder)
    assert "it is damaged: its tables lead to the same rows again and again" in said


def test_histograms_that_are_read_later_end(tmp_path) -> None:
    sound = read_run(_record(tmp_path / "sound"))
    folder = _again_and_again(tmp_path / "run", "interval")
    with pytest.raises(RecordError, match="lead to the same rows again and again"):
        refuse_other_histograms(replace(sound, folder=folder))
