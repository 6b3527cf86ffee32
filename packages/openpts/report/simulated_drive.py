"""A simulated drive in a report: its lines of the cover, its table of the set-up page."""

from collections import defaultdict
from collections.abc import Iterator
from textwrap import wrap
from typing import Final

from openpts.procedures.kit.red_line import simulation_name
from openpts.record.manifest import Manifest
from openpts.record.reader import Run
from openpts.units import format_capacity, format_duration
from openpts.vocabulary.facts import Facts, SimulationFacts
from openpts_pages.facts_table import sourced_table
from openpts_pages.model import Table
from openpts_pages.texts import brief, value_text

_GEOMETRY: Final = "geometry_"
_LINE: Final = 200
_PRESET: Final = "preset"
_ASSUMED: Final = "assumed: nothing published supports it"


def is_shown_as_geometry(engine_fact: str) -> bool:
    """Whether the table of the simulated drive has this fact of the engine."""
    return engine_fact.startswith(_GEOMETRY)


def simulation_items(run: Run) -> list[tuple[str, str]]:
    """Rows of the cover; none for a drive that exists."""
    simulation = run.manifest.target.simulation
    if simulation is None:
        return []
    return [
        ("Simulation", f"{simulation_name(simulation)}, seed {simulation.seed}: {_size_text(simulation)}"),
        ("Assumed parameters", f"{len(simulation.assumed)}, see the set-up page"),
    ]


def simulated_time(run: Run) -> str:
    """Time that passed for the drive, whose clock stands still between steps; empty for one that exists."""
    if run.manifest.target.simulation is None:
        return ""
    samples = [step.sample for step in run.steps]
    simulated_ns = samples[-1].started_ns + samples[-1].elapsed_ns - samples[0].started_ns if samples else 0
    return f"{format_duration(simulated_ns)}, from the first step to the last"


def simulation_tables(manifest: Manifest) -> tuple[Table, ...]:
    """The table of the set-up page; none for a drive that exists."""
    simulation = manifest.target.simulation
    if simulation is None:
        return ()
    return (
        sourced_table(
            "setup-simulation",
            "Simulated drive",
            [
                ("Preset", simulation.preset, _PRESET),
                ("Represents", simulation.summary, _PRESET),
                ("Model", simulation.model, _PRESET),
                ("Simulated part", _size_text(simulation), "scale"),
                ("Scale", _scale_text(simulation.scale), "target"),
                ("Seed of the drive", str(simulation.seed), "target"),
                *_geometry_rows(manifest.engine),
                *_assumed_rows(simulation),
            ],
            note="Times and counts of steps are those of the whole drive: simulated values times the scale. "
            "Response times are as simulated; percentiles are of the simulated I/Os only.",
        ),
    )


def _scale_text(scale: int) -> str:
    return (
        "1:1: each page is simulated" if scale == 1 else f"1:{scale}: one simulated page represents {scale:,}"
    )


def _size_text(simulation: SimulationFacts) -> str:
    return f"{format_capacity(simulation.simulated_bytes)} ({simulation.simulated_bytes:,} bytes) simulated"


def _geometry_rows(engine: Facts) -> Iterator[tuple[str, str, str]]:
    for name, fact in engine.items():
        if is_shown_as_geometry(name):
            label = name.removeprefix(_GEOMETRY).replace("_", " ")
            yield f"Geometry: {label}", value_text(fact), fact.source


def _assumed_rows(simulation: SimulationFacts) -> Iterator[tuple[str, str, str]]:
    """A row for each part of the model: a list of dozens of dotted names could not be read."""
    if not simulation.assumed:
        yield "Assumed parameters", "none", _PRESET
    parts: dict[str, list[str]] = defaultdict(list)
    for name in simulation.assumed:
        part, _, last = name.rpartition(".")
        parts[part].append(last)
    for part, names in parts.items():
        of_part = brief(part.partition(".")[2] or part or "drive")
        for line in wrap(", ".join(names), _LINE):
            yield f"Assumed: {of_part}", line, _ASSUMED
