//! What Python gives, as the crates take it.

use std::time::Duration;

use openpts_sim::Scale;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::errors::value_error;

/// How long to wait.
pub(super) fn patience(timeout_s: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(timeout_s).map_err(value_error)
}

/// How many pages one simulated page stands for.
pub(super) fn scale_of(factor: u32) -> PyResult<Scale> {
    Scale::new(factor).ok_or_else(|| PyValueError::new_err("a scale of 0 is invalid: use 1 or more"))
}
