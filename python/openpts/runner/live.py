"""Drives a test script on a real engine: carries out what it asks and sends back what happened."""

import time
from contextlib import suppress
from dataclasses import dataclass, field

from openpts.engine.contract import Engine, EngineStoppedError
from openpts.errors import InterruptedRunError, RunFailedError
from openpts.record.writer import RunWriter
from openpts.runner.events import (
    DeviationFound,
    IoHangs,
    Listener,
    PurgeFinished,
    PurgeStarted,
    SteadyStateJudged,
    StepFinished,
    StepsStarted,
    Ticked,
)
from openpts.runner.hangs import HangWatch
from openpts.runner.io_errors import error_deviations, failure_text
from openpts.runner.preparation import Preparation
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.requests import (
    Answer,
    Outcome,
    Precondition,
    Purge,
    Request,
    Round,
    Script,
    SetWriteCache,
    SteadyStateChecked,
)
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stimulus import Step

TICK_S = 0.1
# How long the engine may take to hand over the step that was running when the operator stopped it.
STOP_LIMIT_S = 3.0


@dataclass(slots=True)
class LiveDriver:
    """One run of one script. What it measures is in the record before the next judgement but one."""

    engine: Engine
    preparation: Preparation
    writer: RunWriter
    emit: Listener
    _hangs: HangWatch = field(default_factory=HangWatch)
    _unwritten: list[StepFinished] = field(default_factory=list)
    _place: tuple[int | None, int] = (None, 0)

    def drive(self, script: Script) -> Outcome:
        """Run the script to its end.

        Raises RunFailedError when an I/O fails, InterruptedRunError on Ctrl-C, and whatever the
        preparation raises. The finished steps are in the record in every case.
        """
        answer: Answer = None
        try:
            while True:
                answer = self._carry_out(script.send(answer))
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome
        except KeyboardInterrupt:
            self._stop()
            raise InterruptedRunError("stopped by the operator") from None
        finally:
            self._write_down()

    def _carry_out(self, request: Request) -> Answer:
        match request:
            case Purge():
                self.emit(PurgeStarted())
                purge_report, deviations = self.preparation.purge()
                self.writer.update_manifest(purge=purge_report)
                self.add_deviations(deviations)
                self.emit(PurgeFinished(purge_report))
            case SetWriteCache(enabled):
                cache_report, deviations = self.preparation.write_cache(enabled)
                self.writer.update_manifest(write_cache=cache_report)
                self.add_deviations(deviations)
            case Precondition(step):
                (sample,) = self._run(None, (step,))
                return sample
            case Round(number, _, steps):
                return tuple(self._run(number, steps))
            case SteadyStateChecked(number, reports):
                self.emit(SteadyStateJudged(number, reports))
        return None

    def add_deviations(self, deviations: tuple[Deviation, ...]) -> None:
        """Enter into the ledger and tell the listeners."""
        self.writer.add_deviations(deviations)
        for deviation in deviations:
            self.emit(DeviationFound(deviation))

    def _run(self, round_number: int | None, steps: tuple[Step, ...]) -> list[Sample]:
        self.engine.submit(steps)
        # The device works again: now there is time to write down what it did before.
        self._write_down()
        self.emit(StepsStarted(round_number, steps))
        samples = []
        for position, step in enumerate(steps):
            self._place = (round_number, position)
            sample = self._wait_for(step)
            samples.append(sample)
            finished = StepFinished(round_number, position, sample)
            self._unwritten.append(finished)
            self._place = (round_number, position + 1)
            self.emit(finished)
            if sample.state is not StepState.COMPLETE:
                raise RunFailedError(failure_text(sample))
            if position + 1 < len(steps):
                self._write_down()
        return samples

    def _wait_for(self, step: Step) -> Sample:
        while True:
            try:
                sample = self.engine.poll(TICK_S)
            except EngineStoppedError as error:
                raise RunFailedError(f"the engine ended in the middle of {step}") from error
            if sample is not None:
                return sample
            progress = self.engine.progress()
            self.emit(Ticked(*self._place, step, progress))
            if hanging := self._hangs.news(progress.oldest):
                self.emit(IoHangs(hanging))

    def _stop(self) -> None:
        """Stop the engine and keep what it still hands over."""
        self.engine.stop()
        deadline = time.monotonic() + STOP_LIMIT_S
        round_number, position = self._place
        with suppress(EngineStoppedError):
            while (left_s := deadline - time.monotonic()) > 0:
                sample = self.engine.poll(left_s)
                if sample is not None:
                    self._unwritten.append(StepFinished(round_number, position, sample))
                    position += 1

    def _write_down(self) -> None:
        while self._unwritten:
            finished = self._unwritten[0]
            self.writer.add_step(finished.round_number, finished.position, finished.sample)
            self._unwritten.pop(0)
            if entries := error_deviations(finished.round_number, finished.position, finished.sample):
                self.add_deviations(entries)
