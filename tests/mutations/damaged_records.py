"""Records of which a value, a row, a column or a table is another, in a database that is whole."""

import random
import sqlite3
from pathlib import Path
from typing import Any, Final

from openpts.record.schema import SCHEMA_VERSION, TABLES
from openpts.record.writer import CHECKSUM_SECTION, DATABASE_NAME, checksum_of
from tests.mutations.mutator import damaged

_VALUES: Final[tuple[Any, ...]] = (
    *(None, -1, 0, 1, 2, 3, 1000, 2**31, 2**63 - 1, -(2**63), 0.5, -0.0, 1e300, float("inf"), float("-inf")),
    *("", "x", "complete", "round", "read", "none", "-1", "\x1b[31m", "\ufffd", "[]", "{}", "null"),
    "1" * 400,
    *(b"", b"\xff\xfe", b"\x1c\x84\x93\x14\x00\x00\x00\x08" + b"\x78\x9c" * 8),
)
_COMPLETED: Final = "CAST(x'ff' AS TEXT)"  # text that is no UTF-8


class LooseRecord:
    """A record whose tables take anything, so that every kind of damage can be done to it by statements."""

    def __init__(self, folder: Path) -> None:
        loose = TABLES.replace("NOT NULL", "").replace("STRICT, WITHOUT ROWID", "").replace("STRICT", "")
        database = sqlite3.connect(":memory:")
        database.executescript(loose)
        database.execute("ATTACH ? AS run", (str(folder / DATABASE_NAME),))
        self.columns: dict[str, list[str]] = {}
        names = database.execute("SELECT name FROM run.sqlite_schema WHERE type = 'table'").fetchall()
        for (table,) in names:
            database.execute(f"INSERT INTO {table} SELECT * FROM run.{table}")
            self.columns[table] = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        database.commit()
        database.execute("DETACH run")
        self._whole = database.serialize()

    def damaged(self, seed: int) -> bytes:
        """The database with one change, as a file."""
        chance = random.Random(seed)
        database = sqlite3.connect(":memory:", isolation_level=None)
        database.deserialize(self._whole)
        # what must not weaken the others: of older records there is no checksum, and one can be made again
        if chance.random() < 0.6:
            database.execute("DELETE FROM manifest WHERE section = ?", (CHECKSUM_SECTION,))
        remade = chance.random() < 0.7
        for _ in range(chance.choice((1, 1, 1, 2))):
            self._change(database, chance)
        if remade:
            _with_checksum(database)
        content = database.serialize()
        database.close()
        return content

    def _change(self, database: sqlite3.Connection, chance: random.Random) -> None:
        table = chance.choice([*self.columns, "step", "step", "operation", "manifest", "manifest"])
        column = chance.choice(self.columns[table])
        try:
            match chance.randrange(20):
                case 0:
                    database.execute(f"DROP TABLE {table}")
                case 1:
                    database.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
                case 2:
                    database.execute(f"UPDATE {table} SET {column} = {_COMPLETED}")
                case 3:
                    database.execute(f"UPDATE {table} SET {column} = ?", (chance.choice(_VALUES),))
                case 4:
                    database.execute(f"DELETE FROM {table} WHERE rowid = ?", (_row(database, table, chance),))
                case _:
                    self._change_cell(database, table, column, chance)
        except sqlite3.Error:
            return  # a key, or what an earlier change took away

    def _change_cell(
        self, database: sqlite3.Connection, table: str, column: str, chance: random.Random
    ) -> None:
        if table == "manifest":
            column = "json"
        row = _row(database, table, chance)
        (before,) = database.execute(f"SELECT {column} FROM {table} WHERE rowid = ?", (row,)).fetchone() or (
            None,
        )
        after = chance.choice(_VALUES)
        if isinstance(before, str) and chance.random() < 0.7:
            after = damaged(before.encode(), chance.getrandbits(40)).decode(errors="replace")
        elif isinstance(before, bytes) and chance.random() < 0.7:
            after = damaged(before, chance.getrandbits(40))
        elif isinstance(before, int) and chance.random() < 0.7:
            after = chance.choice((before + 1, before - 1, before * 2, before // 2, -before))
        database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (after, row))


def _row(database: sqlite3.Connection, table: str, chance: random.Random) -> int:
    (count,) = database.execute(f"SELECT max(rowid) FROM {table}").fetchone()
    return chance.randint(1, count or 1)


def _with_checksum(database: sqlite3.Connection) -> None:
    try:
        sections = dict(database.execute("SELECT section, json FROM manifest"))
        if CHECKSUM_SECTION in sections:
            made = checksum_of(sections)
            database.execute("UPDATE manifest SET json = ? WHERE section = ?", (made, CHECKSUM_SECTION))
    except (sqlite3.Error, TypeError):
        return
