//! Standstills of the process, for engines that are written in Python.

use openpts_core::engine::WatchedTime;
use pyo3::prelude::*;

use super::results::{PyStandstill, standstill};

#[pyclass(name = "WatchedTime", module = "openpts._native", frozen)]
pub(super) struct PyWatchedTime(WatchedTime);

#[pymethods]
impl PyWatchedTime {
    #[new]
    fn new() -> PyResult<Self> {
        Ok(Self(WatchedTime::start()?))
    }

    fn between(&self, from_ns: u64, until_ns: u64) -> Vec<PyStandstill> {
        self.0.between(from_ns, until_ns).iter().map(standstill).collect()
    }
}
