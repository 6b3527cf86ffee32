"""Prints what the rules say of stalls that are planted on a simulated host.

.venv/bin/python -m benches.planted_stalls [COUNT [SECONDS_APART]]

"""

import sys

from tests.support.judged_stalls import judged_stalls
from tests.support.stalled_host import Kind

_RANGES = ((0.2, (0.2, 5.0)), (5.0, (5.0, 50.0)))


def main(count: int, seed: int = 20261127, apart_s: float = 1.0) -> None:
    """Plants so many stalls in each range of lengths."""
    for limit_ms, lengths_ms in _RANGES:
        found = judged_stalls(count, seed, limit_ms, lengths_ms, apart_s)
        print(f"\nFrom {limit_ms:g} ms, stalls of {lengths_ms[0]:g} to {lengths_ms[1]:g} ms: recall ", end="")
        print(f"{100 * found.recall:.2f} %, precision {100 * found.precision:.2f} %\n")
        print(found.table())
        worst = min(Kind, key=found.share)
        print(f"\nLowest recall of a kind: {100 * found.share(worst):.1f} %, {worst}")


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 10_000,
        apart_s=float(sys.argv[2]) if len(sys.argv) > 2 else 1.0,
    )
