"""The result of a measurement as a table of operations, and the conditions behind its figures."""

from collections.abc import Iterator
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from openpts.cli.io_figures import FURTHER_PERCENTILES, PERCENTILES, Figures, counted
from openpts.cli.terminal import wrapped
from openpts.runner.measure import CaptureEnded, MeasurementStarted
from openpts.runner.step_faults import errors_text, standstill_text
from openpts.units import MB, NS_PER_US, format_capacity, format_duration
from openpts.vocabulary.facts import Facts
from openpts.vocabulary.sample import CpuShares, Sample, StepState

_PROBE_SOURCE: Final = "probe of the target"
_FACTS: Final = {
    "waiting": ("completion_wait",),
    "processors": ("processors",),
    "overhead": ("own_latency", "own_latency_asleep", "own_cpu_time", "own_overhead"),
    "clock": ("clock",),
}


def print_summary(
    console: Console,
    started: MeasurementStarted,
    sample: Sample,
    capture: CaptureEnded | None = None,
    *,
    alone: bool = True,
) -> None:
    """Print the table and the lines below it; ``alone``: it was the only target of its time."""
    console.print()
    console.print(_table(started, sample))
    console.print()
    for name, text in _lines(started, sample, alone):
        _print_labelled(console, name, text)
    if capture is not None:
        _print_labelled(console, "capture", _capture_text(capture))


def _print_labelled(console: Console, name: str, text: str) -> None:
    """Without rich's line breaks and trailing blanks, which a reader of a pipe doesn't want."""
    label = f"{name:<11}"
    line = Text(wrapped(label + text, console.file, " " * len(label)))
    line.stylize("bold", 0, len(label))
    console.print(line, soft_wrap=True)


def latency_text(latency_ns: float | None) -> str:
    """A response time in us with a tenth; a dash for none."""
    return "-" if latency_ns is None else f"{latency_ns / NS_PER_US:,.1f}"


def _table(started: MeasurementStarted, sample: Sample) -> Table:
    done = {name: [operation] for name, operation in sample.operations.items() if operation.ios}
    columns = {"all": list(counted(sample)), **done} if len(done) != 1 else done
    figures = [Figures.of(operations, sample.elapsed_ns) for operations in columns.values()]
    table = Table(box=None, padding=(0, 0, 0, 2), pad_edge=False)
    table.add_column(Text(started.target.name), no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_row("I/Os", *(f"{one.ios:,}" for one in figures))
    table.add_row("data", *(format_capacity(one.bytes) for one in figures))
    table.add_row("IOPS", *(f"{one.iops:,.0f}" for one in figures))
    table.add_row("MB/s", *(f"{one.bytes_per_s / MB:,.1f}" for one in figures))
    table.add_row("latency in us")
    table.add_row("  minimum", *(latency_text(one.min_latency_ns) for one in figures))
    table.add_row("  mean", *(latency_text(one.mean_latency_ns) for one in figures))
    for percentile in PERCENTILES + FURTHER_PERCENTILES:
        texts = [latency_text(one.percentile_ns(percentile)) for one in figures]
        if any(text != "-" for text in texts):
            table.add_row(f"  {percentile:.10g} %", *texts)
    table.add_row("  maximum", *(latency_text(one.max_latency_ns) for one in figures))
    return table


def _lines(started: MeasurementStarted, sample: Sample, alone: bool) -> Iterator[tuple[str, str]]:
    yield "ended", _end_text(sample)
    if sample.standstills:
        yield "disturbed", f"{standstill_text(sample)}: measure again for figures of the target alone"
    if sample.unissued:
        yield "not issued", f"{sample.unissued:,} of the planned I/Os, which found no room until the end"
    for errors in sample.errors:
        yield "errors", errors_text(errors)
    for note in started.notes:
        yield "note", note
    facts = started.engine
    if "io_path" in facts:
        path, reason = facts["io_path"], _values(facts, "io_path_reason")
        yield "I/O path", f"{path.value}, chosen by {path.source}; {reason}"
        yield "probe", _probe_text(facts)
    for name in ("waiting", "processors"):
        yield from _fact_line(facts, name)
    if sample.cpu is not None:
        yield "CPU time", _cpu_text(sample.cpu, sum(o.ios for o in sample.operations.values()), alone)
    for name in ("overhead", "clock"):
        yield from _fact_line(facts, name)
    yield "seed", str(started.seed)


def _fact_line(facts: Facts, name: str) -> Iterator[tuple[str, str]]:
    """What the engine says under that name, if it says anything; simulated hosts have no processors."""
    if any(key in facts for key in _FACTS[name]):
        yield name, _values(facts, *_FACTS[name])


def _capture_text(capture: CaptureEnded) -> str:
    summary = capture.summary
    per_io = f", {summary.bytes_written / summary.ios:.2f} B each" if summary.ios else ""
    waited = f"{summary.blocked_times} times, {format_duration(summary.blocked_ns)}"
    held_up = (
        f"; the I/O waited for it {waited}" if summary.blocked_times else "; the I/O never waited for it"
    )
    return f"{summary.ios:,} I/Os in {capture.folder}, {summary.files} files{per_io}{held_up}"


def _cpu_text(cpu: CpuShares, ios: int, alone: bool) -> str:
    host = f"host {cpu.user_pct:.1f} % user, {cpu.sys_pct:.1f} % system, {cpu.iowait_pct:.1f} % I/O wait"
    own = f"openpts {format_duration(cpu.process_ns)}"
    if not alone:
        return f"{host}; {own} for all targets"
    return f"{host}; {own}, {cpu.process_ns / ios:,.0f} ns per I/O" if ios else f"{host}; {own}"


def _end_text(sample: Sample) -> str:
    length = format_duration(sample.elapsed_ns)
    if sample.state is not StepState.COMPLETE:
        return f"{sample.state} after {length}"
    return f"by {(sample.ended_by or 'its rule').replace('_', ' ')} after {length}"


def _probe_text(facts: Facts) -> str:
    found = {
        name: fact.value
        for name, fact in facts.items()
        if fact.source == _PROBE_SOURCE and name != "io_path_reason"
    }
    return "; ".join(
        f"{_spoken(name.removesuffix('_ns'))} {value}{' ns' if name.endswith('_ns') else ''}"
        for name, value in found.items()
    )


def _spoken(name: str) -> str:
    return name.replace("_", " ").replace("io uring", "io_uring").replace("qd1", "QD 1")


def _values(facts: Facts, *names: str) -> str:
    return ", ".join(fact.value for name in names if (fact := facts.get(name)) and fact.value) or "-"
