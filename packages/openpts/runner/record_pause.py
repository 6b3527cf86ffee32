"""The pause of a run whose record can't be written for now: between steps, until its disk has room again."""

import time
from typing import Final

from msgspec import Struct, field

from openpts.errors import InterruptedRunError
from openpts.record.spooling_writer import SpoolingWriter
from openpts.runner.events import Event, Listener, RecordDelayed, RunGoesOn, RunPaused
from openpts.runner.step_faults import step_deviation
from openpts.units import NS_PER_S, format_duration
from openpts.vocabulary.sample import Sample, StepPlace
from openpts.vocabulary.verdict import StepDeviation

_POLL_S: Final = 1.0
_LEAST_NS: Final = NS_PER_S


class RecordPause(Struct):
    """Waits where nothing runs. No steps are interrupted, so that none have to be repeated."""

    writer: SpoolingWriter
    emit: Listener
    _unannounced: list[Event] = field(default_factory=list)
    _announced: bool = False
    _paused_ns: int = 0
    _reason: str = ""

    def tell(self, event: Event) -> None:
        """Announce what is in the record, or follows from it: when the record has all that came before."""
        self._unannounced.append(event)
        self._tell_stored()

    def _tell_stored(self) -> None:
        while self._unannounced and not self.writer.waits:
            self.emit(self._unannounced.pop(0))

    def announce(self) -> None:
        """Announces a delayed record, once per delay."""
        if self.writer.trouble and not self._announced:
            self._announced = True
            self.emit(RecordDelayed(self.writer.folder, self.writer.trouble))

    def until_written(self) -> None:
        """Return when the record has all that was measured, at once if it has.

        Raises InterruptedRunError on Ctrl-C, LostRecordError if the record is gone.
        """
        if not self.writer.trouble:
            return
        self.announce()
        self._reason, began_ns = self.writer.trouble, time.monotonic_ns()
        try:
            while reason := self.writer.try_again():
                self.emit(RunPaused(self.writer.folder, reason, time.monotonic_ns() - began_ns))
                time.sleep(_POLL_S)
        except KeyboardInterrupt:
            raise InterruptedRunError("stopped by the operator, in a pause of the record") from None
        paused_ns = time.monotonic_ns() - began_ns
        self._paused_ns += paused_ns
        self._announced = False
        self.emit(RunGoesOn(paused_ns))
        self._tell_stored()

    def deviations(self, place: StepPlace, sample: Sample) -> tuple[StepDeviation, ...]:
        """The ledger entry of the first step after a pause; none if the drive was not idle in it.

        The time of a simulated drive stands still meanwhile.
        """
        idle_ns = self._paused_ns if sample.gap_ns is None else min(sample.gap_ns, self._paused_ns)
        self._paused_ns = 0
        if idle_ns < _LEAST_NS:
            return ()
        return (
            step_deviation(
                place,
                required="steps that follow each other without a pause",
                used=f"{format_duration(idle_ns)} without I/O before {place} ({sample.step}): "
                f"the record could not be written: {self._reason}",
                effect="a drive that is idle recovers: the figures that follow may be better for it",
                extent=idle_ns,
            ),
        )
