"""What the help of each test says: what it is for, what it does, and how long that takes as specified."""

from collections.abc import Mapping
from typing import Final

from openpts.procedures.kit.procedure import TestDefinition

_PURPOSES: Final[Mapping[str, str]] = {
    "iops": """IOPS of random I/O over 7 R/W mixes x 8 block sizes, in steady state.

    At full length: the user capacity written twice, then rounds of 56 minutes until performance is steady,
    5 at least (4 h 40 min) and 25 at most (23 h 20 min).
    """,
    "tp": """Throughput of sequential reads and writes of 128 KiB and of 1024 KiB, in steady state.

    At full length, for each of the two sizes: a purge, the user capacity written twice, then rounds of
    2 minutes until performance is steady, 5 at least (10 min) and 25 at most (50 min).
    """,
    "lat": """Response times of single random I/Os, 3 R/W mixes x 3 block sizes at TC 1 QD 1, in steady state.

    At full length: the user capacity written twice, rounds of 9 minutes until performance is steady, 5 at
    least (45 min) and 25 at most (3 h 45 min), and 20 minutes for the histogram of response times.
    """,
    "wsat": """How performance falls while a fresh drive is written to, and where it settles.

    At full length, for each workload: a purge, the workload until 4 x user capacity are written or for
    6 hours, and 20 minutes for the histogram of response times.
    """,
    "hir": """How pauses between bursts of random writes affect a drive.

    At full length: random writes until single minutes 30 minutes apart are steady, 5 at least (2 h 1 min) and
    25 at most (12 h 1 min), then five wait states with their returns to the baseline, 15 h 30 min.
    """,
    "xsr": """How a drive recovers from changes between sequential and random writes.

    At full length: 8 hours of SEQ 1024 KiB writes, 6 hours of RND 8 KiB writes, 8 hours of SEQ 1024 KiB
    writes, without a pause: 22 hours.
    """,
    "cbw": """IOPS and response times of a composite workload at 49 demands, and response time histograms.

    At full length: writes until single minutes 30 minutes apart are steady (2 h 1 min to 12 h 1 min), 5 to 25
    rounds of 49 minutes with pre-writes of 5 to 30 minutes before each (4 h 30 min to 32 h 55 min), and three
    histograms of 70 minutes each.
    """,
    "dirth": """IOPS and response times of any workload at 49 demands, and response time histograms.

    At full length: writes until single minutes 30 minutes apart are steady (2 h 1 min to 12 h 1 min), 5 to 25
    rounds of 49 minutes with pre-writes of 5 to 30 minutes before each (4 h 30 min to 32 h 55 min), and three
    histograms of 70 minutes each.
    """,
    "fill": """How fast a drive takes data while it fills up, and what idle time gives back of its cache.

    At full length: the user capacity written once in sequence, then 5 % of it after 0 s, 30 s, 5 minutes and
    30 minutes of idle time; on the purged drive again the user capacity once more, with bursts of 30 seconds
    of random writes at five fill levels.
    """,
    "sustained": """Figures of a drive before and after a long load, beside those of its data sheet.

    At full length: 2 minutes of short figures, RND 4 KiB writes until 4 x user capacity are written or for
    72 hours, and the short figures again at once.
    """,
    "entropy": """Whether a drive gains from data that can be compressed, and what few writes cost its reads.

    At full length: the user capacity written twice in sequence, 12 minutes of sequential writes at six levels
    of entropy, the user capacity written twice at random, 12 minutes of random writes at the same levels, and
    42 minutes of mixes with 0 to 100 % of writes. Each level is measured twice, up and down.
    """,
    "benchmarks": """The figures that users of CrystalDiskMark, AS SSD or ATTO know, each with its definition.

    Each benchmark writes its test file and measures its rows, with its own pauses, warm-ups and passes. It is
    done on the purged drive unless preconditioning is asked for: what was only purged shows its best.
    """,
    "precon": """Figures of a drive fresh, after sequential and after random writes.

    At full length: the rows on the purged drive; a purge, the user capacity written twice in sequence, the
    rows, random writes until single minutes are steady; a purge, random writes until steady, twice, and the
    rows. Random writes end after 6 x user capacity or 12 hours at the latest, each of the three times.
    """,
    "thermal": """Whether a drive gets so hot under long writes that it slows down, when and by how much.

    At full length: the user capacity written once, up to 30 minutes of idle time until the drive is cool,
    30 minutes of sequential writes, 5 minutes idle, 30 minutes of writes on the warm drive, 5 minutes idle,
    and 30 minutes of 1 minute of writes and 2 minutes idle in turns. State air and cooling with --ambient-c
    and --airflow: without them results can't be compared.
    """,
    "lifetime": """Speed, errors and wear over drive cycles: the whole range written, then read and compared.

    USES THE DRIVE UP: each cycle takes one of the few hundred to few thousand that its flash has. It ends
    after 5 cycles unless --cycles asks for more, when 100 % of the rated life are used, after a week, or with
    the first error.
    """,
    "hdd": """Throughput and IOPS over the zones of a rotational disk, and its access time.

    At full length: in each of 16 zones half a minute each of SEQ 1024 KiB writes and reads and of RND 4 KiB
    reads and writes with 1 and with 32 I/Os outstanding, then the random ones over the whole range: 50
    minutes. No purge and no preconditioning, since a platter has no write history.
    """,
}

_TARGET: Final = """
    TARGET is a drive such as /dev/nvme0n1, or file:PATH?size=SIZE for a scratch file, which is created, or a
    simulated drive: sim:PRESET, with ?capacity=SIZE&scale=N&seed=N to override its own. PRESET is the
    name of one that ships or the path of a TOML file.

    Options name the specification's value behind a semicolon. Whatever differs from it is listed in the
    report.
"""


def help_of(test: TestDefinition) -> str:
    """The help of `openpts run TEST`."""
    return f"{test.title} test ({test.source}). {_PURPOSES[test.name]}{_TARGET}"
