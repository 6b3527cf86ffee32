"""The page of slow I/Os: how many of each cause, the slowest of them with their evidence, and the rules."""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.record.reader import Run
from openpts.units import NS_PER_MS, NS_PER_S
from openpts_nvme.outliers.causes import Cause, MonitorInterval, Outlier, comparisons_of
from openpts_nvme.outliers.rules import RULES, Surroundings, Witnessed, cause_of
from openpts_pages import cells
from openpts_pages.kit import Cells, rows_table
from openpts_pages.model import Block, Page, Table, Verdict


class JudgedOutliers(Struct, frozen=True):
    """All slow I/Os of a run by time, and what the drive's own monitor says of the same time."""

    outliers: tuple[Outlier, ...]
    comparisons: tuple[MonitorInterval, ...]

    @property
    def by_cause(self) -> Mapping[Cause, list[Outlier]]:
        """Outliers of each cause that there is, in the order of ``Cause``."""
        found = {cause: [one for one in self.outliers if one.cause is cause] for cause in Cause}
        return {cause: some for cause, some in found.items() if some}

    @property
    def hides(self) -> str:
        """What the drive's monitor leaves out, as a sentence; empty if nothing for certain."""
        hidden = sum(one.hidden for one in self.comparisons)
        lacks = f"of the I/Os that it had alone its latency monitor lacks {hidden:,}"
        return f"The drive hides outliers: {lacks}." if hidden else ""


def judged(run: Run) -> JudgedOutliers:
    """Every slow I/O of the record with its cause."""
    surroundings = Surroundings.of(run)
    witnessed = [
        (step, Witnessed(slow, surroundings.around(slow, step)))
        for step in run.steps
        for slow in step.sample.slow_ios
    ]
    alone = [one.slow for _, one in witnessed if one.drive_had_it_alone]
    comparisons = tuple(
        replace(one, hidden=one.lacking(alone)) for one in comparisons_of(run.health, run.steps)
    )
    outliers = []
    for step, one in witnessed:
        denials = (comparison.denies(one.slow) for comparison in comparisons)
        denies = next((denial for denial in denials if denial is not None), None)
        cause, evidence = cause_of(replace(one, drive_denies=denies))
        outliers.append(Outlier(step=str(step.place), io=one.slow, cause=cause, evidence=evidence))
    return JudgedOutliers(tuple(outliers), comparisons)


_PRINTED: Final = 40


def outliers_page(run: Run) -> Page | None:
    """None for a run that noted no slow I/Os, and whose drive's monitor was not read."""
    found = judged(run)
    ordered = run.manifest.ordered
    limit_ms = ordered.slow_io_ms if ordered is not None else None
    if limit_ms is None and not found.outliers and not found.comparisons:
        return None
    return Page("outliers", "Outliers", tuple(_blocks(run, found, limit_ms)))


def _blocks(run: Run, found: JudgedOutliers, limit_ms: float | None) -> Iterator[Block]:
    limit = "" if limit_ms is None else f" of {limit_ms:g} ms or more"
    if not found.outliers:
        yield Verdict(f"Outliers: no I/O{limit} was noted.", "pass")
    else:
        parts = ", ".join(f"{cause} {len(some):,}" for cause, some in found.by_cause.items())
        yield Verdict(f"Outliers: {len(found.outliers):,} I/Os{limit}: {parts}.")
    if found.hides:
        yield Verdict(found.hides, "fail")
    if found.comparisons:
        yield _monitor(found.comparisons)
    if found.outliers:
        yield _causes(found)
        yield _slowest(run, found)
    yield _rules()


def _causes(found: JudgedOutliers) -> Table:
    return rows_table(
        "outliers-causes",
        "Slow I/Os by cause",
        "Cause:<1.2 | I/Os | Slowest (ms) | Together (ms) | Evidence of the slowest:<4",
        (_cause_row(cause, some) for cause, some in found.by_cause.items()),
    )


def _cause_row(cause: Cause, some: list[Outlier]) -> Cells:
    slowest = max(some, key=lambda one: one.io.latency_ns)
    together_ns = sum(one.io.latency_ns for one in some)
    return (
        str(cause),
        cells.count(len(some)),
        cells.number(slowest.io.latency_ns / NS_PER_MS, 3),
        cells.number(together_ns / NS_PER_MS, 1),
        slowest.evidence,
    )


def _slowest(run: Run, found: JudgedOutliers) -> Table:
    some = sorted(found.outliers, key=lambda one: -one.io.latency_ns)[:_PRINTED]
    start_ns = run.steps[0].sample.started_ns
    return rows_table(
        "outliers-slowest",
        "The slowest I/Os",
        "Step:<1.4 | At (s) | Operation:<0.8 | Offset (bytes) | Latency (ms) | Cause:<1 | Evidence:<3.6",
        (
            (
                one.step,
                cells.number((one.io.submitted_ns - start_ns) / NS_PER_S, 3),
                one.io.operation,
                cells.count(one.io.offset_bytes),
                cells.number(one.io.latency_ns / NS_PER_MS, 3),
                str(one.cause),
                one.evidence,
            )
            for one in some
        ),
        note=f"Up to {_PRINTED}; table slow_io of run.db has all. At: since the first step.",
    )


def _monitor(comparisons: tuple[MonitorInterval, ...]) -> Table:
    return rows_table(
        "outliers-monitor",
        "The drive's latency monitor beside the host",
        "From (s) | To (s) | Operation:<1 | At or above (ms) | Drive | Host",
        (row for one in comparisons for row in _monitor_rows(one)),
        note="Commands between two readings of the log. The host's time is never the shorter one: where the "
        "drive counts more, it has commands of others.",
    )


def _monitor_rows(one: MonitorInterval) -> Iterator[Cells]:
    for operation, counts in one.drive.items():
        for threshold_ns, its, ours in zip(one.thresholds_ns, counts, one.host[operation], strict=True):
            if its or ours:
                yield (
                    cells.number(one.from_ns / NS_PER_S, 1),
                    cells.number(one.until_ns / NS_PER_S, 1),
                    operation,
                    cells.number(threshold_ns / NS_PER_MS, 0),
                    cells.count(its),
                    cells.count(ours),
                )


def _rules() -> Table:
    return rows_table(
        "outliers-rules",
        "Rules, in the order in which they are asked",
        "Cause:<1 | Holds if:<3 | Because:<3",
        ((str(rule.cause), rule.threshold, rule.why) for rule in RULES),
    )
