"""Records that were edited by hand, each so that no checksum and no sum tells it.

What physics, the stimuli, the test's script or the rules of the ledger forbid is refused, by the report or by
`verify` at the latest; the rest is what uncertainty.md says that only a signature can find.
"""

import re
import shutil
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from openpts.analysis.latency import LatencyDistribution, encode_counts
from openpts.cli.main import cli
from openpts.errors import RecordError
from openpts.record.possible import refuse_impossible
from openpts.record.reader import Run, read_run
from openpts.record.writer import CHECKSUM_SECTION, DATABASE_NAME, checksum_of
from openpts.report.sources import read_for_report
from openpts_compare.record_check import check_record
from tests import DATA, ROOT
from tests.support import manual
from tests.support.shortened_runs import SMALL, shortened_run
from tests.support.stream_runs import measured, stored
from tests.support.streams import BESIDE

RELIABILITY = ROOT / "packages/openpts/docs/uncertainty.md"

# lat: one I/O at a time; qos and trim: two streams side by side, planned and not
ROUND = "step_id = (SELECT min(step_id) + 1 FROM step WHERE part = 'round')"
MIXED = "step_id = (SELECT min(step_id) FROM step WHERE part = 'round' AND stimulus LIKE '%\"read\":65%')"
PAIR = "step_id = (SELECT min(step_id) FROM stream_result)"
LAST_OF_PAIRS = "step_id >= (SELECT max(step_id) FROM stream_result)"
LAST = "step_id = (SELECT max(step_id) FROM step)"
DOUBLED = (
    "ios = ios * 2, bytes = bytes * 2, latency_sum_ns = latency_sum_ns * 2, histogram = times(histogram, 2)"
)
FIRST_NUMBER = "step_id IN (SELECT step_id FROM step WHERE part = 'round' AND number = 2)"
UNDISTURBED = "steps that last as long as they are to, in which nothing but the device takes time"
OF_STEPS = ("operation", "interval", "interval_operation", "step")


def section(name: str, old: str, new: str) -> str:
    """A section of the manifest with a text in the place of another."""
    return f"UPDATE manifest SET json = replace(json, '{old}', '{new}') WHERE section = '{name}'"


WHOLE_TIMES = """UPDATE manifest SET json = json_set(json, '$.time_scale', 1, '$.minute_ns', 60000000000)
    WHERE section = 'conditions'"""


class Edit(NamedTuple):
    test: str
    reason: str
    """What the complaint says; empty where only a signature can find it."""
    statements: tuple[str, ...]


def lat(reason: str, *statements: str) -> Edit:
    return Edit("lat", reason, statements)


def qos(reason: str, *statements: str) -> Edit:
    return Edit("qos", reason, statements)


def update(table: str, change: str, where: str = ROUND) -> str:
    return f"UPDATE {table} SET {change} WHERE {where}"


REAL = {
    "target": """UPDATE manifest SET json = json_set(json, '$.kind', 'block', '$.name', 'nvme0n1',
        '$.path', '/dev/nvme0n1', '$.simulation', NULL) WHERE section = 'target'""",
    "ledger": "DELETE FROM deviation WHERE rule_id = 'PTS-GEN-05'",
    "engine": """UPDATE manifest SET json = json_set(json, '$.engine.value', 'native',
        '$.clock.value', 'tsc at 2200000 kHz') WHERE section = 'engine'""",
    "purge": """UPDATE manifest SET json = json_set(json, '$[0].name', 'nvme-format',
        '$[0].method', 'NVMe Format') WHERE section = 'purges'""",
    "cache": section("write_caches", "the simulated drive", "NVMe Identify Controller, VWC"),
    "log": "UPDATE health_reading SET source = 'NVMe SMART/Health log'",
    "telemetry": "DELETE FROM telemetry WHERE name LIKE 'drive_%'",
    "temperatures": "UPDATE interval SET temperature_c = NULL, throttled = NULL",
    "processors": """UPDATE step SET cpu_user_pct = 1, cpu_sys_pct = 1, cpu_iowait_pct = 1,
        process_cpu_ns = elapsed_ns / 2""",
    "clock": "UPDATE step SET stored_at = moment(started_ns + elapsed_ns)",
}
"""What makes a record of a simulated drive one of a drive that exists."""

