"""A job file of fio as it is written: sections with their options, each with its place.

``[global]`` holds for the sections behind it, and a further one adds to it. ``include FILE`` is replaced by
that file's lines, found beside the file that names it.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct

from openpts.config_files.schema_errors import SourcePosition
from openpts.config_files.written_file import WrittenFileError, at, read_written
from openpts.did_you_mean import nearest_word
from openpts.units import MIB, NS_PER_S
from openpts_fio.jobs.options import BY_WORD, OTHER_ENGINES, OptionHandling
from openpts_io.fio_values import (
    KIB_BASE,
    Size,
    ValueTextError,
    directions_of,
    numbers_of,
    size,
    time_ns,
    whole_number,
)

_MOST_KIB: Final = 256
_MOST_INCLUDES: Final = 16
_GLOBAL: Final = "global"
_SECTION: Final = re.compile(r"\[([^\]]*)\]")
_VARIABLE: Final = re.compile(r"\$\{([^}]*)\}|\$([A-Za-z_]\w*)")


class JobOption(Struct, frozen=True):
    """One line of a file. ``value`` is None for a bare word; ``path`` is as complaints name the file."""

    word: str
    value: str | None
    path: str
    place: SourcePosition

    def __str__(self) -> str:
        return self.word if self.value is None else f"{self.word}={self.value}"

    @property
    def position(self) -> str:
        """File and line."""
        return f"{self.path}:{self.place.line}"

    def complaint(self, reason: str) -> str:
        """What is wrong with it, with its place."""
        return f"{at(self.path, self.place)}: {self}: {reason}"

    def missing(self, values: Mapping[str, str]) -> tuple[str, ...]:
        """Names in it that stand for no value."""
        names = (braced for braced, _ in _VARIABLE.findall(self.value or "") if braced)
        return tuple(name for name in names if name not in values)

    def filled(self, values: Mapping[str, str]) -> "JobOption":
        """With ``${NAME}`` and ``$NAME`` replaced; a name without a value stays as it is."""
        if self.value is None:
            return self
        value = _VARIABLE.sub(lambda found: values.get(found[1] or found[2], found[0]), self.value)
        return JobOption(self.word, value.strip(), self.path, self.place)


class JobSection(Struct, frozen=True):
    """A job: the options of all ``[global]`` before it, and its own, in the order of the file."""

    name: str
    options: tuple[JobOption, ...]


class JobFile(Struct, frozen=True):
    """All jobs of a file, and what the names in their options stand for."""

    path: Path
    sections: tuple[JobSection, ...]
    values: Mapping[str, str]

    @property
    def used_values(self) -> dict[str, str]:
        """Values of the variables that an option names."""
        written = (option.value or "" for section in self.sections for option in section.options)
        names = (braced or bare for value in written for braced, bare in _VARIABLE.findall(value))
        return {name: self.values[name] for name in names if name in self.values}


def read_jobs(path: Path, values: Mapping[str, str] | None = None) -> JobFile:
    """The jobs of the file; a file that has only ``[global]`` is one job that has the file's name.

    ``values`` are what ``${NAME}`` and ``$NAME`` stand for, beside fio's own keywords. Raises UsageError
    where a file can't be read, and WrittenFileError with the places of lines that are neither a section nor
    an option.
    """
    complaints: list[str] = []
    lines = list(_raw_lines(path, (), complaints))
    return _jobs(path, lines, complaints, {**_keywords(), **(values or {})})


def _keywords() -> dict[str, str]:
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    return {
        "pagesize": str(page_bytes),
        "mb_memory": str(page_bytes * os.sysconf("SC_PHYS_PAGES") // MIB),
        "ncpus": str(os.sysconf("SC_NPROCESSORS_ONLN")),
    }


def job_lines(path: Path) -> tuple[str, ...]:
    """All lines of the file, with those of included files in place. Raises as ``read_jobs`` does."""
    complaints: list[str] = []
    lines = tuple(raw for _, _, raw in _raw_lines(path, (), complaints))
    if complaints:
        raise WrittenFileError(tuple(complaints))
    return lines


def parse_jobs(lines: Sequence[str], name: str, values: Mapping[str, str]) -> JobFile:
    """The jobs of lines that include no other file. Raises WrittenFileError, as ``read_jobs`` does."""
    return _jobs(Path(name), ((name, number, raw) for number, raw in enumerate(lines, 1)), [], values)


def flattened(texts: Sequence[str]) -> str:
    """Job files as one: each job with all its options, each file behind a stonewall but the first."""
    blocks = []
    for number, text in enumerate(texts):
        for position, section in enumerate(parse_jobs(text.splitlines(), "-", {}).sections):
            wall = ["stonewall"] if number and not position else []
            blocks.append("\n".join([f"[{section.name}]", *wall, *map(str, section.options), "", ""]))
    return "".join(blocks)


_Line = tuple[str, int, str]
"""File, number and text of a line."""


def _jobs(path: Path, lines: Iterable[_Line], complaints: list[str], values: Mapping[str, str]) -> JobFile:
    common: list[JobOption] = []
    sections: list[tuple[str, list[JobOption]]] = []
    own: list[JobOption] | None = None
    for file, number, raw in lines:
        text, place = _uncommented(raw), _place(number, raw)
        section = _SECTION.match(text)
        word, equals, value = text.partition("=")
        if section is not None and section[1].strip() == _GLOBAL:
            own = common
        elif section is not None:
            own = list(common)
            sections.append((section[1].strip(), own))
        elif text and own is None:
            complaints.append(f"{at(file, place)}: {text!r} is in no section: write [NAME] above it")
        elif text and own is not None:
            own.append(JobOption(word.strip(), value.strip() if equals else None, file, place))
    if not sections and common:
        sections.append((path.stem, common))
    if not sections and not complaints:
        complaints.append(f"{path} has no job: write [NAME] above its options")
    if complaints:
        raise WrittenFileError(tuple(complaints))
    return JobFile(path, tuple(JobSection(name, tuple(options)) for name, options in sections), dict(values))


def _uncommented(raw: str) -> str:
    """What a line says; empty where it is blank or a comment."""
    return re.split("[;#]", raw, maxsplit=1)[0].strip()


def _place(number: int, raw: str) -> SourcePosition:
    return SourcePosition(number, len(raw) - len(raw.lstrip()) + 1)


def _raw_lines(path: Path, above: tuple[Path, ...], complaints: list[str]) -> Iterator[_Line]:
    """All lines of a file; those of another file in place of an ``include``."""
    content = read_written(path, _MOST_KIB, "fio job file").decode("utf-8-sig", "replace")
    for number, raw in enumerate(content.splitlines(), start=1):
        text = _uncommented(raw)
        if "=" in text or text.split(maxsplit=1)[:1] != ["include"]:
            yield str(path), number, raw
            continue
        here, name = at(str(path), _place(number, raw)), text.removeprefix("include").strip()
        included = path.parent / name
        if not name:
            complaints.append(f"{here}: include names no file")
        elif path.resolve() in above or len(above) >= _MOST_INCLUDES:
            complaints.append(f"{here}: {text}: files include each other")
        elif not included.is_file():
            complaints.append(f"{here}: {text}: {included} doesn't exist")
        else:
            yield from _raw_lines(included, (*above, path.resolve()), complaints)


_Value = TypeVar("_Value")
_MOST_PCT: Final = 999
_YES: Final = {"1": True, "0": False, "true": True, "false": False}


class JobError(Exception):
    """A job that can't be applied; the text is a complaint with the place of the option."""


