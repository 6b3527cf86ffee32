"""The answer on one screen: the question, the disk, figures and bounds, how sure, what next."""

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from openpts.record.reader import Run
from openpts_check.answer import WORDS, CheckAnswer
from openpts_pages.texts import fact_text

_HEAD: Final = 11


def screen_lines(run: Run, answer: CheckAnswer, reports: Sequence[str], columns: int) -> Iterator[str]:
    """Lines of at most so many columns, as far as names of files allow."""
    yield from _part("Question", answer.purpose.question, columns)
    yield from _part("Disk", _disk(run), columns)
    yield from _part("Answer", f"{answer.word}: {answer.reason}", columns)
    yield ""
    yield from _figure_lines(answer, columns)
    yield ""
    yield from _parts("Also", [one.text for one in answer.shown], columns)
    yield from _parts("How sure", answer.sure, columns)
    yield from _parts("Next", answer.advice, columns)
    yield from _parts("Report", reports, columns)


def _disk(run: Run) -> str:
    target = run.manifest.target
    if target.simulation is not None:
        return f"{target.path}, simulated"
    return f"{fact_text(run.manifest.dut, 'model', target.name)}; {Path(target.path).parent}"


def _figure_lines(answer: CheckAnswer, columns: int) -> Iterator[str]:
    rows = [
        (
            one.figure.label,
            one.text,
            f"({one.span})" if one.span else "",
            one.limit.limit,
            WORDS[one.judgement].lower(),
        )
        for one in answer.figures
    ]
    label_width, value_width, *widths = (max(map(len, column)) for column in zip(*rows, strict=True))
    for one, (label, value, *others) in zip(answer.figures, rows, strict=True):
        padded = (f"{text:<{width}}" for text, width in zip(others, widths, strict=True))
        line = "  ".join(("", f"{label:<{label_width}}", f"{value:>{value_width}}", *padded)).rstrip()
        source = f"({one.figure.bound.source})"
        if len(line) + 2 + len(source) <= columns:
            yield f"{line}  {source}"
        else:
            yield from (line, f"      {source}")


def _parts(head: str, texts: Sequence[str], columns: int) -> Iterator[str]:
    for number, text in enumerate(texts):
        yield from _part("" if number else head, text, columns)


def _part(head: str, text: str, columns: int) -> Iterator[str]:
    indent = " " * _HEAD
    yield from textwrap.wrap(
        text,
        columns,
        initial_indent=f"{head:<{_HEAD}}",
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