EDITS = {
    # times
    "a stream's time halved": qos(
        "were planned", update("stream_result", "elapsed_ns = elapsed_ns / 2", PAIR)
    ),
    "a stream longer than its step": qos(
        "not all within its step", update("stream_result", "elapsed_ns = elapsed_ns * 2", PAIR)
    ),
    "a step's time halved": lat(
        "its last interval begins later", update("step", "elapsed_ns = elapsed_ns / 2")
    ),
    "a step moved": lat("before the end of the step", update("step", "started_ns = started_ns - 1000000")),
    "a gap closed": lat(
        "gap_ns is 0, and the step", "UPDATE step SET started_ns = started_ns + 1000000 WHERE step_id > 4"
    ),
    "when a step was to end": lat(
        "it ended after 340,000,000", update("step", "stop = replace(stop, '240000000', '340000000')")
    ),
    "which rule ended a step": lat("it ended with its amount", update("step", "ended_by = 'amount'")),
    # counts
    "a step's I/Os doubled, in 1 of 1 outstanding": lat(
        "its response times make 2 I/Os outstanding",
        *(update(table, DOUBLED) for table in ("operation", "interval_operation")),
    ),
    "a planned stream's I/Os doubled": qos(
        "were planned",
        *(
            update(table, DOUBLED, PAIR)
            for table in (
                *("operation", "interval_operation"),
                *("stream_operation", "stream_interval_operation"),
            )
        ),
    ),
    "I/Os outstanding": lat("9 I/Os outstanding", update("interval", "in_flight = 9")),
    "planned I/Os of a closed loop": lat("it plans no I/O", update("step", "unissued = 9")),
    "1,000 errors, with the first of them and in an interval": lat(
        "1,000 I/Os failed in it, and 0 were allowed",
        f"INSERT INTO io_error SELECT step_id, 0, 'read', 'EIO', 1000, '[0]' FROM step WHERE {ROUND}",
        f"UPDATE interval SET errors = 1000 WHERE {ROUND} AND interval_index = 0",
        "UPDATE step SET failure_operation = 'read', failure_offset_bytes = 0,"
        f" failure_length_bytes = 512, failure_reason = 'EIO' WHERE {ROUND}",
    ),
    "more time than processors have": lat(
        "the host's processors had 110 %",
        "UPDATE step SET cpu_user_pct = 90, cpu_sys_pct = 20, cpu_iowait_pct = 0, process_cpu_ns = 1"
        f" WHERE {ROUND}",
    ),
    # stimuli
    "a step's mix": lat(
        "where its stimulus has 95 of 100",
        f"""UPDATE step SET stimulus = replace(stimulus, '"read":65,"write":35', '"read":95,"write":5')
            WHERE {MIXED}""",
    ),
    "a stream's mix": qos(
        "where its stimulus has 50 of 100",
        f"""UPDATE stream SET stimulus = replace(stimulus, '"read":100', '"read":50,"write":50')
            WHERE {PAIR} AND position = 0""",
    ),
    "streams of a step swapped by name": qos(
        "its streams are reads, writes, and in other steps writes, reads",
        update("stream", "name = iif(position, 'reads', 'writes')", PAIR),
    ),
    "a deeper queue": lat(
        "with other streams", update("step", """stimulus = replace(stimulus, '"qd":1', '"qd":4')""")
    ),
    # histograms of intervals
    "an interval's histogram in place of another's": lat(
        "read: an interval: ",
        f"""UPDATE interval_operation SET histogram = (SELECT histogram FROM interval_operation AS other
            WHERE other.step_id = interval_operation.step_id AND other.interval_index = 1)
            WHERE {ROUND} AND interval_index = 0""",
    ),
    "histograms of intervals with one slower I/O": lat(
        "interval", update("interval_operation", "histogram = slower(histogram)")
    ),
    # steps
    "a step set aside": lat("at position 1, is missing", update("step", "state = 'repeated'")),
    "the last step deleted": lat(
        "does not end as it did", *(f"DELETE FROM {table} WHERE {LAST}" for table in OF_STEPS)
    ),
    "a round deleted": lat(
        "table step has no row", *(f"DELETE FROM {table} WHERE {FIRST_NUMBER}" for table in OF_STEPS)
    ),
    "the intervals of a step deleted": lat(
        "it counts I/Os and has no intervals",
        *(f"DELETE FROM {table} WHERE {ROUND}" for table in ("interval", "interval_operation")),
    ),
    "a gap that only started_ns has, between planned steps": qos(
        "gap_ns is",
        *(
            update(table, "started_ns = started_ns + 100000000000", LAST_OF_PAIRS)
            for table in ("step", "stream_result")
        ),
    ),
    # the ledger
    "the ledger emptied": lat("no entry on PTS-GEN-05", "DELETE FROM deviation"),
    "an entry deleted": lat(
        "no entry on PTS-LAT-11: 0.24 s per step", "DELETE FROM deviation WHERE rule_id = 'PTS-LAT-11'"
    ),
    "a finding deleted": qos(
        "no entry on PTS-GEN-01: not steady", "DELETE FROM deviation WHERE used LIKE 'not steady%'"
    ),
    "an entry of the preparation, or of the drive's scale": lat(
        "", "UPDATE deviation SET used = 'scale 1:1' WHERE used LIKE 'scale%'"
    ),
    "a standstill without its entry": lat(
        "of 1 steps that lack",
        f"INSERT INTO standstill SELECT step_id, 0, started_ns, 2000000000 FROM step WHERE {LAST}",
    ),
    "standstills, errors that were allowed, late I/Os, with their entries": lat(
        "",
        f"INSERT INTO standstill SELECT step_id, 0, started_ns, 2000000000 FROM step WHERE {LAST}",
        "INSERT INTO deviation (rule_id, clause, required, used, effect, step_id, extent)"
        f" SELECT 'PTS-GEN-01', '1.1', '{UNDISTURBED}', 'X', 'Y', step_id, 1 FROM step WHERE {LAST}",
    ),
    # the manifest, with its checksum made again
    "steps of 0.24 s as if they were whole": lat(
        "was to last 0.24 s, and its rounds last 1 min 0 s",
        section("shortened", "true", "false"),
        WHOLE_TIMES,
        "DELETE FROM deviation WHERE rule_id LIKE '%-11'",
    ),
    "steps of 0.24 s as if a minute were that long": lat(
        "its minute lasts 240,000,000 ns",
        section("shortened", "true", "false"),
        section("conditions", '"time_scale":0.004', '"time_scale":1'),
    ),
    "conditions": lat("with other streams", section("conditions", '"qd":1', '"qd":2')),
    "shortened": lat("is not marked as shortened", section("shortened", "true", "false")),
    "the verdict": lat(
        "does not end as it did", section("cycles", '"steady_round":5', '"steady_round":null')
    ),
    "a purge": lat("does not end as it did", "UPDATE manifest SET json = '[]' WHERE section = 'purges'"),
    "the write cache": lat("no entry on PTS-CACHE-01", section("write_caches", "no volatile cache", "WCE")),
    "names, dates, serial numbers, host and software in the manifest": lat(
        "", section("dut", "sim", "SIM"), section("started_at", "20", "19")
    ),
    # what was read beside the I/O
    "writes in the drive's log, which the engine counts as well": lat(
        "the drive's nand_write_bytes went",
        "UPDATE health SET value = value * 2 WHERE name = 'nand_write_bytes'",
    ),
    "writes that were sampled": lat(
        "and by drive_host_write_bytes",
        "UPDATE telemetry SET value = value / 2 WHERE name = 'drive_host_write_bytes'",
    ),
    "readings of the drive's log, but writes of a simulated drive": lat(
        "", "UPDATE health SET value = value * 2 WHERE name NOT LIKE '%_write_bytes'"
    ),
    "what was sampled: temperatures, power, processor time": lat(
        "",
        "UPDATE telemetry SET value = value * 2 WHERE name = 'drive_energy_j'",
        "UPDATE interval SET temperature_c = 20, throttled = 0",
    ),
    "times of day, as far as they leave the steps their time": lat(
        "",
        "UPDATE step SET stored_at = '1999-01-01T00:00:00+00:00'",
        "UPDATE health_reading SET read_at = '1999-01-01T00:00:00+00:00'",
    ),
    "where offsets ended": lat("", "UPDATE step SET carried = '[1]'"),
    "a whole step, made up with its intervals as the drive could have done it": lat(
        "",
        *(
            f"UPDATE {table} SET latency_min_ns = 50000, latency_max_ns = 50000,"
            f" latency_sum_ns = ios * 50000, histogram = all_at(50000, ios) WHERE {ROUND}"
            for table in ("operation", "interval_operation")
        ),
    ),
    "a simulated run made real in all of its places: texts, ledger, log, series, processor time, times": lat(
        "", *tuple(REAL.values())
    ),
}


