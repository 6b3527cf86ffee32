//! The join to Python: all of PyO3 is here, all of its documentation in `_native.pyi`.

mod engine;
mod histogram;
mod results;
mod served;
mod simulated;
mod watched_time;

use std::collections::HashMap;
use std::os::fd::RawFd;
use std::time::Duration;

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::engine::{EngineError, Overhead, Progress};
use crate::machine::{self, Target};
use crate::simulator::Refusal;

create_exception!(_native, UnavailableError, PyOSError);
create_exception!(_native, StoppedError, PyRuntimeError);

impl From<EngineError> for PyErr {
    fn from(error: EngineError) -> Self {
        let text = error.to_string();
        match error {
            EngineError::Stopped => StoppedError::new_err(text),
            EngineError::Program(_) | EngineError::Unsupported { .. } => PyValueError::new_err(text),
            EngineError::TooMuch(_)
            | EngineError::Threads { .. }
            | EngineError::Thread(_)
            | EngineError::Queue(_)
            | EngineError::Pin { .. }
            | EngineError::Capture(_) => UnavailableError::new_err(text),
        }
    }
}

impl From<Refusal> for PyErr {
    fn from(refusal: Refusal) -> Self {
        UnavailableError::new_err(refusal.0)
    }
}

fn value_error<E: ToString>(error: E) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// How long to wait.
fn patience(timeout_s: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(timeout_s).map_err(value_error)
}

fn progress_of(progress: Progress) -> (u64, u64, u64, u64) {
    (progress.steps_begun, progress.step_elapsed_ns, progress.ios, progress.bytes)
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

/// What the engine itself costs without a device: latency awake and asleep, processor time.
#[pyfunction]
#[pyo3(signature = (*, cpus))]
fn measure_overhead(py: Python<'_>, cpus: Vec<usize>) -> PyResult<(f64, f64, f64)> {
    let overhead = py.detach(|| Overhead::measure(&cpus))?;
    Ok((overhead.mean_latency_ns, overhead.sleeping_latency_ns, overhead.cpu_ns_per_io))
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
    use super::engine::PyEngine;
    #[pymodule_export]
    use super::histogram::PyHistogram;
    #[pymodule_export]
    use super::results::{PyCaptureSummary, PyIntervalResult, PyOperationResult, PyStepResult};
    #[pymodule_export]
    use super::served::PyServedDrive;
    #[pymodule_export]
    use super::simulated::{PySimulatedDrive, PySimulatedEngine, check_preset, write_amplification};
    #[pymodule_export]
    use super::watched_time::PyWatchedTime;
    #[pymodule_export]
    use super::{StoppedError, UnavailableError, build_info, measure_overhead, probe};
}
