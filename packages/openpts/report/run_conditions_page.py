"""Conditions during a run: gaps without I/O, the engine's own share, processors, telemetry."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.host_limits import MarkRule, rule_of
from openpts.analysis.run_comparison import measured_median
from openpts.procedures.kit.header import date_and_time
from openpts.procedures.kit.standing import limited_times
from openpts.record.health import StepMarks
from openpts.record.manifest import Attempt, Manifest, RunState
from openpts.record.reader import Run, StepRecord
from openpts.units import NS_PER_MS, NS_PER_S, NS_PER_US, format_duration, format_gap
from openpts.vocabulary.engine_overhead import KERNEL_THREADS
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.verdict import Better
from openpts_pages import cells
from openpts_pages.facts_table import sourced, sourced_table
from openpts_pages.kit import Cells, rows_table
from openpts_pages.model import Block, Cell, Page, Row, Table, Verdict
from openpts_pages.plots.axes import aligned_page
from openpts_pages.texts import NOT_REPORTED, capitalised, fact_text, value_text

_WHAT: Final = "Host as the limit"


def host_limit_blocks(run: Run) -> tuple[Block, ...]:
    """Nothing for a simulated drive, which has no host, and of an imported run."""
    if run.host_marks is None:
        return ()
    pairs = list(zip(run.steps, run.host_marks, strict=True))
    judged_ns = sum(marks.judged_ns for _, marks in pairs)
    if not judged_ns:
        return (Verdict(f"{_WHAT}: n/a (no second of a step was sampled)."),)
    found = limited_times(pairs)
    if not found:
        return (Verdict(f"{_WHAT}: never, in {_s(judged_ns)} s with I/O.", "pass"),)
    marked_ns = sum(marks.marked_ns() for _, marks in pairs)
    text = (
        f"{_WHAT}: in {_s(marked_ns)} of {_s(judged_ns)} s with I/O "
        f"({cells.fixed(100 * marked_ns / judged_ns, 1)} %): "
        f"{', '.join(f'{one.limit} {_s(one.marked_ns)} s' for one in found)}."
    )
    start_ns = pairs[0][0].sample.started_ns
    return Verdict(text, "fail"), rows_table(
        "run-conditions-host-limits",
        "Seconds in which the host was the limit",
        "Source:<3.2 | Limit:<0.9 | Time (s) | Share (%) | Longest in a row (s) | First at (s) | "
        "Longest from:<1.6",
        (_row(run, sign, start_ns, judged_ns) for sign in _signs(pairs)),
        note="A second is marked by what was sampled in it; telemetry.md of the manual has the rules. "
        "Several may mark the same second. First: since the first step.",
    )


def _s(duration_ns: int) -> str:
    return f"{duration_ns / NS_PER_S:,.0f}"


class _Marked(Struct, frozen=True):
    """A span with I/O that is marked, the ``number``-th of the run."""

    number: int
    from_ns: int
    lasted_ns: int
    step: StepRecord


class _Sign(Struct, frozen=True):
    """All spans that one sampled value marks."""

    name: str
    rule: MarkRule
    spans: tuple[_Marked, ...]

    @property
    def marked_ns(self) -> int:
        return sum(span.lasted_ns for span in self.spans)

    @property
    def longest(self) -> tuple[int, StepRecord]:
        """The longest stretch of spans in a row, also over several steps, and the step that it begins in."""
        best, length_ns, begin, number = (0, self.spans[0].step), 0, self.spans[0].step, -1
        for span in self.spans:
            if span.number != number + 1:
                length_ns, begin = 0, span.step
            length_ns, number = length_ns + span.lasted_ns, span.number
            best = max(best, (length_ns, begin), key=lambda one: one[0])
        return best


def _signs(pairs: Sequence[tuple[StepRecord, StepMarks]]) -> Iterator[_Sign]:
    spans: dict[str, list[_Marked]] = {}
    number = 0
    for step, marks in pairs:
        for (from_ns, to_ns), names in zip(marks.spans, marks.marks, strict=True):
            for name in names or ():
                spans.setdefault(name, []).append(_Marked(number, from_ns, to_ns - from_ns, step))
            number += 1
    for name, found in sorted(spans.items(), key=lambda one: (-len(one[1]), one[0])):
        if (rule := rule_of(name)) is not None:
            yield _Sign(name, rule, tuple(found))


def _row(run: Run, sign: _Sign, start_ns: int, judged_ns: int) -> Cells:
    longest_ns, step = sign.longest
    link = _links(run).get(sign.name.removesuffix("_use_pct"), "")
    return (
        f"{sign.rule.text}: {link}" if link else sign.rule.text,
        str(sign.rule.limit),
        cells.number(sign.marked_ns / NS_PER_S, 0),
        cells.percent(100 * sign.marked_ns / judged_ns),
        cells.number(longest_ns / NS_PER_S, 0),
        cells.number((sign.spans[0].from_ns - start_ns) / NS_PER_S, 0),
        str(step.place),
    )


def _links(run: Run) -> Mapping[str, str]:
    """Each link by the beginning of its value's name."""
    parts = fact_text(run.manifest.telemetry, "links to the drive", "").split("; ")
    named = (part.rpartition("path_")[2].partition(": ") for part in parts)
    return {f"path_{number}": text for number, _, text in named if number.isdecimal()}


