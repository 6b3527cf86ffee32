"""Workload of a job file, or of a suite (workload).

Purpose
    What a drive in steady state does under a load of the operator's own, of several streams at once; what it
    does under the loads of data centers that FioSynth models, and whether it keeps a suite's limits.
Clause
    None: practice beyond the specification. The load is a job file of fio, or a suite with its job files in
    the operator's own clone of FioSynth.
Steps
    Purge. Of a job file: the user capacity written twice in sequence; rounds of all steps of the job, until
    the tracked figure is steady in five of them, or 25 are done. Of a suite: in each cycle, or in the first
    alone, as the suite has it, all LBAs trimmed and a workload of the preparation, for each of them; then
    each workload of the suite. Rates, depths and think times are scaled by capacity where the suite asks.
Pass rule
    Steady state by definition 2.1.24, of the tracked figure. Each target of the suite: rates are reached,
    response times not exceeded.
Reported
    Rates and response times of each stream and of all of them, in the measurement window or in each workload;
    each limit with what was measured and its verdict.
"""

from typing import Final

from msgspec.structs import replace

from openpts.config_files.written_file import WrittenFileError
from openpts.errors import UsageError
from openpts.procedures.kit.ledger import Rule, Standard
from openpts.units import GIB, KIB
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome, Purge, Script, SetWriteCache
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import BlockSize, ByteAmount, OperationWeights, Step, Stimulus
from openpts_fio.workload import RoundFigure, WorkloadConditions
from openpts_fio.workload.job import ALL_STREAMS, SuiteWorkload, stream_names
from openpts_fio.workload.results import tracked_name, tracked_value
from openpts_fio.workload.steps import job_steps, workload_steps
from openpts_pts.shared.rounds.script import rounds_until_steady
from openpts_pts.shared.script import written_in_sequence

_LARGEST_TRIM_BYTES: Final = GIB
_OTHER_CYCLES: Final = "the drive has been through other loads than the suite has"

RULES: Final = (
    Rule("cycles", "PTS-GEN-01", "1.1", _OTHER_CYCLES, as_in="suite.run_cycles"),
    Rule("leave_out_refused", "PTS-GEN-01", "1.1", "workloads that can't be run have no figures"),
    Rule("precondition_cycles", "PTS-GEN-01", "1.1", _OTHER_CYCLES, as_in="suite.precondition_cycles"),
)

# Preconditioning and rounds as those of the IOPS test; the load is the operator's.
standard_conditions: Final = Standard(
    WorkloadConditions,
    precondition_passes=2,
    precondition_block_size_bytes=128 * KIB,
    precondition_tc=1,
    precondition_qd=32,
    figure=RoundFigure.IOPS,
    stream=ALL_STREAMS,
    max_rounds=25,
)


def supported_on(conditions: WorkloadConditions, sector_bytes: int) -> WorkloadConditions:
    """Places of a job are whole sectors."""
    return replace(conditions, sector_bytes=sector_bytes)


def script(conditions: WorkloadConditions, user_capacity_bytes: int) -> Script:
    """Preparation, then the job again and again, or the workloads of a suite."""
    rest = _suite if conditions.is_suite else _job
    yield from rest(conditions, user_capacity_bytes)


def _job(conditions: WorkloadConditions, user_capacity_bytes: int) -> Script:
    steps = job_steps(conditions, conditions.job, user_capacity_bytes) if conditions.job else ()
    names = stream_names(steps)
    if steps and conditions.stream not in {ALL_STREAMS, *names}:
        known = f"{ALL_STREAMS} or {', '.join(names)}"
        raise UsageError(f"--stream {conditions.stream!r}: the job has no such stream: use {known}")
    yield Purge()
    yield SetWriteCache(conditions.write_cache_enabled)
    yield from written_in_sequence(
        conditions,
        conditions.precondition_block_size_bytes,
        conditions.precondition_passes * user_capacity_bytes,
        tc=conditions.precondition_tc,
        qd=conditions.precondition_qd,
    )
    outcome = Outcome(None, 0)
    if steps and conditions.load_fills:
        amount = ByteAmount(round(conditions.load_fills * user_capacity_bytes / len(steps)))
        yield Apply(Phase.LOAD, 1, tuple(_until(step, amount) for step in steps))
    if steps:
        outcome, _ = yield from rounds_until_steady(
            conditions.max_rounds,
            steps,
            (tracked_name(conditions),),
            lambda samples: (tracked_value(conditions, samples),),
        )
        last = outcome.last_round + conditions.further_rounds
        for number in range(outcome.last_round + 1, last + 1):
            yield Apply(Phase.ROUND, number, steps, last, repeatable=True)
        outcome = replace(outcome, last_round=last)
    yield CycleFinished(outcome)


