"""A measurement as a JSON object: units are in the names, absent figures are null."""

from dataclasses import asdict
from typing import Any, Final

import msgspec

from openpts.cli.io_figures import FURTHER_PERCENTILES, PERCENTILES, Figures, counted
from openpts.report.simulated_drive import simulation_mark
from openpts.runner.measure import CaptureEnded, MeasurementStarted
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import CpuShares, Interval, Sample

_ALWAYS: Final = ("read", "write")


def measurement_json(
    started: MeasurementStarted, sample: Sample, capture: CaptureEnded | None
) -> dict[str, Any]:
    """All of one target's measurement."""
    operations = {
        name: _figures(Figures.of([operation], sample.elapsed_ns))
        for name, operation in sample.operations.items()
        if operation.ios or name in _ALWAYS
    }
    return {
        "simulated": simulation_mark(started.target) or None,
        "target": msgspec.to_builtins(started.target),
        "stimulus": msgspec.to_builtins(sample.step.stimulus),
        "stop": msgspec.to_builtins(sample.step.stop),
        "ramp_ns": sample.step.ramp_ns,
        "seed": started.seed,
        "state": str(sample.state),
        "ended_by": sample.ended_by,
        "elapsed_seconds": sample.elapsed_ns / NS_PER_S,
        "total": _figures(Figures.of(counted(sample), sample.elapsed_ns)),
        **operations,
        "unissued": sample.unissued,
        "standstill_seconds": sample.standstill_ns / NS_PER_S,
        "errors": msgspec.to_builtins(sample.errors),
        "failure": msgspec.to_builtins(sample.failure),
        "cpu": _cpu(sample.cpu),
        "intervals": [_interval(interval) for interval in sample.intervals],
        "engine": {name: fact.value for name, fact in started.engine.items()},
        "notes": list(started.notes),
        "capture": None if capture is None else {"folder": str(capture.folder), **asdict(capture.summary)},
    }


def _figures(figures: Figures) -> dict[str, Any]:
    return {
        "ios": figures.ios,
        "bytes": figures.bytes,
        "iops": figures.iops,
        "bytes_per_s": figures.bytes_per_s,
        "mean_latency_ns": figures.mean_latency_ns,
        "min_latency_ns": figures.min_latency_ns,
        "max_latency_ns": figures.max_latency_ns,
        "percentiles_ns": _percentiles(figures),
    }


def _percentiles(figures: Figures) -> dict[str, int | None]:
    further = tuple(nines for nines in FURTHER_PERCENTILES if figures.distribution.supports(nines))
    return {_name(percentile): figures.percentile_ns(percentile) for percentile in PERCENTILES + further}


def _name(percentile: float) -> str:
    return f"{percentile:.10g}"


def _interval(interval: Interval) -> dict[str, Any]:
    figures = Figures.of(counted(interval), interval.elapsed_ns)
    operations = {
        name: _figures(Figures.of([operation], interval.elapsed_ns))
        for name, operation in interval.operations.items()
        if operation.ios
    }
    return {
        "index": interval.index,
        "seconds": interval.elapsed_ns / NS_PER_S,
        **_figures(figures),
        **operations,
        "in_flight": interval.in_flight,
        "errors": interval.errors,
        "cpu": _cpu(interval.cpu),
    }


def _cpu(shares: CpuShares | None) -> dict[str, Any] | None:
    return None if shares is None else msgspec.to_builtins(shares)
