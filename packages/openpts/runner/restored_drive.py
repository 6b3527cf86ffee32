"""Whether a drive is that of an earlier run, and how a simulated one gets back to where the run left it."""

from collections.abc import Iterable
from typing import Final

from openpts.engine.contract import CapturingEngine
from openpts.errors import RecordError
from openpts.record.manifest import Manifest
from openpts.record.reader import Run
from openpts.runner.preparation import Preparation
from openpts.runner.replay import ReplayedRequest
from openpts.units import format_capacity
from openpts.vocabulary.requests import Apply, Purge, SetWriteCache
from openpts.vocabulary.sample import Sample

_IDENTITY: Final = ("serial", "model", "firmware")
_POLL_S: Final = 1.0


def other_identity(then: Manifest, now: Manifest) -> list[str]:
    """What a drive is known by and is not as in the record, each in words; nothing for the same drive."""
    before, found = _identity(then), _identity(now)
    return [
        f"{name} {found[name]} instead of {before[name]}" for name in before if found[name] != before[name]
    ]


def _identity(manifest: Manifest) -> dict[str, str]:
    """What must be as it was; of a simulated drive all that it is made from."""
    target, dut = manifest.target, manifest.dut
    return {
        **{name: (fact.value or "none") if (fact := dut.get(name)) else "none" for name in _IDENTITY},
        "kind": target.kind,
        "capacity": f"{format_capacity(target.user_capacity_bytes)} ({target.user_capacity_bytes} B)",
        "LBA size": f"{target.sector_bytes} B",
        "simulation": str(target.simulation),
    }


def repeat(
    requests: Iterable[ReplayedRequest],
    run: Run,
    engine: CapturingEngine,
    preparation: Preparation,
    verb: str,
) -> None:
    """Carry out again what the record has of a simulated drive, and hold the figures against it.

    Raises RecordError if they are others: another version computed them. ``verb`` is what can't be done then.
    """
    samples = {step.place: step.sample for step in run.steps}
    for answered in requests:
        match answered.request:
            case Purge(needed=True):
                preparation.purge(lambda _share, _text: None)
            case SetWriteCache(enabled):
                preparation.write_cache(enabled)
            case Apply(steps=steps):
                engine.submit(steps)
                for stored in (samples[place] for place in answered.places):
                    while (again := engine.poll(_POLL_S)) is None:
                        pass
                    if _figures(again) != _figures(stored):
                        raise RecordError(
                            f"can't {verb} {run.folder}: this version of openpts computes other figures of "
                            f"{stored.step} than its record has; run the test again"
                        )
            case _:
                pass


def _figures(sample: Sample) -> tuple[object, ...]:
    """Figures by which two simulations of one step are compared: they must be equal."""
    times = sample.started_ns, sample.elapsed_ns, sample.gap_ns
    return times, sample.operations, sample.streams, sample.state
