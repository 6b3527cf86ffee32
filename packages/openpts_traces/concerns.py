"""What captures leave behind when they are killed."""

from openpts.hooks import Concern, Healer


class Captures(Concern):
    """What one has left slows each run on the host."""

    def healer_of(self, kind: str) -> Healer | None:
        """Takes it down, whatever the run's target is."""
        from openpts_traces.capture.leftovers import BLOCK_TRACE, take_down  # noqa: PLC0415 few have captured

        return Healer(take_down, bears_on=lambda *_: True, of_drive=False) if kind == BLOCK_TRACE else None
