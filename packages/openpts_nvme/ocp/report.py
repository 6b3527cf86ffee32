"""The conformance page: each requirement with verdict and evidence, from the answers in the run folder."""

import tomllib
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, Final

import msgspec
from msgspec import Struct

from openpts.procedures.kit.content import ReportContent
from openpts.record.reader import Run
from openpts.vocabulary.limit import JudgedLimit, Judgement
from openpts.vocabulary.verdict import Better
from openpts_fio.trim_targets import TRIMS, TrimTarget
from openpts_nvme.dssd.answers import NOT_ASKED, Answers, kept
from openpts_nvme.dssd.judge import Judged, RequirementVerdict, counts, judge
from openpts_nvme.dssd.rules import SPECIFICATION, reasons
from openpts_nvme.ocp import OcpConditions
from openpts_pages import cells
from openpts_pages.kit import Cells, rows_table
from openpts_pages.measure import Measure, Measured, Subject
from openpts_pages.model import Block, Page, Table
from openpts_pages.model import Verdict as Sentence
from openpts_pts.shared.preparation_page import methodology

_TRIM_TESTS = "openpts run trim; a suite of FioSynth by its own targets, which its report shows beside these"


class OcpTarget(Struct, frozen=True, forbid_unknown_fields=True):
    """What is ``asked`` by a requirement, what was ``measured``, and which test of openpts does that else."""

    requirement: str
    title: str
    asked: str
    test: str
    measured: str = ""


def targets(answers: Answers) -> list[OcpTarget]:
    """All targets, in the specification's order."""
    text = files(__package__).joinpath("targets.toml").read_text()
    suite, *rest = msgspec.convert(tomllib.loads(text), dict[str, list[OcpTarget]])["target"]
    return [suite, *(_of_trims(each, answers) for each in TRIMS), *rest]


def _of_trims(target: TrimTarget, answers: Answers) -> OcpTarget:
    name = f"M.trims_of_{target.size.replace(' ', '_')}"
    rate, p99 = (answers.get(f"{name}_{figure}", NOT_ASKED).data for figure in ("gib_per_s", "p99_ms"))
    return OcpTarget(
        "META-PERF-2",
        f"Trims of {target.size}, nothing beside them",
        f"{target.gib_per_s:g} GiB/s or more, P99 of {target.p99_ms:g} ms or less",
        _TRIM_TESTS,
        f"{float(rate):,.3g} GiB/s, P99 of {float(p99):,.3g} ms" if rate and p99 else "",
    )


def targets_table(answers: Answers) -> Table:
    """The targets beside what was measured, and the tests that measure the others."""
    return rows_table(
        "ocp-targets",
        "Targets of performance",
        "Requirement:<0.7 | Of:<1.4 | OCP 2.7 asks for:<1.4 | Measured here:<1 | Else measured by:<1.4",
        ((one.requirement, one.title, one.asked, one.measured, one.test) for one in targets(answers)),
        note="Targets of one customer, without a verdict. A suite of FioSynth has its own in its file, which "
        "may differ.",
    )


_MOST_LETTERS: Final = 160
_COUNTED: Final = (
    RequirementVerdict.MET,
    RequirementVerdict.NOT_MET,
    RequirementVerdict.DECLARED,
    RequirementVerdict.NOT_CHECKED,
)
_COUNT: Final = Measure[int](
    "requirements", "Requirements {name}", "", float, decimals=0, better=Better.UNJUDGED, is_key=True
)
_JUDGED: Final = {RequirementVerdict.MET: Judgement.PASS, RequirementVerdict.NOT_MET: Judgement.FAIL}


