//! The join to Python: all of PyO3 is here, all of its documentation in `_native.pyi`.

use std::collections::HashMap;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::time::Duration;

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::engine::{
    CaptureOrder, CompletionWait, Configuration, CpuShares, EndedBy, EngineError, OperationResult, Overhead,
    Report, Session,
};
use crate::histogram::{self, LatencyHistogram};
use crate::machine::{self, Target, UnknownPath};
use crate::workload::{ByOperation, Io, Limits, StimulusError, parse_program};

create_exception!(_native, UnavailableError, PyOSError);
create_exception!(_native, StoppedError, PyRuntimeError);

impl From<EngineError> for PyErr {
    fn from(error: EngineError) -> Self {
        let text = error.to_string();
        match error {
            EngineError::Stopped => StoppedError::new_err(text),
            EngineError::Program(_) | EngineError::Unsupported { .. } => PyValueError::new_err(text),
            EngineError::Thread(_)
            | EngineError::Queue(_)
            | EngineError::Pin { .. }
            | EngineError::Capture(_) => UnavailableError::new_err(text),
        }
    }
}

#[pyclass(name = "Histogram", module = "openpts._native")]
struct PyHistogram(LatencyHistogram);

#[pymethods]
impl PyHistogram {
    #[new]
    fn new() -> Self {
        Self(LatencyHistogram::default())
    }

    #[staticmethod]
    fn decode(encoded: &[u8]) -> PyResult<Self> {
        histogram::decode(encoded).map(Self).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn encode<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &histogram::encode(&self.0))
    }

    #[pyo3(signature = (value_ns, count = 1))]
    fn record(&mut self, value_ns: u64, count: u64) {
        self.0.record_n(value_ns, count);
    }

    fn add(&mut self, other: &Self) {
        self.0.add(&other.0);
    }

    #[getter]
    fn count(&self) -> u64 {
        self.0.count()
    }

    fn value_at_percentile(&self, percentile: f64) -> u64 {
        self.0.value_at_percentile(percentile)
    }

    fn buckets(&self) -> Vec<(u64, u64, u64)> {
        self.0.buckets().map(|bucket| (bucket.lowest_ns, bucket.highest_ns, bucket.count)).collect()
    }
}

