"""Application Benchmark: practice beyond the PTS."""

import re
import shlex
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal

from msgspec import Struct

from openpts.analysis.ratio import MOST_RUNS
from openpts.analysis.run_comparison import ADVISED_RUNS, RSE_LIMIT_PCT, SetRule
from openpts.errors import UsageError
from openpts.fields import usual
from openpts.fields.conditions import Contradictions, ExtendedConditions
from openpts.fields.field import SECONDS, SECONDS_OR_NONE, Field, ValueType, count, percent
from openpts.fields.parsing import refuse
from openpts.procedures.kit.procedure import Procedure
from openpts.units import format_duration
from openpts.vocabulary.command_run import Application, FileSystemType, PrintedFigure
from openpts.vocabulary.verdict import Better

DIRECTORY_WORD: Final = "{dir}"
"""In a word of the command, it stands for the directory to run in."""

_MOST_RUNS: Final = 99
_HOW_TO_WRITE_FIGURE: Final = (
    "write NAME=REGEX or NAME=REGEX:UNIT, where the one group of REGEX is the number, such as "
    "'rate=Rate: ([0-9.]+):MB/s'"
)
_NAME: Final = re.compile(r"[\w-]{1,40}", re.ASCII)
_UNIT: Final = re.compile(r"[\w%/µ. ]{1,20}")


def _command(name: str, args: list[str]) -> tuple[str, ...]:
    if not args or not args[0]:
        raise UsageError(f"{name} is empty: name a program and its arguments")
    if any("\0" in word for word in args):
        raise UsageError(f"{name} contains a zero byte, which no program can be given")
    return (_from_anywhere(args[0], "."), *args[1:])


def _from_anywhere(program: str, folder: str) -> str:
    """A path of a program, made absolute: the command runs in another directory."""
    if "/" not in program or program.startswith((DIRECTORY_WORD, "/")):
        return program
    return str((Path(folder) / program).absolute())


COMMAND: Final = ValueType(
    list[str],
    _command,
    shlex.join,
    beside=lambda args, folder: [_from_anywhere(args[0], folder), *args[1:]] if args else args,
)


def _figure(name: str, text: str) -> PrintedFigure:
    """A pattern may contain colons: what follows the last one is a unit if it looks like one."""
    title, equals, rest = text.partition("=")
    pattern, colon, unit = rest.rpartition(":")
    if not colon or not _UNIT.fullmatch(unit) or not _groups(pattern):
        pattern, unit = rest, ""
    if not equals or not title.strip() or _groups(pattern) != 1:
        refuse(name, text, _HOW_TO_WRITE_FIGURE)
    return PrintedFigure(title.strip(), pattern, unit.strip())


def _groups(pattern: str) -> int:
    try:
        return re.compile(pattern).groups
    except re.error:
        return 0


def figure_text(figure: PrintedFigure | None) -> str:
    """As it is written on the command line."""
    return "" if figure is None else str(figure)


class _File(Struct, forbid_unknown_fields=True):
    application: tuple[Application, ...]


def _applications(name: str, word: str) -> tuple[Application, ...]:
    """The list in a file; relative programs are looked for where openpts was started."""
    from openpts.config_files.toml_text import read_toml  # noqa: PLC0415 slow to load
    from openpts.config_files.written_file import placed_text, read_written, shaped  # noqa: PLC0415 likewise

    path = Path(word)
    found = shaped(placed_text(read_written(path, 64, "list of applications"), word, read_toml), _File, word)
    names = [one.name for one in found.application]
    if not names or len(set(names)) < len(names) or not all(map(_NAME.fullmatch, names)):
        refuse(name, word, "write [[application]] for each, with a name of its own of A-Z, a-z, 0-9, - and _")
    return tuple(
        Application(one.name, (_from_anywhere(_command(name, list(one.command))[0], "."), *one.command[1:]))
        for one in found.application
    )


class AppConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="app"):
    """``command`` is run ``cold_runs`` times with an empty page cache, ``warm_runs`` times with a full one.

    Or else each of ``applications`` is, one after the other.

    Where ``until_rse_pct`` is above 0, warm runs are added, two at a time and up to ``most_warm_runs``, until
    their relative standard error is at most that. ``limit_ns`` bounds each run. ``file_system`` and
    ``fill_level_pct`` are of a drive that is formatted for it; None and 0 for a directory. ``figure`` is one
    that the program prints, and ``figure_better`` which way of it is better.
    """

    parameters = (
        "command",
        "applications",
        "file_system",
        "fill_level_pct",
        "cold_runs",
        "warm_runs",
        "until_rse_pct",
        "most_warm_runs",
        "limit_ns",
        "settle_ns",
        "figure",
        "figure_better",
    )
    unused: ClassVar[frozenset[str]] = frozenset(map(str, ExtendedConditions.parameters))
    # how long a program may take is no part of the test's length
    unscaled: ClassVar[tuple[str, ...]] = ("limit_ns", "settle_ns")

    command: Annotated[
        tuple[str, ...],
        Field(
            "Command",
            "The program that is the benchmark, and its arguments, as a list of words; no shell.",
            COMMAND,
            examples=(["tar", "-xf", "/data/linux.tar"], ["fio", "--directory={dir}", "/data/mail.fio"]),
            argument="-- COMMAND [ARG]...",
            free="the benchmark itself",
        ),
    ]
    applications: Annotated[
        tuple[Application, ...],
        Field(
            "Applications",
            "Run each of a list in place of COMMAND: a TOML file of [[application]], with name and command.",
            ValueType(
                str,
                _applications,
                lambda found: ", ".join(one.name for one in found),
                metavar="FILE",
                beside=lambda word, folder: str(Path(folder) / word),
            ),
            text=lambda found: ", ".join(one.name for one in found),
            free="the benchmark itself",
        ),
    ] = ()
    file_system: Annotated[
        FileSystemType | None,
        Field(
            "File system made",
            "File system to format a drive with; none gives COMMAND the raw drive, as {device}; ext4.",
            ValueType(
                Literal["ext4", "xfs", "none"],
                lambda _name, word: FileSystemType(word),
                lambda kind: "" if kind is None else str(kind),
                metavar=None,
            ),
            free="where the benchmark runs",
        ),
    ] = None
    fill_level_pct: Annotated[
        float,
        Field(
            "File system filled to (%)",
            "Fill the new file system to this level with incompressible data, before the first run.",
            percent(ge=0, le=95),
            name="fill_level",
            free="where the benchmark runs",
        ),
    ] = 0.0
    cold_runs: Annotated[
        int,
        Field(
            "Cold runs", "Runs with the page cache dropped before each.", count(0, _MOST_RUNS), amount=True
        ),
    ]
    warm_runs: Annotated[
        int,
        Field(
            "Warm runs, at least",
            "Runs after these, with the page cache left alone; an odd number.",
            count(1, _MOST_RUNS),
            amount=True,
        ),
    ]
    until_rse_pct: Annotated[
        float,
        Field(
            "Warm runs added until their RSE is at most (%)",
            "Add warm runs, two at a time, until their relative standard error is at most this. With 0 none "
            f"are added, and the report judges by {RSE_LIMIT_PCT:g}.",
            percent(ge=0, le=100),
            name="until_rse",
            text=lambda pct: f"warm runs added until their RSE is {pct:g} %" if pct else "no warm runs added",
        ),
    ] = RSE_LIMIT_PCT
    most_warm_runs: Annotated[
        int,
        Field(
            "Warm runs at most, before the set is discarded",
            "Discard a set of so many warm runs with a larger relative standard error; an odd number.",
            count(ADVISED_RUNS, _MOST_RUNS),
            text="{} warm runs at most",
        ),
    ] = MOST_RUNS
    limit_ns: Annotated[
        int | None,
        Field(
            "Time limit of a run",
            "Stop COMMAND, and end the test, if a run of it takes longer.",
            SECONDS,
            name="limit",
            text=lambda limit_ns: "no limit" if limit_ns is None else format_duration(limit_ns),
            free="a run that reaches it is no result",
        ),
    ] = None
    settle_ns: Annotated[
        int,
        Field(
            "Idle before each program",
            "Before the first run of each program, leave the drive alone for so long; 0 is not at all.",
            SECONDS_OR_NONE,
            text=lambda settle_ns: (
                f"{format_duration(settle_ns)} of rest before each" if settle_ns else "none"
            ),
        ),
    ] = 0
    figure: Annotated[
        PrintedFigure | None,
        Field(
            "Figure that the command prints",
            "Read a figure from the output of COMMAND: of the last match of REGEX its one group, a number.",
            ValueType(str, _figure, figure_text, "NAME=REGEX[:UNIT]"),
            examples=("rate=Rate: ([0-9.]+):MB/s",),
            text=figure_text,
            free="what is read of the output, not what is done",
        ),
    ] = None
    figure_better: Annotated[
        Better | None,
        Field(
            "Better figure",
            "Which way of the figure is better.",
            ValueType(
                Literal["higher", "lower"],
                lambda _name, word: Better(word),
                lambda better: str(better or ""),
                None,
            ),
            free="how the figure is judged, not what is done",
        ),
    ] = None

    @property
    def set_rule(self) -> SetRule:
        """When warm runs are accepted, and with how many they are discarded."""
        return SetRule(self.until_rse_pct or RSE_LIMIT_PCT, self.most_warm_runs)

    @property
    def listed(self) -> tuple[Application, ...]:
        """What is run, in order; a command alone has no name."""
        return self.applications or (Application("", self.command),)

    @property
    def lacking(self) -> str:
        """See the base class."""
        if self.command or self.applications:
            return ""
        return (
            "the command is missing: write it after --, as in `openpts run app TARGET -- COMMAND [ARG]...`, "
            "or name a list of them with --applications FILE"
        )

    @property
    def planned_lines(self) -> tuple[str, ...]:
        """See the base class."""
        most = self.most_warm_runs if self.until_rse_pct else self.warm_runs
        runs = len(self.listed) * (1 + self.cold_runs + most)
        where = "the directory as it is, or a drive formatted with"
        fill = f", filled to {self.fill_level_pct:g} %" if self.fill_level_pct else ""
        limit = (
            "as long as the command does; --limit bounds each run"
            if self.limit_ns is None
            else f"{format_duration(self.limit_ns * runs)} at most, in {runs} runs"
        )
        return (
            f"on          {where} {self.file_system or FileSystemType.EXT4}{fill}",
            *(
                f"command     {f'{one.name}: ' * bool(one.name)}{shlex.join(one.command)}"
                for one in self.listed
            ),
            *((f"idle        {format_duration(self.settle_ns)} before each",) if self.settle_ns else ()),
            f"condition   1 run of conditioning{' of each' * bool(self.applications)}, not counted",
            f"cold        {self.cold_runs}, each with the page cache dropped before it",
            f"warm        {self.warm_runs if most == self.warm_runs else f'{self.warm_runs} to {most}'}",
            f"takes       {limit}",
            "writes      what the command writes, and the fill level",
        )

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """Numbers of runs that no set can have, and a figure without a direction."""
        yield from super().contradictions(given)
        yield from usual.even_most("most_warm_runs", self.most_warm_runs, "run")
        if self.until_rse_pct and self.warm_runs > self.most_warm_runs:
            yield (
                ("most_warm_runs", "warm_runs"),
                f"{self.warm_runs} warm runs, and {self.most_warm_runs} are the most: raise --most-warm-runs",
            )
        if self.figure is not None and self.figure_better is None:
            yield ("figure",), "which way of it is better is not known: add --figure-better higher or lower"
        if self.figure is None and self.figure_better is not None:
            yield ("figure_better",), "there is no --figure that it could belong to: add one, or leave it out"
        if self.applications and self.command:
            yield ("applications",), "a command after -- is no part of a list: leave one of them out"
        if self.applications and self.figure is not None:
            yield ("applications", "figure"), "a list has times alone: leave --figure out"
        if self.file_system is FileSystemType.NONE and self.fill_level_pct:
            yield (
                ("fill_level", "file_system"),
                "a raw drive has no file system to fill: leave one of them out",
            )
        words = [word for one in self.listed for word in one.command]
        if self.file_system is FileSystemType.NONE and any(DIRECTORY_WORD in word for word in words):
            yield ("file_system",), "a raw drive has no directory for {dir}: write {device} in the command"

    # SOL-STAT-02, 03
    def doubts(self, given: Collection[str]) -> Contradictions:
        """Few warm runs, or an even number, where none is added."""
        yield from super().doubts(given)
        if self.until_rse_pct:
            return
        if self.warm_runs < ADVISED_RUNS:
            yield ("warm_runs",), f"{self.warm_runs} warm runs: {ADVISED_RUNS} or more are advised"
        elif self.warm_runs % 2 == 0:
            yield (
                ("warm_runs",),
                f"{self.warm_runs} is even: the median is the less favorable of the middle two; use an odd "
                "number",
            )


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=AppConditions,
    title="Application Benchmark",
    short_title="Application",
    question="How long does my program take on this drive, and is it the drive that it waits for?",
    purpose="""Any program as a benchmark of a drive: COMMAND, with its arguments, after --.

    COMMAND runs in the directory that is tested, whose path takes the place of {dir} in its words. A
    conditioning run does not count. Cold runs follow, with the page cache dropped before each. Of the warm
    runs the median counts. --applications runs a list of them, each with a score: runs in an hour. Their
    geometric mean is that of the list.
    """,
    quick={"warm_runs": 3, "until_rse": 0},
    purges=False,
    driver="openpts_app.drivers.commands.driver:CommandDriver",
    sections={
        "file_systems": "openpts.vocabulary.command_run:FileSystemReport",
        "command_runs": "openpts.vocabulary.command_run:CommandRun",
    },
    target_help="""
    TARGET is a directory on a mounted file system, which is taken as it is: only COMMAND writes there. Or it
    is a drive such as /dev/nvme0n1, or a scratch file (file:PATH?size=SIZE), which is created. Drive and file
    are formatted, mounted, filled and trimmed, and unmounted in the end.
""",
)
"""The conditions of the application benchmark."""
