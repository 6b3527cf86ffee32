"""What the distribution of openpts has, in the order in which an operator reads it: metadata have none.

It names tests, and imports none.
"""

from typing import Final

from openpts.plugins import Listing

_OF_THE_SPECIFICATION: Final = ("iops", "tp", "lat", "wsat", "hir", "xsr", "cbw", "dirth")

LISTING: Final = Listing(
    tests=(
        *_OF_THE_SPECIFICATION,
        *("fill", "sustained", "entropy", "benchmarks", "precon", "thermal", "lifetime", "powercut", "trim"),
        *("qos", "workload", "replay", "app", "check", "ocp", "pstates"),
    ),
    suite=_OF_THE_SPECIFICATION,
)
