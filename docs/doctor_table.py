"""Writes the table of the page doctor.md from the advice itself: `python -m docs.doctor_table`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from openpts_host.advice.advice import Advice, Group
from openpts_host.advice.table import ADVICE

PAGE: Final = Path(__file__).parents[1] / "packages/openpts_host/docs/doctor.md"
BEGIN: Final = "<!-- table: made by python -m docs.doctor_table -->"
END: Final = "<!-- end of the table -->"


def table() -> str:
    """All settings by group, as Markdown."""
    return "\n".join(line for group in Group for line in _of_group(group))


def _of_group(group: Group) -> Iterator[str]:
    yield from (
        f"\n### {group}\n",
        "| Setting | Real-world | Synthetic | What it does to results | Changed by openpts |",
    )
    yield "|---|---|---|---|---|"
    for advice in ADVICE:
        if advice.group is group:
            yield _row(advice)
    yield ""


def _row(advice: Advice) -> str:
    name = advice.title
    if advice.requirements:
        name += f" [{', '.join(advice.requirements)}]"
    changed = "-" if advice.suits is None else "yes"
    if advice.remedy:
        changed = f"no: {advice.remedy}"
    if advice.key == "max_sectors_kb":
        changed = "yes, up to the limit of the hardware"
    reason = f"{advice.reason} (at most a note)" if advice.is_minor else advice.reason
    return f"| {name} | {advice.real_world} | {advice.synthetic} | {reason} | {changed} |"


def with_table(text: str) -> str:
    """The page with the current table."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def main() -> None:
    """Write the page."""
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
