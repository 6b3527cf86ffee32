"""A listener that writes a run as OCP Test & Validation output 2.0, for the test executives that read it.

All runs of a command are one test run of that form; phases are its steps. Intervals are series, a step's
figures measurements, what openpts concludes is a diagnosis, and its documents are files.
"""

import shlex
import time
from collections.abc import Callable, Iterable
from functools import singledispatchmethod
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from ocptv.output.config import Writer, config
from ocptv.output.dut import Dut, HardwareInfo
from ocptv.output.measurement import Validator
from ocptv.output.objects import (
    DiagnosisType,
    LogSeverity,
    SoftwareType,
    TestResult,
    TestStatus,
    ValidatorType,
)
from ocptv.output.run import TestRun
from ocptv.output.step import TestStep

from openpts.errors import LimitError, NotSteadyError, NoVerdictError
from openpts.runner import event_lines as lines
from openpts.runner import events
from openpts.runner.event_stream import PERCENTILES, operation_lines
from openpts.runner.events import Event
from openpts.runner.step_faults import failed_io_text, hang_text, standstill_text
from openpts.units import NS_PER_S
from openpts.vocabulary.facts import fact_of
from openpts.vocabulary.limit import JudgedLimit, Judgement
from openpts.vocabulary.sample import Sample, StepState, phase_text

_NO_TARGET: Final = "no target was opened"
_DIAGNOSES: Final = {
    Judgement.PASS: DiagnosisType.PASS,
    Judgement.FAIL: DiagnosisType.FAIL,
    Judgement.NO_VERDICT: DiagnosisType.UNKNOWN,
}
# Exit codes of commands whose runs came to their end.
_COMPLETE: Final = {
    0: TestResult.PASS,
    LimitError.exit_code: TestResult.FAIL,
    NoVerdictError.exit_code: TestResult.NOT_APPLICABLE,
    NotSteadyError.exit_code: TestResult.NOT_APPLICABLE,
}


class _Writer(Writer):
    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write

    def write(self, buffer: str) -> None:
        self._write(buffer.encode() + b"\n")


