//! The engine of real targets.

use std::collections::HashMap;
use std::os::fd::RawFd;
use std::path::PathBuf;

use openpts_core::engine::{CompletionWait, Configuration, Resumed, Session};
use openpts_core::machine::{Target, UnknownPath};
use openpts_core::workload::{Limits, StimulusError, parse_program};
use pyo3::prelude::*;

use super::arguments::{capture_order, patience};
use super::errors::{engine_error, value_error};
use super::results::{PyCaptureSummary, PyReport, place, progress_of};

#[pyclass(name = "Engine", module = "openpts._native", frozen)]
pub(super) struct PyEngine(Session);

#[pymethods]
impl PyEngine {
    #[new]
    #[pyo3(signature = (
        descriptor, *, capacity_bytes, sector_bytes, tc, qd, block_size_bytes, seed, interval_ns,
        interval_histograms, io_path, batched_wait, slow_io_ns, cpus, most_errors, over_read_errors, capture,
        resumed,
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
        slow_io_ns: Option<u64>,
        cpus: Vec<usize>,
        most_errors: u64,
        over_read_errors: bool,
        capture: Option<(PathBuf, u32)>,
        resumed: Option<(u32, &str)>,
    ) -> PyResult<Self> {
        let limits = Limits { capacity_bytes, sector_bytes, tc, qd, block_size_bytes };
        let target = Target::duplicate(descriptor)?;
        let resumed = resumed
            .map(|(interruptions, streams)| Resumed::parse(interruptions, streams))
            .transpose()
            .map_err(engine_error)?;
        let configuration = Configuration {
            limits,
            seed,
            interval_ns,
            interval_histograms,
            path: io_path.parse().map_err(value_error::<UnknownPath>)?,
            completion_wait: if batched_wait { CompletionWait::Batched } else { CompletionWait::Each },
            slow_io_ns,
            cpus,
            most_errors,
            over_read_errors,
            capture: capture_order(capture)?,
            resumed,
        };
        py.detach(|| Session::open(target, configuration)).map(Self).map_err(engine_error)
    }

    fn submit(&self, program_json: &str) -> PyResult<()> {
        let program = parse_program(program_json, self.0.limits()).map_err(value_error::<StimulusError>)?;
        self.0.submit(program).map_err(engine_error)
    }

    fn check(&self, program_json: &str) -> PyResult<()> {
        let program = parse_program(program_json, self.0.limits()).map_err(value_error::<StimulusError>)?;
        self.0.check(program).map_err(engine_error)
    }

    fn poll(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Option<PyReport>> {
        let timeout = patience(timeout_s)?;
        let report = py.detach(|| self.0.poll(timeout)).map_err(engine_error)?;
        report.map(|report| PyReport::new(py, report)).transpose()
    }

    fn progress(&self) -> (u64, u64, u64, u64) {
        progress_of(self.0.progress())
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
        let summary = py.detach(|| self.0.finish()).map_err(engine_error)?;
        Ok(summary.map(PyCaptureSummary::from))
    }

    fn features(&self) -> HashMap<&'static str, bool> {
        self.0.features().iter().collect()
    }

    fn clock_source(&self) -> String {
        self.0.clock_source().to_string()
    }
}
