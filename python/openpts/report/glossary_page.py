"""The terms and signs of a report, for readers who do not live with them (PTS 2.1, 2.2)."""

from typing import Final

from openpts.pages.facts_table import items_table
from openpts.pages.model import Page

_TERMS: Final = (
    ("AR", "Active Range: the LBAs that the test may touch, as a share of those that a user can reach"),
    ("ART", "Average response time: mean time from submission to completion of an I/O"),
    (
        "Confidence level",
        "Share of I/Os that were completed within a response time; the same as a percentile",
    ),
    ("Conformant", "A finished run at full length on a raw drive, with no deviation in its ledger"),
    (
        "Deviation",
        "Whatever was done otherwise than the specification asks, with what follows for comparisons",
    ),
    ("Drive fill", "User data written, in units of the user capacity"),
    ("DUT", "Device under test"),
    ("FOB", "Fresh out of the box: as after a purge"),
    ("GB, MB/s", "Powers of ten: 1 GB = 10^9 bytes"),
    ("IOPS", "I/Os completed per second"),
    ("KiB, MiB", "Powers of two: 1 KiB = 1,024 bytes; sizes of transfers"),
    ("Measurement Window", "The five Rounds over which steady state was found, or the last five"),
    ("MRT", "Maximum response time of all I/Os"),
    ("n 9s", "Percentile of n nines: 3 9s is 99.9 %. Stated only where at least 10^n I/Os were timed"),
    ("Preconditioning", "Writes before the measurement that bring the drive into a defined state"),
    ("Purge", "Bringing the drive as near as possible to never having been used"),
    ("QD", "Queue depth: I/Os that each thread keeps in flight"),
    ("RND, SEQ", "Random, sequential"),
    ("Round", "One pass through all test points"),
    ("RW 65", "65 per cent of the I/Os are reads; 65/35 is the same with the writes"),
    ("Steady state", "Range at most 20 % and slope at most 10 % of the average over the Measurement Window"),
    ("TC", "Thread count"),
    ("TGBW", "Total GB written since the purge"),
    ("TOIO, OIO", "I/Os in flight in total: TC times QD"),
    ("Tracking variable", "The figure by which steady state is judged"),
    ("WCD, WCE", "Volatile write cache disabled, enabled"),
)


def glossary_page() -> Page:
    """The same in every report."""
    return Page("glossary", "Glossary", (items_table("glossary-terms", "Terms", _TERMS),))
