"""One process's work on a run: where it runs, and how the attempt before it ended."""

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from openpts.record.health import HealthRecord, ReadingPoint
from openpts.record.last_step import LastStep
from openpts.record.manifest import Attempt, Manifest, RunState
from openpts.system_files import SystemRoots, boot_id
from openpts.vocabulary.facts import Facts, PurgeReport, fact_of
from openpts.vocabulary.health import HealthReading

_POWER_CYCLES: Final = "power_cycles"


def attempt_here(software: Facts) -> Attempt:
    """The attempt that this process begins."""
    return Attempt(
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        pid=os.getpid(),
        host=platform.node(),
        boot_id=boot_id(SystemRoots()) or None,
        kernel=fact_of(software, "kernel"),
        openpts=fact_of(software, "test_software"),
    )


def ended(manifest: Manifest, last: LastStep, set_aside: Sequence[PurgeReport]) -> Attempt:
    """The last attempt of a run that ended early, with how; ``set_aside`` are purges that stand no more."""
    was_killed, attempt = manifest.state is RunState.RUNNING, manifest.attempts[-1]
    last_seen = last.stored_at if last.steps > attempt.steps else attempt.started_at
    return replace(
        attempt,
        end=manifest.state,
        ended_at=last_seen if was_killed else manifest.ended_at,
        reason="killed, or lost its power" if was_killed else manifest.state_reason,
        set_aside=tuple(set_aside),
    )


def power_cycles_since(health: Sequence[HealthRecord], now: HealthReading) -> int | None:
    """How often the drive was switched on since its log was last read; None where the log does not say."""
    earlier = [record for record in health if record.occasion is not ReadingPoint.SET_ASIDE]
    before = earlier[-1].reading.values.get(_POWER_CYCLES) if earlier else None
    after = now.values.get(_POWER_CYCLES)
    return None if before is None or after is None else round(after - before)
