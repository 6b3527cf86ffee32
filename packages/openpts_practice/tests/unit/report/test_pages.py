"""All that is on the pages of tests beyond the specification, of drives whose every figure is known.

A file for each case, to be read. After a change that is meant: ``--snapshot-update``, and read what differs.
"""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.procedures.registry import PROCEDURES
from openpts.record.manifest import RunState
from openpts.record.reader import Run, StepRecord
from openpts.report.build import build_report
from openpts.vocabulary.command_run import CommandRun, DeviceCounts, FileSystemReport, RunKind
from openpts.vocabulary.facts import Fact
from openpts.vocabulary.sample import Phase, StepState
from openpts.vocabulary.stimulus import DataCheck, ReducibleData, Stimulus
from openpts.vocabulary.trimmed_reads import Promise, TrimmedReads
from openpts_practice.qos import Limit, Operation
from openpts_practice.rows.conditions import FreeSpace
from openpts_practice.rows.profiles import BENCHMARKS, SHORT
from openpts_practice.rows.sustained import DataSheetClaim
from openpts_practice.tests.unit.report.known_drives import (
    ByState,
    Cached,
    Rates,
    continuing_run,
    counting,
    several_benchmarks,
    thermal_run,
    wearing_run,
)
from tests.support.made_up_run import CAPACITY_BYTES, flat_rate, made_up_run
from tests.support.page_transcript import transcript_of
from tests.support.player import Rate
from tests.support.queueing_drive import QueueingDrive

DATE = "2026-02-03T04:05:06Z"


def compressing(stimulus: Stimulus, _phase: Phase, _number: int) -> float:
    """Random bytes take the flash's 10,000 I/Os a second; what is half as long goes twice as fast, to 4 x.

    A share w of writes makes a mix of 100,000 reads a second slower: w = 5 % leaves a third.
    """
    if isinstance(stimulus.data, ReducibleData):
        return 10_000 / max(0.25, stimulus.data.entropy_pct / 100)
    return 100_000 / (1 + 40 * (100 - stimulus.read_pct) / 100)


def with_sample(run: Run) -> Run:
    check = DataCheck(ReducibleData(46), 47.8, 100, 4_194_304, "an engine into memory; a compressor")
    return replace(run, manifest=replace(run.manifest, data_checks=(check,)))


def drifting_entropy() -> Run:
    visits: dict[int, int] = {}

    def drifting(stimulus: Stimulus, _phase: Phase, _number: int) -> float:
        """Slower by 10 % on each level's second visit, and by 4 % with writes: the cost is not proven."""
        visits[stimulus.read_pct] = visits.get(stimulus.read_pct, 0) + 1
        rate = 100_000 if stimulus.read_pct == 100 else 96_000
        return rate * (0.9 if visits[stimulus.read_pct] > 1 else 1)

    return made_up_run("entropy", rate=drifting)


def cut(run: Run, keep: Callable[[StepRecord], bool] | int) -> Run:
    """The run as if it had ended after so many steps, or without those that are not kept."""
    steps = run.steps[:keep] if isinstance(keep, int) else tuple(step for step in run.steps if keep(step))
    return replace(run, steps=steps, manifest=replace(run.manifest, cycles=()))


def without_io(run: Run) -> Run:
    steps = []
    for step in run.steps:
        nothing = replace(step.sample.write, ios=0, bytes=0, latency_sum_ns=0)
        steps.append(replace(step, sample=replace(step.sample, write=nothing)))
    return replace(run, steps=tuple(steps))


def precon(rate: Rate | None = None, **conditions: object) -> Run:
    def adjust(of: Conditions) -> Conditions:
        return replace(of, **{"steady_after_drive_fills": 1} | conditions)

    return made_up_run("precon", rate=rate or ByState(), adjust=adjust)


def precon_cut(elapsed_s: float | None) -> Run:
    """A run that ended with the first step of random writes, after so many seconds of it if not whole."""
    whole = precon()
    first = next(at for at, step in enumerate(whole.steps) if step.place.phase is Phase.LOAD)
    last = whole.steps[first]
    if elapsed_s is not None:
        part = replace(last.sample, state=StepState.INTERRUPTED, elapsed_ns=round(elapsed_s * 1e9))
        last = replace(last, sample=part)
    return replace(whole, steps=(*whole.steps[:first], last))


