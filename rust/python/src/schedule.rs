//! Traces prepared for replay.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::PathBuf;

use openpts_core::histogram;
use openpts_core::workload::Operation;
use openpts_trace::schedule::{self, Effects, Made, Plan, Pull, make_schedule};
use openpts_trace::{OpenOptions, TraceError, TraceHeader, TracedIo, open_trace};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};

use super::errors::value_error;

/// Latencies by operation, encoded.
type Latencies = HashMap<&'static str, Py<PyBytes>>;

/// Prepare the trace of these files as a schedule in a new file; the plan, and what came of it, are JSON.
#[pyfunction]
#[pyo3(signature = (path, out, *, plan))]
pub(super) fn prepare_schedule(
    py: Python<'_>,
    path: PathBuf,
    out: PathBuf,
    plan: &str,
) -> PyResult<(String, Latencies)> {
    let plan: Plan = serde_json::from_str(plan).map_err(value_error)?;
    let file = File::create_new(&out)?;
    let options = OpenOptions::default();
    let (made, header) = py
        .detach(|| {
            // Of the last pass: what it says of itself is complete at its end.
            let paths = [path];
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
    let original = &made.original;
    let latencies = [("read", &original.read_latencies), ("write", &original.write_latencies)]
        .into_iter()
        .filter(|(_, latencies)| latencies.count() > 0)
        .map(|(operation, latencies)| (operation, PyBytes::new(py, &histogram::encode(latencies)).unbind()))
        .collect();
    Ok((outcome(&made, &header).to_string(), latencies))
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

/// What became of a trace; its latencies, which are bytes, are not in it.
fn outcome(made: &Made, trace: &TraceHeader) -> Value {
    let Made { header, original, .. } = made;
    let effects = |of: Effects| json!([of.sequential_pct, of.overlaps, of.footprint_bytes]);
    let by_operation: BTreeMap<_, _> = Operation::ALL
        .into_iter()
        .map(|operation| (operation.name(), header.by_operation[operation as usize]))
        .filter(|(_, ios)| *ios > 0)
        .collect();
    json!({
        "schedule": hexadecimal(&header.hash),
        "ios": header.ios,
        "span_ns": header.span_ns,
        "largest_bytes": header.largest_bytes,
        "by_operation": by_operation,
        "read_ranges": made.read_ranges,
        "touched_ranges": made.touched_ranges,
        "preparation": {
            "sources": trace.sources,
            "format": trace.format,
            "fidelity": trace.class.to_string(),
            "traced": made.traced,
            "skipped": made.skipped,
            "changed": made.changed,
            "rounding_bytes": made.rounding_bytes,
            "clipped_bytes": made.clipped_bytes,
            "cut_idles": made.cut_idles,
            "cut_ns": made.cut_ns,
            "before": effects(made.before),
            "after": effects(made.after),
            "peak_in_flight": header.peak_in_flight,
            "by_operation": by_operation,
            "transferred_bytes": original.transferred_bytes,
            "busy_ns": original.busy_ns,
            "span_ns": original.span_ns,
        },
    })
}
