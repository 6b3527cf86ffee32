"""Workload of a job file (workload).

Purpose
    What a drive in steady state does under a load of the operator's own, of several streams at once.
Clause
    None: practice beyond the specification. The load is a job file of fio.
Steps
    Purge; the user capacity written twice in sequence; rounds of all steps of the job, until the tracked
    figure is steady in five of them, or 25 are done.
Pass rule
    Steady state by definition 2.1.24, of the tracked figure.
Reported
    Rates and response times of each stream and of all of them in the measurement window.
"""

from typing import Final

from msgspec.structs import replace

from openpts.errors import UsageError
from openpts.procedures.kit.standard import Standard
from openpts.procedures.shared.rounds.script import rounds_until_steady
from openpts.procedures.shared.sequential_writes import written_in_sequence
from openpts.units import KIB
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome, Purge, Script, SetWriteCache
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.stop import ByteAmount
from openpts_fio.fio_job.conditions import ALL_STREAMS
from openpts_fio.fio_job.steps import job_steps
from openpts_fio.fio_job.streams import stream_names
from openpts_fio.workload import RoundFigure, WorkloadConditions
from openpts_fio.workload.results import tracked_name, tracked_value

# Preconditioning and rounds as those of the IOPS test; the job is the operator's.
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
    """Preparation, then the job again and again."""
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
