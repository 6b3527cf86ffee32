"""What the rules say of planted stalls: a table of confusion, and precision and recall from it."""

import random
from collections import Counter

from msgspec import Struct

from openpts.record.reader import StepRecord
from openpts.vocabulary.sample import Phase, StepPlace
from openpts_nvme.outliers.causes import Cause
from openpts_nvme.outliers.rules import Surroundings, Witnessed, cause_of
from tests.support.interval_samples import step_of
from tests.support.stalled_host import MS, TRUTH, Kind, Machine, planted, readings, sampled


class Confusion(Struct, frozen=True):
    """Stalls by their kind and by the cause that was found; None: none of its I/Os was above the limit."""

    counts: Counter[tuple[Kind, Cause | None]]

    def share(self, kind: Kind) -> float:
        """Of the stalls of this kind that made an I/O slow, those with the right cause."""
        of_kind = sum(n for (one, cause), n in self.counts.items() if one is kind and cause is not None)
        return self.counts[kind, TRUTH[kind]] / of_kind

    @property
    def recall(self) -> float:
        """Right causes, of all stalls that made an I/O slow."""
        return self._right / sum(n for (_, cause), n in self.counts.items() if cause is not None)

    @property
    def precision(self) -> float:
        """Right causes, of all causes that were given."""
        unknown = (None, Cause.NOT_KNOWN)
        return self._right / sum(n for (_, cause), n in self.counts.items() if cause not in unknown)

    @property
    def _right(self) -> int:
        return sum(n for (kind, cause), n in self.counts.items() if cause is TRUTH[kind])

    def table(self) -> str:
        """As a table in Markdown, kinds down and causes across."""
        causes = [*Cause, None]
        lines = [
            "| Planted | " + " | ".join("none seen" if cause is None else cause for cause in causes) + " |",
            "|---|" + "---:|" * len(causes),
        ]
        for kind in Kind:
            cells = [self.counts[kind, cause] for cause in causes]
            lines.append(f"| {kind} | " + " | ".join(f"{n:,}" if n else "" for n in cells) + " |")
        return "\n".join(lines)


def judged_stalls(
    count: int, seed: int, limit_ms: float, lengths_ms: tuple[float, float], apart_s: float = 1.0
) -> Confusion:
    """Plants stalls on the simulated host and has them judged: a stall has the cause of its slowest I/O."""
    stalls = list(planted(count, seed, lengths_ms, apart_s))
    step = StepRecord(StepPlace(1, Phase.ROUND, 1, 0), step_of([[80_000] * 12_000]))
    counts: Counter[tuple[Kind, Cause | None]] = Counter()
    draw = random.Random(seed)
    machines = [Machine(draw, round(limit_ms * MS), stall) for stall in stalls]
    for machine in machines:
        machine.run()
    slow_ios = [slow for machine in machines for slow in machine.slow]
    surroundings = Surroundings(sampled(stalls, seed), readings(stalls), 1.0, slow_ios)
    for stall, machine in zip(stalls, machines, strict=True):
        slowest = max(machine.slow, key=lambda slow: slow.latency_ns, default=None)
        cause = None
        if slowest is not None:
            cause = cause_of(Witnessed(slowest, surroundings.around(slowest, step)))[0]
        counts[stall.kind, cause] += 1
    return Confusion(counts)
