//! Captures of this machine while they go on.

use std::sync::{Mutex, PoisonError};

use openpts_trace::{LiveCapture, Loss, TraceError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::errors::{UnavailableError, value_error};

#[pyclass(name = "LiveCapture", module = "openpts._native", frozen)]
pub(super) struct PyLiveCapture {
    /// None once it has ended.
    capture: Mutex<Option<LiveCapture>>,
}

impl PyLiveCapture {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl Send + FnOnce(&mut LiveCapture) -> Result<T, TraceError>,
    ) -> PyResult<T> {
        py.detach(|| {
            let mut capture = self.capture.lock().unwrap_or_else(PoisonError::into_inner);
            let capture = capture.as_mut().ok_or_else(|| PyValueError::new_err("the capture has ended"))?;
            work(capture).map_err(|error| UnavailableError::new_err(error.to_string()))
        })
    }
}

#[pymethods]
impl PyLiveCapture {
    #[new]
    fn new(order: &str) -> PyResult<Self> {
        let order = serde_json::from_str(order).map_err(value_error)?;
        let capture =
            LiveCapture::new(order).map_err(|error| UnavailableError::new_err(error.to_string()))?;
        Ok(Self { capture: Mutex::new(Some(capture)) })
    }

    fn feed(&self, py: Python<'_>, processor: usize, data: &[u8]) -> PyResult<()> {
        self.with(py, |capture| capture.feed(processor, data))
    }

    fn advance(&self, py: Python<'_>, until_ns: i64) -> PyResult<()> {
        self.with(py, |capture| capture.advance(until_ns))
    }

    fn lose(&self, py: Python<'_>, processor: u32, from_ns: i64, to_ns: i64, events: u64) -> PyResult<()> {
        self.with(py, |capture| {
            capture.lose(Loss { cpu: processor, from_ns, to_ns, records: events });
            Ok(())
        })
    }

    fn commands(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |capture| Ok(capture.commands()))
    }

    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        let summary = self.with(py, |capture| Ok(capture.summary()))?;
        serde_json::to_string(&summary).map_err(value_error)
    }

    fn finish(&self, py: Python<'_>, end: &str) -> PyResult<String> {
        let end = serde_json::from_str(end).map_err(value_error)?;
        py.detach(|| {
            let mut capture = self.capture.lock().unwrap_or_else(PoisonError::into_inner);
            let capture = capture.take().ok_or_else(|| PyValueError::new_err("the capture has ended"))?;
            let summary =
                capture.finish(end).map_err(|error| UnavailableError::new_err(error.to_string()))?;
            serde_json::to_string(&summary).map_err(value_error)
        })
    }
}
