//! Traces prepared for replay, and how true a replay was.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::PathBuf;

use openpts_core::histogram;
use openpts_core::workload::{Cause, Operation, Played};
use openpts_trace::schedule::{self, Convert, Effects, Ground, Made, Mapping, Plan, Pull, make_schedule};
use openpts_trace::{IoStream, OpenOptions, TraceError, TracedIo, open_trace};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::errors::value_error;

/// Sequential share in per cent, overlaps, footprint in bytes.
type PyEffects = (f64, u64, u64);

#[pyclass(name = "MadeSchedule", module = "openpts._native", get_all, frozen)]
pub(super) struct PyMadeSchedule {
    ios: u64,
    span_ns: u64,
    end_bytes: u64,
    peak_in_flight: u32,
    largest_bytes: u32,
    by_operation: HashMap<&'static str, u64>,
    hash: String,
    traced: u64,
    skipped: BTreeMap<&'static str, u64>,
    changed: BTreeMap<&'static str, u64>,
    rounding_bytes: u64,
    clipped_bytes: u64,
    cut_idles: u64,
    cut_ns: u64,
    before: PyEffects,
    after: PyEffects,
    read_ranges: Vec<(u64, u64)>,
    touched_ranges: Vec<(u64, u64)>,
    original_latencies: HashMap<&'static str, Py<PyBytes>>,
    original_bytes: u64,
    original_busy_ns: u64,
    original_span_ns: u64,
    format: String,
    fidelity: String,
    sources: Vec<(String, String)>,
}

fn effects(found: Effects) -> PyEffects {
    (found.sequential_pct, found.overlaps, found.footprint_bytes)
}

fn mapping_of(word: &str) -> PyResult<Mapping> {
    Ok(match word {
        "identity" => Mapping::Identity,
        "clip" => Mapping::Clip,
        "wrap" => Mapping::Wrap,
        "scale" => Mapping::Scale,
        "compact" => Mapping::Compact,
        other => return Err(PyValueError::new_err(format!("there is no mapping {other}"))),
    })
}

fn conversion_of(word: &str) -> PyResult<Convert> {
    Ok(match word {
        "keep" => Convert::Keep,
        "write" => Convert::Write,
        "skip" => Convert::Skip,
        other => return Err(PyValueError::new_err(format!("there is no conversion {other}"))),
    })
}

fn ground_of(word: &str) -> PyResult<Ground> {
    Ok(match word {
        "both" => Ground::Both,
        "foreground" => Ground::Foreground,
        "background" => Ground::Background,
        other => return Err(PyValueError::new_err(format!("there is no ground {other}"))),
    })
}

/// Prepare the trace of these files as a schedule in a new file.
#[pyfunction]
#[pyo3(signature = (
    paths, out, *, format, capacity_bytes, sector_bytes, mapping, granule_bytes, speed, max_idle_ns, from_ns, to_ns,
    ground, reads, writes, trims, most_bytes, with_parents,
))]
#[expect(clippy::too_many_arguments, reason = "named ones, in Python")]
pub(super) fn prepare_schedule(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    out: PathBuf,
    format: Option<String>,
    capacity_bytes: u64,
    sector_bytes: u32,
    mapping: &str,
    granule_bytes: u64,
    speed: (u32, u32),
    max_idle_ns: Option<u64>,
    from_ns: u64,
    to_ns: Option<u64>,
    ground: &str,
    reads: bool,
    writes: bool,
    trims: &str,
    most_bytes: u32,
    with_parents: bool,
) -> PyResult<PyMadeSchedule> {
    let plan = Plan {
        capacity_bytes,
        sector_bytes,
        mapping: mapping_of(mapping)?,
        granule_bytes,
        speed,
        max_idle_ns,
        from_ns,
        to_ns: to_ns.unwrap_or(u64::MAX),
        ground: ground_of(ground)?,
        reads,
        writes,
        trims: conversion_of(trims)?,
        most_bytes,
        with_parents,
    };
    let file = File::create_new(&out)?;
    let options = OpenOptions { format, ..OpenOptions::default() };
    let (made, header) = py
        .detach(|| {
            // Of the last pass: what it says of itself is complete at its end.
            let trace = RefCell::new(open_trace(&paths, &options)?);
            let open = || {
                trace.replace(open_trace(&paths, &options)?);
                let pull: Pull<'_> = Box::new(|batch: &mut Vec<TracedIo>| trace.borrow_mut().read(batch));
                Ok(pull)
            };
            let made = make_schedule(open, &plan, file)?;
            let header = trace.borrow().header()?;
            Ok((made, header))
        })
        .map_err(value_error::<TraceError>)?;
    let sources = header.sources.iter().map(|file| (file.name.clone(), file.sha256.clone())).collect();
    Ok(describe(py, made, header.format.clone(), header.class.to_string(), sources))
}

