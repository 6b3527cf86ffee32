"""A new run that follows a finished one on the same drive, which kept what that one wrote.

What was written on a drive that exists is still there, as far as its log can tell. A simulated drive is
restored to where the earlier run left it by repeating in virtual time what that and those before it did.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.engine.options import NativeOptions
from openpts.errors import RecordError, TargetError, UsageError
from openpts.fields.conditions import Conditions, EarlierRun
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.registry import procedure_of
from openpts.record.manifest import Manifest
from openpts.record.reader import Run, stored_run
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.runner.driver import driver_of
from openpts.runner.preparation import Preparation
from openpts.runner.replay import ResumePoint, cut_of
from openpts.runner.resource_check import demand_of, interval_ns
from openpts.runner.restored_drive import other_identity, repeat
from openpts.units import format_capacity
from openpts.vocabulary.requests import Apply

_WRITTEN: Final = "host_write_bytes"
_LATE_SHARE: Final = 0.001
"""Of the capacity: by so much the log of a drive may lag behind, or be rounded."""


class Continuation(Struct, frozen=True):
    """The finished ``run`` that is continued; ``rest_ns`` is None unless the operator gave it."""

    run: Run
    rest_ns: int | None = None

    def conditions(self, test: Procedure, seed: int) -> Conditions:
        """Conditions of the continued run, numbered on. Raises RecordError where it can't be continued."""
        found: Conditions = test.part("continuation").following(self.run, self.rest_ns or 0, seed)
        return found

    def check(self, now: Manifest, log: Mapping[str, float]) -> None:
        """Raises TargetError for another drive, or one that was written since; ``log`` is the drive's own.

        Raises UsageError where the operator wants what the run's data, or this drive, does not allow.
        """
        then, folder = self.run.manifest, self.run.folder
        if others := other_identity(then, now):
            raise TargetError(
                f"can't continue {folder} on {now.target.path}: it is not the drive of that run: "
                f"{', '.join(others)}"
            )
        for name, option in (("active_range", "--active-range"), ("data", "--data-pattern")):
            if getattr(now.conditions, name) != getattr(then.conditions, name):
                raise UsageError(
                    f"{option} must be that of {folder}, whose data is read first: leave it out, or begin a "
                    "new run without --continue"
                )
        if now.target.simulation is not None:
            return
        if self.rest_ns is not None:
            raise UsageError("--rest-days is for simulated drives: the data of this one ages by itself")
        written = [one.reading.values[_WRITTEN] for one in self.run.health if _WRITTEN in one.reading.values]
        since_bytes = log[_WRITTEN] - written[-1] if written and _WRITTEN in log else 0
        if since_bytes > _LATE_SHARE * now.target.user_capacity_bytes:
            raise TargetError(
                f"can't continue {folder} on {now.target.path}: by its log "
                f"{format_capacity(int(since_bytes))} were written to it since, so what that run wrote may "
                "be gone; begin a new run without --continue"
            )


def bring_back_earlier(conditions: Conditions, device: DeviceUnderTest, preparation: Preparation) -> None:
    """A simulated drive as the runs before left it; nothing for a run that continues none.

    Raises RecordError where one of them is not there, or this version of openpts computes other figures.
    """
    after = conditions.earlier_run
    if after is None or device.facts.simulation is None:
        return
    run = stored_run(_folder_of(after))
    before = run.manifest.conditions
    bring_back_earlier(before, device, preparation)
    test = procedure_of(before.test)
    script = test.script(before, device.facts.user_capacity_bytes)
    kept = cut_of(script, run, ResumePoint.PROGRAM, driver_of(test).recorded).kept
    steps = [step for one in kept if isinstance(one.request, Apply) for step in one.request.steps]
    options = NativeOptions(
        interval_ns=interval_ns(before.minute_ns), over_read_errors=before.goes_on_over_read_errors
    )
    with device.engine(demand_of(steps), before.seed, options, near=False) as engine:
        repeat(kept, run, engine, preparation, "continue")


def _folder_of(after: EarlierRun) -> Path:
    """Where the run is that was continued. Raises RecordError if it is there no more, or is another one."""
    folder = Path(after.folder)
    if not folder.is_dir():
        raise RecordError(
            f"can't bring back the simulated drive: {after.run}, which this run continues, is not in "
            f"{folder} any more; put it back, or run the test again"
        )
    if (found := stored_run(folder).manifest.test_id) != after.run:
        raise RecordError(
            f"can't bring back the simulated drive: {folder} holds {found} instead of {after.run}; put it "
            "back, or run the test again"
        )
    return folder
