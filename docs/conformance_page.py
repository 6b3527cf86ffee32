"""Writes docs/conformance.md: which part implements each requirement, and which test proves it.

The places of the implementation also go into the package, which names them as evidence.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from docs.conformance_marks import Places, implementing_marks, places, proving_marks

from openpts.conformance.catalogue import SECTION_TITLES, Level, Requirement, catalogue
from openpts.conformance.unimplemented import unimplemented

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = "docs/conformance.md"
PLACES: Final = "python/openpts/conformance/places.toml"

_HEAD: Final = """\
# Conformance

Made from the sources by `python -m docs.conformance_page`: do not edit. It lists each requirement that
openpts reads out of the SNIA Solid State Storage Performance Test Specification 2.0.1, in short words of its
own; the specification decides. `openpts conformance RUN` holds a run against the same list.
"""


def page(implemented: Places, proven: Places) -> str:
    """The whole page."""
    return "\n".join([_HEAD, *_summary(implemented, proven), *_sections(implemented, proven)])


def places_file(implemented: Places) -> str:
    """What the package keeps of it."""
    lines = []
    for requirement in catalogue():
        if where := implemented.get(requirement.id):
            listed = ", ".join(f'"{_short(place)}"' for place in where)
            lines.append(f"{requirement.id} = [{listed}]")
    return "\n".join(["# Made by `python -m docs.conformance_page` from marks in the sources.", *lines, ""])


def unfounded(implemented: Places, proven: Places) -> dict[str, str]:
    """What shall or should be, and isn't implemented or proven, nor the operator's; with what is missing."""
    missing = {}
    for requirement in catalogue():
        if requirement.level is Level.MAY or requirement.id in unimplemented():
            continue
        gaps = [
            name for name, marks in (("code", implemented), ("test", proven)) if requirement.id not in marks
        ]
        if gaps:
            missing[requirement.id] = " and ".join(gaps)
    return missing


def _summary(implemented: Places, proven: Places) -> Iterator[str]:
    yield "| Level | Requirements | Implemented | Proven by a test | Left to others, or in part |"
    yield "|---|---:|---:|---:|---:|"
    for level in Level:
        of_level = [requirement.id for requirement in catalogue() if requirement.level is level]
        counts = [sum(id_ in marks for id_ in of_level) for marks in (implemented, proven, unimplemented())]
        yield f"| {level} | {len(of_level)} | {' | '.join(str(count) for count in counts)} |"
    yield ""


def _sections(implemented: Places, proven: Places) -> Iterator[str]:
    for section, title in SECTION_TITLES.items():
        yield f"## {title}\n"
        yield "| ID | Level | Clause | Requirement | Implemented by | Proven by |"
        yield "|---|---|---|---|---|---|"
        for requirement in catalogue():
            if requirement.section == section:
                yield _row(requirement, implemented, proven)
        yield ""


def _row(requirement: Requirement, implemented: Places, proven: Places) -> str:
    exception = unimplemented().get(requirement.id)
    where = [_listed(implemented.get(requirement.id, ()))]
    where.append(f"*{exception}*" if exception else "")
    cells = (
        requirement.id,
        requirement.level,
        requirement.clause,
        requirement.text,
        "<br>".join(filter(None, where)) or "**nothing**",
        _listed(proven.get(requirement.id, ())) or ("" if exception else "**nothing**"),
    )
    return f"| {' | '.join(cells)} |"


def _listed(where: Sequence[str]) -> str:
    return "<br>".join(f"`{_short(place)}`" for place in where)


def _short(place: str) -> str:
    return place.removeprefix("python/openpts/").removeprefix("tests/")


def main() -> None:
    """Write both files."""
    implemented, proven = places(implementing_marks(ROOT)), places(proving_marks(ROOT))
    (ROOT / PLACES).write_text(places_file(implemented), encoding="utf-8")
    (ROOT / PAGE).write_text(page(implemented, proven), encoding="utf-8")
    for requirement_id, gap in unfounded(implemented, proven).items():
        print(f"{requirement_id}: no {gap}")  # noqa: T201 a program of the build


if __name__ == "__main__":
    main()
