"""A scripted drive with five power states, as a user would write it, and what must be found of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

EXITS_US: Final = (0, 400, 2_000, 12_000, 60_000)
ENTRIES_US: Final = (0, 300, 1_000, 5_000, 20_000)
AFTER_IDLE_MS: Final = (0, 8, 50, 400, 9_000)
IDLE_W: Final = (2.0, 1.0, 0.5, 0.1, 0.005)
DECLARED_EXIT_US: Final = (0, 400, 2_500, 12_000, 50_000)
"""The last state takes longer than it is declared to take."""

ENTERED_MS: Final = tuple(
    sum(AFTER_IDLE_MS[: number + 1]) + sum(ENTRIES_US[: number + 1]) / 1000 for number in range(5)
)
"""Idle time after which the drive is in each state."""


def five_states(
    capacity_bytes: int = 1 << 30,
    *,
    exits_us: Sequence[int] = EXITS_US,
    entries_us: Sequence[int] = ENTRIES_US,
    after_idle_ms: Sequence[int] = AFTER_IDLE_MS,
    declared_us: Sequence[int] = DECLARED_EXIT_US,
) -> str:
    """The preset."""
    states = []
    for number, (exit_us, entry_us, after_ms, idle_w, exit_at_most_us) in enumerate(
        zip(exits_us, entries_us, after_idle_ms, IDLE_W, declared_us, strict=True)
    ):
        own = "operational = true" if not number else f"after_idle_ms = {after_ms}"
        states.append(
            f"[[power_states]]\nmost_w = {8.0 if not number else idle_w}\nidle_w = {idle_w}\n"
            f"entry_us = {entry_us}\nexit_us = {exit_us}\ndeclared_exit_us = {exit_at_most_us}\n{own}\n"
        )
    return (
        'name = "five-states"\nsummary = "Script with five power states"\n'
        f"capacity_bytes = {capacity_bytes}\n\n{''.join(states)}\n[oracle.rate]\n"
        'by = "steps"\nevery = 1\niops = [10_000.0]\n'
    )


def write_five_states(folder: Path) -> Path:
    """The preset's file."""
    path = folder / "five-states.toml"
    path.write_text(five_states())
    return path
