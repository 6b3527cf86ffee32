"""How often the exact miss ratio is within the error that is printed beside that of a sample.

Traces: all kinds of `tests/unit/traces/characteristics/reused_blocks.py` and the recipes that ship, each with
blocks of other numbers for each seed, so that other ones are in the sample. A point is one size of cache.
Points of a trace are not independent: a block that is used all the time is in the sample for all of them.

    .venv/bin/python -m benches.miss_ratio_errors [--seeds 20] [--no-recipes]
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq
from click.testing import CliRunner
from tests.unit.traces.characteristics.reused_blocks import KINDS, blocks_of, curve_of, exact_miss_ratios

from openpts import _native
from openpts.cli.main import cli


def recipes(folder: Path) -> Iterator[tuple[str, np.ndarray]]:
    """The blocks that the I/Os of each recipe touch, one after the other."""
    for name, text in _native.trace_recipes():
        recipe, made = folder / f"{name}.toml", folder / "made.parquet"
        recipe.write_text(text)
        made.unlink(missing_ok=True)
        CliRunner().invoke(cli, ["trace", "convert", str(recipe), "-o", str(made)], catch_exceptions=False)
        table = pq.read_table(made, columns=["operation", "offset_bytes", "length_bytes"]).to_pydict()
        yield (
            name,
            np.concatenate([
                np.arange(offset // 4096, (offset + length - 1) // 4096 + 1)
                for operation, offset, length in zip(*table.values(), strict=True)
                if operation in {"read", "write"} and length
            ]),
        )  # fmt: skip


def show(name: str, curves: list[tuple[np.ndarray, np.ndarray]]) -> tuple[int, int]:
    errors, printed = (np.concatenate(parts) for parts in zip(*curves, strict=True))
    within = int((errors <= printed + 1e-9).sum())
    print(
        f"  {name:28} {within:4} of {len(errors):4} points; mean error {100 * errors.mean():5.2f} %, "
        f"printed {100 * printed.mean():5.2f} %; largest {100 * errors.max():5.2f} %",
        flush=True,
    )
    return within, len(errors)


def errors_of(blocks: np.ndarray, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Of each point the error, and the one that is printed."""
    curve = curve_of(blocks, folder)
    exact = exact_miss_ratios(blocks, [point["cache_bytes"] // 4096 for point in curve])
    return (
        np.abs(np.array([point["miss_ratio"] for point in curve]) - exact),
        np.array([point["error"] for point in curve]),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--no-recipes", action="store_true")
    options = parser.parse_args()
    with TemporaryDirectory() as place:
        folder = Path(place)
        counts = [
            show(kind, [errors_of(blocks_of(kind, seed), folder) for seed in range(options.seeds)])
            for kind in KINDS
        ]
        if not options.no_recipes:
            for name, blocks in recipes(folder):
                if len(np.unique(blocks)) > 1 << 15:
                    shifts = [
                        int(np.random.default_rng(n).integers(1, 1 << 34)) for n in range(options.seeds)
                    ]
                    counts.append(show(name, [errors_of(blocks + shift, folder) for shift in shifts]))
    within, points = (sum(parts) for parts in zip(*counts, strict=True))
    print(f"{within:,} of {points:,} points, {100 * within / points:.2f} %")


if __name__ == "__main__":
    main()
