"""How openpts reads the specification where it contradicts itself or leaves a number open."""

from dataclasses import dataclass
from typing import Final

_ROUND_TESTS: Final = ("iops", "tp", "lat")
_TRACKED_TESTS: Final = ("wsat", "hir", "cbw", "dirth")
_DEMAND_TESTS: Final = ("cbw", "dirth")
_STEADY_TESTS: Final = (*_ROUND_TESTS, *_TRACKED_TESTS)


@dataclass(frozen=True, slots=True)
class Reading:
    """What is unclear at a clause, and what openpts does; ``tests`` are those that it bears on."""

    clause: str
    unclear: str
    reading: str
    tests: tuple[str, ...]


READINGS: Final = (
    Reading(
        "2.1.24, 7.3.4",
        "Three measures of scatter: maximum minus minimum, a ±10 % band, distance from the average.",
        "Definition 2.1.24 decides; the band's pass or fail is printed beside it.",
        _STEADY_TESTS,
    ),
    Reading(
        "2.1.24, 7.3.4",
        "Slope may be the coefficient per round or the rise over the window.",
        "The rise of the best linear fit over the window, in % of the average; limits are inclusive.",
        _STEADY_TESTS,
    ),
    Reading(
        "7.3, 8.3, 9.3",
        "Not steady: the last five Rounds, or their average as Round x.",
        "Round x is the last complete Round, the window x-4 to x; marked as not steady on each page.",
        _ROUND_TESTS,
    ),
    Reading(
        "7.1, 7.2",
        "Whether all tracking variables must be steady in the same window.",
        "All of them, in the same five Rounds.",
        ("iops",),
    ),
    Reading(
        "7.3.6.4, 9.3.6",
        "99.999 % cells are means of five percentiles, which is no percentile of the whole.",
        "Printed as asked if each Round has 100,000 I/Os, else the maximum; the merged one beside it.",
        ("iops", "lat"),
    ),
    Reading(
        "8.2 (2.4.1.3), 8.3.5",
        "Steady state of each R/W mix, or of writes alone.",
        "Writes decide; reads are judged and shown as well.",
        ("tp",),
    ),
    Reading(
        "8.2 (2.4.1.5)",
        "Whether sequential access goes on across steps of different direction, and across Rounds.",
        "One place for the whole test, which every step takes up; it wraps at the end of the range.",
        ("tp",),
    ),
    Reading(
        "9.1, 9.2 (2.2)",
        "WIPC in 128 KiB, or in 1024 KiB depending on the test.",
        "128 KiB at the TC and QD of the test.",
        ("lat",),
    ),
    Reading(
        "9.3.6.2, 10.3.4",
        "What a confidence level is.",
        "The share of the I/Os that a response time is not exceeded by.",
        ("lat", "wsat"),
    ),
    Reading(
        "10.2, 10.3.2",
        "Capacity, time or steady state: which ends the stimulus, and which is optional.",
        "4 x user capacity or 6 h, whichever is first; steady state ends it on request, after 1 x capacity.",
        ("wsat",),
    ),
    Reading(
        "10.3.2, 11.2, 13.2, 14.2",
        "Tracked minutes 30 minutes apart, or separated by 30 minutes.",
        "From start to start: minutes 1, 31, 61 and so on.",
        _TRACKED_TESTS,
    ),
    Reading(
        "11.2 (3.2)",
        "What follows if preconditioning is not steady after 25 tracking rounds.",
        "The test ends without wait states.",
        ("hir",),
    ),
    Reading(
        "11.2 (4.1)",
        "Whether IOPS of an access count the idle time after it.",
        "The active time alone; access C is logged every 5 s as well.",
        ("hir",),
    ),
    Reading(
        "12.2",
        "The write cache: as the class has it, or off in access groups 2 and 3.",
        "One state for all groups, that of the class.",
        ("xsr",),
    ),
    Reading(
        "12.1, 12.3.2",
        "When bandwidth has recovered: at the highest minute of segment 3, which noise can move.",
        "That time as asked; beside it the first minute of at least 95 % of segment 1's average.",
        ("xsr",),
    ),
    Reading(
        "13.2, 14.2",
        "Write cache off and AR 100 % without a client variant.",
        "As written for both classes; the client's settings are an option that the header shows.",
        _DEMAND_TESTS,
    ),
    Reading(
        "13.1 (2), 14.1 (2)",
        "Notes have WIPC before WDPC, the steps do not.",
        "Not done unless asked for.",
        _DEMAND_TESTS,
    ),
    Reading(
        "13.2 (4.2.1), 14.2 (3.2.1)",
        "Whether pre-writes have the pattern's reads, and which limit wins.",
        "0/100; five minutes always, then 30 minutes or 10 % of the capacity, whichever is first.",
        _DEMAND_TESTS,
    ),
    Reading(
        "13.2 (6.1, 7.1), 14.2 (5.1, 6.1)",
        "Most IOPS, a response time below 5 ms, and the lowest TOIO, all at once.",
        "Of the points below 5 ms those within 1 % of the most IOPS; of them the lowest TOIO.",
        _DEMAND_TESTS,
    ),
    Reading(
        "13.2 (6.3), 14.2 (5.3)",
        "MidIOPS points divide the IOPS equally, or lie half way.",
        "Equal parts of the IOPS from minimum to maximum; the nearest point strictly between.",
        _DEMAND_TESTS,
    ),
    Reading(
        "13.2 (2.1)",
        "No tolerance for shares of sizes and access ranges.",
        "Four standard errors in each period.",
        ("cbw",),
    ),
)


def readings_for(test: str) -> tuple[Reading, ...]:
    """Those that bear on a test, by its short name."""
    return tuple(reading for reading in READINGS if test in reading.tests)
