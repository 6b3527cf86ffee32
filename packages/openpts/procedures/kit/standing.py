"""How far a run may be taken as a measurement: its red line, the host's part."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from openpts.analysis.host_limits import MOST_LATE_SHARE, HostLimit, evidence_texts
from openpts.record.health import StepMarks
from openpts.record.manifest import Manifest, RunState
from openpts.record.reader import Run, StepRecord
from openpts.units import NS_PER_S
from openpts.vocabulary.facts import SimulationFacts, TargetFacts, TargetKind
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.verdict import Deviation
from openpts_pages.texts import brief


class Standing(Struct, frozen=True):
    """How far a run may be taken as a measurement after PTS; ``red_line`` is empty if nothing is wrong.

    ``requirements`` counts how many of the requirements that bind the run are met; of a test beyond the
    specification it is empty.
    """

    red_line: str
    conformant: bool
    bottom_line: str
    requirements: str = ""


def state_sentence(manifest: Manifest) -> str:
    """How the run ended, with its reason, and how to continue with it."""
    sentence = {
        RunState.COMPLETE: "The run was completed",
        RunState.RUNNING: "The run was not finished: its record was never closed (killed, or power lost)",
        RunState.INTERRUPTED: "The run was interrupted before its end",
        RunState.FAILED: "The run failed before its end",
    }[manifest.state]
    reason = f": {manifest.state_reason}" if manifest.state_reason else ""
    resume = "; `openpts resume` continues it" if can_be_resumed(manifest) else ""
    return f"{sentence}{reason}{resume}."


def can_be_resumed(manifest: Manifest) -> bool:
    """Whether the run has not come to its end, and its record has what resuming needs."""
    return manifest.state is not RunState.COMPLETE and manifest.ordered is not None


_RAW_DEVICE = "PTS-GEN-05"
_MOST_RED_LINES = 2
_UNFINISHED = {RunState.RUNNING: "UNFINISHED", RunState.INTERRUPTED: "INTERRUPTED", RunState.FAILED: "FAILED"}


def red_line_of(run: Run) -> str:
    """Why a run is no measurement after PTS; empty if nothing is wrong."""
    manifest = run.manifest
    shortened = "SHORTENED" if manifest.shortened else None
    adjectives = [word for word in (_UNFINISHED.get(manifest.state), shortened) if word]
    if mark := import_mark(manifest) or simulation_mark(manifest.target):
        return f"{', '.join(adjectives)} RUN, {mark}" if adjectives else mark
    where = _no_raw_drive(run)
    if not (where or adjectives):
        return ""
    what = " ".join([", ".join(adjectives), "RUN"]).strip()
    of_what = " of a raw drive" if where else ""
    if not manifest.conditions.of_specification:
        return f"{what}{where} - not a {'' if where else 'whole '}measurement{of_what}"
    return f"{what}{where} - not a measurement{of_what} after PTS"


def red_line_of_all(runs: Iterable[Run], rest: str) -> str:
    """The red lines of several runs, each once; ``rest`` says where those are for which there is no room."""
    lines = list(dict.fromkeys(line for run in runs if (line := red_line_of(run))))
    if len(lines) <= _MOST_RED_LINES:
        return "; ".join(lines)
    more = len(lines) - _MOST_RED_LINES
    return f"{'; '.join(lines[:_MOST_RED_LINES])}; and {more} more: see {rest}"


def import_mark(manifest: Manifest) -> str:
    """The red line of an imported run; empty for one that openpts measured."""
    if manifest.imported is None:
        return ""
    return f"IMPORTED from {brief(manifest.imported.tool)} - not measured by openpts"


def simulation_mark(target: TargetFacts) -> str:
    """The red line of a simulated drive; empty for one that exists."""
    if target.simulation is None:
        return ""
    return f"SIMULATED, {simulation_name(target.simulation)} - not a measurement of a drive"


def simulation_name(simulation: SimulationFacts) -> str:
    """Preset and scale of a simulated drive."""
    return f"preset {brief(simulation.preset)}, scale 1:{simulation.scale}"


def _no_raw_drive(run: Run) -> str:
    """What stood between the stimulus and a drive; empty for a raw drive."""
    if run.manifest.target.kind is TargetKind.FILE:
        return " ON A FILE"
    # what the ledger has against a block device is that the kernel makes it of something else
    between = any(entry.rule_id == _RAW_DEVICE for entry in run.ledger)
    return " ON A DEVICE MADE OF OTHER STORAGE" if between else ""


# Their steps bring the drive into a state: no figure of theirs is a result.
_NO_RESULTS: Final = frozenset({Phase.WIPC, Phase.ROUND_PREWRITE, Phase.HISTOGRAM_PREWRITE})


class LimitedTime(Struct, frozen=True):
    """How long a part of the host was the limit in steps, of how much that was judged.

    ``names`` are the sampled values that show it, ``steps`` those with more marked time than counts as an
    accident: then the 99th percentile of a latency may be the host's.
    """

    limit: HostLimit
    marked_ns: int
    judged_ns: int
    names: tuple[str, ...]
    steps: tuple[StepRecord, ...]

    @property
    def share_pct(self) -> float:
        """Of the time that was judged."""
        return 100 * self.marked_ns / self.judged_ns


def limited_times(pairs: Sequence[tuple[StepRecord, StepMarks]]) -> tuple[LimitedTime, ...]:
    """Of these steps, for each part of the host that was the limit in at least one second."""
    judged_ns = sum(marks.judged_ns for _, marks in pairs)
    found = []
    for limit in HostLimit:
        marked_ns = sum(marks.marked_ns(limit) for _, marks in pairs)
        if marked_ns:
            names = {name for _, marks in pairs for name in marks.evidence(limit)}
            limited = tuple(
                step for step, marks in pairs if marks.marked_ns(limit) > MOST_LATE_SHARE * marks.judged_ns
            )
            found.append(LimitedTime(limit, marked_ns, judged_ns, tuple(sorted(names)), limited))
    return tuple(found)


def host_limit_deviations(run: Run) -> tuple[Deviation, ...]:
    """An entry for each part of the host that limited steps whose figures are results."""
    if run.host_marks is None:
        return ()
    pairs = zip(run.steps, run.host_marks, strict=True)
    results = [(step, marks) for step, marks in pairs if step.place.phase not in _NO_RESULTS]
    return tuple(_entry(limited, len(results)) for limited in limited_times(results) if limited.steps)


def _entry(limited: LimitedTime, steps: int) -> Deviation:
    return Deviation(
        rule_id="PTS-GEN-01",
        clause="1.1",
        required="the drive, and not the host, as what limits each second",
        used=f"{limited.limit}: the host was the limit in {limited.marked_ns / NS_PER_S:,.0f} of "
        f"{limited.judged_ns / NS_PER_S:,.0f} s ({limited.share_pct:.1f} %), in {len(limited.steps):,} of "
        f"{steps:,} steps: {'; '.join(evidence_texts(limited.names))}",
        effect="the figures of these seconds are the host's as well: the drive may do better",
    )
