"""The words of the short report: its terms, and what each test asks for."""

from typing import Final

# TKP-GEN-01
TERMS: Final = (
    (
        "Workload",
        "Share of reads and writes in per cent: 100/0 only reads, 65/35 65 % reads, 0/100 only writes",
    ),
    ("Block size", "Bytes that one I/O moves, base 2: 1 KiB = 1,024 bytes; 0.5 KiB = 512 bytes"),
    ("Rates, capacities", "Base 10: 1 MB/s = 1,000,000 bytes per second, 1 GB = 1,000,000,000 bytes"),
    ("Round", "One pass through all block sizes and workloads of a test; Rounds are counted from 1"),
    ("Measurement window", "The five Rounds in which steady state was found; without it the last five"),
    (
        "Tracking variable",
        "The figure by which steady state is judged, which other reports call the dependent variable",
    ),
    ("Jobs, I/O depth", "Threads that issue I/Os, and I/Os that each of them keeps in flight"),
)

# TKP-SS-01 to 03
STEADY_STATE: Final = (
    "Steady state: over five Rounds the values of the tracking variable lie within 20 % of their average, "
    "largest minus smallest, and the line that fits them best climbs or falls by no more than 10 % of the "
    "average. A test ends when that holds, or unsteady after the most Rounds that it may have; which of both "
    "it was stands with its results."
)

# TKP-IOPS-01 to 04, TKP-TP-01, 02, TKP-LAT-01, 02, TKP-WSAT-01
PROCEDURES: Final = {
    "iops": "The test: a purge and sequential preconditioning, then Rounds through the workloads from all "
    "reads to all writes, and within each through the block sizes from the largest to the smallest.",
    "tp": "The test, for each block size: a purge, sequential preconditioning, then Rounds of sequential "
    "reads and writes.",
    "lat": "The test: a purge and preconditioning, then one job with one I/O in flight, in Rounds through "
    "reads, the mix and writes, and within each through the block sizes.",
    "wsat": "The test: a purge, then the same stimulus without a pause until four times the capacity is "
    "written or the time is up. Steady state does not end it.",
}