#[pyclass(name = "OperationResult", module = "openpts._native", get_all, frozen)]
struct PyOperationResult {
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
/// Operation, offset, length.
type PyIo = (&'static str, u64, u32);

#[pyclass(name = "IntervalResult", module = "openpts._native", get_all, frozen)]
struct PyIntervalResult {
    step: u64,
    index: u64,
    elapsed_ns: u64,
    operations: PyOperations,
    in_flight: u64,
    errors: u64,
    cpu: Option<PyCpu>,
}

#[pyclass(name = "StepResult", module = "openpts._native", get_all, frozen)]
struct PyStepResult {
    index: u64,
    state: &'static str,
    ended_by: Option<&'static str>,
    started_ns: u64,
    elapsed_ns: u64,
    gap_ns: Option<u64>,
    operations: PyOperations,
    cpu: Option<PyCpu>,
    unissued: u64,
    failure: Option<(PyIo, String)>,
    errors: Vec<(&'static str, String, u64, Vec<u64>)>,
}

#[pyclass(name = "CaptureSummary", module = "openpts._native", get_all, frozen)]
struct PyCaptureSummary {
    ios: u64,
    discarded_ios: u64,
    bytes_written: u64,
    files: usize,
    blocked_times: u64,
    blocked_ns: u64,
}

#[derive(IntoPyObject)]
enum PyReport {
    Interval(PyIntervalResult),
    Step(PyStepResult),
}

impl PyReport {
    fn new(py: Python<'_>, report: Report) -> PyResult<Self> {
        Ok(match report {
            Report::Interval(interval) => Self::Interval(PyIntervalResult {
                step: interval.step,
                index: interval.index,
                elapsed_ns: interval.elapsed_ns,
                operations: operations(py, &interval.operations)?,
                in_flight: interval.in_flight,
                errors: interval.errors,
                cpu: interval.cpu.map(cpu),
            }),
            Report::Step(step) => Self::Step(PyStepResult {
                index: step.index,
                state: step.state.name(),
                ended_by: step.ended_by.map(EndedBy::name),
                started_ns: step.started_ns,
                elapsed_ns: step.elapsed_ns,
                gap_ns: step.gap_ns,
                operations: operations(py, &step.operations)?,
                cpu: step.cpu.map(cpu),
                unissued: step.unissued,
                failure: step.failure.map(|failure| (place(&failure.io), failure.reason)),
                errors: step
                    .errors
                    .into_iter()
                    .map(|error| (error.operation, error.reason, error.count, error.first_offsets_bytes))
                    .collect(),
            }),
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

fn place(io: &Io) -> PyIo {
    (io.operation.name(), io.offset_bytes, io.length_bytes)
}

#[pyclass(name = "Engine", module = "openpts._native", frozen)]
struct PyEngine(Session);

#[pymethods]
impl PyEngine {
    #[new]
    #[pyo3(signature = (
        descriptor, *, capacity_bytes, sector_bytes, tc, qd, block_size_bytes, seed, interval_ns,
        interval_histograms, io_path, batched_wait, cpus, most_errors, capture,
    ))]
    #[expect(clippy::too_many_arguments, reason = "named ones, in Python")]
    fn new(
        py: Python<'_>,
        descriptor: RawFd,
        capacity_bytes: u64,
        sector_bytes: u32,
        tc: u32,
        qd: u32,
        block_size_bytes: u32,
        seed: u64,
        interval_ns: u64,
        interval_histograms: bool,
        io_path: &str,
        batched_wait: bool,
        cpus: Vec<usize>,
        most_errors: u64,
        capture: Option<(PathBuf, u32)>,
    ) -> PyResult<Self> {
        let limits = Limits { capacity_bytes, sector_bytes, tc, qd, block_size_bytes };
        let target = Target::duplicate(descriptor)?;
        let configuration = Configuration {
            limits,
            seed,
            interval_ns,
            interval_histograms,
            path: io_path.parse().map_err(value_error::<UnknownPath>)?,
            completion_wait: if batched_wait { CompletionWait::Batched } else { CompletionWait::Each },
            cpus,
            most_errors,
            capture: capture.map(|(folder, lba_bytes)| CaptureOrder { folder, lba_bytes }),
        };
        py.detach(|| Session::open(target, configuration)).map(Self).map_err(PyErr::from)
    }

    fn submit(&self, program_json: &str) -> PyResult<()> {
        let program = parse_program(program_json, self.0.limits()).map_err(value_error::<StimulusError>)?;
        Ok(self.0.submit(program)?)
    }

    fn poll(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Option<PyReport>> {
        let timeout = Duration::try_from_secs_f64(timeout_s)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let report = py.detach(|| self.0.poll(timeout))?;
        report.map(|report| PyReport::new(py, report)).transpose()
    }

    fn progress(&self) -> (u64, u64, u64, u64) {
        let progress = self.0.progress();
        (progress.steps_begun, progress.step_elapsed_ns, progress.ios, progress.bytes)
    }

    fn oldest(&self) -> Option<(u64, &'static str, u64, u32)> {
        let (age_ns, outstanding) = self.0.oldest()?;
        let (operation, offset_bytes, length_bytes) = place(&outstanding.io);
        Some((age_ns, operation, offset_bytes, length_bytes))
    }

    fn stop(&self) {
        self.0.stop();
    }

    fn finish(&self, py: Python<'_>) -> PyResult<Option<PyCaptureSummary>> {
        let summary = py.detach(|| self.0.finish())?;
        Ok(summary.map(|summary| PyCaptureSummary {
            ios: summary.ios_written,
            discarded_ios: summary.ios_discarded,
            bytes_written: summary.bytes_written,
            files: summary.files.len(),
            blocked_times: summary.waits.blocked_times,
            blocked_ns: summary.waits.blocked_ns,
        }))
    }

    fn features(&self) -> HashMap<&'static str, bool> {
        self.0.features().iter().collect()
    }

    fn clock_source(&self) -> String {
        self.0.clock_source().to_string()
    }
}

fn value_error<E: ToString>(error: E) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Which way to the target suits it, and why.
#[pyfunction]
#[pyo3(signature = (descriptor, *, sector_bytes))]
fn probe(
    py: Python<'_>,
    descriptor: RawFd,
    sector_bytes: u32,
) -> PyResult<(&'static str, Vec<(String, String)>)> {
    let target = Target::duplicate(descriptor)?;
    let found = py.detach(|| machine::probe(&target, sector_bytes));
    let reason = ("io_path_reason".to_owned(), found.reason.to_owned());
    let findings = found.findings.into_iter().map(|finding| (finding.name.to_owned(), finding.value));
    let findings = std::iter::once(reason).chain(findings).collect();
    Ok((found.path.name(), findings))
}

/// What the engine itself costs, on a device that does nothing.
#[pyfunction]
fn measure_overhead(py: Python<'_>) -> PyResult<(f64, f64)> {
    let overhead = py.detach(Overhead::measure)?;
    Ok((overhead.mean_latency_ns, overhead.cpu_ns_per_io))
}

/// What this module is and how it was built, for the record.
#[pyfunction]
fn build_info() -> HashMap<&'static str, &'static str> {
    HashMap::from([
        ("version", env!("CARGO_PKG_VERSION")),
        ("profile", if cfg!(debug_assertions) { "debug" } else { "release" }),
        ("architecture", std::env::consts::ARCH),
    ])
}

#[pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use super::{
        PyCaptureSummary, PyEngine, PyHistogram, PyIntervalResult, PyOperationResult, PyStepResult,
        StoppedError, UnavailableError, build_info, measure_overhead, probe,
    };
}
