"""Writes docs/conformance.md and docs/conformance-guides.md: how each requirement is shown, by which tests.

Git ignores the pages. The proofs go into the package, whose reports name them.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from docs.conformance_marks import Proofs, marked_proofs
from openpts_pts.conformance.catalogue import GUIDES, SECTION_TITLES, Level, Requirement, catalogue
from openpts_pts.conformance.conformance import CHECKS, ReasonKind, reasons
from openpts_pts.conformance.requirements import GuideStatus, all_practices, answer_of, practices, settings_of

ROOT: Final = Path(__file__).parents[1]
PROOFS: Final = "packages/openpts_pts/conformance/proofs.toml"

CHECKED: Final = "checked"
BUILT_IN: Final = "built in"
OPEN: Final = "not verifiable"
READING: Final = "for the reader"

_HEAD: Final = """\
# Conformance

It lists each requirement that
openpts reads out of the SNIA Solid State Storage Performance Test Specification 2.0.1, in short words of its
own; the specification decides. They were not compared with version 2.0.2.

A requirement is shown in one of three ways, which are never added up:

- **checked**: `openpts verify RUN --requirements` and every report check it on the record of that run, and
  say whether it is met or deviated. Only these count on the cover of a report.
- **built in**: every run does it alike; the tests named here prove it, and run with every change of openpts.
- **not verifiable**: neither a record nor a test can show it; the reason is given.

Tests beside a checked requirement prove that openpts does it, or that the check finds where it isn't so.
"""


_GUIDES_HEAD: Final = """\
# Conformance with four guides

It lists what openpts reads out
of four papers on the practice of measuring drives, in short words of its own; the papers decide. None of it
binds a test of the specification, and none counts on the cover of a report.

- **checked**: `openpts verify RUN --guide NAME` checks it on the record of that run, by the check of the
  specification's requirement that asks the same, or by the host audit.
- **built in**: the tests named here prove it.
- **left to the operator**, **outside**, **not met**: the reason is given.

What to type [with a paper in hand](guides.md).
"""


def page(proven: Proofs) -> str:
    """The page of the specification."""
    return "\n".join([_HEAD, *_summary(proven), *_sections(proven)])


def guides_page(proven: Proofs) -> str:
    """The page of the guides."""
    answers = {id_: answer_of(id_, proven) for id_ in all_practices()}
    lines = [_GUIDES_HEAD, f"| Guide | {' | '.join(one.capitalize() for one in GuideStatus)} |"]
    lines.append(f"|---|{'---:|' * len(GuideStatus)}")
    for guide, title in GUIDES.items():
        counts = Counter(answers[id_] for id_ in practices(guide))
        lines.append(f"| {title} | {' | '.join(str(counts[one]) for one in GuideStatus)} |")
    for guide, title in GUIDES.items():
        lines += [f"\n## {title}\n", "| ID | Place | Requirement | Shown | By |", "|---|---|---|---|---|"]
        lines += [_guide_row(id_, answers[id_], proven) for id_ in practices(guide)]
    return "\n".join([*lines, ""])


def _guide_row(id_: str, answer: GuideStatus, proven: Proofs) -> str:
    practice = all_practices()[id_]
    note = f"in part: {practice.note}" if practice.partly else practice.note
    shown = answer + (f"<br>*{note}*" if note else "")
    settings = ", ".join(advice.title for advice in settings_of(id_))
    by = [*practice.like, *([f"host audit: {settings}"] if settings else [])]
    by += [f"`{test}`" for test in proven.get(id_, ())]
    return f"| {id_} | {practice.clause} | {practice.text} | {shown} | {'<br>'.join(by)} |"


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


def write_pages(folder: Path) -> None:
    """Write both pages into a folder."""
    proven = marked_proofs(ROOT)
    (folder / "conformance.md").write_text(page(proven), encoding="utf-8")
    (folder / "conformance-guides.md").write_text(guides_page(proven), encoding="utf-8")


def main() -> None:
    """Write the pages, and what the package has of them."""
    (ROOT / PROOFS).write_text(proofs_file(marked_proofs(ROOT)), encoding="utf-8")
    write_pages(ROOT / "docs")


if __name__ == "__main__":
    main()
