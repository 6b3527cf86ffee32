"""What the distribution of openpts has, in the order in which an operator reads it: metadata have none.

It names tests, commands and purge methods, and imports none.
"""

from itertools import groupby
from typing import Final

from openpts.plugins import Listing

_OF_THE_SPECIFICATION: Final = ("iops", "tp", "lat", "wsat", "hir", "xsr", "cbw", "dirth")

# What erases the user's data in all its copies comes first, and of those what touches least besides: a
# format is over when its command is, and reaches one namespace where the drive can do that; a sanitize
# reaches the whole drive and can't be broken off, and there are drives on which it never ends. An erasure
# of the key comes behind one of the blocks, since it may leave them programmed. A discard only tells the
# drive what it may forget. What takes hours and wears the drive comes last; what is no purge, or needs a
# number from the drive's label, is never taken unasked.
_PURGES: Final = (
    "nvme-format",
    "nvme-sanitize-block",
    "nvme-format-crypto",
    "nvme-sanitize-crypto",
    "ata-sanitize-block",
    "ata-security-erase",
    "ata-sanitize-crypto",
    "ata-security-erase-enhanced",
    "scsi-sanitize-block",
    "scsi-format",
    "scsi-sanitize-crypto",
    "psid-revert",
    "discard",
    "nvme-sanitize-overwrite",
    "ata-sanitize-overwrite",
    "scsi-sanitize-overwrite",
    "overwrite",
)

# Commands of the core say themselves what they do.
_COMMANDS: Final = {
    "Measure": {
        "check": "Answer whether a disk in use is good enough for a purpose.",
        "plan": "",
        "run": "",
        "resume": "",
        "attach": "List runs, show one in progress, or stop it.",
        "io": "Measure one stimulus, with every I/O timed.",
        "purge": "Purge a drive by one of its methods, and prove it.",
        "idle-flush": "Wait until a drive's background work is done.",
        "crosscheck": "Compare the native engine with fio on a target.",
    },
    "Look": {
        "devices": "List the drives, and why one cannot be tested.",
        "doctor": "Show which settings of this machine affect results.",
        "capture": "Record the I/O of devices while programs use them.",
        "trace": "Check, convert and filter traces of block I/O.",
        "power": "Print the watts of a meter, a line each 0.1 s.",
    },
    "Judge": {
        "report": "",
        "verify": "Recompute every number of a report from its record.",
        "compare": "Compare runs of one or several drives.",
        "gate": "Hold runs against limits, and end with a verdict.",
    },
    "Keep": {
        "import": "Make runs of results of fio and TKperf.",
        "export": "Write runs in the forms of other programs.",
        "serve": "Show a library of runs in a browser.",
    },
    "Many drives": {"fleet": "Run tests on the drives of other hosts."},
    "Simulate": {
        "sim": "Show simulated drives.",
        "tour": "Show openpts at work on simulated drives, in a minute.",
    },
}


def _examples_in(text: str) -> tuple[tuple[str, str], ...]:
    """Command lines, and what each does, which is the line below it."""
    lines = text.split("\n")
    return tuple(zip(lines[:-1:2], map(str.strip, lines[1::2]), strict=True))


# None of them erases anything, and each works on any machine.
_FIRST_EXAMPLES: Final = _examples_in("""\
openpts tour
    See tests, a report, a comparison and a verdict: on simulated drives.
openpts check . --for commit
    Ask whether the disk of this directory is fast enough for a database.
openpts devices
    List the drives of this machine, and why one cannot be tested.
openpts run iops sim:enterprise-tlc --quick
    Run a shortened test on a simulated drive, and make its report.
""")

# Quoted where a shell would take a question mark for a pattern: zsh ends with "no matches found" otherwise.
_EXAMPLES: Final = {
    command: tuple(examples)
    for command, examples in groupby(
        _examples_in("""\
openpts check sim:client-qlc --for record
    Ask of a simulated drive whether it is good enough, in its own time.
openpts run iops "file:./scratch?size=4GiB" --quick
    Make a short run on a scratch file: nothing is erased, good for a first look.
openpts run iops /dev/nvme0n1 --confirm-serial S3R1AL
    Run the real thing: it erases the drive and takes many hours.
openpts run wsat /dev/nvme0n1 --confirm-serial S3R1AL --plan lab.toml
    Run another test with the settings of a plan file; options override it.
openpts run cbw "file:./scratch?size=1GiB" --time-scale 1/300
    Shorten all durations and repetitions by the same factor; the report lists them.
openpts run all sim:enterprise-tlc --quick
    Run a shortened suite on a simulated drive, a folder for each test and an index page.
openpts run all /dev/nvme0n1 --confirm-serial S3R1AL --plan tkperf
    Run the tests of a plan that ships, here those of TKperf; `openpts plan --list` lists them.
openpts run iops sim:enterprise-tlc
    Run the same test on a simulated drive in virtual time: minutes instead of hours.
openpts run iops sim:enterprise-tlc --quick --detach
    Return when it has begun: close the terminal, and `openpts attach` shows it later.
openpts io /dev/nvme0n1 --bs 4k --qd 32 --tc 4 --seconds 10
    Read at random for ten seconds, every I/O timed: nothing is written without consent.
openpts io "sim:client-qlc?capacity=64GB" --mix 0/100 --bs 128k --fills 1
    Fill a simulated drive of that capacity, and see when its cache ends.
openpts purge /dev/nvme0n1 --confirm-serial S3R1AL
    Erase a drive by the best method that it has, and prove it: nothing is measured.
openpts purge --unlock /dev/sda
    Remove the password that an interrupted ATA Security Erase left on a drive.
openpts plan xsr /dev/nvme0n1 --tbw 1.2PB
    Print what a test would do, how long it takes and what it wears, without touching the drive.
openpts report openpts-runs/R1AL-20261120T220000Z-iops
    Rebuild the report from a run folder, on any machine.
openpts report openpts-runs/suite-20261120T220000Z --redact --out to-publish
    Make one report of all tests of a suite, without the drive's serial number.
openpts resume openpts-runs/R1AL-20261120T220000Z-iops --confirm-serial S3R1AL
    Continue a run that was cut off.
openpts attach
    List the runs here and those in progress, with what is done and left.
openpts attach openpts-runs/R1AL-20261120T220000Z-iops
    Look at a run in progress, on the whole terminal; q leaves it.
openpts attach openpts-runs/R1AL-20261120T220000Z-iops --stop
    End it in order, as Ctrl-C does.
openpts fleet submit --host h1 --slot s07 --serial S3R1AL iops
    Run a test on the drive in a slot of another host, at most once.
openpts verify openpts-runs/R1AL-20261120T220000Z-iops
    Recompute every number of a report from its record.
openpts verify openpts-runs/R1AL-20261120T220000Z-iops --requirements
    Check a run against every requirement of the specification.
openpts doctor --self-test
    Test whether openpts measures what is known beforehand; no drive is needed.
openpts trace convert server.csv.gz -o server.parquet
    Read a trace of any format, count what is wrong with it, and keep it in a few bytes an I/O.
openpts export openpts-runs/* --parquet lab
    Keep the tables of finished runs in one place, and ask all of them in DuckDB, pandas or polars.
openpts compare suite-a suite-b --label suite-a=old --label suite-b=new
    Compare the runs of two drives.
"""),
        lambda example: example[0].split()[1],
    )
}

