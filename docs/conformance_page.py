"""Writes docs/conformance.md: how each requirement is shown, and which tests prove it.

The proofs also go into the package, whose reports name them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from docs.conformance_marks import Proofs, marked_proofs

from openpts.conformance.catalogue import SECTION_TITLES, Level, Requirement, catalogue
from openpts.conformance.conformance import ReasonKind, reasons
from openpts.conformance.table import CHECKS

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = "docs/conformance.md"
PROOFS: Final = "python/openpts/conformance/proofs.toml"

CHECKED: Final = "checked"
BUILT_IN: Final = "built in"
OPEN: Final = "not verifiable"
READING: Final = "for the reader"

_HEAD: Final = """\
# Conformance

Made from the sources by `python -m docs.conformance_page`: do not edit. It lists each requirement that
openpts reads out of the SNIA Solid State Storage Performance Test Specification 2.0.1, in short words of its
own; the specification decides.

A requirement is shown in one of three ways, which are never added up:

- **checked**: `openpts conformance RUN` and every report check it on the record of that run, and say whether
  it is met or deviated. Only these count on the cover of a report.
- **built in**: every run does it alike; the tests named here prove it, and run with every change of openpts.
- **not verifiable**: neither a record nor a test can show it; the reason is given.

Tests beside a checked requirement prove that openpts does it, or that the check finds where it isn't so.
"""


def page(proven: Proofs) -> str:
    """The whole page."""
    return "\n".join([_HEAD, *_summary(proven), *_sections(proven)])


def proofs_file(proven: Proofs) -> str:
    """What the package keeps of it."""
    lines = ["# Made by `python -m docs.conformance_page` from the marks of the tests: do not edit."]
    for requirement_id, tests in proven.items():
        lines += [f"{requirement_id} = [", *(f'    "{test}",' for test in tests), "]"]
    return "\n".join([*lines, ""])


def kind_of(requirement: Requirement, proven: Proofs) -> str:
    """How a requirement is shown: checked, built in, not verifiable, or for the reader."""
    if requirement.id in CHECKS:
        return CHECKED
    if requirement.id in proven:
        return BUILT_IN
    reason = reasons().get(requirement.id)
    return READING if reason is not None and reason.kind is ReasonKind.READER else OPEN


def _summary(proven: Proofs) -> Iterator[str]:
    kinds = (CHECKED, BUILT_IN, OPEN, READING)
    yield f"| Level | {' | '.join(kind.capitalize() for kind in kinds)} |"
    yield f"|---|{'---:|' * len(kinds)}"
    for level in Level:
        of_level = [kind_of(requirement, proven) for requirement in catalogue() if requirement.level is level]
        yield f"| {level} | {' | '.join(str(of_level.count(kind)) for kind in kinds)} |"
    yield ""


def _sections(proven: Proofs) -> Iterator[str]:
    for section, title in SECTION_TITLES.items():
        yield f"## {title}\n"
        yield "| ID | Level | Clause | Requirement | Shown | Tests |"
        yield "|---|---|---|---|---|---|"
        for requirement in catalogue():
            if requirement.section == section:
                yield _row(requirement, proven)
        yield ""


def _row(requirement: Requirement, proven: Proofs) -> str:
    reason = reasons().get(requirement.id)
    cells = (
        requirement.id,
        requirement.level,
        requirement.clause,
        requirement.text,
        kind_of(requirement, proven) + (f"<br>*{reason}*" if reason else ""),
        "<br>".join(f"`{test}`" for test in proven.get(requirement.id, ())),
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Write both files."""
    proven = marked_proofs(ROOT)
    (ROOT / PROOFS).write_text(proofs_file(proven), encoding="utf-8")
    (ROOT / PAGE).write_text(page(proven), encoding="utf-8")


if __name__ == "__main__":
    main()
