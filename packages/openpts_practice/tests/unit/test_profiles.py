"""The shipped benchmarks against what is known of them, and the script that measures their rows."""

from fractions import Fraction
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.errors import UsageError
from openpts.parameters.overrides import Overrides, conditions_of
from openpts.units import GB, GIB, KIB, MIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import Purpose
from openpts.vocabulary.requests import Apply, CycleFinished, Purge, SetWriteCache
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import (
    ActiveRange,
    ByteAmount,
    Duration,
    FirstOf,
    RandomData,
    RandomOnce,
    Step,
    ZeroData,
)
from openpts_pages.model import Verdict
from openpts_practice.rows import BenchmarkProfile, ProfileRow
from openpts_practice.rows.benchmarks import BenchmarksConditions
from openpts_practice.rows.benchmarks.script import script as benchmarks_test
from openpts_practice.rows.benchmarks.script import standard_conditions, supported_on
from openpts_practice.rows.conditions import FreeSpace
from openpts_practice.rows.profiles import BENCHMARKS, POPULAR
from openpts_practice.rows.steps import range_of
from openpts_practice.rows.sustained.report import claims_of
from openpts_practice.rows.sustained.results import claims_page
from openpts_practice.rows.sustained.script import standard_conditions as sustained_standard
from openpts_practice.tests.unit.benchmark_tables import (
    ATTO_FILE_BYTES,
    ATTO_KIB,
    FILE_SERVER,
    GUIDE_FILE_BYTES,
    IOMETER_MIXES,
    KNOWN,
    Known,
)
from openpts_sim.presets import load_preset
from openpts_sim.simulated_device import SimulatedDevice
from openpts_sim.simulated_target import parse_simulated_target
from tests.support.player import Drive

CAPACITY_BYTES = 1000 * GB


def access(row: ProfileRow) -> tuple[str, float]:
    (size,) = row.block_sizes
    return {0: "SEQ", 100: "RND"}[row.random_pct], size.block_size_bytes / KIB


def one(values: Any) -> Any:
    (value,) = set(values)
    return value


@pytest.mark.proves("SOL-BMK-07")
@pytest.mark.parametrize("name", list(KNOWN))
def test_a_benchmark_is_what_its_sources_say(name) -> None:
    known: Known = KNOWN[name]
    rows = BENCHMARKS[name].rows
    assert [(*access(row), row.qd, row.tc, row.read_pct) for row in rows] == [
        (*row, mix) for mix in known.mixes for row in known.rows
    ]
    assert one(row.span_bytes for row in rows) == known.span_bytes
    assert one(row.passes for row in rows) == known.passes
    assert one(row.warm_up_ns for row in rows) == known.warm_up_s * NS_PER_S
    assert one(row.pass_ns for row in rows) == (known.pass_s or 0) * NS_PER_S
    assert one(row.pause_ns for row in rows) == (known.pause_s or 0) * NS_PER_S
    assert one(row.statistic for row in rows) == known.statistic
    assert one(row.units for row in rows) == known.units
    # KDiskMark runs fio with --refill_buffers
    assert one(row.data for row in rows) == (RandomData() if "kdiskmark" in name else RandomOnce())
    assert BENCHMARKS[name].confirmed is known.confirmed


def test_kdiskmark_ends_with_its_file_as_fio_does_without_time_based() -> None:
    for name in (name for name in KNOWN if name.startswith("kdiskmark")):
        assert all(row.pass_bytes == row.tc * GIB for row in BENCHMARKS[name].rows)


def test_as_ssd() -> None:
    rows = {(row.name, row.read_pct): row for row in BENCHMARKS["as-ssd"].rows}
    for mix in (100, 0):
        assert access(rows["Seq", mix]) == ("SEQ", 16 * 1024)
        assert (access(rows["4K", mix]), rows["4K", mix].qd, rows["4K", mix].tc) == (("RND", 4), 1, 1)
        deep = rows["4K-64Thrd", mix]
        # one I/O each of 64 threads: here one queue, since threads cost buffers of the largest transfer
        assert (access(deep), deep.tc * deep.qd) == (("RND", 4), 64)
    read, write = rows["Acc.time", 100], rows["Acc.time", 0]
    assert (access(read), read.span_bytes) == (("RND", 4), None)
    assert (access(write), write.span_bytes) == (("RND", 0.5), GIB)
    assert one(row.data for row in rows.values()) == RandomData()
    assert BENCHMARKS["as-ssd"].score == "as-ssd"
    assert not BENCHMARKS["as-ssd"].confirmed


