//! How true the replay of a schedule was.

use std::collections::HashMap;

use openpts_core::histogram;
use openpts_core::workload::{Cause, Played};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

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
