"""Faults of one line in openpts' analysis: the comparison with the second verifier must find each.

``python -m tests.second_verifier.faults`` plants all of them, one by one, in copies.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from tests import ROOT
from tests.second_verifier.generated import TESTS, generated_run, write_run

BUILT: Final = ROOT / "build" / "second-look"
"""What `make second-verifier` builds."""
GO_ENVIRONMENT: Final = {**os.environ, "CGO_ENABLED": "0"}
"""As before a test changes it: below XDG_CACHE_HOME Go finds SQLite compiled, which takes it a minute."""

RUNS_OF_TEST: Final = 20
_TIME_LIMIT_S: Final = 900


class Fault(NamedTuple):
    """``old`` is once in a file and becomes ``new``; runs of these tests show it, or the run of a seed."""

    file: str
    old: str
    new: str
    tests: tuple[str | int, ...]

    def plant(self, root: Path) -> None:
        """Change the file below a root, which may be a link there."""
        path = root / self.file
        text = path.read_text()
        assert text.count(self.old) == 1, f"{self.file} has {text.count(self.old)} times {self.old!r}"
        path.unlink()
        path.write_text(text.replace(self.old, self.new))


_STEADY: Final = "openpts/analysis/steady_state.py"
_ROUNDS: Final = "openpts/analysis/rounds.py"
_MINUTES: Final = "openpts/analysis/minutes.py"
_SATURATION: Final = "openpts_pts/shared/saturation.py"
_SAMPLE: Final = "openpts/vocabulary/sample.py"
_DEMAND: Final = "openpts_pts/shared/demand/results.py"
_CELLS: Final = "openpts_pts/shared/rounds/results.py"
_IDLE: Final = "openpts_pts/hir/results.py"
_CROSS: Final = "openpts_pts/xsr/report.py"
_MATRIX: Final = ("iops", "lat")
_LOOPS: Final = ("iops", "tp", "lat")

FAULTS: Final = (
    Fault(_STEADY, "RANGE_LIMIT: Final = 0.20", "RANGE_LIMIT: Final = 0.10", _LOOPS),
    Fault(_STEADY, "RANGE_LIMIT: Final = 0.20", "RANGE_LIMIT: Final = 0.22", _LOOPS),
    Fault(_STEADY, "SLOPE_LIMIT: Final = 0.10", "SLOPE_LIMIT: Final = 0.11", TESTS),
    Fault(_STEADY, "WINDOW_ROUNDS: Final = 5", "WINDOW_ROUNDS: Final = 4", _LOOPS),
    Fault(_STEADY, "abs(slope) * (max", "slope * (max", _LOOPS),
    Fault(_STEADY, "abs(slope) * (max(rounds) - min(rounds))", "abs(slope)", _LOOPS),
    Fault(_STEADY, "* (max(rounds) - min(rounds))", "* len(rounds)", _LOOPS),
    Fault(_STEADY, "average = fsum(values) / len(values)", "average = sorted(values)[2]", _LOOPS),
    Fault(_STEADY, "mean_y - slope * mean_x", "mean_y + slope * mean_x", _LOOPS),
    Fault(_STEADY, "maximum - minimum <= RANGE_LIMIT", "maximum - average <= RANGE_LIMIT", TESTS),
    Fault(_STEADY, "_co_moment(x, y) / _co_moment(x, x)\n", "_co_moment(x, y) / len(x)\n", _LOOPS),
    Fault(_STEADY, "** 0.5)", "** 1.0)", _LOOPS),
    Fault(_STEADY, "average * (1 - BAND) - slack <= minimum and", "", _LOOPS),
    Fault(_ROUNDS, "max(1, last - WINDOW_ROUNDS + 1)", "max(1, last - WINDOW_ROUNDS)", _LOOPS),
    Fault(_ROUNDS, "range(max(1, last - WINDOW_ROUNDS + 1), last + 1)", "range(1, last + 1)", _LOOPS),
    Fault(
        _ROUNDS,
        "fmean(self.iops_by_round)",
        "self.ios * 1e9 / sum(one.elapsed_ns for one in self.samples)",
        ("iops", "cbw"),
    ),
    Fault(
        _ROUNDS,
        "return fmean(known) if len(known) == len(self.samples) else None",
        "return sum(m * s.ios for m, s in zip(known, self.samples)) / self.ios",
        ("lat", "cbw"),
    ),
    Fault(_ROUNDS, "return max((most for most", "return min((most for most", _MATRIX),
    Fault(_ROUNDS, "and set(points) <= set(samples)", "", _LOOPS),
    Fault(_SAMPLE, "return max(observed, default=None)", "return observed[0] if observed else None", _MATRIX),
    Fault(
        _SAMPLE, "self.read.ios + self.write.ios + self.trim.ios", "self.read.ios or self.write.ios", _MATRIX
    ),
    Fault(_SAMPLE, "self.read.bytes + self.write.bytes + self.trim.bytes", "self.write.bytes", ("tp", "cbw")),
    Fault(
        _SAMPLE,
        "return total_ns / self.ios if self.ios and total_ns else None",
        "return sum(o.latency_sum_ns / o.ios for o in self.transfers if o.ios)"
        " / sum(o.ios > 0 for o in self.transfers) if total_ns else None",
        _MATRIX,
    ),
    Fault(
        "openpts/vocabulary/verdict.py",
        "measured.bandwidth_bytes_per_s / MB",
        "measured.bandwidth_bytes_per_s / 2**20",
        ("tp",),
    ),
    Fault(
        "openpts/procedures/kit/steps.py",
        "one.bandwidth_bytes_per_s, per=MB",
        "one.bandwidth_bytes_per_s, per=2**20",
        ("tp", "xsr"),
    ),
    Fault("openpts/analysis/latency.py", "math.ceil(100 / (100", "math.ceil(10 / (100", ("lat", "wsat")),
    Fault(
        "openpts/analysis/latency.py",
        "value_at_percentile(percentile)",
        "value_at_percentile(percentile - 0.01)",
        ("lat", "wsat"),
    ),
    Fault(_CELLS, "[response_times([sample]) for sample in samples]", "[response_times(samples)]", _MATRIX),
    Fault(_CELLS, "TAIL_PERCENTILE: Final = 99.999", "TAIL_PERCENTILE: Final = 99.99", _MATRIX),
    Fault(_CELLS, "if len(by_round) == len(rounds) else", "if by_round else", _MATRIX),
    Fault(_DEMAND, "m.mean_latency_ns < limit_ns", "m.mean_latency_ns < 20 * limit_ns", ("cbw", "dirth")),
    Fault(_DEMAND, "return min(plateau, key", "return max(plateau, key", ("cbw", "dirth")),
    Fault(_DEMAND, "(1 - plateau_pct / 100)", "(1 - plateau_pct / 10)", ("cbw", "dirth")),
    Fault(
        _DEMAND,
        "(maximum.iops - minimum.iops) / (mid_points + 1)",
        "(maximum.iops - minimum.iops) / (mid_points + 2)",
        ("cbw", "dirth"),
    ),
    Fault(_DEMAND, "minimum = min(measured", "minimum = max(measured", ("cbw", "dirth")),
    Fault(_DEMAND, "free = [m for m in between if m not in chosen]", "free = between", (1490,)),
    Fault(
        "openpts_pts/shared/tracking.py",
        "period_ns <= minute_ns else 1",
        "period_ns <= minute_ns else 0",
        ("hir", "cbw"),
    ),
    Fault(_SATURATION, "FINAL_MINUTES: Final = 30", "FINAL_MINUTES: Final = 20", ("wsat",)),
    Fault(_SATURATION, "ZONE_PCT: Final = 10.0", "ZONE_PCT: Final = 12.0", ("wsat",)),
    Fault(_SATURATION, "PLATEAU_MINUTES: Final = 5", "PLATEAU_MINUTES: Final = 4", ("wsat",)),
    Fault(_SATURATION, "0 if number == 1 else period_ns - minute_ns", "0", ("wsat",)),
    Fault(
        _MINUTES, "index = piece.middle_ns // minute_ns", "index = piece.end_ns // minute_ns", ("wsat", "xsr")
    ),
    Fault(_MINUTES, "return minutes[:-1] if short else minutes", "return minutes", (949, 6741)),
    Fault(_IDLE, "if not sample.step.is_idle and sample.state", "if sample.state", ("hir",)),
    Fault(_IDLE, "fmean(minute.iops for minute in window)", "summary.iops", ("hir",)),
    Fault(
        "openpts/analysis/run_comparison.py",
        "100 * (comparison / basis - 1)",
        "100 * (1 - basis / comparison)",
        ("hir",),
    ),
    Fault(
        _CROSS,
        "third.start_ns + minute.end_ns - second.end_ns",
        "third.start_ns + minute.start_ns - second.end_ns",
        ("xsr",),
    ),
    Fault(_CROSS, "third.start_ns + minute.end_ns - second.end_ns", "minute.end_ns", ("xsr",)),
    Fault(_CROSS, "return max(found, key", "return min(found, key", ("xsr",)),
)


class Sample(NamedTuple):
    """Runs that are there, by their test or seed, and openpts' figures of them."""

    folders: Mapping[str | int, Sequence[Path]]
    figures: Mapping[Path, Any]

    def of(self, tests: Collection[str | int]) -> list[Path]:
        """The folders of some tests."""
        return [folder for test in tests for folder in self.folders[test]]


