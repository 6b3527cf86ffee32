"""Compare openpts with the second verifier: python -m tests.second_verifier.chunk FIRST-SEED COUNT."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from openpts.record.reader import read_run
from openpts.report.run_part import summarize
from tests.second_verifier.faults import BUILT
from tests.second_verifier.generated import generated_run, write_run

AT_ONCE = 25


def compared(program: Path, folders: list[Path], scratch: Path) -> list[dict[str, Any]]:
    """What the second verifier says of runs beside openpts' own figures, one object each."""
    against = scratch / "openpts.json"
    figures = [summarize(read_run(folder)) for folder in folders]
    against.write_bytes(msgspec.json.encode({"schema": "openpts.runs/1", "runs": figures}))
    done = subprocess.run(
        [program, "--json", "--against", against, *folders], check=False, capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stderr
    return [msgspec.json.decode(line) for line in done.stdout.splitlines()]


def differing(program: Path, seeds: range) -> Iterator[tuple[int, dict[str, Any]]]:
    """The seeds of generated runs of which both do not say the same, with what the second verifier says."""
    for begin in range(seeds.start, seeds.stop, AT_ONCE):
        some = range(begin, min(begin + AT_ONCE, seeds.stop))
        with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as scratch:
            folders = [write_run(generated_run(seed), Path(scratch) / str(seed)) for seed in some]
            for seed, said in zip(some, compared(program, folders, Path(scratch)), strict=True):
                if said["differences"]:
                    yield seed, said


def main() -> int:
    """Print what differs; 1 if anything does."""
    first, count = int(sys.argv[1]), int(sys.argv[2])
    found, lines = 0, []
    for seed, said in differing(BUILT, range(first, first + count)):
        found += 1
        lines.append(f"seed {seed}, {said['test']}:")
        lines += [
            f"  {one['what']}: {one['ours']}, in openpts {one['openpts']}" for one in said["differences"]
        ]
    lines.append(f"{count} runs from seed {first} on: {found} differ\n")
    sys.stdout.write("\n".join(lines))
    return found > 0


if __name__ == "__main__":
    sys.exit(main())
