"""A run of which every text is hostile that its record may hold: all that no type of the record refuses."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from openpts.record.health import HealthRecord, ReadingPoint, TelemetryPoint
from openpts.record.manifest import Manifest, manifest_of
from openpts.record.reader import Run
from openpts.vocabulary.facts import (
    CaptureReport,
    ChangeReport,
    Fact,
    HealthReading,
    People,
    PurgeAttempt,
    PurgeReport,
)
from openpts.vocabulary.sample import IoErrors, IoFailure
from openpts.vocabulary.stimulus import DataCheck, RandomOnce
from openpts.vocabulary.verdict import Deviation
from tests.support.synthetic_run import HOSTILE

_FACT = Fact("text", "text")


def hostile(run: Run) -> Run:
    """The run, with hostile text wherever a device, a machine, an operator or a forger may put one."""
    steps = [
        replace(step, sample=replace(step.sample, ended_by=step.sample.ended_by and HOSTILE))
        for step in run.steps
    ]
    if steps:
        failed = replace(
            steps[-1].sample,
            failure=IoFailure(HOSTILE, 0, 4096, HOSTILE),
            errors=(IoErrors(HOSTILE, HOSTILE, 1, (0,)),),
        )
        steps[-1] = replace(steps[-1], sample=failed)
    reading = HealthReading(HOSTILE, {HOSTILE: 1.0, "temperature_c": 40.0})
    return replace(
        run,
        manifest=hostile_manifest(run.manifest),
        steps=tuple(steps),
        ledger=(Deviation(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE),),
        health=tuple(
            HealthRecord(occasion, 0, None, None, HOSTILE, None, reading)
            for occasion in (ReadingPoint.BEFORE, ReadingPoint.AFTER)
        )
        + tuple(replace(record, read_at=HOSTILE) for record in run.health),
        sampled=(*run.sampled, TelemetryPoint(1, HOSTILE, 1.0), TelemetryPoint(2, HOSTILE, 2.0)),
    )


def hostile_manifest(manifest: Manifest) -> Manifest:
    """Every field has an entry, and of each of their texts that may be any text nothing is left."""
    facts = {name: {**getattr(manifest, name), HOSTILE: _FACT} for name in _FACTS}
    filled = replace(
        manifest,
        **facts,
        command_line=("text", "text"),
        people=People("text", "text", "text"),
        purges=tuple(_PURGE for _ in manifest.purges),
        healed=("text",),
        state_reason="text",
        capture=CaptureReport("text", lost="text"),
        data_checks=(
            DataCheck(RandomOnce(), 50.0, 50.0, 0, "text"),
            DataCheck(RandomOnce(), 50.0, 50.0, 1, "text"),
        ),
        tuning=(
            ChangeReport("text", "text", "text", "text", "text"),
            ChangeReport("text", "text", None, "text"),
        ),
    )
    plain = msgspec.json.decode(msgspec.json.encode(filled))
    for parent, key in [*_texts(plain)]:
        before, parent[key] = parent[key], HOSTILE
        try:
            msgspec.convert(plain, type=manifest_of(manifest.conditions.test))
        except msgspec.ValidationError:
            parent[key] = before
    return msgspec.convert(plain, type=manifest_of(manifest.conditions.test))


_FACTS = ("dut", "host", "software", "engine", "host_before", "host_after", "telemetry")
_PURGE = PurgeReport(
    ran=True,
    method="text",
    detail="text",
    started_at="text",
    duration_ns=10**9,
    samples=64,
    changed_samples=63,
    name="text",
    attempts=(PurgeAttempt("text", "text"),),
    status={"text": _FACT},
    status_before={"text": Fact("another", "text")},
)


def _texts(value: Any) -> Iterator[tuple[Any, Any]]:
    """The places of all texts that say something: what they are in, and under which key."""
    places = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in places:
        if isinstance(item, str) and item:
            yield value, key
        elif isinstance(item, dict | list):
            yield from _texts(item)
