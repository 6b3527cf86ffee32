"""What the log says at the end of a part of the test of power states."""

from openpts.runner.progress import RunProgress
from openpts.units import format_duration, format_latency_ms
from openpts.vocabulary.sample import Phase
from openpts_nvme.pstates import COMMANDED, PowerStateConditions, part_text


def phase_line(progress: RunProgress) -> str | None:
    """The shortest and the longest first read; of a commanded state after the last of its repeats only."""
    apply, conditions = progress.apply, progress.conditions
    if (
        apply is None
        or apply.phase is not Phase.WAIT_STATE
        or not isinstance(conditions, PowerStateConditions)
    ):
        return None
    reads_ns = [sample.read.latency_sum_ns for sample in progress.finished if sample.read.ios]
    name = part_text(apply.number)
    if apply.number >= COMMANDED:
        once_ns = sum(sample.elapsed_ns for sample in progress.finished)
        if round(progress.phase_ns / once_ns) < conditions.repeats:
            return ""
        left = format_latency_ms(reads_ns[-1])
        settled = format_duration(conditions.settle_ns)
        return f"{name} {conditions.repeats} times for {settled}, last left in {left} ms"
    first, last = format_latency_ms(min(reads_ns)), format_latency_ms(max(reads_ns))
    return f"{name}, {len(reads_ns):,} first reads of {first} to {last} ms"
