//! Captures in steps.

use std::path::PathBuf;

use openpts_trace::steps::read_capture;
use pyo3::prelude::*;

use super::errors::value_error;

/// A step table, or the steps of a trace, as JSON.
#[pyfunction]
pub(super) fn capture_steps(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let capture = py.detach(|| read_capture(&path)).map_err(value_error)?;
    serde_json::to_string(&capture).map_err(value_error)
}