AUDIT: Final = "Host Set-up Audit"
_ENGINE: Final = (
    ("Engine", "engine"),
    ("Own share of each latency", "own_latency"),
    ("Own share of each latency, asleep", "own_latency_asleep"),
    ("Own processor time", "own_cpu_time"),
    ("Own share", "own_overhead"),
    ("Clock", "clock"),
    ("Latency", "latency"),
    ("Path of the I/O", "io_path"),
    ("Completion", "completion_wait"),
    ("Processors of the threads", "processors"),
)


def run_conditions_page(run: Run, of_test: Sequence[Verdict] = (), further: Sequence[Block] = ()) -> Page:
    """The conditions during the run, with those that the test itself reports, and ``further`` ones behind."""
    reason, is_computed = no_audit(run), _is_computed(run)
    of_host = () if is_computed else (*_gap_blocks(run), _engine(run), *_processor_blocks(run))
    return aligned_page(
        Page(
            "run-conditions",
            "Conditions During the Run",
            (
                *((_COMPUTED,) if is_computed else () if reason is None else (reason,)),
                *_attempts(run.manifest),
                *of_test,
                *(Verdict(f"Before the run: {text}.") for text in run.manifest.healed),
                *_hooks(run.manifest),
                *host_limit_blocks(run),
                *of_host,
                *further,
            ),
        )
    )


_COMPUTED: Final = Verdict(
    f"{AUDIT}, gaps between steps, the engine's own share, processor time: n/a (the drive is simulated: all "
    "times are computed)."
)


def _is_computed(run: Run) -> bool:
    """Whether a drive was simulated and nothing of the host was measured."""
    return (
        run.manifest.target.simulation is not None
        and all(_gap_ns(step) < NS_PER_US for step in run.with_gaps)
        and not {"own_latency", "own_latency_asleep", "own_cpu_time"} & run.manifest.engine.keys()
        and all(step.sample.cpu is None for step in run.steps)
    )


def no_audit(run: Run) -> Verdict | None:
    """Why there is nothing to audit, for a page with other contents; None if there is an audit."""
    manifest = run.manifest
    if manifest.target.simulation is not None:
        reason = "n/a (the drive is simulated: the host's set-up does not affect its figures)"
    elif not manifest.host_before:
        reason = "not reported (the record has no settings of the host)"
    else:
        return None
    return Verdict(f"{AUDIT}: {reason}.")


def _hooks(manifest: Manifest) -> tuple[Block, ...]:
    """Commands of the operator's at moments of the run."""
    if not manifest.hooks:
        return ()
    table = rows_table(
        "run-conditions-hooks",
        "Commands at moments of the run",
        "Moment:<1.0 | Started:<1.2 | Command:<2.0 | Took | Ended with:<1.2 | Last output:<2.0",
        (
            (
                f"{hook.moment} {hook.place}".strip(),
                date_and_time(hook.started_at),
                hook.command,
                Cell(format_duration(hook.elapsed_ns), hook.elapsed_ns / NS_PER_S),
                Cell(hook.how_it_ended, tone="" if hook.succeeded else "fail"),
                hook.output or "-",
            )
            for hook in manifest.hooks
        ),
    )
    return (table,)


def _attempts(manifest: Manifest) -> tuple[Block, ...]:
    """The processes that worked on the run, where it was resumed."""
    if len(manifest.attempts) <= 1:
        return ()
    *earlier, last = manifest.attempts
    last = replace(last, ended_at=manifest.ended_at, end=manifest.state, reason=manifest.state_reason)
    table = rows_table(
        "run-conditions-attempts",
        "Attempts: the run was cut off and resumed",
        "No.:0.4 | Started:<1.2 | Ended:<1.2 | Why it ended:<1.4 | Host, kernel, openpts:<1.8 | "
        "Steps before:0.6 | Went on at:<1.4 | Idle before | Power cycles before:0.7",
        (_attempt_row(number, one) for number, one in enumerate((*earlier, last), start=1)),
        note="Steps before: all that were recorded, those that were carried out again included. Idle before: "
        "from the last step of the attempt before to the start of this one. A killed attempt ended some time "
        "after the moment shown, when its last step was recorded.",
    )
    return (table,)


