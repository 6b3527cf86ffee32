"""What a report's shared pages need of a run's steps: the drive, failed I/Os, the demands applied."""

from openpts.pages.model import Verdict
from openpts.pages.printable import capitalised, fact_text, printable
from openpts.record.reader import Run, StepRecord
from openpts.report.header import KINDS, drive_name
from openpts.report.simulated_drive import simulation_items
from openpts.units import format_capacity
from openpts.vocabulary.sample import StepState

Applied = tuple[int, int]
"""Thread count and queue depth."""


def applied_demand(run: Run) -> tuple[Applied, ...]:
    """The demands of the steps, each once, in the order in which they came."""
    stimuli = [stimulus for step in run.steps if (stimulus := step.sample.step.stimulus) is not None]
    return tuple(dict.fromkeys((stimulus.tc, stimulus.qd) for stimulus in stimuli))


def drive_items(run: Run) -> list[tuple[str, str]]:
    """The drive: name, numbers, size, what stands behind the target, interface."""
    dut, target = run.manifest.dut, run.manifest.target
    return [
        ("Drive", drive_name(run.manifest)),
        ("S/N, firmware", f"{fact_text(dut, 'serial')}, {fact_text(dut, 'firmware')}"),
        ("User capacity", format_capacity(target.user_capacity_bytes)),
        ("Target", f"{printable(target.name)} - {KINDS[target.kind]}"),
        *simulation_items(run),
        ("Interface", fact_text(dut, "interface")),
    ]


def failures(run: Run) -> tuple[Verdict, ...]:
    """Each failed I/O with all that is known of it."""
    return tuple(
        Verdict(_failure_sentence(step), "fail")
        for step in run.steps
        if step.sample.state is StepState.FAILED
    )


def _failure_sentence(step: StepRecord) -> str:
    where = capitalised(str(step.place))
    failure = step.sample.failure
    if failure is None:
        return f"{where} ({step.sample.step}) failed; the reason was not recorded."
    what = printable(failure.operation)
    if failure.length_bytes:  # a flush has neither length nor place
        what += f" of {failure.length_bytes:,} bytes at offset {failure.offset_bytes:,}"
    return f"{where} ({step.sample.step}): {what} failed: {printable(failure.reason)}"
