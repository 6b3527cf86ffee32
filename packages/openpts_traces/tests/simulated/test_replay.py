"""Traces on simulated drives, where nothing but the drive can make an I/O late."""

import json
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from openpts.errors import RecordError, TargetError, UsageError
from openpts.fields.conditions import Conditions
from openpts.procedures.registry import procedure_of
from openpts.record.reader import Run, read_run
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.report.sources import default_date
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.replay import Conflicts, ReplayMode
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import ActiveRange
from openpts_traces.replay import MappedZone, ReplayConditions, Unaligned
from openpts_traces.replay.traces import Mapping, Prefill, TraceFile
from tests.support.oracle_presets import write_oracle
from tests.support.transcript import Golden
from tests.support.whole_tests import run_whole

BLOCK = 4096
KINDS = ("read", "write", "trim", "sync")


def write_trace(path: Path, ios: int = 600, blocks: int = 256, seed: int = 3) -> dict[str, int]:
    """An iolog of fio with so many I/Os, about 1 ms apart; how many of each kind."""
    draws = random.Random(seed)
    counts = dict.fromkeys(KINDS, 0)
    lines = ["fio version 3 iolog", "0 /dev/x add", "0 /dev/x open"]
    at_us = 0
    for _ in range(ios):
        kind = draws.choices(KINDS, [60, 34, 3, 3])[0]
        counts[kind] += 1
        place = "0 0" if kind == "sync" else f"{draws.randrange(blocks) * BLOCK} {BLOCK}"
        lines.append(f"{at_us} /dev/x {kind} {place}")
        at_us += draws.randrange(2000)
    path.write_text("\n".join([*lines, f"{at_us} /dev/x close", ""]))
    return counts


def replayed(
    tmp_path: Path, name: str = "run", ios_per_s: float = 1e6, target: str = "", **changes: Any
) -> Run:
    trace = tmp_path / "trace.iolog"
    if not trace.exists():
        write_trace(trace)

    def adjust(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, ReplayConditions)
        return replace(conditions, **{"trace": TraceFile(trace.name, str(trace)), "passes": 2, **changes})

    target = target or f"sim:{write_oracle(tmp_path, [ios_per_s])}"
    return run_whole("replay", DriveClass.ENTERPRISE, tmp_path / name, adjust, target)


@pytest.mark.proves("SOL-BMK-11")
def test_every_io_is_submitted_at_its_moment_in_each_pass(tmp_path: Path) -> None:
    counts = write_trace(tmp_path / "trace.iolog")
    run = replayed(tmp_path)
    figures = summarize(run)
    assert figures["traced_ios"] == sum(counts.values())
    for one in figures["passes"]:
        assert one["issued"] == figures["traced_ios"] - sum(figures["skipped"].values())
        assert (one["early"], one["reordered"], one["dropped"]) == (0, 0, 0)
        assert one["slip_us"]["p99.9"] == 0
        assert one["score"] > 0
    steps = run.phase(Phase.LOAD)
    assert [step.sample.read.ios for step in steps] == [counts["read"]] * 2
    assert steps[0].sample.write.ios == counts["write"]
    assert steps[0].sample.played[0].slips == steps[1].sample.played[0].slips


def test_equal_seeds_are_equal_to_the_bit(tmp_path: Path) -> None:
    first, second = (replayed(tmp_path, name) for name in ("first", "second"))
    samples = [[step.sample for step in run.phase(Phase.LOAD)] for run in (first, second)]
    assert samples[0] == samples[1]


def test_what_is_touched_is_written_before_and_the_report_says_so(tmp_path: Path) -> None:
    run = replayed(tmp_path)
    (fill,) = run.phase(Phase.CONDITIONING)
    preparation = run.phase(Phase.LOAD)[0].sample.step.streams[0].replay.preparation  # type: ignore[union-attr]
    assert preparation is not None
    assert fill.sample.write.bytes == preparation.after.footprint_bytes
    tables = build_report(run, default_date(run)).tables()
    shown = {row.head.text: row.cells[0].text for row in tables["replay-trace"].rows}
    assert shown["SHA-256"] == preparation.sources[0].sha256
    assert shown["Written before"] == "footprint"
    assert {
        "replay-slips",
        "replay-causes",
        "replay-latency-submission",
        "replay-latency-due",
    } <= tables.keys()
    assert [row.head.text for row in tables["replay-score"].rows] == ["Trace", "1", "2"]


def test_reads_alone_write_nothing_and_keep_their_times(tmp_path: Path) -> None:
    counts = write_trace(tmp_path / "trace.iolog")
    run = replayed(tmp_path, read_only=True, passes=1)
    assert not run.phase(Phase.CONDITIONING)
    (step,) = run.phase(Phase.LOAD)
    assert (step.sample.read.ios, step.sample.write.ios) == (counts["read"], 0)
    skipped = summarize(run)["skipped"]
    assert sum(skipped.values()) == sum(counts.values()) - counts["read"]
    whole = replayed(tmp_path, "whole", passes=1).phase(Phase.LOAD)[0].sample.step.streams[0].replay
    replay = step.sample.step.streams[0].replay
    assert replay is not None
    assert whole is not None
    # Within the last gap: the trace may end with another kind.
    assert abs(whole.span_ns - replay.span_ns) < 50_000_000


