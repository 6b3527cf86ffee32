"""The box on the cover with what the drive is for, beside what the run shows of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from openpts.record.reader import Run
from openpts.units import format_significant
from openpts.vocabulary.purpose import Purpose, declared_rows
from openpts_pages.kit import rows_table
from openpts_pages.model import Cell, Table
from openpts_pages.texts import fact_text

PurposeRow = tuple[str, str, Cell]
"""Label, what was declared, and what the run shows of it."""

_TB: Final = 10**12


def purpose_rows(run: Run) -> tuple[PurposeRow, ...]:
    """A row for everything declared; none if nothing was."""
    purpose = run.manifest.purpose
    return tuple(
        (label, text, _IN_RUN[key](run, purpose) if key in _IN_RUN else Cell(""))
        for key, label, text in declared_rows(purpose)
    )


def purpose_tables(named: Iterable[tuple[str, Sequence[PurposeRow]]]) -> tuple[Table, ...]:
    """One box of the runs of a report, by their names; none if nothing was declared."""
    rows: dict[tuple[str, str], list[tuple[str, Cell]]] = {}
    for name, of_run in named:
        for label, text, shown in of_run:
            rows.setdefault((label, text), []).append((name, shown))
    if not rows:
        return ()
    return (
        rows_table(
            "cover-purpose",
            "Purpose, as declared by the operator",
            "Item:< | Declared:<1.9 | Measured:<1.3",
            ((label, text, _joined(of)) for (label, text), of in rows.items()),
        ),
    )


def _joined(shown: Sequence[tuple[str, Cell]]) -> Cell:
    if len(shown) == 1:
        return shown[0][1]
    texts = [f"{name}: {cell.text}" for name, cell in shown if cell.text]
    return Cell("; ".join(texts), tone=max((cell.tone for _, cell in shown), key=bool))


def _load(run: Run, _purpose: Purpose) -> Cell:
    samples = [step.sample for step in run.steps]
    if not samples:
        return Cell("")
    under_load_ns = sum(sample.elapsed_ns for sample in samples if not sample.step.is_idle)
    whole_ns = samples[-1].started_ns + samples[-1].elapsed_ns - samples[0].started_ns
    return Cell(f"{100 * under_load_ns / whole_ns:.0f} % of the run" if whole_ns > 0 else "")


def _temperatures(run: Run, purpose: Purpose) -> Cell:
    series = run.telemetry_series.get("temperature_c")
    if series is None:
        return Cell("no temperature was sampled", tone="missing")
    measured, (low, high) = (
        (min(series.values), max(series.values)),
        sorted(purpose.declared["temperature_c"]),
    )
    is_inside = low <= measured[0] and measured[1] <= high
    return Cell(
        f"{measured[0]:g} to {measured[1]:g} °C{'' if is_inside else ': outside of it'}",
        tone="" if is_inside else "fail",
    )


def _written_bytes(run: Run) -> int:
    return sum(step.sample.write.bytes for step in run.steps)


def _writes(run: Run, purpose: Purpose) -> Cell:
    written_tb = _written_bytes(run) / _TB
    share_pct = format_significant(100 * written_tb / purpose.declared["rated_tbw"])
    return Cell(f"{written_tb:,.3f} TB written = {share_pct} % of them")


def _drive_writes(run: Run, _purpose: Purpose) -> Cell:
    fills = _written_bytes(run) / run.manifest.target.user_capacity_bytes
    return Cell(f"{fills:.2f} drive writes in this run")


def _firmware(run: Run, purpose: Purpose) -> Cell:
    own, latest = fact_text(run.manifest.dut, "firmware", ""), purpose.declared["firmware"].version
    if not own:
        return Cell("the drive reports no firmware version", tone="missing")
    return Cell("the drive has it") if own == latest else Cell(f"the drive has {own}", tone="fail")


_IN_RUN: Final[Mapping[str, Callable[[Run, Purpose], Cell]]] = {
    "duty_pct": _load,
    "temperature_c": _temperatures,
    "rated_tbw": _writes,
    "rated_dwpd": _drive_writes,
    "firmware": _firmware,
}