def test_atto_doubles_its_sizes_and_writes_before_it_reads() -> None:
    rows = BENCHMARKS["atto"].rows
    assert [(access(row), row.read_pct) for row in rows] == [
        (("SEQ", kib), mix) for kib in ATTO_KIB for mix in (0, 100)
    ]
    assert one(row.span_bytes for row in rows) == ATTO_FILE_BYTES
    assert one(row.data for row in rows) == ZeroData()
    # a queue can't hold more than the file
    assert [row.qd for row in rows] == [6] * 34 + [4] * 2
    assert not BENCHMARKS["atto"].confirmed


def test_anvil_has_no_score() -> None:
    rows = {(*access(row), row.qd) for row in BENCHMARKS["anvil"].rows}
    assert rows == {
        ("SEQ", 4096, 1), ("RND", 4, 1), ("RND", 4, 4), ("RND", 4, 16), ("RND", 32, 1), ("RND", 128, 1),
    }  # fmt: skip
    assert not BENCHMARKS["anvil"].confirmed
    assert [name for name, benchmark in BENCHMARKS.items() if benchmark.score] == ["as-ssd"]


def test_iometer() -> None:
    found: dict[tuple[str, float], list[int]] = {}
    for row in BENCHMARKS["iometer"].rows:
        found.setdefault(access(row), []).append(row.read_pct)
    assert {place: tuple(mixes) for place, mixes in found.items()} == IOMETER_MIXES


def test_patterns_of_iometer() -> None:
    server, station, database = (
        BENCHMARKS[f"iometer-{name}"].rows for name in ("file-server", "workstation", "database")
    )
    for group in (server, station, database):
        assert [row.qd for row in group] == [1, 4, 8, 64, 256]
    assert {(row.read_pct, row.random_pct) for row in server} == {(80, 100)}
    assert {size.block_size_bytes: size.weight for size in server[0].block_sizes} == FILE_SERVER
    assert sum(FILE_SERVER.values()) == 100
    assert {(row.read_pct, row.random_pct, row.block_sizes[0].block_size_bytes) for row in station} == {
        (80, 80, 8 * KIB)
    }
    assert {(row.read_pct, *access(row)) for row in database} == {(67, "RND", 4.0)}


@pytest.mark.proves("SOL-BMK-05", "SOL-BMK-08", "SOL-BMK-09", "SOL-BMK-10")
@pytest.mark.parametrize(
    ("name", "demands"),
    [
        ("solidigm-peak", {("SEQ", 1, 64), ("RND", 4, 64)}),
        ("solidigm-low", {("SEQ", 1, 1), ("RND", 1, 1)}),
        ("solidigm-mixed", {("RND", 1, 1)}),
    ],
)
def test_the_guide(name, demands) -> None:
    rows = BENCHMARKS[name].rows
    assert {(access(row)[0], row.tc, row.qd) for row in rows} == demands
    assert {row.read_pct for row in rows} == ({80, 70} if name == "solidigm-mixed" else {100, 0})
    for row in rows:
        assert GUIDE_FILE_BYTES[0] <= row.span_bytes <= GUIDE_FILE_BYTES[1]
        # three warm runs, of which the median counts, after a cold one
        assert (row.passes, row.statistic) == (3, "median")
        assert row.warm_up_ns > 0