class OcpDiagStream(Struct):
    """Gives each artifact to ``write``, a line at a time: a file that is cut off is valid up to there."""

    write: Callable[[bytes], object]
    _started: lines.ProgramStarted | None = None
    _run: TestRun | None = None
    _drive: HardwareInfo | None = None
    _step: TestStep | None = None
    _failed: bool = False
    _test: str = ""
    _simulated: bool = False
    _notes: list[str] = field(default_factory=list)

    def on_event(self, event: Event) -> None:
        """Write what the event says."""
        self._on_event(event)

    @singledispatchmethod
    def _on_event(self, event: Event) -> None:
        """Progress is not written: the series of a step has all of it."""

    @_on_event.register
    def _(self, event: lines.ProgramStarted) -> None:
        self._started = event

    @_on_event.register
    def _(self, event: lines.Note) -> None:
        if event.topic == "healed":
            self._notes.append(event.text)  # comes before the run is known
        else:
            self._log(LogSeverity.WARNING, event.text)

    @_on_event.register
    def _(self, event: events.RunStarted) -> None:
        manifest = event.manifest
        self._test = manifest.conditions.test
        self._simulated = manifest.target.simulation is not None
        if self._run is None:
            dut = Dut(id="drive", name=manifest.target.name)
            self._drive = dut.add_hardware_info(
                name=fact_of(manifest.dut, "model") or manifest.target.name,
                serial_no=fact_of(manifest.dut, "serial"),
                manufacturer=fact_of(manifest.dut, "manufacturer"),
                location=manifest.target.path,
            )
            if (firmware := fact_of(manifest.dut, "firmware")) is not None:
                dut.add_software_info(name="firmware", type=SoftwareType.FIRMWARE, version=firmware)
            labels = {f"label {name}": value for name, value in manifest.people.labels.items()}
            self._begin(dut, {"test": self._test, "seed": manifest.conditions.seed, **labels})
        if self._simulated:
            self._log(LogSeverity.WARNING, f"simulated drive: {manifest.target.path}; nothing is measured")
        self._log(LogSeverity.INFO, f"run folder: {event.folder.absolute()}")
        for note in self._notes:
            self._log(LogSeverity.INFO, note)
        self._notes.clear()

    @_on_event.register
    def _(self, event: lines.DeviationFound) -> None:
        used = f"deviation {event.rule_id}: required {event.required}; used {event.used}"
        self._log(LogSeverity.WARNING, used)

    @_on_event.register
    def _(self, _event: lines.PurgeStarted) -> None:
        self._begin_step("purge")

    @_on_event.register
    def _(self, event: events.PurgeFinished) -> None:
        step, report = self._step or self._begin_step("purge"), event.report
        if report.ran:
            proof = f"{report.method}: {report.changed_samples} of {report.samples} marks are gone"
            step.add_diagnosis(
                DiagnosisType.PASS, verdict="purge-proven", message=proof, source_location=None
            )
        else:
            step.add_diagnosis(
                DiagnosisType.UNKNOWN, verdict="purge-left-out", message=report.detail, source_location=None
            )
        self._end_step()

    @_on_event.register
    def _(self, event: events.StepsStarted) -> None:
        self._begin_step(phase_text(event.apply.phase, event.apply.number, event.cycle))

    @_on_event.register
    def _(self, event: events.StepFinished) -> None:
        step = self._step or self._begin_step(str(event.place))
        sample, name = event.sample, str(event.sample.step)
        self._write_series(step, name, sample)
        for title, value, unit in _list_figures(sample):
            step.add_measurement(name=f"{name} {title}", value=value, unit=unit, hardware_info=self._drive)
        if sample.failure is not None:
            step.add_error(symptom="io-error", message=failed_io_text(sample.failure), source_location=None)
            self._diagnose(DiagnosisType.FAIL, "io-error")
        self._failed = self._failed or sample.state is StepState.FAILED

    @_on_event.register
    def _(self, event: events.IoHangs) -> None:
        self._log(LogSeverity.WARNING, hang_text(event.io))

    @_on_event.register
    def _(self, event: events.HostStalled) -> None:
        self._log(LogSeverity.WARNING, f"{standstill_text(event.sample)} in {event.place}")

    @_on_event.register
    def _(self, event: events.RecordDelayed) -> None:
        self._log(LogSeverity.WARNING, f"can't write the record: {event.reason}")

    @_on_event.register
    def _(self, event: lines.SteadyStateJudged) -> None:
        if self._step is None:
            self._begin_step("steady state")
        for one in event.variables:
            self._diagnose(
                DiagnosisType.PASS if one.steady else DiagnosisType.UNKNOWN,
                "steady" if one.steady else "not-steady",
                f"{one.name}: range {one.range_pct:.1f} %, slope {one.slope_excursion_pct:.1f} %",
            )

    @_on_event.register
    def _(self, event: lines.PowerWasCut) -> None:
        cut = event.cut
        self._begin_step(f"power cut {cut.number}")
        self._diagnose(
            DiagnosisType.FAIL if cut.losses else DiagnosisType.PASS,
            "data-lost" if cut.losses else "data-kept",
            f"{cut.promised:,} writes had to survive; accusations: {sum(cut.losses.values()):,}",
        )

    @_on_event.register
    def _(self, event: events.CommandStarted) -> None:
        self._begin_step(f"{event.order.kind} run {event.order.number}")

    @_on_event.register
    def _(self, event: lines.CommandEnded) -> None:
        run = event.run
        step = self._step or self._begin_step(run.name)
        step.add_measurement(name="elapsed time", value=run.elapsed_ns / NS_PER_S, unit="s")
        if run.figure is not None:
            step.add_measurement(name="figure of the command", value=run.figure)
        self._end_step(TestStatus.COMPLETE if run.stands else TestStatus.ERROR)

    @_on_event.register
    def _(self, event: lines.RunEnded) -> None:
        self._end_step(TestStatus.ERROR if event.reason is not None else TestStatus.COMPLETE)
        self._failed = False
        if event.reason is not None:
            self._log(LogSeverity.ERROR, f"{self._test}: run {event.state}: {event.reason}")

    @_on_event.register
    def _(self, event: lines.LimitsJudged) -> None:
        step = self._begin_step("limits")
        for limit in event.limits:
            if limit.value is not None:
                step.add_measurement(
                    name=limit.name,
                    value=limit.value,
                    unit="share of the baseline" if limit.is_relative else limit.unit,
                    validators=_validators(limit),
                    hardware_info=self._drive,
                )
            self._diagnose(
                _DIAGNOSES[limit.judgement],
                limit.judgement.replace(" ", "-"),
                ": ".join(filter(None, (f"{limit.name} {limit.limit}", limit.reason))),
            )
        self._end_step()

    @_on_event.register
    def _(self, event: lines.ReportsWritten) -> None:
        step = self._begin_step("report")
        for path in map(Path, event.paths):
            step.add_file(name=path.name, uri=path.as_uri(), is_snapshot=True)
        self._end_step()

    @_on_event.register
    def _(self, event: lines.ProgramEnded) -> None:
        self._end_step(TestStatus.COMPLETE if event.exit_code == 0 else TestStatus.ERROR)
        run = self._run or self._begin(Dut(id="drive", name=_NO_TARGET), {})
        if event.error is not None:
            run.add_error(symptom=f"exit-code-{event.exit_code}", message=event.error, source_location=None)
        complete = event.exit_code in _COMPLETE
        run.end(
            status=TestStatus.COMPLETE if complete else TestStatus.ERROR,
            result=_COMPLETE.get(event.exit_code, TestResult.NOT_APPLICABLE),
        )

    def _begin(self, dut: Dut, parameters: dict[str, str | int]) -> TestRun:
        words, version = (
            ((), "") if self._started is None else (self._started.command_line, self._started.program_version)
        )
        config(writer=_Writer(self.write), enable_runtime_checks=False)
        dut.add_software_info(name="openpts", type=SoftwareType.APPLICATION, version=version)
        self._run = TestRun(
            name="openpts",
            version=version,
            command_line=shlex.join(("openpts", *words)),
            parameters=parameters,
        )
        self._run.start(dut=dut)
        return self._run

    def _begin_step(self, name: str) -> TestStep:
        """End the step before it, and begin this one."""
        self._end_step()
        run = self._run or self._begin(Dut(id="drive", name=_NO_TARGET), {})
        self._step = run.add_step(f"{self._test}: {name}" if self._test else name)
        self._step.start()  # type: ignore[no-untyped-call]
        return self._step

    def _end_step(self, status: TestStatus = TestStatus.COMPLETE) -> None:
        if self._step is not None:
            self._step.end(status=TestStatus.ERROR if self._failed else status)
            self._step = None

    def _diagnose(self, kind: DiagnosisType, verdict: str, message: str | None = None) -> None:
        """What is concluded of the drive in the step that runs."""
        if self._step is not None:
            self._step.add_diagnosis(
                kind, verdict=verdict, message=message, hardware_info=self._drive, source_location=None
            )

    def _log(self, severity: LogSeverity, message: str) -> None:
        place = self._step or self._run
        if place is not None:
            place.add_log(severity, message, source_location=None)

    def _write_series(self, step: TestStep, name: str, sample: Sample) -> None:
        """IOPS and throughput of each interval; in virtual time, all of them are of the moment of writing."""
        series = (("IOPS", "IO/s", "iops"), ("throughput", "B/s", "bandwidth_bytes_per_s"))
        ended_s = time.time()
        for title, unit, figure in series:
            started = step.start_measurement_series(
                name=f"{name} {title}", unit=unit, hardware_info=self._drive
            )
            left_ns = sample.elapsed_ns
            for interval in sample.intervals:
                left_ns -= interval.elapsed_ns
                ago_s = 0.0 if self._simulated else max(0, left_ns) / NS_PER_S
                started.add_measurement(value=getattr(interval, figure), timestamp=ended_s - ago_s)
            started.end()  # type: ignore[no-untyped-call]


def _validators(limit: JudgedLimit) -> list[Validator]:
    bounds = (
        (ValidatorType.GREATER_THAN_OR_EQUAL, limit.at_least),
        (ValidatorType.LESS_THAN_OR_EQUAL, limit.at_most),
    )
    return [
        Validator(type=kind, value=bound, name=limit.limit) for kind, bound in bounds if bound is not None
    ]


def _list_figures(sample: Sample) -> Iterable[tuple[str, float, str]]:
    """Title, value and unit of each figure of a step: rates, then response times of each kind of I/O."""
    if sample.ios:
        yield "IOPS", sample.iops, "IO/s"
        yield "throughput", sample.bandwidth_bytes_per_s, "B/s"
    for kind, operation in operation_lines(sample, PERCENTILES).items():
        yield f"{kind} response time, mean", operation.latency_mean_ns or 0.0, "ns"
        for name, value_ns in operation.percentiles_ns.items():
            yield f"{kind} response time, {name.upper()}", value_ns, "ns"
        if operation.latency_max_ns is not None:
            yield f"{kind} response time, maximum", operation.latency_max_ns, "ns"
