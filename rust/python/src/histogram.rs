//! Histograms.

use openpts_core::histogram::{self, Bounds, LatencyHistogram};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

#[pyclass(name = "Histogram", module = "openpts._native")]
pub(super) struct PyHistogram(LatencyHistogram);

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

    fn bounds(&self) -> Option<(u64, u64, u64, u64, u128, u128)> {
        let Bounds { min_ns, max_ns, sum_ns } = self.0.bounds()?;
        Some((*min_ns.start(), *min_ns.end(), *max_ns.start(), *max_ns.end(), *sum_ns.start(), *sum_ns.end()))
    }

    fn value_at_percentile(&self, percentile: f64) -> u64 {
        self.0.value_at_percentile(percentile)
    }

    fn counts_up_to(&self, limits_ns: Vec<f64>) -> Vec<u64> {
        self.0.counts_up_to(limits_ns)
    }

    fn buckets(&self) -> Vec<(u64, u64, u64)> {
        self.0.buckets().map(|bucket| (bucket.lowest_ns, bucket.highest_ns, bucket.count)).collect()
    }
}