@pytest.mark.parametrize("name", list(BENCHMARKS))
def test_what_is_not_confirmed_says_what(name) -> None:
    benchmark = BENCHMARKS[name]
    assert benchmark.title
    assert benchmark.source
    assert benchmark.confirmed == (not benchmark.doubt)
    assert all(row.passes % 2 for row in benchmark.rows), "the median of an even number was never measured"
    places = [(row.name, row.read_pct) for row in benchmark.rows]
    assert len(set(places)) == len(places)


def conditions(*names: str, **changes: Any) -> BenchmarksConditions:
    wanted = tuple(BENCHMARKS[name] for name in names)
    standard = standard_conditions(DriveClass.ENTERPRISE, 1)
    return replace(standard, benchmarks=wanted or POPULAR, **changes)


def played(used: BenchmarksConditions) -> list[Any]:
    drive = Drive(CAPACITY_BYTES, lambda _stimulus, _phase, _number: 10_000)
    return drive.play(benchmarks_test(used, CAPACITY_BYTES)).requests


def applies(used: BenchmarksConditions) -> list[Apply]:
    return [request for request in played(used) if isinstance(request, Apply)]


def words(step: Step) -> str:
    if step.stimulus is None:
        assert isinstance(step.stop, Duration)
        return f"idle {step.stop.duration_ns / NS_PER_S:g} s"
    where = step.stimulus.active_range
    span = Fraction(where.end_pct) * CAPACITY_BYTES / 100
    amount = "" if not isinstance(step.stop, ByteAmount) else f" {step.stop.amount_bytes} bytes"
    length = f" {step.stop.duration_ns / NS_PER_S:g} s" if isinstance(step.stop, Duration) else ""
    return (
        f"{step.stimulus} Q{step.stimulus.qd}T{step.stimulus.tc} in {round(span / MIB)} MiB{amount}{length}"
    )


@pytest.mark.proves("SOL-GEN-05")
def test_crystaldiskmark_step_by_step() -> None:
    requests = played(conditions("crystaldiskmark"))
    assert isinstance(requests[0], Purge)
    assert requests[1] == SetWriteCache(enabled=False)
    assert isinstance(requests[-1], CycleFinished)
    file, first, second, *_, last = requests[2:-1]
    assert (file.phase, file.number) == (Phase.CONDITIONING, 1)
    assert [words(step) for step in file.steps] == ["SEQ 128 KiB 0/100 Q32T1 in 1024 MiB 1073741824 bytes"]
    seq_read = "SEQ 1024 KiB 100/0 Q8T1 in 1024 MiB 5 s"
    # a warm-up and three passes; the first row has no pause before it
    assert [words(step) for step in first.steps] == [seq_read] * 4
    assert [words(step) for step in second.steps] == [
        "idle 5 s",
        *["SEQ 1024 KiB 100/0 Q1T1 in 1024 MiB 5 s"] * 4,
    ]
    assert [words(step) for step in last.steps] == ["idle 5 s", *["RND 4 KiB 0/100 Q1T1 in 1024 MiB 5 s"] * 4]
    assert {step.stimulus.data for step in (*file.steps, *first.steps)} == {RandomOnce()}
    assert [apply.number for apply in requests[3:-1]] == list(range(1, 9))
    assert {apply.most for apply in requests[3:-1]} == {8}


def test_rows_are_numbered_through_and_each_benchmark_lays_its_file_anew() -> None:
    asked = applies(conditions("crystaldiskmark-demo", "solidigm-mixed"))
    assert [(apply.phase, apply.number) for apply in asked] == [
        (Phase.CONDITIONING, 1),
        (Phase.PROFILE, 1),
        (Phase.PROFILE, 2),
        (Phase.CONDITIONING, 2),
        (Phase.PROFILE, 3),
        (Phase.PROFILE, 4),
    ]
    sizes = [apply.steps[0].stop for apply in asked if apply.phase is Phase.CONDITIONING]
    assert sizes == [ByteAmount(GIB), ByteAmount(8 * GIB)]


def test_an_amount_ends_a_pass_where_the_tool_has_one() -> None:
    (row,) = {apply.steps[-1].stop for apply in applies(conditions("kdiskmark-real-world"))[1:]}
    assert row == FirstOf((Duration(5 * NS_PER_S), ByteAmount(GIB)))