def make_sample(scratch: Path, tests: Collection[str | int], runs: int = RUNS_OF_TEST) -> Sample:
    """So many drawn runs of each test below a folder; of a seed its run."""
    folders = {
        test: [write_run(generated_run(test), scratch / str(test))]
        if isinstance(test, int)
        else [write_run(generated_run(seed, test), scratch / f"{test}-{seed}") for seed in range(1, runs + 1)]
        for test in tests
    }
    every = [folder for some in folders.values() for folder in some]
    return Sample(folders, dict(zip(every, figures_of(every, ROOT / "packages") or (), strict=True)))


def figures_of(folders: Sequence[Path], python: Path) -> list[Any] | None:
    """What openpts' code below a path says of runs; None if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.second_verifier.figures", *folders],
        check=False,
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (python, ROOT)))},
        timeout=_TIME_LIMIT_S,
    )
    if done.returncode and python == ROOT / "packages":
        raise RuntimeError(done.stderr.decode())
    return None if done.returncode else msgspec.json.decode(done.stdout)["runs"]


def is_found(fault: Fault, program: Path, sample: Sample, scratch: Path) -> bool:
    """Whether the comparison differs, or openpts fails, over the runs that show it."""
    folders = sample.of(fault.tests)
    copy = scratch / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(
        ROOT / "packages", copy, copy_function=os.symlink, ignore=shutil.ignore_patterns("__pycache__")
    )
    fault.plant(copy)
    figures = figures_of(folders, copy)
    return figures is None or bool(_differing(program, folders, figures, scratch))


def _differing(program: Path, folders: Sequence[Path], figures: list[Any], scratch: Path) -> int:
    against = scratch / "openpts.json"
    against.write_bytes(msgspec.json.encode({"schema": "openpts.runs/1", "runs": figures}))
    command: list[str | Path] = [program, "--json", "--against", against, *folders]
    done = subprocess.run(command, check=False, capture_output=True, timeout=_TIME_LIMIT_S)
    return done.returncode


def build(source: Path, program: Path) -> None:
    """Build the second verifier. Raises CalledProcessError."""
    subprocess.run(
        ["go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "."],
        check=True,
        cwd=source,
        env=GO_ENVIRONMENT,
        timeout=_TIME_LIMIT_S,
    )


def missed(
    faults: Sequence[Fault], program: Path, scratch: Path, runs: int = RUNS_OF_TEST
) -> Iterator[Fault]:
    """The faults that the comparison does not find; without a fault it must find nothing."""
    sample = make_sample(scratch, {test for fault in faults for test in fault.tests}, runs)
    every = list(sample.figures)
    assert not _differing(program, every, [sample.figures[folder] for folder in every], scratch)
    for fault in faults:
        if not is_found(fault, program, sample, scratch):
            yield fault


def main() -> int:
    """Plant all; 1 if one is missed. Two numbers take a part of them: begin and end."""
    begin, end = (int(one) for one in sys.argv[1:3]) if len(sys.argv) > 2 else (0, 1000)
    faults = FAULTS[begin:end]
    with tempfile.TemporaryDirectory() as scratch:
        found = list(missed(faults, BUILT, Path(scratch)))
    lines = [f"missed: {fault.file}: {fault.old!r} as {fault.new!r}\n" for fault in found]
    sys.stdout.write("".join(lines) + f"{len(faults)} faults planted, {len(faults) - len(found)} found\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
