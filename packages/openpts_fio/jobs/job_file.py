"""A job file of fio as it is written: sections with their options, each with its place.

``[global]`` holds for the sections behind it, and a further one adds to it. ``include FILE`` is replaced by
that file's lines, found beside the file that names it.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.config_files.source_position import SourcePosition
from openpts.config_files.written_file import WrittenFileError, at, read_written
from openpts.units import MIB

_MOST_KIB: Final = 256
_MOST_INCLUDES: Final = 16
_GLOBAL: Final = "global"
_SECTION: Final = re.compile(r"\[([^\]]*)\]")
_VARIABLE: Final = re.compile(r"\$\{([^}]*)\}|\$([A-Za-z_]\w*)")


class GivenOption(Struct, frozen=True):
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

    def filled(self, values: Mapping[str, str]) -> "GivenOption":
        """With ``${NAME}`` and ``$NAME`` replaced; a name without a value stays as it is."""
        if self.value is None:
            return self
        value = _VARIABLE.sub(lambda found: values.get(found[1] or found[2], found[0]), self.value)
        return GivenOption(self.word, value.strip(), self.path, self.place)


class JobSection(Struct, frozen=True):
    """A job: the options of all ``[global]`` before it, and its own, in the order of the file."""

    name: str
    options: tuple[GivenOption, ...]


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
    said = [line for each in _raw_lines(path, (), complaints) if (line := _said(*each)) is not None]
    return _jobs(path, said, complaints, {**_keywords(), **(values or {})})


def _keywords() -> dict[str, str]:
    """What fio itself knows of the machine."""
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
    said = (_said(name, number, raw) for number, raw in enumerate(lines, start=1))
    return _jobs(Path(name), [line for line in said if line is not None], [], values)


def flattened(texts: Sequence[str]) -> str:
    """Job files as one: each job with all its options, each file behind a stonewall but the first."""
    blocks = []
    for number, text in enumerate(texts):
        for position, section in enumerate(parse_jobs(text.splitlines(), "-", {}).sections):
            wall = ["stonewall"] if number and not position else []
            blocks.append("\n".join([f"[{section.name}]", *wall, *map(str, section.options), "", ""]))
    return "".join(blocks)


def _jobs(
    path: Path, lines: "Sequence[_OptionLine]", complaints: list[str], values: Mapping[str, str]
) -> JobFile:
    common: list[GivenOption] = []
    sections: list[tuple[str, list[GivenOption]]] = []
    own: list[GivenOption] | None = None
    for line in lines:
        if line.section == _GLOBAL:
            own = common
        elif line.section is not None:
            own = list(common)
            sections.append((line.section, own))
        elif own is None:
            complaints.append(
                f"{at(line.path, line.place)}: {line.text!r} is in no section: write [NAME] above it"
            )
        else:
            own.append(line.option())
    if not sections and common:
        sections.append((path.stem, common))
    if not sections and not complaints:
        complaints.append(f"{path} has no job: write [NAME] above its options")
    if complaints:
        raise WrittenFileError(tuple(complaints))
    return JobFile(path, tuple(JobSection(name, tuple(options)) for name, options in sections), dict(values))


class _OptionLine(Struct, frozen=True):
    """A line that says something: the name of a section, or an option."""

    text: str
    section: str | None
    path: str
    place: SourcePosition

    @property
    def is_include(self) -> bool:
        """Whether the lines of another file stand in its place."""
        return self.text.split(maxsplit=1)[0] == "include" and "=" not in self.text

    def option(self) -> GivenOption:
        word, equals, value = self.text.partition("=")
        return GivenOption(word.strip(), value.strip() if equals else None, self.path, self.place)


def _raw_lines(path: Path, above: tuple[Path, ...], complaints: list[str]) -> Iterator[tuple[str, int, str]]:
    """File, number and text of each line."""
    text = read_written(path, _MOST_KIB, "fio job file").decode("utf-8-sig", "replace")
    for number, raw in enumerate(text.splitlines(), start=1):
        line = _said(str(path), number, raw)
        if line is not None and line.is_include:
            yield from _included(line.text, line, path, above, complaints)
        else:
            yield str(path), number, raw


def _said(path: str, number: int, raw: str) -> "_OptionLine | None":
    """What a line says; None for a blank one, and for a comment."""
    said = re.split("[;#]", raw, maxsplit=1)[0].strip()
    if not said:
        return None
    section = _SECTION.match(said)
    place = SourcePosition(number, len(raw) - len(raw.lstrip()) + 1)
    return _OptionLine(said, section[1].strip() if section else None, path, place)


def _included(
    said: str, line: _OptionLine, path: Path, above: tuple[Path, ...], complaints: list[str]
) -> Iterator[tuple[str, int, str]]:
    here = at(line.path, line.place)
    _, _, name = said.partition(" ")
    included = path.parent / name.strip()
    if not name.strip():
        complaints.append(f"{here}: include names no file")
    elif path.resolve() in above or len(above) >= _MOST_INCLUDES:
        complaints.append(f"{here}: {said}: files include each other")
    elif not included.is_file():
        complaints.append(f"{here}: {said}: {included} doesn't exist")
    else:
        yield from _raw_lines(included, (*above, path.resolve()), complaints)
