//! Results of intervals, steps and captures.

use std::collections::HashMap;

use openpts_core::capture::CaptureSummary;
use openpts_core::engine::{
    CpuShares, EndedBy, OperationResult, Progress, Report, SlowIo, Standstill, StreamResult, carried_json,
};
use openpts_core::workload::{ByOperation, Io};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::played::PyPlayed;

#[pyclass(name = "OperationResult", module = "openpts._native", get_all, frozen)]
pub(super) struct PyOperationResult {
    ios: u64,
    bytes: u64,
    latency_sum_ns: u128,
    latency_min_ns: Option<u64>,
    latency_max_ns: Option<u64>,
    histogram: Py<PyBytes>,
}

/// Operations that had an I/O, by name.
type PyOperations = HashMap<&'static str, Py<PyOperationResult>>;
/// User, system and I/O wait in per cent, and the process's own time in ns.
type PyCpu = (f64, f64, f64, u64);
/// When it began and how long it lasted.
pub(super) type PyStandstill = (u64, u64);
/// Operation, offset, length.
pub(super) type PyIo = (&'static str, u64, u32);

#[pyclass(name = "IntervalResult", module = "openpts._native", get_all, frozen)]
pub(super) struct PyIntervalResult {
    step: u64,
    index: u64,
    elapsed_ns: u64,
    operations: PyOperations,
    streams: Vec<PyOperations>,
    in_flight: u64,
    errors: u64,
    cpu: Option<PyCpu>,
    temperature_c: Option<i32>,
    throttled: Option<bool>,
    energy_j: Option<f64>,
    media_write_bytes: Option<u64>,
}

#[pyclass(name = "StreamResult", module = "openpts._native", get_all, frozen)]
pub(super) struct PyStreamResult {
    ended_by: Option<&'static str>,
    started_ns: u64,
    elapsed_ns: u64,
    operations: PyOperations,
    ios_by_block_size: Vec<u64>,
    ios_by_zone: Vec<u64>,
    unissued: u64,
    slips: Py<PyBytes>,
    errors: u64,
}

impl PyStreamResult {
    fn new(py: Python<'_>, stream: StreamResult) -> PyResult<Py<Self>> {
        let result = Self {
            ended_by: stream.ended_by.map(EndedBy::name),
            started_ns: stream.started_ns,
            elapsed_ns: stream.elapsed_ns,
            operations: operations(py, &stream.operations)?,
            ios_by_block_size: stream.choices.by_block_size,
            ios_by_zone: stream.choices.by_zone,
            unissued: stream.unissued,
            slips: PyBytes::new(py, &stream.slips).unbind(),
            errors: stream.errors,
        };
        Py::new(py, result)
    }
}

#[pyclass(name = "StepResult", module = "openpts._native", get_all, frozen)]
pub(super) struct PyStepResult {
    index: u64,
    state: &'static str,
    ended_by: Option<&'static str>,
    started_ns: u64,
    elapsed_ns: u64,
    gap_ns: Option<u64>,
    operations: PyOperations,
    streams: Vec<Py<PyStreamResult>>,
    ios_by_block_size: Vec<u64>,
    ios_by_zone: Vec<u64>,
    cpu: Option<PyCpu>,
    unissued: u64,
    slips: Py<PyBytes>,
    failure: Option<(PyIo, String)>,
    errors: Vec<(&'static str, String, u64, Vec<u64>)>,
    standstills: Vec<PyStandstill>,
    carried: String,
    played: Vec<Py<PyPlayed>>,
    slow_ios: Vec<Py<PySlowIo>>,
    energy_j: Option<f64>,
    media_write_bytes: Option<u64>,
    host_write_bytes: Option<u64>,
    free_blocks_pct: Option<f64>,
}

#[pyclass(name = "SlowIo", module = "openpts._native", get_all, frozen)]
pub(super) struct PySlowIo {
    operation: &'static str,
    offset_bytes: u64,
    length_bytes: u32,
    submitted_ns: u64,
    latency_ns: u64,
    silence_ns: u64,
    idle_ns: Option<u64>,
    absent_ns: u64,
    own_ns: u64,
    waited_ns: Option<u64>,
    ran_ns: Option<u64>,
    interruptions: u32,
    looks: u32,
    least_at_driver: Option<u64>,
    missing_at_driver: Option<u64>,
    foreign_at_driver: Option<u64>,
}

impl From<&SlowIo> for PySlowIo {
    fn from(slow: &SlowIo) -> Self {
        let (operation, offset_bytes, length_bytes) = place(&slow.what.io);
        Self {
            operation,
            offset_bytes,
            length_bytes,
            submitted_ns: slow.what.submitted_ns,
            latency_ns: slow.latency_ns,
            silence_ns: slow.silence_ns,
            idle_ns: slow.idle_ns,
            absent_ns: slow.absent_ns,
            own_ns: slow.own_ns,
            waited_ns: slow.waited_ns,
            ran_ns: slow.ran_ns,
            interruptions: slow.interruptions,
            looks: slow.looks,
            least_at_driver: slow.at_driver.map(|counts| counts.least),
            missing_at_driver: slow.at_driver.map(|counts| counts.missing),
            foreign_at_driver: slow.at_driver.map(|counts| counts.foreign),
        }
    }
}

#[pyclass(name = "CaptureSummary", module = "openpts._native", get_all, frozen)]
pub(super) struct PyCaptureSummary {
    ios: u64,
    discarded_ios: u64,
    bytes_written: u64,
    files: usize,
    blocked_times: u64,
    blocked_ns: u64,
}

#[derive(IntoPyObject)]
pub(super) enum PyReport {
    Interval(Py<PyIntervalResult>),
    Step(Py<PyStepResult>),
}

impl PyReport {
    pub(super) fn new(py: Python<'_>, report: Report) -> PyResult<Self> {
        Ok(match report {
            Report::Interval(interval) => Self::Interval(Py::new(
                py,
                PyIntervalResult {
                    step: interval.step,
                    index: interval.index,
                    elapsed_ns: interval.elapsed_ns,
                    operations: operations(py, &interval.operations)?,
                    streams: interval
                        .streams
                        .iter()
                        .map(|results| operations(py, results))
                        .collect::<PyResult<_>>()?,
                    in_flight: interval.in_flight,
                    errors: interval.errors,
                    cpu: interval.cpu.map(cpu),
                    temperature_c: interval.temperature_c,
                    throttled: interval.throttled,
                    energy_j: interval.spent.energy_j,
                    media_write_bytes: interval.spent.media_write_bytes,
                },
            )?),
            Report::Step(step) => Self::Step(Py::new(
                py,
                PyStepResult {
                    index: step.index,
                    state: step.state.name(),
                    ended_by: step.ended_by.map(EndedBy::name),
                    started_ns: step.started_ns,
                    elapsed_ns: step.elapsed_ns,
                    gap_ns: step.gap_ns,
                    operations: operations(py, &step.operations)?,
                    streams: step
                        .streams
                        .into_iter()
                        .map(|stream| PyStreamResult::new(py, stream))
                        .collect::<PyResult<_>>()?,
                    ios_by_block_size: step.choices.by_block_size,
                    ios_by_zone: step.choices.by_zone,
                    cpu: step.cpu.map(cpu),
                    unissued: step.unissued,
                    slips: PyBytes::new(py, &step.slips).unbind(),
                    failure: step.failure.map(|failure| (place(&failure.io), failure.reason)),
                    errors: step
                        .errors
                        .into_iter()
                        .map(|error| (error.operation, error.reason, error.count, error.first_offsets_bytes))
                        .collect(),
                    standstills: step.standstills.iter().map(standstill).collect(),
                    carried: carried_json(&step.carried),
                    played: step
                        .played
                        .iter()
                        .map(|played| PyPlayed::new(py, played))
                        .collect::<PyResult<_>>()?,
                    slow_ios: step
                        .slow_ios
                        .iter()
                        .map(|slow| Py::new(py, PySlowIo::from(slow)))
                        .collect::<PyResult<_>>()?,
                    energy_j: step.spent.energy_j,
                    media_write_bytes: step.spent.media_write_bytes,
                    host_write_bytes: step.spent.host_write_bytes,
                    free_blocks_pct: step.spent.free_blocks_pct,
                },
            )?),
        })
    }
}

fn operations(py: Python<'_>, results: &ByOperation<OperationResult>) -> PyResult<PyOperations> {
    results
        .iter()
        .filter(|(_, result)| result.ios > 0)
        .map(|(operation, result)| {
            let result = PyOperationResult {
                ios: result.ios,
                bytes: result.bytes,
                latency_sum_ns: result.latency_sum_ns,
                latency_min_ns: result.latency_min_ns,
                latency_max_ns: result.latency_max_ns,
                histogram: PyBytes::new(py, &result.histogram).unbind(),
            };
            Ok((operation.name(), Py::new(py, result)?))
        })
        .collect()
}

fn cpu(shares: CpuShares) -> PyCpu {
    (shares.user_pct, shares.sys_pct, shares.iowait_pct, shares.process_ns)
}

pub(super) fn standstill(found: &Standstill) -> PyStandstill {
    (found.from_ns, found.lasted_ns)
}

pub(super) fn place(io: &Io) -> PyIo {
    (io.operation.name(), io.offset_bytes, io.length_bytes)
}

impl From<CaptureSummary> for PyCaptureSummary {
    fn from(summary: CaptureSummary) -> Self {
        Self {
            ios: summary.ios_written,
            discarded_ios: summary.ios_discarded,
            bytes_written: summary.bytes_written,
            files: summary.files.len(),
            blocked_times: summary.waits.blocked_times,
            blocked_ns: summary.waits.blocked_ns,
        }
    }
}

pub(super) fn progress_of(progress: Progress) -> (u64, u64, u64, u64) {
    (progress.steps_begun, progress.step_elapsed_ns, progress.ios, progress.bytes)
}