_A_TEST: Final = "iops sim:enterprise-tlc"
_A_RUN: Final = "01a20758-6951-7850-b2ef-49adaa4b6e21"
_ARGUMENTS: Final = {
    "openpts": f"run {_A_TEST}",
    "openpts compare": "old-firmware new-firmware",
    "openpts check": ". --for commit",
    "openpts crosscheck": "/dev/nvme0n1",
    "openpts doctor": "/dev/nvme0n1",
    "openpts export": "openpts-runs/R1AL-20261120T220000Z-iops --csv-row results.csv",
    "openpts fleet": "hosts",
    **{f"openpts fleet {verb}": _A_RUN for verb in ("observe", "cancel", "resume")},
    **{f"openpts fleet {verb}": "--here h1" for verb in ("journal", "slots")},
    "openpts fleet start": '--here h1 \'{"run_id": "", "test_words": ["iops"]}\'',
    "openpts fleet fetch": "--out results",
    "openpts fleet stop": f"--here h1 {_A_RUN}",
    "openpts fleet submit": "--host h1 --slot s07 --serial S3R1AL iops --class enterprise",
    "openpts gate": "runs/new-firmware --limits limits.toml --baseline runs/old-firmware",
    "openpts capture": "/dev/nvme0n1 --seconds 60 --out load.parquet",
    "openpts idle-flush": "/dev/nvme0n1",
    "openpts import": "fio before.json --capacity 1.92TB",
    "openpts import fio": "before.json --capacity 1.92TB --model X100 --serial S3R1AL",
    "openpts import tkperf": "p4610.xml --capacity 1.6TB",
    "openpts io": "sim:enterprise-tlc --seconds 10",
    "openpts power": "drive:/dev/nvme0n1 --for 10",
    "openpts plan": _A_TEST,
    "openpts purge": "/dev/nvme0n1 --confirm-serial S3R1AL",
    "openpts report": "openpts-runs/R1AL-20261120T220000Z-iops",
    "openpts resume": "openpts-runs/R1AL-20261120T220000Z-iops --confirm-serial S3R1AL",
    "openpts run": _A_TEST,
    "openpts serve": "openpts-runs",
    "openpts sim": "show enterprise-tlc",
    "openpts sim show": "enterprise-tlc",
    "openpts trace check": "server.blktrace.0 server.blktrace.1",
    "openpts trace convert": "server.csv.gz -o server.parquet",
    "openpts trace": "check server.blktrace.0",
    "openpts verify": "openpts-runs/R1AL-20261120T220000Z-iops",
    **{
        f"openpts {verb} {test}": arguments
        for verb in ("plan", "run")
        for test, arguments in {
            # that need more of a drive than the common example has
            "benchmarks": '"sim:client-qlc?capacity=256GB"',
            # and that are about a file
            "workload": "mine.fio sim:enterprise-tlc",
            "replay": 'recipe:like:office "sim:enterprise-tlc?capacity=8GB"',
            "app": "/mnt/data -- tar -xf /data/linux.tar",
            "check": "--purpose record sim:client-qlc",
        }.items()
    },
}

LISTING: Final = Listing(
    tests=(
        *_OF_THE_SPECIFICATION,
        *("fill", "sustained", "entropy", "benchmarks", "precon", "thermal", "lifetime", "powercut", "trim"),
        *("qos", "workload", "replay", "app", "check", "ocp", "pstates"),
    ),
    suite=_OF_THE_SPECIFICATION,
    purges=_PURGES,
    commands=_COMMANDS,
    subcommands={
        "run.all": "Several tests, one after the other: all of PTS, or any.",
        "plan.all": "Plan a suite: all of PTS, or any tests.",
    },
    first_examples=_FIRST_EXAMPLES,
    last_examples=_EXAMPLES["run"][1:2],
    examples=_EXAMPLES,
    arguments=_ARGUMENTS,
)