def test_writes_of_the_trace_name_their_placement_handle(tmp_path: Path) -> None:
    drive = "sim:theory?capacity=250MB&page_mapped.placement.handles=4"
    write_trace(tmp_path / "trace.iolog")
    run = replayed(tmp_path, target=drive, placement_handle=2)
    for step in run.phase(Phase.LOAD):
        (stream,) = step.sample.step.streams
        assert stream.stimulus.placement_handle == 2
    for step in run.phase(Phase.CONDITIONING):  # what is written before is at the drive's default
        assert {one.stimulus.placement_handle for one in step.sample.step.streams} == {UNSET}
    with pytest.raises(TargetError, match="no placement handle 4, only 0 to 3"):
        replayed(tmp_path, "four", target=drive, placement_handle=4)
    assert not (tmp_path / "four").exists()


def test_a_trace_without_writes_names_no_placement_handle(tmp_path: Path) -> None:
    lines = ["fio version 3 iolog", "0 /dev/x add", "0 /dev/x open", "0 /dev/x read 0 4096"]
    (tmp_path / "trace.iolog").write_text("\n".join([*lines, "9 /dev/x close", ""]))
    with pytest.raises(UsageError, match="--placement-handle applies to writes"):
        replayed(tmp_path, placement_handle=2)


def test_as_fast_as_possible_is_as_fast_as_the_drive(tmp_path: Path) -> None:
    run = replayed(tmp_path, ios_per_s=10_000.0, mode=ReplayMode.AFAP, passes=1, prefill=Prefill.NONE)
    (one,) = summarize(run)["passes"]
    assert one["slip_us"]["p50"] is None
    assert one["execution_seconds"] == pytest.approx(0.06, rel=0.1)


def test_a_drive_that_cannot_keep_up_is_named(tmp_path: Path, golden: Golden) -> None:
    run = replayed(tmp_path, ios_per_s=500.0, passes=1, depth=4, prefill=Prefill.NONE)
    (one,) = summarize(run)["passes"]
    assert one["late_by_cause"]["depth"] > 100
    assert one["late_by_cause"]["host"] == 0
    assert one["depth_limited_share"] > 0.3
    assert procedure_of("replay").report(run).verdicts[0].text == golden


def test_a_trace_that_does_not_fit_takes_a_mapping(tmp_path: Path) -> None:
    write_trace(tmp_path / "trace.iolog", blocks=1 << 36)
    with pytest.raises(UsageError, match="name a mapping"):
        replayed(tmp_path, "refused")
    run = replayed(tmp_path, mapping=Mapping.COMPACT, passes=1)
    (one,) = summarize(run)["passes"]
    assert one["issued"] + sum(summarize(run)["skipped"].values()) == 600


def bytes_of(run: Run, number: int = 0) -> list[tuple[int, int]]:
    """Ranges that a pass touches, by what was written before it: whole granules of each trace."""
    replays = [stream.replay for stream in run.phase(Phase.LOAD)[number].sample.step.streams]
    return [
        (one.preparation.traced, one.preparation.after.footprint_bytes)
        for one in replays
        if one and one.preparation
    ]


def test_several_traces_are_replayed_at_once_each_in_its_part_of_the_drive(tmp_path: Path) -> None:
    counts = write_trace(tmp_path / "trace.iolog")
    other = write_trace(tmp_path / "other.iolog", ios=200, blocks=64, seed=9)
    also = (TraceFile("other.iolog", str(tmp_path / "other.iolog"), mapping=Mapping.COMPACT),)
    run = replayed(tmp_path, also=also)
    figures = summarize(run)
    assert (figures["traced_ios"], figures["also"][0]["traced_ios"]) == (
        sum(counts.values()),
        sum(other.values()),
    )
    assert [(one["pass"], one["trace"]) for one in figures["passes"]] == [
        (number, name) for number in (1, 2) for name in ("trace.iolog", "other.iolog")
    ]
    for one in figures["passes"]:
        assert (one["early"], one["reordered"], one["slip_us"]["p99.9"]) == (0, 0, 0)
    for step in run.phase(Phase.LOAD):
        first, second = step.sample.streams
        assert (first.read.ios, first.write.ios) == (counts["read"], counts["write"])
        assert (second.read.ios, second.write.ios) == (other["read"], other["write"])
        assert step.sample.read.ios == counts["read"] + other["read"]
    (fill,) = run.phase(Phase.CONDITIONING)
    assert fill.sample.write.bytes == sum(touched for _, touched in bytes_of(run)), "their parts are disjoint"
    tables = build_report(run, default_date(run)).tables()
    for number, name in (("", "trace.iolog"), ("-2", "other.iolog")):
        shown = {row.head.text: row.cells[0].text for row in tables[f"replay-trace{number}"].rows}
        assert shown["Trace"] == name
        assert {f"replay-score{number}", f"replay-original{number}"} <= tables.keys()
    assert [row.head.text for row in tables["replay-passes"].rows][:2] == ["1, trace.iolog", "1, other.iolog"]