def precon_fresh_alone() -> Run:
    whole = precon()
    manifest = replace(whole.manifest, cycles=whole.manifest.cycles[:1], purges=whole.manifest.purges[:1])
    return replace(whole, manifest=manifest, steps=tuple(s for s in whole.steps if s.place.cycle == 1))


def restless_precon() -> Run:
    calls = iter(range(10**6))

    def restless(_stimulus: Stimulus, phase: Phase, _number: int) -> float:
        return 50_000.0 * (1 + next(calls) // 2 % 2) if phase is Phase.LOAD else 100_000.0

    return made_up_run("precon", rate=restless)


def profiles(*names: str, passes: float = 0, free: FreeSpace | None = None) -> Run:
    def chosen(conditions: Conditions) -> Conditions:
        wanted = tuple(BENCHMARKS[name] for name in names)
        return replace(conditions, benchmarks=wanted, precondition_passes=passes, leave_free=free)

    return made_up_run("benchmarks", rate=Rates(), adjust=chosen)


def spread_rows() -> Run:
    """Passes that differ little in the first row, and so much in the others that seven make no figure."""
    calls = iter(range(10**6))

    def uneven(_stimulus: Stimulus, phase: Phase, number: int) -> float:
        return 1000 + (next(calls) % 3) * (1 if number == 1 else 400) if phase is Phase.PROFILE else 1000

    def chosen(conditions: Conditions) -> Conditions:
        wanted = (BENCHMARKS["solidigm-low"],)
        return replace(conditions, benchmarks=wanted, until_rse_pct=5.0)

    return made_up_run("benchmarks", rate=uneven, adjust=chosen)


def lonely_rows() -> Run:
    def chosen(conditions: Conditions) -> Conditions:
        mixed = BENCHMARKS["solidigm-mixed"]
        rows = tuple(replace(row, name=f"row {n}") for n, row in enumerate(mixed.rows))
        return replace(conditions, benchmarks=(replace(mixed, rows=rows),))

    return made_up_run("benchmarks", adjust=chosen)


def unmeasured_row() -> Run:
    run = profiles("crystaldiskmark-demo")
    steps = []
    for step in run.steps:
        of_row = (step.place.phase, step.place.number) == (Phase.PROFILE, 2)
        sample = replace(step.sample, state=StepState.INTERRUPTED) if of_row else step.sample
        steps.append(replace(step, sample=sample))
    return replace(run, steps=tuple(steps))


def tired(stimulus: Stimulus, phase: Phase, number: int) -> float:
    """A load leaves of writes what it leaves of the first drive of the talk, and 90 % of all reads."""
    fresh, share = {
        (0, 0, 32): (20_000, 0.862),
        (0, 100, 32): (25_000, 0.9),
        (100, 0, 1): (15_000, 0.85),
        (100, 0, 128): (200_000, 0.594),
        (100, 100, 128): (500_000, 0.9),
    }[stimulus.random_pct, int(stimulus.read_pct), stimulus.toio]
    if phase is Phase.LOAD:
        return 80_000
    return fresh if number <= 5 or phase is Phase.CONDITIONING else fresh * share


def sustained(*claims: DataSheetClaim, **rated: str) -> Run:
    def adjust(conditions: Conditions) -> Conditions:
        return replace(conditions, claims=claims, drive_fills=0.5)

    run = made_up_run("sustained", rate=tired, adjust=adjust)
    facts = {f"rated_{name}": Fact(value, "made up") for name, value in rated.items()}
    return replace(run, manifest=replace(run.manifest, dut=run.manifest.dut | facts))


def by_popular_benchmarks(conditions: Conditions) -> Conditions:
    """Rows of one with response times and of one with more rows than a plot has room for; no amount."""
    wanted = tuple(BENCHMARKS[name] for name in ("kdiskmark-real-world", "atto"))
    return replace(conditions, benchmarks=wanted, drive_fills=None, longest_ns=3600 * 10**9)


def qos(*limits: Limit) -> Run:
    """A drive that does 100,000 reads or 25,000 writes a second, or a bit of both, one after the other."""

    def adjust(of: Conditions) -> Conditions:
        return replace(of, limits=limits) if limits else of

    def rate(stimulus: Stimulus, _phase: Phase, _number: int) -> float:
        return 1e5 / (4 - 3 * stimulus.read_pct / 100)

    return made_up_run("qos", drive=QueueingDrive(CAPACITY_BYTES, rate), adjust=adjust)


def before(run: Run, phase: Phase) -> Run:
    return cut(run, next(n for n, step in enumerate(run.steps) if step.place.phase is phase))


def interrupted_lifetime() -> Run:
    worn = wearing_run(None)
    manifest = replace(worn.manifest, cycles=(), state=RunState.INTERRUPTED, state_reason="Ctrl-C")
    return replace(worn, steps=worn.steps[:9], manifest=manifest)


def stalling(stimulus: Stimulus, phase: Phase, number: int) -> float:
    """Trims of n KiB take 100 + n/16 us; beside them reads take 100 times as long, writes as ever."""
    if stimulus.operations.trim:
        return stimulus.toio * 1e6 / (100 + stimulus.block_size_bytes / 1024 / 16)
    slow = phase is Phase.LOAD and number == 2 and stimulus.operations.read
    return 100_000 / (100 if slow else 1)


def unkept() -> Run:
    """Half of what was trimmed is read as it was written, and a sector is never the same."""
    run = made_up_run("trim", rate=flat_rate)
    found = TrimmedReads(
        Promise.ZEROS, "IDENTIFY DEVICE word 69: DRAT 1, RZAT 1", sectors=8, zeros=3, old=4, unstable=1
    )
    return replace(run, manifest=replace(run.manifest, trimmed=found))


def small_trims() -> Run:
    """A simulated drive, whose data are nowhere, and no room for trims of more than 1 MiB."""
    run = made_up_run("trim", adjust=lambda conditions: replace(conditions, range_bytes=2**20))
    reason = "a simulated drive keeps no data"
    found = TrimmedReads(Promise.UNKNOWN, reason, reason=reason)
    return replace(run, manifest=replace(run.manifest, trimmed=found))


def nothing_trimmed() -> Run:
    run = made_up_run("trim")
    return cut(replace(run, manifest=replace(run.manifest, trimmed=None)), 1)


def with_runs(run: Run, change: Callable[[CommandRun], CommandRun]) -> Run:
    """An application benchmark whose runs were otherwise."""
    return replace(
        run, manifest=replace(run.manifest, command_runs=tuple(map(change, run.manifest.command_runs)))
    )


def apart() -> Run:
    """Page caches that could not be dropped, warm runs that lie apart, on a raw drive."""

    def changed(run: CommandRun) -> CommandRun:
        if run.kind is not RunKind.WARM:
            return replace(
                run, cold=False, page_cache="not dropped: no permission", figure=None, left_behind=2
            )
        return replace(run, elapsed_ns=run.number * 10**9, disk=DeviceCounts(), left_out_bytes=1000)

    run = made_up_run("app", adjust=lambda conditions: replace(conditions, warm_runs=7))
    raw = FileSystemReport("/dev/nvme9n1", "", "none", "", trim="not applicable")
    run = replace(run, manifest=replace(run.manifest, file_systems=(raw, raw)))
    found = with_runs(run, changed)
    return replace(found, ledger=PROCEDURES["app"].findings(found))


def failed_app(runs: int) -> Run:
    """One that ended in its first run, or before it."""
    run = with_runs(
        made_up_run("app"), lambda one: replace(one, status=3, failure="ended with exit status 3")
    )
    manifest = replace(
        run.manifest, command_runs=run.manifest.command_runs[:runs], cycles=(), state=RunState.FAILED
    )
    return replace(run, manifest=replace(manifest, file_systems=manifest.file_systems[:runs]))


CASES: dict[str, Callable[[], Run]] = {
    "app": lambda: made_up_run("app"),
    "app, apart": apart,
    "app, failed at once": lambda: failed_app(1),
    "app, nothing": lambda: failed_app(0),
    "entropy": lambda: with_sample(made_up_run("entropy", rate=compressing)),
    "entropy, cost within the drift": drifting_entropy,
    "entropy, ended early": lambda: cut(
        made_up_run("entropy", rate=compressing), lambda step: step.place.phase is Phase.CONDITIONING
    ),
    "fill": lambda: made_up_run("fill", rate=Cached()),
    "fill, level": lambda: made_up_run("fill"),
    "fill, no step": lambda: cut(made_up_run("fill", rate=Cached()), 0),
    "fill, one step": lambda: cut(made_up_run("fill", rate=Cached()), 1),
    "fill, 110 steps": lambda: cut(made_up_run("fill", rate=Cached()), 110),
    "fill, nothing written": lambda: without_io(made_up_run("fill", rate=Cached())),
    "lifetime": lambda: wearing_run(None),
    "lifetime, coarse log": lambda: wearing_run(
        [{"percentage_used_pct": float(used)} for used in (3, 3, 3, 4, 4, 3)], 5
    ),
    "lifetime, log stands still": lambda: wearing_run([{"percentage_used_pct": 3.0}], 5),
    "lifetime, no log": lambda: wearing_run([{}], 5),
    "lifetime, continues": continuing_run,
    "lifetime, interrupted": interrupted_lifetime,
    "lifetime, nothing": lambda: replace(cut(wearing_run(None), 0), health=()),
    "precon": precon,
    "precon, never steady": restless_precon,
    "precon, fresh alone": precon_fresh_alone,
    "precon, one minute": lambda: precon_cut(None),
    "precon, seven seconds": lambda: precon_cut(7),
    "precon, rows of both directions": lambda: precon(flat_rate, benchmarks=(BENCHMARKS["crystaldiskmark"],)),
    "precon, benchmarks and entropies": several_benchmarks,
    "precon, two rows": lambda: precon(benchmarks=(replace(SHORT, rows=SHORT.rows[:2]),)),
    "profiles, best of three": lambda: profiles("crystaldiskmark"),
    "profiles, mean of five": lambda: profiles("kdiskmark"),
    "profiles, several units": lambda: profiles("crystaldiskmark-peak"),
    "profiles, not confirmed": lambda: profiles("as-ssd"),
    "profiles, conditioned": lambda: profiles("as-ssd", passes=1),
    "profiles, free places": lambda: profiles("as-ssd", passes=1, free=FreeSpace(8, 10**9)),
    "profiles, mixes": lambda: profiles("iometer", "solidigm-mixed", "iometer-file-server"),
    "profiles, one column": lonely_rows,
    "profiles, discarded": spread_rows,
    "profiles, a row not measured": unmeasured_row,
    "qos": qos,
    "qos, limits that are not reached": lambda: qos(
        Limit(Operation.READ, 99, 10_000), Limit(Operation.WRITE, 50, 3600 * 10**9)
    ),
    "qos, ended in the map": lambda: cut(qos(), lambda step: step.place.phase is not Phase.LOAD),
    "qos, nothing": lambda: cut(qos(), 0),
    "sustained": sustained,
    "sustained, claims": lambda: sustained(
        DataSheetClaim("random_write", 200_000), DataSheetClaim("sequential_read", 2500)
    ),
    "sustained, rated": lambda: sustained(random_write_iops="70000"),
    "sustained, claim before rating": lambda: sustained(
        DataSheetClaim("random_read", 1000), random_write_iops="70000"
    ),
    "sustained, ended in the load": lambda: cut(
        made_up_run("sustained", rate=tired),
        lambda step: step.place.number <= (5 if step.place.phase is Phase.PROFILE else 1),
    ),
    "sustained, by a benchmark": lambda: made_up_run("sustained", adjust=by_popular_benchmarks),
    "trim": lambda: made_up_run("trim", rate=stalling),
    "trim, promise not kept": unkept,
    "trim, simulated": small_trims,
    "trim, ended in the sweep": lambda: cut(made_up_run("trim", rate=stalling), 4),
    "trim, nothing": nothing_trimmed,
    "thermal": lambda: thermal_run(counting),
    "thermal, before the load": lambda: before(thermal_run(counting), Phase.LOAD),
    "thermal, before the rest": lambda: before(thermal_run(counting), Phase.REST),
}


@pytest.mark.proves("LSI-PRE-01", "LSI-PRE-04", "HYP-SUS-05", "HYP-FILL-01", "HYP-FILL-02", "HYP-LIFE-04")
@pytest.mark.parametrize("case", CASES)
def test_what_is_on_the_pages(case, transcript) -> None:
    assert transcript_of(build_report(CASES[case](), DATE)) == transcript
