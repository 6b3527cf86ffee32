"""What a test adds to a report: its measures, its verdicts, its pages."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from openpts.procedures.kit.curve import Curve
from openpts.procedures.kit.standing import Standing
from openpts.record.reader import Run
from openpts.vocabulary.limit import JudgedLimit
from openpts_pages.measure import Measured
from openpts_pages.model import Section, Verdict

Sections = Callable[[Standing, str], tuple[Section, ...]]
"""Makes the sections of a report, of which the text is its date."""


class ReportContent(Struct, frozen=True):
    """``verdicts`` go on the cover; ``sections`` makes the pages.

    Each section has its own common header. ``conditions`` go on the page of the run's conditions as well:
    what the test's own procedure can't show. ``figures`` makes what ``--json`` prints, JSON-ready,
    under names with units: it takes no page, but all percentiles. ``measures`` are the figures that are
    compared, ``curves`` those that a comparison draws over those of other runs. ``limits`` are verdicts on
    limits that the test has of its own.
    """

    __test__ = False  # the name is the field's, not pytest's

    verdicts: tuple[Verdict, ...]
    measures: tuple[Measured, ...]
    sections: Sections
    figures: Callable[[], dict[str, Any]]
    conditions: Callable[[], tuple[Verdict, ...]] = tuple
    curves: Callable[[], tuple[Curve, ...]] = tuple
    limits: tuple[JudgedLimit, ...] = ()


class MedianRun(Struct, frozen=True):
    """The run that stands for a set, that with its median, under the set's name; ``place`` is the set's."""

    name: str
    run: Run
    content: ReportContent
    place: int
    is_base: bool
