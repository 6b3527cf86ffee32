"""How openpts reads the specification where it contradicts itself or leaves a number open.

What bears on one test alone stands with its checks, which name all that bear on it as ``INTERPRETATIONS``.
"""

from typing import Final

from msgspec import Struct


class Interpretation(Struct, frozen=True):
    """What is unclear at a clause, and what openpts does."""

    clause: str
    unclear: str
    reading: str


STEADY_STATE: Final = (
    Interpretation(
        "2.1.24, 7.3.4",
        "Three measures of scatter: maximum minus minimum, a ±10 % band, distance from the average.",
        "Definition 2.1.24 decides; the band's pass or fail is printed beside it.",
    ),
    Interpretation(
        "2.1.24, 7.3.4",
        "Slope may be the coefficient per round or the rise over the window.",
        "The rise of the best linear fit over the window, in % of the average; limits are inclusive.",
    ),
)
NOT_STEADY: Final = (
    Interpretation(
        "7.3, 8.3, 9.3",
        "Not steady: the last five Rounds, or their average as Round x.",
        "Round x is the last complete Round, the window x-4 to x; marked as not steady on each page.",
    ),
)
FIVE_NINES: Final = (
    Interpretation(
        "7.3.6.4, 9.3.6",
        "99.999 % cells are means of five percentiles, which is no percentile of the whole.",
        "Printed as asked if each Round has 100,000 I/Os, else the maximum; the merged one beside it.",
    ),
)
CONFIDENCE_LEVELS: Final = (
    Interpretation(
        "9.3.6.2, 10.3.4",
        "What a confidence level is.",
        "The share of the I/Os that a response time is not exceeded by.",
    ),
)
TRACKED_MINUTES: Final = (
    Interpretation(
        "10.3.2, 11.2, 13.2, 14.2",
        "Tracked minutes 30 minutes apart, or separated by 30 minutes.",
        "From start to start: minutes 1, 31, 61 and so on.",
    ),
)
DEMAND_VARIATION: Final = (
    Interpretation(
        "13.2, 14.2",
        "Write cache off and AR 100 % without a client variant.",
        "As written for both classes; the client's settings are an option that the header shows.",
    ),
    Interpretation(
        "13.1 (2), 14.1 (2)", "Notes have WIPC before WDPC, the steps do not.", "Not done unless asked for."
    ),
    Interpretation(
        "13.2 (4.2.1), 14.2 (3.2.1)",
        "Whether pre-writes have the pattern's reads, and which limit wins.",
        "0/100; five minutes always, then 30 minutes or 10 % of the capacity, whichever is first.",
    ),
    Interpretation(
        "13.2 (6.1, 7.1), 14.2 (5.1, 6.1)",
        "Most IOPS, a response time below 5 ms, and the lowest TOIO, all at once.",
        "Of the points below 5 ms those within 1 % of the most IOPS; of them the lowest TOIO.",
    ),
    Interpretation(
        "13.2 (6.3), 14.2 (5.3)",
        "MidIOPS points divide the IOPS equally, or lie half way.",
        "Equal parts of the IOPS from minimum to maximum; the nearest point strictly between.",
    ),
)
