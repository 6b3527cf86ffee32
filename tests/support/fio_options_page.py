"""The tables of fio's options as the page for users has them, for the test that compares them."""

from collections.abc import Iterator

from openpts_fio.jobs.options import OPTIONS, Option, OptionHandling

_HEADS = {
    OptionHandling.COUNTS: ("Option", "What becomes of it"),
    OptionHandling.IGNORED: ("Options", "Why they are ignored"),
    OptionHandling.REFUSED: ("Option", "Why it is refused"),
}


def options_tables() -> Iterator[str]:
    """One for each treatment; ignored options share a row where they share a reason."""
    for treatment, head in _HEADS.items():
        options = [option for option in OPTIONS.values() if option.treatment is treatment]
        rows = list(_by_reason(options) if treatment is OptionHandling.IGNORED else _each(options))
        lines = [_line(*head), _line("---", "---"), *(_line(*row) for row in rows)]
        yield "\n".join(lines)


def _each(options: list[Option]) -> Iterator[tuple[str, str]]:
    for option in options:
        without = " or ".join(f"`{value}`" for value in sorted(option.harmless))
        yield _words(option), f"{option.says}{f' (ignored: {without})' if without else ''}"


def _by_reason(options: list[Option]) -> Iterator[tuple[str, str]]:
    for reason in dict.fromkeys(option.says for option in options):
        yield ", ".join(_words(option) for option in options if option.says == reason), reason


def _words(option: Option) -> str:
    return ", ".join(f"`{word}`" for word in (option.name, *option.aliases))


def _line(left: str, right: str) -> str:
    return f"| {left} | {right} |"