@pytest.mark.proves("LSI-GEN-02")
def test_preconditioning_comes_before_the_first_file() -> None:
    asked = applies(conditions("crystaldiskmark-demo", precondition_passes=1.5))
    assert [(a.phase, a.number) for a in asked[:2]] == [(Phase.CONDITIONING, 1), (Phase.CONDITIONING, 2)]
    (step,) = asked[0].steps
    assert words(step) == f"SEQ 128 KiB 0/100 Q32T1 in {round(CAPACITY_BYTES / MIB)} MiB 1500000000000 bytes"


@pytest.mark.proves("SOL-BMK-04")
def test_free_places_lie_between_what_preconditioning_writes() -> None:
    """1.5 passes over four pieces of 250 GB less 1 GB, from MiB to MiB; the file is in the first place."""
    used = conditions("crystaldiskmark-demo", precondition_passes=1.5, leave_free=FreeSpace(4, GB))
    assert not list(used.contradictions(set()))
    conditioned, file, *rows = applies(used)
    pieces = []
    for number in range(4):
        start = -(-number * 250 * GB // MIB) * MIB
        after = min(CAPACITY_BYTES, -(-(number + 1) * 250 * GB // MIB) * MIB)
        pieces.append((start, -(-(after - GB) // MIB) * MIB))
    ranges = [step.stimulus.active_range.bytes_of(CAPACITY_BYTES, 512) for step in conditioned.steps]
    assert ranges == pieces * 2
    sizes = [end - start for start, end in pieces]
    assert [step.stop.amount_bytes for step in conditioned.steps] == [*sizes, *(size // 2 for size in sizes)]
    # a file of 1 GiB has no room in 1 GB: it fills the place
    first = (pieces[0][1], pieces[1][0])
    assert file.steps[0].stimulus.active_range.bytes_of(CAPACITY_BYTES, 512) == first
    assert file.steps[0].stop == ByteAmount(first[1] - first[0])
    assert {r.steps[-1].stimulus.active_range.bytes_of(CAPACITY_BYTES, 512) for r in rows} == {first}


def test_a_share_leaves_the_same_place_free_as_its_size() -> None:
    by_size, by_share = (
        applies(conditions("solidigm-low", precondition_passes=1, leave_free=free))
        for free in (FreeSpace(1, 250 * GB), FreeSpace(1, place_pct=25))
    )
    assert by_size == by_share


def test_free_space_needs_something_written_around_it() -> None:
    found = list(conditions(leave_free=FreeSpace(1, GB)).contradictions({"leave_free"}))
    assert [names for names, _ in found] == [("leave_free",)]


def test_limits_shorten_passes_warm_ups_and_pauses() -> None:
    used = conditions("crystaldiskmark", longest_pass_ns=NS_PER_S, longest_pause_ns=NS_PER_S // 10)
    steps = [step for apply in applies(used)[1:] for step in apply.steps]
    assert {step.stop.duration_ns for step in steps if step.stimulus is None} == {NS_PER_S // 10}
    assert {step.stop.duration_ns for step in steps if step.stimulus is not None} == {NS_PER_S}


@pytest.mark.parametrize("sector_bytes", [512, 4096])
@pytest.mark.parametrize("span_bytes", [256 * MIB, GIB, 8 * GIB])
def test_a_test_file_has_its_size_to_the_byte(span_bytes, sector_bytes) -> None:
    for capacity_bytes in (1_600_321_314_816, 256_060_514_304, 16 * GIB, 15_362_991_415_296):
        where = range_of(conditions(), span_bytes, capacity_bytes)
        assert where.bytes_of(capacity_bytes, sector_bytes) == (0, span_bytes)


def test_a_test_file_stays_within_the_active_range() -> None:
    used = conditions(active_range=ActiveRange(50, 60))
    assert range_of(used, None, CAPACITY_BYTES) == ActiveRange(50, 60)
    assert range_of(used, 200 * GB, CAPACITY_BYTES) == ActiveRange(50, 60)
    assert range_of(used, 10 * GB, CAPACITY_BYTES) == ActiveRange(50, 51)
    assert range_of(used, 200 * GB, CAPACITY_BYTES, 10) == ActiveRange(50, 51)


def test_sectors_of_4_kib_rule_out_smaller_transfers() -> None:
    used = supported_on(conditions("as-ssd", "iometer-file-server"), 4096)
    as_ssd, server = used.benchmarks
    assert ("Acc.time", 0) not in {(row.name, row.read_pct) for row in as_ssd.rows}
    assert len(as_ssd.rows) == 7
    sizes = {size.block_size_bytes: size.weight for size in server.rows[0].block_sizes}
    assert sizes == {size: weight for size, weight in FILE_SERVER.items() if size >= 4096}
    assert len(server.rows) == 5
    assert used.impossible[0] == "AS SSD, Acc.time Write: 0.5 KiB"
    assert used.impossible[1].endswith("File Server, QD1 Mix 80/20: 0.5, 1, 2 KiB")
    assert supported_on(conditions(), 512) == conditions()


def test_a_benchmark_of_which_nothing_is_possible_is_refused() -> None:
    tiny = replace(BENCHMARKS["as-ssd"], rows=BENCHMARKS["as-ssd"].rows[-1:])
    assert isinstance(tiny, BenchmarkProfile)
    with pytest.raises(UsageError, match="no row of AS SSD is possible on sectors of 4,096 bytes"):
        supported_on(replace(conditions(), benchmarks=(tiny,)), 4096)


def test_a_time_scale_shortens_the_rows_of_whatever_benchmark_is_chosen() -> None:
    given = Overrides(
        {"benchmarks": ["crystaldiskmark"], "time_scale": "1/10", "passes": 9},
        dict.fromkeys(("benchmarks", "time_scale", "passes"), "--option"),
    )
    (benchmark,) = conditions_of(given, standard_conditions(DriveClass.ENTERPRISE, 1)).benchmarks
    assert {(row.pass_ns, row.warm_up_ns, row.pause_ns, row.passes) for row in benchmark.rows} == {
        (NS_PER_S // 2, NS_PER_S // 2, NS_PER_S // 2, 9)
    }
    # amounts stay
    assert {row.span_bytes for row in benchmark.rows} == {GIB}


def rated(name: str) -> dict[str, str | None]:
    facts = SimulatedDevice.of(parse_simulated_target(f"sim:{name}")).identity()
    return {key: fact.value for key, fact in facts.items() if key.startswith("rated_")}


def test_rates_in_the_units_of_claims() -> None:
    preset = load_preset("client-qlc").rated
    assert rated("client-qlc") == {
        "rated_sequential_write_mb_per_s": f"{preset['sequential_write_bytes_per_s'] / 1e6:.12g}",
        "rated_sequential_read_mb_per_s": f"{preset['sequential_read_bytes_per_s'] / 1e6:.12g}",
        "rated_random_write_iops": f"{preset['random_write_iops']:.12g}",
        "rated_random_read_iops": f"{preset['random_read_iops']:.12g}",
    }


def test_a_drive_of_another_capacity_is_not_held_against_the_claims_of_the_full_model(golden) -> None:
    facts = SimulatedDevice.of(parse_simulated_target("sim:client-qlc?capacity=256GB")).identity()
    rates = {key: fact for key, fact in facts.items() if key.startswith("rated_")}
    assert {fact.value for fact in rates.values()} == {None}
    assert {fact.source for fact in rates.values()} == {
        "rated by the preset client-qlc for 1,024 GB, not for 256 GB"
    }
    claims, source = claims_of(sustained_standard(DriveClass.CLIENT, 1), facts)
    assert claims == ()
    assert not source.stands_in
    (told,) = claims_page((), source, "a load", Purpose()).blocks
    assert isinstance(told, Verdict)
    assert told.text == golden


def test_a_drive_of_no_data_sheet_tells_nothing() -> None:
    assert rated("oracle") == {}