class OcpReport(Struct, frozen=True):
    """What the drive answered, and the verdict on each requirement; none where it was not asked."""

    answers: Answers
    judged: tuple[Judged, ...]

    def sentences(self) -> Iterator[Sentence]:
        """How many requirements are not met, and what was not checked."""
        if not self.judged:
            yield Sentence("n/a: the drive was not asked.", "fail")
            return
        found = counts(self.judged)
        failed = [each for each in self.judged if each.verdict is RequirementVerdict.NOT_MET]
        checked = found[RequirementVerdict.MET] + len(failed) + found[RequirementVerdict.NOT_APPLICABLE]
        first = ", ".join(each.requirement.identifier for each in failed[:8])
        more = f" and {len(failed) - 8:,} more" if len(failed) > 8 else ""
        yield Sentence(
            f"{len(failed):,} of {checked:,} requirements that were checked are not met"
            + (f": {first}{more}." if failed else "."),
            "fail" if failed else "pass",
        )
        yield Sentence(
            f"{found[RequirementVerdict.DECLARED]:,} are declared unsupported in log C5h, "
            f"{found[RequirementVerdict.NOT_CHECKED]:,} were not checked in this run; "
            f"{found[RequirementVerdict.NOT_CHECKABLE]:,} of {len(self.judged):,} can't be checked by a "
            "host.",
            "info",
        )

    def measures(self) -> Iterator[Measured]:
        """How many requirements have each verdict that a run can change."""
        if self.judged:
            found = counts(self.judged)
            yield from (_COUNT.of(found[one], Subject(one, key=one.replace(" ", "_"))) for one in _COUNTED)

    def limits(self) -> Iterator[JudgedLimit]:
        """Requirements that were checked, as other programs take verdicts: exit codes, gates, OCP-diag."""
        for each in self.judged:
            if each.verdict in _JUDGED:
                name = each.requirement.identifier
                yield JudgedLimit(name, each.requirement.words, _JUDGED[each.verdict], each.why)

    def pages(self) -> Iterator[Page]:
        """What is not met, then all others by their verdict."""
        yield self.conformance()
        yield Page("ocp-met", "Requirements met", (self._of("met", "Met, or not applicable", *_MET),))
        open_ones = self._of("open", "Not checked in this run", RequirementVerdict.NOT_CHECKED)
        yield Page("ocp-open", "Requirements not checked", (open_ones,))
        out = self._of("out", "Not checkable", RequirementVerdict.NOT_CHECKABLE)
        yield Page("ocp-out", "Requirements that a host can't check", (self._reasons(), out))

    def conformance(self) -> Page:
        """The verdict by section, requirements not met, and targets of performance."""
        failed = self._of("not-met", "Not met", RequirementVerdict.NOT_MET)
        declared = self._of("declared", "Said to be unsupported", RequirementVerdict.DECLARED)
        found = (one for one in (failed, declared) if one.rows)
        blocks: tuple[Block, ...] = (
            *self.sentences(),
            self._by_section(),
            *found,
            targets_table(self.answers),
        )
        return Page("ocp-verdict", f"Conformance to {SPECIFICATION}", blocks, mandatory=True)

    def _of(self, name: str, title: str, *verdicts: RequirementVerdict) -> Table:
        """The requirements with these verdicts."""
        return rows_table(
            f"ocp-{name}-table",
            title,
            "Requirement:<0.8 | Asks for:<1.3 | Section:<0.4 | Verdict:<0.6 | Evidence:<2.2",
            (
                (
                    each.requirement.identifier,
                    each.requirement.words,
                    each.requirement.section.split(" ")[0],
                    f"{each.verdict}, but found to hold" if each.contradicts else str(each.verdict),
                    each.why if len(each.why) <= _MOST_LETTERS else f"{each.why[: _MOST_LETTERS - 3]}...",
                )
                for each in self.judged
                if each.verdict in verdicts
            ),
        )

    def _by_section(self) -> Table:
        by_section: dict[str, list[Judged]] = {}
        for each in self.judged:
            by_section.setdefault(each.requirement.section, []).append(each)
        rows: list[Cells] = [
            (section, *map(cells.count, counts(tuple(some)).values())) for section, some in by_section.items()
        ]
        heads = ("Section:<1.8", *(f"{verdict.capitalize()}:0.6" for verdict in RequirementVerdict))
        return rows_table("ocp-sections", "Verdicts by section", heads, rows)

    def _reasons(self) -> Table:
        found = Counter(each.requirement.reason for each in self.judged)
        rows = ((text, cells.count(found[code])) for code, text in reasons().items())
        heads = "Reason:<2.5 | Requirements:0.6"
        return rows_table("ocp-reasons", "Why a host can't check them", heads, rows)

    def figures(self) -> dict[str, Any]:
        """Each requirement with its checks, JSON-ready."""
        return {
            "specification": SPECIFICATION,
            "counts": {str(verdict): number for verdict, number in counts(self.judged).items()},
            "requirements": [
                {
                    "id": each.requirement.identifier,
                    "section": each.requirement.section,
                    "verdict": str(each.verdict),
                    "evidence": each.why,
                    "contradicts": each.contradicts,
                    "checks": [msgspec.to_builtins(outcome) for outcome in each.outcomes if outcome.seen],
                }
                for each in self.judged
            ],
        }


_MET: Final = (RequirementVerdict.MET, RequirementVerdict.NOT_APPLICABLE)


def report(run: Run) -> ReportContent:
    """The test's part of a report."""
    answers = kept(run.folder)
    found = OcpReport(answers, judge(answers) if answers else ())
    test_rows = (
        ("Data Pattern", "the test's own"),
        ("AR & Amount", "N/A"),
        ("Test Stimulus", "admin commands, and reads beside them"),
        ("Nothing written", "yes" if run.conditions(OcpConditions).read_only else "no"),
        *((("", ""),) * 6),
    )
    return ReportContent(
        verdicts=tuple(found.sentences()),
        measures=tuple(found.measures()),
        sections=methodology(run, "OCP Datacenter NVMe SSD 2.7", test_rows, found.pages),
        figures=found.figures,
        limits=tuple(found.limits()),
    )
