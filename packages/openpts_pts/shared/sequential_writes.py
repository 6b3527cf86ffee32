"""Sequential writes over the active range before a test: its WIPC (PTS 2.1.18 a, 3.3) or conditioning."""

from openpts.fields.conditions import Conditions
from openpts.vocabulary.requests import Apply, Script
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern, ByteAmount, Step
from openpts.vocabulary.workload import simple_workload


def written_in_sequence(
    conditions: Conditions,
    block_size_bytes: int,
    amount_bytes: float,
    *,
    tc: int,
    qd: int,
    phase: Phase = Phase.CONDITIONING,
) -> Script:
    """So many bytes, without a restriction to LBA segments; nothing is asked for where that is 0."""
    if not amount_bytes:
        return
    writes = simple_workload("seq", AccessPattern.SEQUENTIAL, block_size_bytes, 0)
    stimulus = writes.stimulus(tc=tc, qd=qd, active_range=conditions.active_range, data=conditions.data)
    yield Apply(phase, 1, (Step.of(stimulus, ByteAmount(round(amount_bytes))),))
