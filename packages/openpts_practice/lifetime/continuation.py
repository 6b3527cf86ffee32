"""What a finished run leaves for the one that continues it: where its data is, and the conditions."""

from pathlib import Path

from msgspec.structs import replace

from openpts.errors import RecordError
from openpts.record.manifest import RunState
from openpts.record.reader import Run
from openpts.vocabulary.sample import Phase
from openpts_practice.lifetime import Continued, LifetimeConditions
from openpts_practice.lifetime.results import LifetimeRun, read_back


def following(run: Run, rest_ns: int, seed: int) -> LifetimeConditions:
    """The conditions of a run that continues this one: its own, with the cycles numbered on.

    Raises RecordError where it is no lifetime test, not complete, or what it left can't be known.
    """
    conditions, manifest = run.manifest.conditions, run.manifest
    if not isinstance(conditions, LifetimeConditions):
        raise RecordError(
            f"can't continue {run.folder}: it is a run of {conditions.test}, which leaves no drive cycle to "
            "read; name a run of lifetime"
        )
    if manifest.state is not RunState.COMPLETE:
        raise RecordError(
            f"can't continue {run.folder}: it is {manifest.state.value}, not complete; continue it by "
            f"`openpts resume {run.folder}`"
        )
    measured = LifetimeRun(run, conditions)
    after = _left(measured, rest_ns)
    return replace(conditions, continues=after, seed=seed)


def _left(measured: LifetimeRun, rest_ns: int) -> Continued:
    """What is on the drive behind the run: what its last cycle wrote, or that of the run before."""
    run, before = measured.run, measured.conditions.continues
    folder = str(Path(run.folder).absolute())
    if not measured.cycles:
        if before is None:
            raise RecordError(f"can't continue {run.folder}: it has no drive cycle; run the test again")
        return replace(
            before,
            run=run.manifest.test_id,
            folder=folder,
            rest_ns=rest_ns,
            reads=measured.reads_back,
            wear=measured.wear,
        )
    last = measured.cycles[-1]
    if not last.written:
        raise RecordError(
            f"can't continue {run.folder}: it ended while cycle {last.number} was written "
            f"({measured.ended_by}), so which sectors hold data of which cycle can't be known"
        )
    warmth = last.log.get("temperature_c")
    samples = [
        step.sample for step in run.phase(Phase.DRIVE_CYCLE, number=last.number) if step.sample.read.ios
    ]
    at_once = read_back(
        samples,
        run=run.manifest.test_id,
        cycle=last.number,
        age_ns=None if last.read_ns is None else last.read_ns - last.started_ns,
        temperatures_c=(warmth, warmth),
    )
    return Continued(
        run=run.manifest.test_id,
        folder=folder,
        cycle=last.number,
        written_at=measured.began_at(last.number),
        written_ns=last.started_ns,
        written_c=warmth,
        compares=measured.conditions.compares,
        rest_ns=rest_ns,
        reads=(*measured.reads_back, at_once),
        wear=measured.wear,
    )