LEFT_AS_IT_WAS = {
    "engine": "its engine that of simulated drives",
    "purge": "which has no 'purge of the simulated drive'",
    "cache": "whose write cache can't be 'no volatile cache' by the simulated drive",
    "log": "whose log can't be \"the simulated drive's own log\"",
    "telemetry": "it has drive_energy_j, which only simulated drives report",
    "temperatures": "temperature_c with each interval, which only simulated drives report",
    "processors": "took none of the processors' time",
    "clock": "s by the engine's clock, and were stored within",
}
"""What a record that was made real says where one of these was forgotten."""


def times(histogram: bytes, factor: int) -> bytes:
    return LatencyDistribution.merged([histogram] * factor).encode()


def slower(histogram: bytes) -> bytes:
    """With its slowest I/O in the next bucket."""
    *faster, (_, most_ns, count) = LatencyDistribution.merged([histogram]).buckets()
    last = [(most_ns, count - 1), (most_ns + 1, 1)]
    return encode_counts([*((least_ns, ios) for least_ns, _, ios in faster), *last])


def all_at(latency_ns: int, ios: int) -> bytes:
    return encode_counts([(latency_ns, ios)])


def moment(clock_ns: int) -> str:
    return (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=clock_ns // 1000)).isoformat()


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("whole")
    scales = {"lat": 0.004, "qos": 0.001, "trim": 0.001}
    small = "sim:enterprise-tlc?capacity=2GB"
    return {
        test: shortened_run(test, folder / test, target=small, scale=scale) for test, scale in scales.items()
    }


def edited(run: Run, folder: Path, statements: tuple[str, ...]) -> Path:
    """A copy of a run folder in which each statement has changed something; the manifest has its checksum."""
    shutil.copytree(run.folder, folder)
    connection = sqlite3.connect(folder / DATABASE_NAME)
    for function in (times, slower, all_at, moment):
        connection.create_function(function.__name__, -1, function)
    for statement in statements:
        assert connection.execute(statement).rowcount > 0, statement
    sections = dict(connection.execute("SELECT section, json FROM manifest"))
    connection.execute(
        "UPDATE manifest SET json = ? WHERE section = ?", (checksum_of(sections), CHECKSUM_SECTION)
    )
    connection.commit()
    connection.close()
    assert stored_content(folder) != stored_content(run.folder)
    return folder


def stored_content(folder: Path) -> list[str]:
    connection = sqlite3.connect(folder / DATABASE_NAME)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def verify(folder: Path) -> None:
    """What `openpts verify` asks of a record beside the figures of the report."""
    read_for_report(folder)
    check_record(folder)


@pytest.mark.full_matrix(most=12)
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_is_refused_by_what_it_contradicts_unless_only_a_seal_can_find_it(
    runs, tmp_path, edit
) -> None:
    folder = edited(runs[edit.test], tmp_path / "run", edit.statements)
    if not edit.reason:
        return verify(folder)
    with pytest.raises(RecordError) as refused:
        verify(folder)
    assert edit.reason in str(refused.value)
    assert str(folder) in str(refused.value)
    return None


@pytest.mark.parametrize(("forgotten", "reason"), LEFT_AS_IT_WAS.items(), ids=LEFT_AS_IT_WAS)
def test_a_simulated_run_is_not_made_real_by_changing_its_texts(runs, tmp_path, forgotten, reason) -> None:
    folder = tmp_path / "run"
    statements = tuple(statement for what, statement in REAL.items() if what != forgotten)
    with pytest.raises(RecordError) as refused:
        read_for_report(edited(runs["lat"], folder, statements))
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (
            section("purges", "nvme-format", "ata-security-erase"),
            "a drive, nvme0n1, which has no 'NVMe Format'",
        ),
        (section("purges", "nvme-format", "file"), "a drive, nvme0n1, which has no 'NVMe Format'"),
        (
            section("write_caches", "no volatile cache", "not controllable (file)"),
            "can't be 'not controllable",
        ),
        (section("target", '"block"', '"file"'), "its target is a file, whose write cache can't be"),
    ],
)
def test_a_target_has_the_purge_and_the_cache_of_its_kind(runs, tmp_path, statement, reason) -> None:
    with pytest.raises(RecordError) as refused:
        read_for_report(edited(runs["lat"], tmp_path / "run", (*REAL.values(), statement)))
    assert reason in str(refused.value)