def _attempt_row(number: int, attempt: Attempt) -> Cells:
    end = "" if attempt.end is RunState.RUNNING else attempt.end
    why = ": ".join(text for text in (end, attempt.reason) if text)
    platform = (attempt.host, attempt.kernel, attempt.openpts)
    idle_ns, cycles = attempt.idle_ns, attempt.power_cycles
    unknown = Cell(NOT_REPORTED, tone="missing")
    return (
        str(number),
        date_and_time(attempt.started_at),
        date_and_time(attempt.ended_at),
        why,
        ", ".join(text or NOT_REPORTED for text in platform),
        cells.count(attempt.steps),
        attempt.went_on_at or "the start",
        Cell("-") if idle_ns is None else Cell(format_duration(idle_ns), idle_ns / NS_PER_S),
        cells.none() if number == 1 else unknown if cycles is None else cells.count(cycles),
    )


def _by_phase(steps: Iterable[StepRecord]) -> dict[Phase, list[StepRecord]]:
    """Steps of each part, all its numbers and cycles together, in the order in which parts first came."""
    parts: dict[Phase, list[StepRecord]] = defaultdict(list)
    for step in steps:
        parts[step.place.phase].append(step)
    return parts


def _phase_name(phase: Phase) -> str:
    return phase.upper() if phase in {Phase.WIPC, Phase.WDPC} else capitalised(phase.replace("_", " "))


def _gap_blocks(run: Run) -> tuple[Block, ...]:
    steps = run.with_gaps
    if not steps:
        return (Verdict("Gaps between steps: n/a (no step followed another)."),)
    table = rows_table(
        "run-conditions-gaps",
        "Time without I/O before the steps of each part",
        "Phase:<1.2 | Gaps:0.7 | Median (ms):0.8 | Longest (ms):0.8 | Longest gap before:<2.5",
        (_gap_row(phase, of_part) for phase, of_part in _by_phase(steps).items()),
        note="A gap: from the last completion of a step to the first submission of the next. Idle time that "
        "a test asks for and the purge before a cycle are not gaps.",
    )
    longest = max(steps, key=_gap_ns)
    text = f"Longest gap without I/O: {format_gap(_gap_ns(longest))}, before {longest.place}."
    return (Verdict(text), table)


def _gap_ns(step: StepRecord) -> int:
    return step.sample.gap_ns or 0


def _gap_row(phase: Phase, steps: Sequence[StepRecord]) -> Cells:
    gaps_ns, longest = [_gap_ns(step) for step in steps], max(steps, key=_gap_ns)
    return (
        _phase_name(phase),
        cells.number(len(gaps_ns), 0),
        cells.number(measured_median(gaps_ns, Better.LOWER) / NS_PER_MS, 3),
        cells.number(max(gaps_ns) / NS_PER_MS, 3),
        f"{longest.place}: {longest.sample.step}",
    )


def _engine(run: Run) -> Table:
    """What the engine measured of itself before the run."""
    facts = run.manifest.engine
    missing = "n/a (computed, not measured)" if run.manifest.target.simulation else "not reported"
    rows = [
        sourced(label, facts, key, missing)
        for label, key in _ENGINE
        if key in facts or key in {"own_latency", "own_cpu_time"}
    ]
    if KERNEL_THREADS in run.manifest.dut:
        rows.append(sourced("Kernel threads of the target", run.manifest.dut, KERNEL_THREADS, missing))
    rows += [
        (f"Telemetry: {name}", value_text(fact, "not sampled"), fact.source or "-")
        for name, fact in run.manifest.telemetry.items()
    ]
    return sourced_table("run-conditions-engine", "The engine and its own share", rows)


def _processor_blocks(run: Run) -> tuple[Block, ...]:
    steps = [step for step in run.steps if step.sample.cpu is not None and step.sample.elapsed_ns]
    if not steps:
        return (Verdict("Processor time: n/a (not reported by the engine)."),)
    parts = _by_phase(steps)
    return (
        rows_table(
            "run-conditions-cpu",
            "Time of all processors of the host",
            "Phase:<1.2 | User (%) | Sys (%) | Highest Sys (%) | I/O wait (%) | Highest I/O wait (%) | "
            "openpts (processors)",
            (
                *(_processor_row(_phase_name(phase), of_part) for phase, of_part in parts.items()),
                _processor_row("All of the run", steps),
            ),
            note="Means over time, highest of single steps. The last column is the processor time of openpts "
            "itself, kernel work on its behalf included, in whole processors.",
        ),
    )


def _processor_row(title: str, steps: Sequence[StepRecord]) -> Row:
    found = [(step.sample.cpu, step.sample.elapsed_ns) for step in steps if step.sample.cpu is not None]
    lengths_ns = [length_ns for _, length_ns in found]
    sys_pct, iowait_pct = [cpu.sys_pct for cpu, _ in found], [cpu.iowait_pct for cpu, _ in found]
    own_ns = sum(cpu.process_ns for cpu, _ in found)
    return Row(
        Cell(title),
        (
            cells.percent(fmean((cpu.user_pct for cpu, _ in found), lengths_ns)),
            cells.percent(fmean(sys_pct, lengths_ns)),
            cells.percent(max(sys_pct)),
            cells.percent(fmean(iowait_pct, lengths_ns)),
            cells.percent(max(iowait_pct)),
            cells.number(own_ns / sum(lengths_ns), 2),
        ),
    )
