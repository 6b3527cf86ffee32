//! What Python sees of errors.

use openpts_core::engine::EngineError;
use openpts_sim::Refusal;
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(_native, UnavailableError, PyOSError);
create_exception!(_native, StoppedError, PyRuntimeError);

pub(super) fn engine_error(error: EngineError) -> PyErr {
    let text = error.to_string();
    match error {
        EngineError::Stopped => StoppedError::new_err(text),
        EngineError::Program(_) | EngineError::Unsupported { .. } | EngineError::OtherStreams => {
            PyValueError::new_err(text)
        }
        EngineError::TooMuch(_)
        | EngineError::Threads { .. }
        | EngineError::Thread(_)
        | EngineError::Queue(_)
        | EngineError::Pin { .. }
        | EngineError::Capture(_) => UnavailableError::new_err(text),
    }
}

pub(super) fn refused(refusal: Refusal) -> PyErr {
    UnavailableError::new_err(refusal.0)
}

pub(super) fn value_error<E: ToString>(error: E) -> PyErr {
    PyValueError::new_err(error.to_string())
}
