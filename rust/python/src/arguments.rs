//! What Python gives, as the crates take it.

use std::path::PathBuf;
use std::time::Duration;

use openpts_core::engine::CaptureOrder;
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

/// Where every single I/O goes: a folder, and what all offsets are multiples of.
#[cfg(feature = "traces")]
pub(super) fn capture_order(capture: Option<(PathBuf, u32)>) -> PyResult<Option<CaptureOrder>> {
    Ok(capture.map(|(folder, lba_bytes)| {
        let files = openpts_trace::capture::files_in(folder);
        CaptureOrder { files, lba_bytes }
    }))
}

/// Files of I/Os are written by what reads traces.
#[cfg(not(feature = "traces"))]
pub(super) fn capture_order(capture: Option<(PathBuf, u32)>) -> PyResult<Option<CaptureOrder>> {
    match capture {
        None => Ok(None),
        Some(_) => Err(super::errors::UnavailableError::new_err(
            "this build of openpts has no traces, which a capture of every I/O is: build all of it with `make setup`",
        )),
    }
}
