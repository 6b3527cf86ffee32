"""The host audit: each setting before and after the run, the advice, and what the value is right for."""

import msgspec

from openpts.record.reader import Run
from openpts.report.run_conditions_page import AUDIT, no_audit
from openpts.vocabulary.facts import Facts, Scenario
from openpts_host.advice.advice import BOTH, NEITHER, Advice, Grade, Suits
from openpts_host.advice.drive import NUMA_NODE, THREADS
from openpts_host.advice.table import ADVICE, ADVICE_OF
from openpts_pages import cells
from openpts_pages.facts_table import sourced_table
from openpts_pages.kit import Cells, rows_table
from openpts_pages.model import Block, Cell, Page, Table, Verdict
from openpts_pages.texts import NOT_REPORTED, fact_text


def host_page(run: Run) -> Page:
    """The audit of one run's host; if the record has no settings, only the reason."""
    return Page("host-audit", AUDIT, _blocks(run))


def audit_page(run: Run) -> Page | None:
    """The audit, or None where there is none: the conditions of the run say why."""
    return host_page(run) if no_audit(run) is None else None


def _blocks(run: Run) -> tuple[Block, ...]:
    if (reason := no_audit(run)) is not None:
        return (reason,)
    lines = [(advice, _suits(run, advice)) for advice in ADVICE]
    tuning = (_tuning(run),) if run.manifest.tuning else ()
    return (*_verdicts(run, lines), _audit(run, lines), *tuning, _sources(run))


def _before(run: Run, advice: Advice) -> str:
    return _text(run, run.manifest.host_before, advice)


def _after(run: Run, advice: Advice) -> str:
    return _text(run, run.manifest.host_after, advice)


def _text(run: Run, facts: Facts, advice: Advice) -> str:
    """The value; for the node of the drive, also the processors of the engine's threads."""
    text = fact_text(facts, advice.key)
    if advice.key != NUMA_NODE or text == NOT_REPORTED:
        return text
    return f"{text}{THREADS}{fact_text(run.manifest.engine, 'processors')}"


def _suits(run: Run, advice: Advice) -> Suits | None:
    """What the value before the run is right for; None if it is not known or not judged."""
    value = _before(run, advice)
    if value == NOT_REPORTED or advice.suits is None:
        return None
    return advice.suits(value)


def _has_changed(run: Run, advice: Advice) -> bool:
    before, after = _before(run, advice), _after(run, advice)
    return not advice.is_state and NOT_REPORTED not in {before, after} and before != after


def _verdicts(run: Run, lines: list[tuple[Advice, Suits | None]]) -> list[Verdict]:
    judged = [suits for _, suits in lines if suits is not None]
    counts = {kind: sum(kind in suits for suits in judged) for kind in BOTH}
    verdicts = [
        *_against_scenario(run),
        Verdict(
            f"Of {len(judged)} settings judged, {counts[Scenario.REAL_WORLD]} suit a real-world measurement "
            f"(the machine as its users have it), {counts[Scenario.SYNTHETIC]} a synthetic one (the drive "
            "alone)."
        ),
    ]
    if wrong := [advice.title for advice, suits in lines if suits == NEITHER and suits is not None]:
        verdicts.append(Verdict(f"Suited to neither: {', '.join(wrong)}.", "fail"))
    if changed := [advice.title for advice, _ in lines if _has_changed(run, advice)]:
        verdicts.append(Verdict(f"Changed during the run: {', '.join(changed)}.", "fail"))
    return verdicts


# SOL-GEN-02, SOL-SYS-03
def _against_scenario(run: Run) -> list[Verdict]:
    """The settings that are wrong for the run's scenario; none if no scenario was declared."""
    scenario = run.manifest.scenario
    if scenario is None:
        return []
    bad = [
        advice.title
        for advice in ADVICE
        if (value := _before(run, advice)) != NOT_REPORTED and advice.grade(value, scenario) is Grade.BAD
    ]
    declared = f"Scenario: {scenario}, which tests {scenario.subject}."
    if not bad:
        return [Verdict(f"{declared} No known setting contradicts it.", "pass")]
    return [Verdict(f"{declared} Contradicted by: {', '.join(bad)}.", "fail")]


def _audit(run: Run, lines: list[tuple[Advice, Suits | None]]) -> Table:
    return rows_table(
        "host-audit",
        "Settings and states of the host before and after the run",
        "Item:<2.3 | Before:<1.3 | After:< | Advice: real-world:<1.1 | Advice: synthetic:<1.1 | "
        "Right for:<0.7",
        (_row(run, advice, suits) for advice, suits in lines),
        note="Read from files of the kernel; nothing was changed. The specification demands none of these "
        "settings.",
    )


def _row(run: Run, advice: Advice, suits: Suits | None) -> Cells:
    return (
        Cell(advice.title, note=advice.reason),
        _value(_before(run, advice)),
        _after_cell(run, advice),
        advice.real_world,
        advice.synthetic,
        _judged(suits, known=_before(run, advice) != NOT_REPORTED),
    )


def _value(text: str) -> Cell:
    return Cell(text, tone="missing" if text == NOT_REPORTED else "")


def _after_cell(run: Run, advice: Advice) -> Cell:
    before, after = _before(run, advice), _after(run, advice)
    if _has_changed(run, advice):
        return Cell(after, note="changed", tone="fail")
    return Cell("unchanged") if before == after != NOT_REPORTED else _value(after)


def _judged(suits: Suits | None, *, known: bool) -> Cell:
    if suits is None:
        return Cell("not judged") if known else cells.words("n/a", tone="missing")
    if suits == BOTH:
        return Cell("both", tone="pass")
    return Cell(suits[0]) if suits else Cell("neither", tone="fail")


# SOL-GEN-08
def _tuning(run: Run) -> Table:
    """What was set for the run, and what could not be set."""
    made = [change for change in run.manifest.tuning if not change.failure]
    return rows_table(
        "host-audit-tuning",
        "Settings changed for the run",
        "Item:<1.3 | Found:<0.7 | Set:<0.8 | Outcome:<1.3 | Place:<2",
        (
            (
                ADVICE_OF[change.key].title if change.key in ADVICE_OF else change.key,
                change.found or "-",
                change.wanted,
                Cell(f"not set: {change.failure}", tone="fail") if change.failure else Cell("set"),
                change.place,
            )
            for change in run.manifest.tuning
        ),
        note="Restored at the end of the run." if made else "None of them could be set.",
    )


def _sources(run: Run) -> Table:
    """Where each value was read: too wide for paper, useful for repeating the run."""
    facts = run.manifest.host_before
    table = sourced_table(
        "host-audit-sources",
        "Where the values were read",
        (
            (advice.title, _before(run, advice), facts[advice.key].source or "-")
            for advice in ADVICE
            if advice.key in facts
        ),
    )
    return msgspec.structs.replace(table, printed=False)
