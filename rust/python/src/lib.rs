//! The join to Python: all of PyO3 is here, all of its documentation in `_native.pyi`.
//! Without its feature `traces` it lacks all that reads, prepares and writes traces: none of it is needed for a
//! first report, and it takes long to compile.

mod arguments;
mod engine;
mod errors;
mod histogram;
#[cfg(feature = "traces")]
mod live;
mod played;
mod powercut;
mod preset;
mod results;
#[cfg(feature = "traces")]
mod schedule;
mod simulated;
#[cfg(feature = "traces")]
mod trace;
mod watched_time;

use std::collections::HashMap;
use std::os::fd::RawFd;
use std::time::Duration;

use openpts_core::engine::Overhead;
use openpts_core::machine::{self, Target};
use pyo3::prelude::*;

use errors::engine_error;

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
    let overhead = py.detach(|| Overhead::measure(&cpus)).map_err(engine_error)?;
    Ok((overhead.mean_latency_ns, overhead.sleeping_latency_ns, overhead.cpu_ns_per_io))
}

/// What the memory moves while a thread on each of these processors copies.
#[pyfunction]
#[pyo3(signature = (*, cpus, buffer_bytes, duration_ms))]
fn measure_memory(
    py: Python<'_>,
    cpus: Vec<usize>,
    buffer_bytes: usize,
    duration_ms: u64,
) -> PyResult<(Vec<f64>, f64)> {
    let duration = Duration::from_millis(duration_ms);
    let rates = py.detach(|| machine::memory_rates(&cpus, buffer_bytes, duration))?;
    Ok((rates.bytes_per_s, rates.processor_share))
}

/// What this module is and how it was built, for the record.
#[pyfunction]
fn build_info() -> HashMap<&'static str, &'static str> {
    HashMap::from([
        ("version", env!("CARGO_PKG_VERSION")),
        ("profile", env!("OPENPTS_PROFILE")),
        ("architecture", std::env::consts::ARCH),
    ])
}

#[pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use super::engine::PyEngine;
    #[pymodule_export]
    use super::errors::{StoppedError, UnavailableError};
    #[pymodule_export]
    use super::histogram::PyHistogram;
    #[cfg(feature = "traces")]
    #[pymodule_export]
    use super::live::PyLiveCapture;
    #[pymodule_export]
    use super::played::PyPlayed;
    #[pymodule_export]
    use super::powercut::{PyPowerCut, power_fault_names};
    #[pymodule_export]
    use super::preset::{PyPreset, PyShape};
    #[pymodule_export]
    use super::results::{
        PyCaptureSummary, PyIntervalResult, PyOperationResult, PySlowIo, PyStepResult, PyStreamResult,
    };
    #[cfg(feature = "traces")]
    #[pymodule_export]
    use super::schedule::{filling_schedule, prepare_schedule};
    #[pymodule_export]
    use super::simulated::{PySimulatedDrive, PySimulatedEngine};
    #[cfg(feature = "traces")]
    #[pymodule_export]
    use super::trace::{trace_formats, trace_outputs, trace_recipes, treat_trace};
    #[pymodule_export]
    use super::watched_time::PyWatchedTime;
    #[pymodule_export]
    use super::{build_info, measure_memory, measure_overhead, probe};
}
