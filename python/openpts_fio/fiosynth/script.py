"""Suites of FioSynth (fiosynth).

Purpose
    What a drive does under the loads of data centers that FioSynth models, and whether it keeps the limits
    that a suite sets.
Clause
    None: practice beyond the specification. Suites and job files are those of the operator's own clone.
Steps
    Purge. In each cycle, or in the first alone, as the suite has it: all LBAs trimmed and a workload of the
    preparation, for each of them; then each workload of the suite. Rates, depths and think times are scaled
    by capacity where the suite asks for it.
Pass rule
    Each target of the suite: rates are reached, response times not exceeded.
Reported
    Each limit with what was measured and its verdict; rates and response times of each workload and of each
    of its streams.
"""

from typing import Final

from msgspec.structs import replace

from openpts.procedures.kit.ledger import Rule
from openpts.procedures.kit.standard import Standard
from openpts.units import GIB
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome, Purge, Script, SetWriteCache
from openpts.vocabulary.stimulus import BlockSize, OperationWeights, Step, Stimulus
from openpts.vocabulary.stop import ByteAmount
from openpts_fio.fio_job.steps import job_steps
from openpts_fio.fiosynth import FiosynthConditions
from openpts_fio.fiosynth.suite import SuiteWorkload

_LARGEST_TRIM_BYTES: Final = GIB
_OTHER_CYCLES: Final = "the drive has been through other loads than the suite has"

RULES: Final = (
    Rule("cycles", "PTS-GEN-01", "1.1", _OTHER_CYCLES, as_in="suite.run_cycles"),
    Rule("precondition_cycles", "PTS-GEN-01", "1.1", _OTHER_CYCLES, as_in="suite.precondition_cycles"),
)


# No suite: none comes with openpts.
standard_conditions: Final = Standard(FiosynthConditions)


def supported_on(conditions: FiosynthConditions, sector_bytes: int) -> FiosynthConditions:
    """Places of a job are whole sectors."""
    return replace(conditions, sector_bytes=sector_bytes)


def script(conditions: FiosynthConditions, user_capacity_bytes: int) -> Script:
    """Preparation and workloads, cycle by cycle; workloads are numbered through."""
    suite = conditions.suite
    yield Purge()
    yield SetWriteCache(conditions.write_cache_enabled)
    prepared = measured = 0
    for cycle in range(conditions.cycles):
        for workload in () if cycle and suite.once else suite.preparation * conditions.precondition_cycles:
            prepared += 1
            steps = (
                _clearing(conditions, user_capacity_bytes),
                *_steps(conditions, workload, user_capacity_bytes),
            )
            yield Apply(Phase.CONDITIONING, prepared, steps)
        for workload in suite.workloads:
            measured += 1
            steps = _steps(conditions, workload, user_capacity_bytes)
            most = conditions.cycles * len(suite.workloads)
            yield Apply(Phase.PROFILE, measured, steps, most, repeatable=True)
    yield CycleFinished(Outcome(steady_round=None, last_round=0))


def _steps(
    conditions: FiosynthConditions, workload: SuiteWorkload, user_capacity_bytes: int
) -> tuple[Step, ...]:
    job = conditions.suite.job(workload, user_capacity_bytes, conditions.seed)
    return job_steps(conditions, job, user_capacity_bytes)


def _clearing(conditions: FiosynthConditions, user_capacity_bytes: int) -> Step:
    """A trim of all LBAs, in the largest pieces that FioSynth uses."""
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
