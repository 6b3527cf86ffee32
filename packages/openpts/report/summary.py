"""The figures of a run for machines: what ``--json`` prints, derived from the record alone."""

from typing import Any, Final, Literal, NotRequired, TypedDict

import msgspec

from openpts.analysis.run_comparison import measured_median
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.judge import the_judge
from openpts.procedures.kit.red_line import import_mark, simulation_mark
from openpts.procedures.registry import procedure_of
from openpts.record.manifest import RunState
from openpts.record.reader import Run
from openpts.vocabulary.better import Better
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.limit import JudgedLimit, Judgement
from openpts_pages.measure import measure_figures

SCHEMA: Final = "openpts.run/1"
SCHEMA_OF_RUNS: Final = "openpts.runs/1"


class ComponentFigures(TypedDict):
    """A source of uncertainty: a standard uncertainty in the measure's unit.

    ``degrees_of_freedom`` are None where they are infinite.
    """

    name: str
    standard: float
    degrees_of_freedom: float | None


class UncertaintyFigures(TypedDict):
    """A budget by the GUM, in the measure's unit: ``expanded`` is for 95 %."""

    standard: float
    expanded: float
    coverage_factor: float
    degrees_of_freedom: float | None
    components: list[ComponentFigures]


class MeasureFigures(TypedDict):
    """A measure: ``value`` is None where it is not known, and ``note`` or ``state`` says why.

    ``uncertainty`` is None where none is stated; ``uncertainty_note`` says why, or in what part
    of its time the host was the limit.
    """

    label: str
    unit: str
    value: float | None
    better: Better
    note: str
    state: str | None
    stands_in: bool
    repeats: Any
    uncertainty: UncertaintyFigures | None
    uncertainty_note: str


class GapFigures(TypedDict):
    """Times without I/O before steps, ns."""

    median: float
    max: float


class RunFigures(TypedDict):
    """What ``--json`` of a run has, of any test; run.schema.json of the manual. A test adds keys of its own.

    ``simulated`` and ``imported`` are the marks of such runs, ``profile`` is enterprise or client.
    ``verdict`` and ``limits`` are there if the run was ordered with a limits file, ``reports`` in what
    commands print: the documents that they made. ``error`` and ``exit_code`` are those of a command that
    ends with one, such as a failed limit.
    """

    schema: Literal["openpts.run/1"]
    simulated: str | None
    imported: str | None
    run: str
    test_id: str
    test: str
    profile: str
    labels: dict[str, str]
    state: RunState
    state_reason: str | None
    target: TargetFacts
    seed: int
    measures: dict[str, MeasureFigures]
    gaps_ns: GapFigures | None
    deviations: list[Deviation]
    verdict: NotRequired[Judgement]
    limits: NotRequired[list[JudgedLimit]]
    reports: NotRequired[list[str]]
    error: NotRequired[str]
    exit_code: NotRequired[int]


class RunsFigures(TypedDict):
    """What ``--json`` of a report on several runs has; ``reports`` are the documents on all of them."""

    schema: Literal["openpts.runs/1"]
    runs: list[RunFigures]
    reports: list[str]


def summarize(run: Run, content: ReportContent | None = None) -> dict[str, Any]:
    """A JSON-ready summary; latencies in ms, gaps in ns, shares in per cent.

    ``content`` is what the run's test adds to its report, where that was made already.
    """
    manifest = run.manifest
    content = content or procedure_of(manifest.conditions.test).report(run)
    return {
        "schema": SCHEMA,
        "simulated": simulation_mark(manifest.target) or None,
        "imported": import_mark(manifest) or None,
        "run": str(run.folder),
        "test_id": manifest.test_id,
        "test": manifest.conditions.test,
        "profile": manifest.conditions.drive_class,
        "labels": manifest.people.labels,
        "state": manifest.state,
        "state_reason": manifest.state_reason,
        "target": msgspec.to_builtins(manifest.target),
        "seed": manifest.conditions.seed,
        **content.figures(),
        "measures": measure_figures(content.measures),
        **_judged(run, content),
        "gaps_ns": _gaps(run),
        "deviations": msgspec.to_builtins(run.ledger),
    }


def _judged(run: Run, content: ReportContent) -> dict[str, Any]:
    judge = the_judge()
    return {} if judge is None else judge.part("figures")(run, content)


def _gaps(run: Run) -> dict[str, float] | None:
    gaps = [step.sample.gap_ns or 0 for step in run.with_gaps]
    return {"median": measured_median(gaps, Better.LOWER), "max": max(gaps)} if gaps else None