def test_a_planned_step_of_a_drive_that_exists_says_how_late_it_was(runs, tmp_path) -> None:
    with pytest.raises(RecordError, match=r"none of [\d,]+ planned I/Os says how late it was submitted"):
        read_for_report(edited(runs["qos"], tmp_path / "run", tuple(REAL.values())))


def test_a_round_that_repeats_another_is_none(runs, tmp_path) -> None:
    rows = {
        "operation": "operation, ios, bytes, latency_sum_ns, latency_min_ns, latency_max_ns, histogram",
        "interval": "interval_index, elapsed_ns, in_flight, errors",
    }
    rows["interval_operation"] = f"interval_index, {rows['operation']}"
    pairs = """FROM step AS ours JOIN step AS others USING (part, position, cycle) JOIN {0} AS row
        ON row.step_id = others.step_id WHERE part = 'round' AND ours.number = 2 AND others.number = 1"""
    copies = [f"DELETE FROM {table} WHERE {FIRST_NUMBER}" for table in rows]
    for table, names in rows.items():
        values = ", ".join(f"row.{name}" for name in names.split(", "))
        copies.append(
            f"INSERT INTO {table} (step_id, {names}) SELECT ours.step_id, {values} {pairs.format(table)}"
        )
    copies += [
        """UPDATE step SET elapsed_ns = (SELECT other.elapsed_ns FROM step AS other
            WHERE other.part = 'round' AND other.number = 1 AND other.position = step.position)
            WHERE part = 'round' AND number = 2""",
        """UPDATE step SET started_ns = (SELECT min(started_ns) FROM step) + (SELECT total(elapsed_ns)
            FROM step AS before WHERE before.step_id < step.step_id)""",
    ]
    with pytest.raises(RecordError, match="round 2 has the histograms of round 1, in all of"):
        read_for_report(edited(runs["lat"], tmp_path / "run", (*REAL.values(), *copies)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "target", "scale"),
    [("cbw", SMALL, 0.001), ("thermal", SMALL, 0.004), ("tp", f"{SMALL}&scale=3", 0.004)],
)
def test_a_run_of_any_kind_passes(tmp_path, test, target, scale) -> None:
    """Sizes and zones, rests, a scale; the edits of time of day show that lat passes, those below streams."""
    verify(shortened_run(test, tmp_path / "run", target=target, scale=scale).folder)


