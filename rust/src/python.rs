//! The join to Python: all of PyO3 is here, all of its documentation in `_native.pyi`.

use std::collections::HashMap;
use std::os::fd::RawFd;
use std::time::Duration;

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::engine::{Configuration, DirectionResult, EngineError, IntervalResult, Session, StepResult};
use crate::histogram::{self, LatencyHistogram};
use crate::ring::Target;
use crate::workload::{Limits, parse_program};

create_exception!(_native, UnavailableError, PyOSError);
create_exception!(_native, StoppedError, PyRuntimeError);

impl From<EngineError> for PyErr {
    fn from(error: EngineError) -> Self {
        let text = error.to_string();
        match error {
            EngineError::Stopped => StoppedError::new_err(text),
            EngineError::Thread(_) | EngineError::Ring(_) => UnavailableError::new_err(text),
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

#[pyclass(name = "Direction", module = "openpts._native", get_all, frozen)]
struct PyDirection {
    ios: u64,
    bytes: u64,
    latency_sum_ns: u128,
    latency_min_ns: Option<u64>,
    latency_max_ns: Option<u64>,
    histogram: Py<PyBytes>,
}

#[pyclass(name = "StepResult", module = "openpts._native", get_all, frozen)]
struct PyStepResult {
    index: u64,
    state: &'static str,
    started_ns: u64,
    elapsed_ns: u64,
    gap_ns: Option<u64>,
    read: Py<PyDirection>,
    write: Py<PyDirection>,
    intervals: Vec<FlatInterval>,
    cpu: Option<(f64, f64, f64, u64)>,
    failure: Option<(&'static str, u64, u32, String)>,
}

impl PyStepResult {
    fn new(py: Python<'_>, result: StepResult) -> PyResult<Self> {
        Ok(Self {
            index: result.index,
            state: result.state.name(),
            started_ns: result.started_ns,
            elapsed_ns: result.elapsed_ns,
            gap_ns: result.gap_ns,
            read: Py::new(py, PyDirection::new(py, &result.read))?,
            write: Py::new(py, PyDirection::new(py, &result.write))?,
            intervals: result.intervals.iter().map(flat).collect(),
            cpu: result.cpu.map(|cpu| (cpu.user_pct, cpu.sys_pct, cpu.iowait_pct, cpu.process_ns)),
            failure: result.failure.map(|failure| {
                (
                    failure.io.direction.name(),
                    failure.io.offset_bytes,
                    failure.io.length_bytes,
                    failure.reason,
                )
            }),
        })
    }
}

impl PyDirection {
    fn new(py: Python<'_>, direction: &DirectionResult) -> Self {
        Self {
            ios: direction.ios,
            bytes: direction.bytes,
            latency_sum_ns: direction.latency_sum_ns,
            latency_min_ns: direction.latency_min_ns,
            latency_max_ns: direction.latency_max_ns,
            histogram: PyBytes::new(py, &direction.histogram).unbind(),
        }
    }
}

/// I/Os, bytes, sum and maximum of latencies: of reads, then of writes.
type FlatInterval = (u64, u64, u64, u64, u64, u64, u64, u64);

fn flat(interval: &IntervalResult) -> FlatInterval {
    let (read, write) = (interval.read, interval.write);
    (read.0, read.1, read.2, read.3, write.0, write.1, write.2, write.3)
}

#[pyclass(name = "Engine", module = "openpts._native", frozen)]
struct PyEngine(Session);

#[pymethods]
impl PyEngine {
    #[new]
    #[pyo3(signature = (descriptor, *, capacity_bytes, sector_bytes, tc, qd, block_size_bytes, seed, interval_ns))]
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
    ) -> PyResult<Self> {
        let limits = Limits { capacity_bytes, sector_bytes, tc, qd, block_size_bytes };
        let target = Target::duplicate(descriptor)?;
        let configuration = Configuration { limits, seed, interval_ns };
        py.detach(|| Session::open(target, configuration)).map(Self).map_err(PyErr::from)
    }

    fn submit(&self, program_json: &str) -> PyResult<()> {
        let program = parse_program(program_json, self.0.limits())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(self.0.submit(program)?)
    }

    fn poll(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Option<PyStepResult>> {
        let timeout = Duration::try_from_secs_f64(timeout_s)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let result = py.detach(|| self.0.poll(timeout))?;
        result.map(|result| PyStepResult::new(py, result)).transpose()
    }

    fn progress(&self) -> (u64, u64, u64, u64) {
        let progress = self.0.progress();
        (progress.steps_begun, progress.step_elapsed_ns, progress.ios, progress.bytes)
    }

    fn stop(&self) {
        self.0.stop();
    }

    fn features(&self) -> HashMap<&'static str, bool> {
        let features = self.0.features();
        HashMap::from([
            ("deferred_completion", features.deferred_completion),
            ("registered_buffers", features.registered_buffers),
            ("registered_ring", features.registered_ring),
        ])
    }
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
        PyDirection, PyEngine, PyHistogram, PyStepResult, StoppedError, UnavailableError, build_info,
    };
}