/// Write a schedule that writes these ranges, in a new file; its hash, and its I/Os.
#[pyfunction]
#[pyo3(signature = (out, *, ranges, sector_bytes, block_size_bytes))]
pub(super) fn filling_schedule(
    out: PathBuf,
    ranges: Vec<(u64, u64)>,
    sector_bytes: u32,
    block_size_bytes: u32,
) -> PyResult<(String, u64)> {
    let file = File::create_new(&out)?;
    let header = schedule::filling_schedule(&ranges, sector_bytes, block_size_bytes, file)?;
    Ok((hexadecimal(&header.hash), header.ios))
}

fn hexadecimal(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn describe(
    py: Python<'_>,
    made: Made,
    format: String,
    fidelity: String,
    sources: Vec<(String, String)>,
) -> PyMadeSchedule {
    let Made { header, original, .. } = &made;
    let encoded = |latencies| PyBytes::new(py, &histogram::encode(latencies)).unbind();
    let latencies = [("read", &original.read_latencies), ("write", &original.write_latencies)];
    PyMadeSchedule {
        ios: header.ios,
        span_ns: header.span_ns,
        end_bytes: header.end_bytes,
        peak_in_flight: header.peak_in_flight,
        largest_bytes: header.largest_bytes,
        by_operation: Operation::ALL
            .into_iter()
            .map(|operation| (operation.name(), header.by_operation[operation as usize]))
            .filter(|(_, ios)| *ios > 0)
            .collect(),
        hash: hexadecimal(&header.hash),
        traced: made.traced,
        original_latencies: latencies
            .into_iter()
            .filter(|(_, latencies)| latencies.count() > 0)
            .map(|(operation, latencies)| (operation, encoded(latencies)))
            .collect(),
        original_bytes: original.transferred_bytes,
        original_busy_ns: original.busy_ns,
        original_span_ns: original.span_ns,
        rounding_bytes: made.rounding_bytes,
        clipped_bytes: made.clipped_bytes,
        cut_idles: made.cut_idles,
        cut_ns: made.cut_ns,
        before: effects(made.before),
        after: effects(made.after),
        skipped: made.skipped,
        changed: made.changed,
        read_ranges: made.read_ranges,
        touched_ranges: made.touched_ranges,
        format,
        fidelity,
        sources,
    }
}

#[pyclass(name = "Played", module = "openpts._native", get_all, frozen)]
pub(super) struct PyPlayed {
    stream: usize,
    scheduled: u64,
    issued: u64,
    dropped: u64,
    conflicts: u64,
    reordered: u64,
    early: u64,
    slips: Py<PyBytes>,
    last_slip_ns: u64,
    gap_errors: Py<PyBytes>,
    due_latencies: HashMap<&'static str, Py<PyBytes>>,
    late: HashMap<&'static str, u64>,
    waited_ns: HashMap<&'static str, u64>,
    first_submission_ns: Option<u64>,
    last_answer_ns: u64,
    busy_ns: u64,
    in_flight: (u64, f64, f64, f64, f64, f64, f64),
}

impl PyPlayed {
    pub(super) fn new(py: Python<'_>, played: &Played) -> PyResult<Py<Self>> {
        let encoded = |latencies: &histogram::LatencyHistogram| {
            let bytes = if latencies.count() == 0 { Vec::new() } else { histogram::encode(latencies) };
            PyBytes::new(py, &bytes).unbind()
        };
        let by_cause = |figures: &[u64]| {
            Cause::ALL.into_iter().map(|cause| (cause.name(), figures[cause as usize])).collect()
        };
        let fit = played.in_flight;
        let due = played.due_latencies.iter().filter(|(_, latencies)| latencies.count() > 0);
        Py::new(
            py,
            Self {
                stream: played.stream,
                scheduled: played.scheduled,
                issued: played.issued,
                dropped: played.dropped,
                conflicts: played.conflicts,
                reordered: played.reordered,
                early: played.early,
                slips: encoded(&played.slips),
                last_slip_ns: played.last_slip_ns,
                gap_errors: encoded(&played.gap_errors),
                due_latencies: due
                    .map(|(operation, latencies)| (operation.name(), encoded(latencies)))
                    .collect(),
                late: by_cause(&played.late),
                waited_ns: by_cause(&played.waited_ns),
                first_submission_ns: played.first_submission_ns,
                last_answer_ns: played.last_answer_ns,
                busy_ns: played.busy_ns,
                in_flight: (
                    fit.ios,
                    fit.traced,
                    fit.replayed,
                    fit.difference,
                    fit.traced_squares,
                    fit.replayed_squares,
                    fit.products,
                ),
            },
        )
    }
}
