"""Writes docs/reference.md from the code: settings of the host, options of fio, formats of traces."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from openpts_fio.jobs.options import OPTIONS, Option, OptionHandling
from openpts_host.advice.advice import Advice, Group
from openpts_host.advice.table import ADVICE
from openpts_traces.treatment import formats

HEAD: Final = """\
# Reference

This page is made from the declarations in the code.

"""
_OF_FIO: Final = {
    OptionHandling.COUNTS: ("Options that count", ("Option", "What becomes of it")),
    OptionHandling.IGNORED: ("Options that are ignored", ("Options", "Why they are ignored")),
    OptionHandling.REFUSED: ("Options that are refused", ("Option", "Why it is refused")),
}


def page() -> str:
    """All tables, as Markdown."""
    return HEAD + "\n".join([*_settings(), *_fio_options(), *_trace_formats()])


def _table(*rows: Iterable[str]) -> Iterator[str]:
    head, *others = rows
    for row in (head, ["---" for _ in head], *others):
        yield f"| {' | '.join(row)} |"
    yield ""


def _settings() -> Iterator[str]:
    yield "## Settings of the host\n"
    head = ("Setting", "Real-world", "Synthetic", "What it does to results", "Changed by openpts")
    for group in Group:
        yield f"### {group}\n"
        yield from _table(head, *(_setting(advice) for advice in ADVICE if advice.group is group))


def _setting(advice: Advice) -> tuple[str, ...]:
    name = advice.title
    if advice.requirements:
        name += f" [{', '.join(advice.requirements)}]"
    changed = "-" if advice.suits is None else "yes"
    if advice.remedy:
        changed = f"no: {advice.remedy}"
    if advice.key == "max_sectors_kb":
        changed = "yes, up to the limit of the hardware"
    reason = f"{advice.reason} (at most a note)" if advice.is_minor else advice.reason
    return name, advice.real_world, advice.synthetic, reason, changed


def _fio_options() -> Iterator[str]:
    yield "## Options of fio job files\n"
    for handling, (title, head) in _OF_FIO.items():
        options = [option for option in OPTIONS.values() if option.treatment is handling]
        rows = _by_reason(options) if handling is OptionHandling.IGNORED else map(_option, options)
        yield f"### {title}\n"
        yield from _table(head, *rows)


def _option(option: Option) -> tuple[str, str]:
    without = " or ".join(f"`{value}`" for value in sorted(option.harmless))
    return _names(option), f"{option.says}{f' (ignored: {without})' if without else ''}"


def _by_reason(options: list[Option]) -> Iterator[tuple[str, str]]:
    for reason in dict.fromkeys(option.says for option in options):
        yield ", ".join(_names(option) for option in options if option.says == reason), reason


def _names(option: Option) -> str:
    return ", ".join(f"`{name}`" for name in (option.name, *option.aliases))


def _trace_formats() -> Iterator[str]:
    yield "## Formats of traces\n"
    yield from _table(
        ("`--format`", "What it is"), *((f"`{name}`", label) for name, label in formats().items())
    )


def main() -> None:
    """Write the page."""
    Path(__file__).with_name("reference.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
