"""A library of runs: short ones of simulated drives, and copies of other drives and times."""

import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from openpts.record.writer import CHECKSUM_SECTION, DATABASE_NAME, checksum_of
from tests.support.limited_runs import invoke

TLC = "sim:enterprise-tlc?capacity=4GB"
QLC = "sim:client-qlc?capacity=4GB"


def made_run(folder: Path, test: str = "lat", target: str = TLC, *options: object) -> Path:
    """A short run, with a report if the options do not say otherwise."""
    error, words = invoke("run", test, target, "--quick", "--out", folder, *options)
    assert error is None, words
    return folder


def copied_run(run: Path, folder: Path, **changed: Any) -> Path:
    """The record of a run in another folder, with sections of its manifest changed."""
    folder.mkdir(parents=True)
    shutil.copy(run / DATABASE_NAME, folder)
    change_record(folder, lambda sections: _with(sections, changed))
    return folder


def change_record(folder: Path, change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> None:
    """Change sections of a manifest, and its checksum with them."""
    with closing(sqlite3.connect(folder / DATABASE_NAME)) as database, database:
        database.execute("PRAGMA synchronous = OFF")
        texts = dict(database.execute("SELECT section, json FROM manifest"))
        before = {name: msgspec.json.decode(text) for name, text in texts.items()}
        texts |= {name: msgspec.json.encode(value).decode() for name, value in change(before).items()}
        texts[CHECKSUM_SECTION] = checksum_of(texts)
        database.executemany(
            "UPDATE manifest SET json = ? WHERE section = ?", [(t, n) for n, t in texts.items()]
        )


def _with(sections: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
    facts = {name: {"value": value, "source": "a test"} for name, value in changed.pop("dut", {}).items()}
    people = sections["people"] | changed.pop("people", {})
    return changed | {"dut": sections["dut"] | facts, "people": people}