def _until(step: Step, amount: ByteAmount) -> Step:
    """The step until its streams have moved that amount, whatever ends them in a round."""
    return replace(step, stop=amount, streams=tuple(replace(one, stop=None) for one in step.streams))


def _suite(conditions: WorkloadConditions, user_capacity_bytes: int) -> Script:
    """Preparation and workloads, cycle by cycle; workloads are numbered through, also those left out."""
    suite = conditions.suite
    runnable = _runnable(conditions, user_capacity_bytes)
    yield Purge()
    yield SetWriteCache(conditions.write_cache_enabled)
    prepared = measured = 0
    for cycle in range(conditions.cycles):
        for workload in () if cycle and suite.once else suite.preparation * conditions.precondition_cycles:
            prepared += 1
            steps = (
                _clearing(conditions, user_capacity_bytes),
                *workload_steps(conditions, workload, user_capacity_bytes),
            )
            yield Apply(Phase.CONDITIONING, prepared, steps)
        for workload in suite.workloads:
            measured += 1
            if workload not in runnable:
                continue
            steps = workload_steps(conditions, workload, user_capacity_bytes)
            most = conditions.cycles * len(suite.workloads)
            yield Apply(Phase.PROFILE, measured, steps, most, repeatable=True)
    yield CycleFinished(Outcome(steady_round=None, last_round=0))


def _runnable(conditions: WorkloadConditions, user_capacity_bytes: int) -> tuple[SuiteWorkload, ...]:
    """Workloads that are measured. Raises UsageError for all that can't be run, unless they are left out."""
    suite, refused = conditions.suite, dict[SuiteWorkload, str]()
    prepared = suite.preparation if conditions.precondition_cycles else ()
    for workload in (*prepared, *suite.workloads):
        try:
            workload_steps(conditions, workload, user_capacity_bytes)
        except UsageError as error:
            refused[workload] = str(error)
    found = tuple(one for one in suite.workloads if one not in refused)
    is_prepared = refused.keys().isdisjoint(prepared)
    if not refused or (conditions.leave_out_refused and found and is_prepared):
        return found
    names: dict[str, list[str]] = {}
    for workload, reason in refused.items():
        names.setdefault(reason, []).append(workload.alias)
    others = f"--leave-out-refused runs the other {len(found)}" if found else "no workload is left"
    total = len(prepared) + len(suite.workloads)
    raise WrittenFileError(
        (
            *(f"{_first_of(aliases)}: {reason}" for reason, aliases in names.items()),
            f"{len(refused)} of {total} workloads of {suite} can't be run: "
            + (others if is_prepared else "its preparation is not left out"),
        )
    )


def _first_of(aliases: list[str]) -> str:
    others = f" and {len(aliases) - 1} more" if len(aliases) > 1 else ""
    return f"workload {aliases[0]}{others}"


def _clearing(conditions: WorkloadConditions, user_capacity_bytes: int) -> Step:
    piece_bytes = min(_LARGEST_TRIM_BYTES, 2 ** (user_capacity_bytes.bit_length() - 1))
    trims = Stimulus(
        random_pct=0,
        block_sizes=(BlockSize(piece_bytes),),
        operations=OperationWeights(trim=1),
        tc=1,
        qd=1,
        active_range=conditions.active_range,
    )
    return Step.of(trims, ByteAmount(user_capacity_bytes // piece_bytes * piece_bytes))