class Job:
    """The options of one section by fio's own names. ``unknown`` and ``refused`` are complaints.

    ``ignored`` and ``notes`` are remarks with the places of their options; a caller adds notes.
    """

    def __init__(self, section: JobSection, values: Mapping[str, str]) -> None:
        self.section = section
        self.problems: list[str] = []
        self.ignored: list[str] = []
        self.notes: list[str] = []
        self._options: dict[str, list[JobOption]] = {}
        for written in section.options:
            self._take(written, values)
        self._refuse()
        self._kb_base = KIB_BASE
        self._kb_base = self.number("kb_base", KIB_BASE)

    def _take(self, written: JobOption, values: Mapping[str, str]) -> None:
        option = BY_WORD.get(written.word)
        filled = written.filled(values)
        if engines := OTHER_ENGINES.get(written.word):
            self.problems.append(
                filled.complaint(f"is an option of fio's ioengine {engines}, which openpts has not")
            )
        elif option is None:
            near = nearest_word(written.word, BY_WORD)
            meant = f", did you mean {near}?" if near else ""
            self.problems.append(filled.complaint(f"fio has no such option{meant}"))
        elif option.treatment is OptionHandling.IGNORED:
            self.ignored.append(f"{filled.position}: {filled}: {option.says}")
            self._options.setdefault(option.name, []).append(filled)
        elif missing := filled.missing(values):
            self.problems.append(filled.complaint(f"${{{missing[0]}}} has no value: give {missing[0]}=VALUE"))
        else:
            self._options.setdefault(option.name, []).append(filled)

    def _refuse(self) -> None:
        """What was given last decides: a job can turn off what [global] asks for."""
        for name, lines in self._options.items():
            option, last = BY_WORD[name], lines[-1]
            if option.treatment is not OptionHandling.REFUSED:
                continue
            if (last.value or "1") in option.harmless:
                self.ignored.append(f"{last.position}: {last}: does nothing")
            else:
                self.problems.append(last.complaint(option.says))

    def option(self, name: str) -> JobOption | None:
        """The option as it was given last; None where it was not."""
        return self._options[name][-1] if name in self._options else None

    def has(self, name: str) -> bool:
        """Whether it was given at all."""
        return name in self._options

    def later(self, first: str, second: str) -> str | None:
        """Of two options, the one that was given later; None where neither was."""
        places = {
            name: max(
                index for index, one in enumerate(self.section.options) if BY_WORD.get(one.word) is option
            )
            for name in (first, second)
            if name in self._options and (option := BY_WORD[name])
        }
        return max(places, key=lambda name: places[name]) if places else None

    def text(self, name: str, default: str) -> str:
        """Value of an option as it was written; ``default`` where it was not given."""
        option = self.option(name)
        return default if option is None else (option.value or "")

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Whether it is on: a bare word is. Raises JobError."""
        option = self.option(name)
        if option is None:
            return default
        if option.value is None:
            return True
        if option.value not in _YES:
            raise JobError(option.complaint("is neither 0 nor 1"))
        return _YES[option.value]

    def number(self, name: str, default: int) -> int:
        """A whole number. Raises JobError."""
        return self._value(name, default, lambda text: whole_number(text, self._kb_base))

    def time_ns(self, name: str, unit_ns: int = NS_PER_S) -> int:
        """A time in ns, 0 where none was given. Raises JobError."""
        return self._value(name, 0, lambda text: time_ns(text, unit_ns))

    def size(self, name: str, default: Size) -> Size:
        """A size in bytes or per cent. Raises JobError."""
        most_pct = _MOST_PCT if name == "size" else 100
        return self._value(name, default, lambda text: size(text, self._kb_base, most_pct))

    def numbers(self, name: str) -> dict[str, int]:
        """The whole numbers of the directions that were given one. Raises JobError."""
        for option in self._options.get(name, ()):
            if "/" in (option.value or ""):
                self.note(name, "is read as fio does, no further than the numbers: bssplit has shares")
        return self._merged(name, lambda text: numbers_of(text, self._kb_base))

    def lists(self, name: str, read: Callable[[str, int], _Value]) -> dict[str, _Value]:
        """What each direction was given, by ``read`` from its text and kb_base. Raises JobError."""
        return self._merged(
            name,
            lambda text: {
                direction: read(word, self._kb_base) for direction, word in directions_of(text).items()
            },
        )

    def _merged(self, name: str, read: Callable[[str], dict[str, _Value]]) -> dict[str, _Value]:
        """A later line replaces the values of the directions that it names."""
        values: dict[str, _Value] = {}
        for option in self._options.get(name, ()):
            try:
                values |= read(option.value or "")
            except ValueTextError as error:
                raise JobError(option.complaint(str(error))) from error
        return values

    def error(self, name: str, reason: str) -> JobError:
        """The error of an option, or of the whole job where the option was not given."""
        option = self.option(name)
        if option is not None:
            return JobError(option.complaint(reason))
        return JobError(f"[{self.section.name}]: {name}: {reason}")

    def note(self, name: str, text: str) -> None:
        """Add a remark on an option, with its place where it was given."""
        option = self.option(name)
        place = f"[{self.section.name}]" if option is None else f"{option.position}: {option}"
        self.notes.append(f"{place}: {text}")

    def _value(self, name: str, default: _Value, read: Callable[[str], _Value]) -> _Value:
        option = self.option(name)
        if option is None:
            return default
        try:
            return read(option.value or "")
        except ValueTextError as error:
            raise JobError(option.complaint(str(error))) from error
