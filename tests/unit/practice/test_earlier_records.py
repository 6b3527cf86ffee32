"""Records of tests of the practice as earlier versions have written them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from openpts.record.reader import read_run
from openpts.record.writer import CHECKSUM_SECTION, DATABASE_NAME, RunWriter, checksum_of
from openpts.vocabulary.drive_class import DriveClass
from openpts_practice.rows.benchmarks import script as profile
from openpts_practice.rows.precon import script as precon
from tests.unit.record.test_run_folder import manifest


def test_a_run_of_benchmarks_opens_under_the_name_it_had_before(tmp_path: Path) -> None:
    conditions = profile.standard_conditions(DriveClass.CLIENT, 1)
    RunWriter.create(tmp_path / "run", replace(manifest(), conditions=conditions)).close()
    with closing(sqlite3.connect(tmp_path / "run" / DATABASE_NAME)) as database, database:
        stored = dict(database.execute("SELECT section, json FROM manifest"))
        assert stored["conditions"].count('"test":"benchmarks"') == 1
        stored["conditions"] = stored["conditions"].replace('"test":"benchmarks"', '"test":"profile"')
        del stored[CHECKSUM_SECTION]
        stored[CHECKSUM_SECTION] = checksum_of(stored)
        rows = [(text, section) for section, text in stored.items()]
        database.executemany("UPDATE manifest SET json = ? WHERE section = ?", rows)
    assert read_run(tmp_path / "run").manifest.conditions == conditions


def test_a_comparison_of_states_opens_with_the_one_benchmark_it_had_before(tmp_path: Path) -> None:
    conditions = precon.standard_conditions(DriveClass.CLIENT, 1)
    RunWriter.create(tmp_path / "run", replace(manifest(), conditions=conditions)).close()
    with closing(sqlite3.connect(tmp_path / "run" / DATABASE_NAME)) as database, database:
        stored = dict(database.execute("SELECT section, json FROM manifest"))
        content = json.loads(stored["conditions"])
        (content["benchmark"],) = content.pop("benchmarks")
        for added in ("entropies_pct", "leave_free", "sector_bytes"):
            del content[added]
        stored["conditions"] = json.dumps(content)
        del stored[CHECKSUM_SECTION]
        stored[CHECKSUM_SECTION] = checksum_of(stored)
        rows = [(text, section) for section, text in stored.items()]
        database.executemany("UPDATE manifest SET json = ? WHERE section = ?", rows)
    assert read_run(tmp_path / "run").manifest.conditions == conditions
