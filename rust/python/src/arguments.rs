//! What Python gives, as the crates take it.

use std::time::Duration;

use pyo3::prelude::*;

use super::errors::value_error;

/// How long to wait.
pub(super) fn patience(timeout_s: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(timeout_s).map_err(value_error)
}
