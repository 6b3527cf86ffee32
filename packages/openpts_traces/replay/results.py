"""What passes of a trace measured."""

from collections.abc import Iterable
from statistics import median

from msgspec import Struct

from openpts.analysis.run_comparison import RunSet
from openpts.vocabulary.better import Better
from openpts.vocabulary.replay import ReplayPreparation, TraceScore, trace_score
from openpts.vocabulary.sample import Sample
from openpts_traces.replay.passes import Pass, all_passes_of, distribution


class ReplayResults(Struct, frozen=True):
    """All passes that came to their ends, of one trace or of several."""

    passes: tuple[Pass, ...]

    @property
    def traces(self) -> "tuple[ReplayResults, ...]":
        """The same of each trace by itself."""
        streams = sorted({one.stream for one in self.passes})
        return tuple(
            ReplayResults(tuple(one for one in self.passes if one.stream == stream)) for stream in streams
        )

    @property
    def preparation(self) -> ReplayPreparation | None:
        """What became of the first trace in the first pass."""
        return self.passes[0].replay.preparation if self.passes else None

    @property
    def typical(self) -> Pass | None:
        """The pass with the median score, the lower one of two; the last where there is no score."""
        scored = [one for one in self.passes if one.score is not None]
        if not scored:
            return self.passes[-1] if self.passes else None
        return sorted(scored, key=_score_of)[(len(scored) - 1) // 2]

    @property
    def scores(self) -> RunSet | None:
        """Scores of all passes; None where there are none."""
        scores = [float(_score_of(one)) for one in self.passes if one.score is not None]
        return RunSet(tuple(scores), Better.HIGHER) if scores else None

    @property
    def median_score(self) -> float | None:
        """Of all passes of a trace; None where several were replayed at once: each has its own."""
        scores = self.scores
        return median(scores.values) if scores and len(self.traces) == 1 else None

    @property
    def original_score(self) -> TraceScore | None:
        """What the trace itself scores; None where it has no completions."""
        found = self.preparation
        if found is None:
            return None
        times = distribution(found.latencies.values())
        if not times.count:
            return None
        return trace_score(found.transferred_bytes, times.count, round(times.middle_sum_ns), found.busy_ns)


def _score_of(one: Pass) -> int:
    return one.score.score if one.score else 0


def analyze(samples: Iterable[Sample]) -> ReplayResults:
    """The passes of these steps."""
    return ReplayResults(all_passes_of(samples))