@pytest.mark.parametrize("test", ["qos", "trim"])
def test_a_run_with_streams_passes(runs, test) -> None:
    verify(runs[test].folder)


def test_a_stream_that_plans_nothing_can_have_no_more_outstanding_than_its_demand(tmp_path) -> None:
    run = read_run(stored(tmp_path / "run", measured((BESIDE,))))
    halved = "UPDATE stream_result SET elapsed_ns = elapsed_ns / 2 WHERE position = 0"
    with pytest.raises(RecordError, match=r"stream reader: .* I/Os outstanding on average .* allows 8 "):
        refuse_impossible(read_run(edited(run, tmp_path / "edited", (halved,))))


@pytest.mark.parametrize("name", ["fio-3-plain.json", "fio-3-bins.json", "fio-2-plain.json"])
def test_imported_results_pass(tmp_path, name) -> None:
    words = ("--capacity", "2TB", "--out", str(tmp_path / "run"))
    done = CliRunner().invoke(cli, ["import", "fio", str(DATA / "imported" / name), *words])
    assert done.exit_code == 0, done.output
    verify(tmp_path / "run")


def test_the_page_on_reliability_lists_what_only_a_signature_can_find() -> None:
    told = re.findall(
        r"^- (.+?)[.;]?$",
        manual.section(RELIABILITY, "Reliability").split("Only a signature finds", 1)[1],
        re.MULTILINE,
    )
    assert told == [name for name, edit in EDITS.items() if not edit.reason]