def test_traces_may_share_a_part_and_be_the_same(tmp_path: Path) -> None:
    trace = tmp_path / "trace.iolog"
    write_trace(trace)
    shared = ActiveRange(0, 50)
    both = TraceFile(trace.name, str(trace), region=shared)
    run = replayed(tmp_path, trace=both, also=(both,), passes=1)
    (step,) = run.phase(Phase.LOAD)
    assert [stream.name for stream in step.sample.step.streams] == ["trace.iolog (1)", "trace.iolog (2)"]
    first, second = (stream.replay for stream in step.sample.step.streams)
    assert first == second
    assert run.phase(Phase.CONDITIONING)[0].sample.write.bytes == bytes_of(run)[0][1]


def test_each_pass_is_moved_on_and_what_it_touches_is_written_before(tmp_path: Path) -> None:
    run = replayed(tmp_path, shift_bytes=2 << 20, passes=3)
    schedules = [step.sample.step.streams[0].replay.schedule for step in run.phase(Phase.LOAD)]  # type: ignore[union-attr]
    assert len(set(schedules)) == 3
    (fill,) = run.phase(Phase.CONDITIONING)
    assert fill.sample.write.bytes == sum(bytes_of(run, number)[0][1] for number in range(3))
    assert [one["issued"] for one in summarize(run)["passes"]] == [
        600 - sum(summarize(run)["skipped"].values())
    ] * 3
    tables = build_report(run, default_date(run)).tables()
    assert "RSE" in tables["replay-score"].note
    gaps = [row.cells[0].text for row in tables["replay-gaps"].rows]
    assert all(float(gap) >= 0.2 for gap in gaps), "the time to read ahead"


def test_zones_move_parts_of_the_trace(tmp_path: Path) -> None:
    # 256 blocks of 4 KiB: the second half goes to 4 MiB, the first nowhere.
    run = replayed(
        tmp_path, mapping=Mapping.ZONES, zone_table=(MappedZone(512 << 10, 1 << 20, 4 << 20),), passes=1
    )
    figures = summarize(run)
    (one,) = figures["passes"]
    assert figures["skipped"]["outside of the zones"] > 200
    assert one["issued"] == figures["traced_ios"] - sum(figures["skipped"].values())
    assert bytes_of(run) == [(600, 512 << 10)]


def test_only_what_conflicts_waits_if_that_is_asked_for(tmp_path: Path) -> None:
    # A slow drive: I/Os of 256 blocks overlap others in flight all the time.
    asked = {"ios_per_s": 800.0, "passes": 1, "prefill": Prefill.NONE}
    strict = replayed(tmp_path, "strict", **asked)
    pushed = replayed(tmp_path, "pushed", conflicts=Conflicts.PUSH_BACK, **asked)
    (first,), (second,) = (summarize(run)["passes"] for run in (strict, pushed))
    assert first["issued"] == second["issued"]
    assert (first["reordered"], second["reordered"] > 0) == (0, True)
    assert second["late_by_cause"]["order"] < first["late_by_cause"]["order"]
    assert procedure_of("replay").report(pushed).verdicts[0].tone == "pass"


@pytest.mark.parametrize(
    ("changes", "option"),
    [
        ({"mapping": Mapping.ZONES}, "zone_table"),
        ({"zone_table": (MappedZone(0, 4096, 0),)}, "zone_table"),
        ({"unaligned": Unaligned.RMW, "conflicts": Conflicts.DROP}, "unaligned"),
    ],
)
def test_contradictions_name_their_options(changes: dict[str, Any], option: str) -> None:
    conditions = procedure_of("replay").standard_conditions(DriveClass.ENTERPRISE, 0)
    ((options, _),) = replace(conditions, **changes).contradictions(set(changes))
    assert option in options


def test_a_scaled_drive_is_refused_by_name(tmp_path: Path) -> None:
    write_trace(tmp_path / "trace.iolog")

    def adjust(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, ReplayConditions)
        trace = TraceFile("trace.iolog", str(tmp_path / "trace.iolog"))
        return replace(conditions, trace=trace, prefill=Prefill.NONE, passes=1)

    with pytest.raises(UsageError, match="own size"):
        run_whole("replay", DriveClass.ENTERPRISE, tmp_path / "run", adjust, "sim:enterprise-tlc?scale=64")


def test_a_record_whose_replay_is_of_another_schedule_is_refused(tmp_path: Path) -> None:
    run = replayed(tmp_path, passes=1, prefill=Prefill.NONE)
    with sqlite3.connect(run.folder / "run.db") as connection:
        (text,) = connection.execute("SELECT replay FROM replay").fetchone()
        changed = json.loads(text)
        changed["ios"] += 1
        connection.execute("UPDATE replay SET replay = ?", (json.dumps(changed),))
    connection.close()
    with pytest.raises(RecordError, match="schedule"):
        read_run(run.folder)
