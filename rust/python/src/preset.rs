//! Presets of simulated drives, and the shape that a drive of one would have.

use openpts_sim::{DriveClass, Preset, PresetError, Shape};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use toml::{Table, Value};

use super::arguments::scale_of;
use super::errors::value_error;

#[pyclass(name = "Preset", module = "openpts._native", subclass, frozen)]
pub(super) struct PyPreset {
    text: String,
    preset: Preset,
    as_written: Table,
}

impl PyPreset {
    pub(super) const fn preset(&self) -> &Preset {
        &self.preset
    }
}

#[pymethods]
impl PyPreset {
    #[new]
    fn new(text: String) -> PyResult<Self> {
        let preset = Preset::parse(&text).map_err(value_error::<PresetError>)?;
        let as_written = Preset::as_written(&text).map_err(value_error::<PresetError>)?;
        Ok(Self { text, preset, as_written })
    }

    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    #[getter]
    fn name(&self) -> &str {
        &self.preset.name
    }

    #[getter]
    fn summary(&self) -> &str {
        &self.preset.summary
    }

    #[getter]
    fn model(&self) -> &'static str {
        if self.preset.page_mapped.is_some() {
            "page-mapped"
        } else if self.preset.log_block.is_some() {
            "log-block"
        } else {
            "oracle"
        }
    }

    #[getter]
    fn class_name(&self) -> Option<&'static str> {
        self.preset.class.map(DriveClass::name)
    }

    #[getter]
    fn capacity_bytes(&self) -> u64 {
        self.preset.capacity_bytes
    }

    #[getter]
    fn sector_bytes(&self) -> u32 {
        self.preset.sector_bytes
    }

    #[getter]
    fn assumed(&self) -> Vec<String> {
        self.preset.assumed.clone()
    }

    #[getter]
    fn rated<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        named(py, self.preset.rated.by_name())
    }

    #[getter]
    fn limits_c<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let thermal = self.preset.page_mapped.as_ref().and_then(|model| model.thermal.as_ref());
        let limits =
            thermal.map(|thermal| [("warning_c", thermal.warning_c), ("critical_c", thermal.critical_c)]);
        named(py, limits.into_iter().flatten().filter_map(|(name, limit)| Some((name, limit?))))
    }

    #[getter]
    fn slc_burst_share(&self) -> Option<f64> {
        openpts_sim::slc_burst_share(&self.preset)
    }

    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.preset.figures.iter().map(|figure| table(py, figure)).collect()
    }

    fn as_written<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        table(py, &self.as_written)
    }

    fn shape(&self, capacity_bytes: u64, scale: u32) -> PyResult<Option<PyShape>> {
        Ok(Shape::of(&self.preset, capacity_bytes, scale_of(scale)?).map(PyShape))
    }
}

#[pyclass(name = "Shape", module = "openpts._native", frozen)]
pub(super) struct PyShape(Shape);

#[pymethods]
impl PyShape {
    #[getter]
    const fn user_bytes(&self) -> u64 {
        self.0.user_bytes
    }

    #[getter]
    const fn physical_pages(&self) -> u64 {
        self.0.physical_pages
    }

    #[getter]
    const fn superblocks(&self) -> u64 {
        self.0.superblocks
    }

    #[getter]
    const fn superblock_user_bytes(&self) -> f64 {
        self.0.superblock_user_bytes
    }

    #[getter]
    const fn rows(&self) -> u64 {
        self.0.rows
    }

    #[getter]
    const fn rows_of_real_drive(&self) -> u32 {
        self.0.rows_of_real_drive
    }

    #[getter]
    const fn buffer_bytes(&self) -> u64 {
        self.0.buffer_bytes
    }

    #[getter]
    const fn settling_ns(&self) -> f64 {
        self.0.settling_ns
    }

    #[getter]
    const fn fresh_write_bytes_per_s(&self) -> f64 {
        self.0.fresh_write_bytes_per_s
    }

    #[pyo3(signature = (block_size_bytes, *, read_share, collects))]
    fn expected_iops(&self, block_size_bytes: u32, read_share: f64, collects: bool) -> f64 {
        self.0.expected_iops(block_size_bytes, read_share, collects)
    }
}

fn named<'py>(
    py: Python<'py>,
    figures: impl Iterator<Item = (&'static str, f64)>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, figure) in figures {
        dict.set_item(name, figure)?;
    }
    Ok(dict)
}

fn table<'py>(py: Python<'py>, entries: &Table) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in entries {
        dict.set_item(name, object(py, value)?)?;
    }
    Ok(dict)
}

/// A value as Python has it; a date, which no parameter is, as it is written.
fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::String(text) => text.into_bound_py_any(py),
        Value::Integer(number) => number.into_bound_py_any(py),
        Value::Float(number) => number.into_bound_py_any(py),
        Value::Boolean(flag) => flag.into_bound_py_any(py),
        Value::Datetime(moment) => moment.to_string().into_bound_py_any(py),
        Value::Array(values) => {
            let values = values.iter().map(|value| object(py, value));
            PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?.into_bound_py_any(py)
        }
        Value::Table(entries) => table(py, entries)?.into_bound_py_any(py),
    }
}
