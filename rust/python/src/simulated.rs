//! Simulated drives, and the engine that runs programs on them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use openpts_core::workload::{StimulusError, parse_program};
use openpts_sim::{
    EraseCounts, MOST_POWER_STATES, NandPages, PresetError, SharedDrive, Smart, Transition,
    VirtualConfiguration, VirtualSession,
};
use pyo3::prelude::*;

use super::arguments::{capture_order, patience, scale_of};
use super::errors::{engine_error, refused, value_error};
use super::preset::PyPreset;
use super::results::{PyCaptureSummary, PyReport, progress_of};

/// From each state the one that it goes on to, and after how many milliseconds.
type Transitions = Vec<(u8, u32)>;

#[pyclass(name = "SimulatedDrive", module = "openpts._native", frozen)]
pub(super) struct PySimulatedDrive {
    drive: Arc<SharedDrive>,
    name: String,
}

#[pymethods]
impl PySimulatedDrive {
    #[new]
    #[pyo3(signature = (preset, *, capacity_bytes, scale, seed))]
    fn new(
        py: Python<'_>,
        preset: &Bound<'_, PyPreset>,
        capacity_bytes: u64,
        scale: u32,
        seed: u64,
    ) -> PyResult<Self> {
        let preset = preset.get().preset();
        let scale = scale_of(scale)?;
        let bytes = openpts_sim::simulated_bytes(capacity_bytes, scale);
        let drive = py
            .detach(|| openpts_sim::open(preset, bytes, scale, seed))
            .map_err(value_error::<PresetError>)?;
        Ok(Self { drive: Arc::new(SharedDrive::new(drive, scale)), name: preset.name.clone() })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn capacity_bytes(&self) -> u64 {
        self.drive.capacity_bytes()
    }

    #[getter]
    fn simulated_bytes(&self) -> u64 {
        self.drive.simulated_bytes()
    }

    #[getter]
    fn scale(&self) -> u32 {
        self.drive.scale().factor()
    }

    #[getter]
    fn sector_bytes(&self) -> u32 {
        self.drive.sector_bytes()
    }

    #[getter]
    fn geometry(&self) -> HashMap<&'static str, f64> {
        self.drive.geometry().iter().copied().collect()
    }

    fn now_ns(&self) -> u64 {
        self.drive.now_ns()
    }

    fn purge(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.drive.purge()).map_err(refused)
    }

    fn holds_data(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.drive.smart().mapped_pages)
    }

    fn write_cache(&self, py: Python<'_>) -> Option<bool> {
        py.detach(|| self.drive.write_cache())
    }

    fn set_write_cache(&self, py: Python<'_>, enabled: bool) -> PyResult<()> {
        py.detach(|| self.drive.set_write_cache(enabled)).map_err(refused)
    }

    fn power_states(&self, py: Python<'_>) -> Vec<(f64, f64, bool, f64, f64)> {
        let states = py.detach(|| self.drive.power()).map_or_else(Vec::new, |(states, _)| states);
        let described = states.iter().map(|state| {
            let entry_us = state.declared_entry_us.unwrap_or(state.entry_us);
            let exit_us = state.declared_exit_us.unwrap_or(state.exit_us);
            (state.most_w, state.idle_w, state.operational, entry_us, exit_us)
        });
        described.collect()
    }

    fn power_setting(&self, py: Python<'_>) -> Option<(u8, bool, Transitions)> {
        let (_, setting) = py.detach(|| self.drive.power())?;
        let table = setting.table.iter().map(|transition| (transition.to, transition.after_ms));
        Some((setting.state, setting.autonomous, table.collect()))
    }

    fn command_power_state(&self, py: Python<'_>, state: u8) -> PyResult<()> {
        py.detach(|| self.drive.command_power_state(state)).map_err(refused)
    }

    fn set_autonomous(&self, py: Python<'_>, autonomous: bool, table: Transitions) -> PyResult<()> {
        let mut transitions = [Transition::default(); MOST_POWER_STATES];
        for (transition, (to, after_ms)) in transitions.iter_mut().zip(table) {
            *transition = Transition { to, after_ms };
        }
        py.detach(|| self.drive.set_autonomous(autonomous, &transitions)).map_err(refused)
    }

    fn flush_caches(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.drive.flush_caches()).map_err(refused)
    }

    fn jump_start(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.drive.jump_start()).map_err(refused)
    }

    fn smart<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyDict>> {
        let smart = py.detach(|| self.drive.smart());
        log(py, &smart)
    }

    fn placement<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, pyo3::types::PyDict>>> {
        let Some(placed) = py.detach(|| self.drive.placed()) else { return Ok(None) };
        let log = pyo3::types::PyDict::new(py);
        for (name, count) in [
            ("handles", placed.handles.into()),
            ("unit_bytes", placed.unit_bytes),
            ("host_bytes", placed.host_bytes),
            ("media_bytes", placed.media_bytes),
            ("erased_bytes", placed.erased_bytes),
            ("units_filled", placed.events.filled),
            ("units_left", placed.events.updated),
        ] {
            log.set_item(name, count)?;
        }
        Ok(Some(log))
    }

    #[pyo3(signature = (
        *, tc, qd, block_size_bytes, seed, interval_ns, interval_histograms, most_errors, over_read_errors, capture,
    ))]
    #[expect(clippy::too_many_arguments, reason = "named ones, in Python")]
    fn engine(
        &self,
        tc: u32,
        qd: u32,
        block_size_bytes: u32,
        seed: u64,
        interval_ns: u64,
        interval_histograms: bool,
        most_errors: u64,
        over_read_errors: bool,
        capture: Option<(PathBuf, u32)>,
    ) -> PyResult<PySimulatedEngine> {
        let configuration = VirtualConfiguration {
            tc,
            qd,
            block_size_bytes,
            seed,
            interval_ns,
            interval_histograms,
            most_errors,
            over_read_errors,
            capture: capture_order(capture)?,
        };
        VirtualSession::open(Arc::clone(&self.drive), &configuration)
            .map(PySimulatedEngine)
            .map_err(engine_error)
    }
}

