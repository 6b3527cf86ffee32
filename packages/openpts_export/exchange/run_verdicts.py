"""What became of runs, and of the tests of suites, as verdicts in JUnit's form."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from openpts.procedures.kit.red_line import red_line_of
from openpts.procedures.registry import procedure_of
from openpts.procedures.shared.outcome_text import reached_text
from openpts.record.batch import Batch, BatchEntry, is_batch, read_batch
from openpts.record.decoding import in_visible_lines
from openpts.record.manifest import RunState
from openpts.record.reader import Run, ns_between
from openpts.report.redaction import redacted_entry, redacted_run
from openpts.report.sources import read_for_report, run_of_entry
from openpts.units import NS_PER_S
from openpts_compare.gate.junit import CaseOutcome, JunitCase, junit_xml
from openpts_compare.runs.flat_rows import labels_of, run_row, unsteady_cycles

_PROPERTIES: Final = (
    "profile",
    "simulated",
    "target",
    "model",
    "serial",
    "firmware",
    "user_capacity_bytes",
    "software",
)


def junit_of(folders: Iterable[Path], *, redact: bool) -> bytes:
    """What became of runs, and of each test of suites. Raises RecordError for a folder that is neither."""
    cases: list[JunitCase] = []
    facts: dict[str, dict[str, None]] = {}
    started: list[str] = []
    for folder in folders:
        entries = _entries(folder)
        runs = [
            read_for_report(folder) if entry is None else run_of_entry(folder, entry) for entry in entries
        ]
        manifests = [run.manifest for run in runs if run is not None]
        for entry, found in zip(entries, runs, strict=True):
            if found is None:
                assert entry is not None  # noqa: S101 a run that was named is there
                cases.append(_case_of_entry(redacted_entry(entry, manifests) if redact else entry))
                continue
            run = redacted_run(found) if redact else found
            started.append(run.manifest.started_at)
            cases.append(_case_of_run(run))
            for name, value in _facts(run).items():
                facts.setdefault(name, {})[value] = None
    properties = {name: "; ".join(values) for name, values in facts.items()}
    name = f"openpts, simulated {properties['simulated']}" if "simulated" in properties else "openpts"
    return junit_xml(name, cases, properties, min(started, default=None))


def _entries(folder: Path) -> tuple[BatchEntry | None, ...]:
    """The tests of a suite; None for a single run."""
    if not is_batch(folder):
        return (None,)
    return in_visible_lines(read_batch(folder), Batch).entries


def _facts(run: Run) -> dict[str, str]:
    """What a suite's properties say of a run, where it is known."""
    found = {name: value for name, value in run_row(run).items() if name in _PROPERTIES and value is not None}
    return {name: str(value) for name, value in (found | labels_of(run)).items()}


def _case_of_run(run: Run) -> JunitCase:
    """What became of a run; its key results are the output."""
    manifest = run.manifest
    outcome, message = _verdict(run)
    procedure = procedure_of(manifest.conditions.test)
    return JunitCase(
        name=procedure.title,
        classname=f"openpts.{manifest.conditions.test}",
        time_s=ns_between(manifest.started_at, manifest.ended_at) / NS_PER_S if manifest.ended_at else 0.0,
        outcome=outcome,
        message=message,
        output="\n".join([red_line_of(run), *_result_lines(run)]).strip(),
    )


def _case_of_entry(entry: BatchEntry) -> JunitCase:
    """What became of a suite's test that has no record."""
    waiting = entry.state is RunState.WAITING
    outcome = CaseOutcome.SKIPPED if waiting else CaseOutcome.ERROR
    message = entry.reason or (
        "the suite ended before it" if waiting else f"{entry.state}, without a record that can be read"
    )
    return JunitCase(procedure_of(entry.test).title, f"openpts.{entry.test}", 0.0, outcome, message)


def _verdict(run: Run) -> tuple[CaseOutcome, str]:
    manifest = run.manifest
    if manifest.state is not RunState.COMPLETE:
        state = "not finished" if manifest.state is RunState.RUNNING else manifest.state.value
        return CaseOutcome.ERROR, f"{state}: {manifest.state_reason or 'no reason is recorded'}"
    if unsteady := unsteady_cycles(run):
        texts = [
            f"{one.title}: {text}" if one.title else text
            for one in unsteady.values()
            for text in [reached_text(one.outcome, manifest.conditions)]
        ]
        return CaseOutcome.SKIPPED, f"no verdict, steady state {'; '.join(texts)}"
    return CaseOutcome.PASSED, ""


def _result_lines(run: Run) -> Iterator[str]:
    for one in procedure_of(run.manifest.conditions.test).report(run).measures:
        if one.is_key and one.value is not None:
            cell = one.noted_cell
            yield f"{one.label}: {cell.text} {one.unit}".rstrip() + (f" ({cell.note})" if cell.note else "")