/// The drive's log by name; what it does not have is `None`.
fn log<'py>(py: Python<'py>, smart: &Smart) -> PyResult<Bound<'py, pyo3::types::PyDict>> {
    let log = pyo3::types::PyDict::new(py);
    let NandPages { host, collected, folded, padded, journal } = smart.nand_pages;
    let EraseCounts { min, mean, max } = smart.erase_counts;
    let (controller_c, nand_c) = smart.true_temperatures_c.unzip();
    for (name, count) in [
        ("host_read_bytes", smart.host_read_bytes),
        ("host_write_bytes", smart.host_write_bytes),
        ("host_reads", smart.host_reads),
        ("host_writes", smart.host_writes),
        ("data_units_read", smart.data_units_read()),
        ("data_units_written", smart.data_units_written()),
        ("nand_pages_host", host),
        ("nand_pages_collected", collected),
        ("nand_pages_folded", folded),
        ("nand_pages_padded", padded),
        ("nand_pages_journal", journal),
        ("nand_pages_total", smart.nand_pages.total()),
        ("erases", smart.erases),
        ("erase_count_min", min.into()),
        ("erase_count_max", max.into()),
        ("bad_superblocks", smart.bad_superblocks.into()),
        ("media_errors", smart.media_errors),
        ("throttle_events", smart.throttle_events),
        ("slc_superblocks", smart.slc_superblocks.into()),
        ("mapped_pages", smart.mapped_pages),
    ] {
        log.set_item(name, count)?;
    }
    for (name, value) in [
        ("erase_count_mean", Some(mean)),
        ("available_spare_pct", Some(smart.available_spare_pct)),
        ("percentage_used", Some(smart.percentage_used)),
        ("true_controller_temperature_c", controller_c),
        ("true_nand_temperature_c", nand_c),
        ("warning_temperature_s", Some(smart.warning_temperature_s)),
        ("critical_temperature_s", Some(smart.critical_temperature_s)),
        ("busy_s", Some(smart.busy_s)),
        ("energy_j", smart.energy_j),
    ] {
        log.set_item(name, value)?;
    }
    log.set_item("temperature_c", smart.temperature_c)?;
    log.set_item("read_only", smart.read_only)?;
    Ok(log)
}

#[pyclass(name = "SimulatedEngine", module = "openpts._native", frozen)]
pub(super) struct PySimulatedEngine(VirtualSession);

#[pymethods]
impl PySimulatedEngine {
    fn submit(&self, program_json: &str) -> PyResult<()> {
        let program = parse_program(program_json, self.0.limits()).map_err(value_error::<StimulusError>)?;
        self.0.submit(&program).map_err(engine_error)
    }

    fn check(&self, program_json: &str) -> PyResult<()> {
        let program = parse_program(program_json, self.0.limits()).map_err(value_error::<StimulusError>)?;
        self.0.check(&program).map_err(engine_error)
    }

    fn poll(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Option<PyReport>> {
        let timeout = patience(timeout_s)?;
        let report = py.detach(|| self.0.poll(timeout)).map_err(engine_error)?;
        report.map(|report| PyReport::new(py, report)).transpose()
    }

    fn progress(&self) -> (u64, u64, u64, u64) {
        progress_of(self.0.progress())
    }

    fn stop(&self) {
        self.0.stop();
    }

    fn finish(&self, py: Python<'_>) -> PyResult<Option<PyCaptureSummary>> {
        let summary = py.detach(|| self.0.finish()).map_err(engine_error)?;
        Ok(summary.map(PyCaptureSummary::from))
    }
}
