//! The end of a session from which its reports are taken.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::error::EngineError;
use super::result::Report;

/// Reports in their order, for the caller that asks first.
#[derive(Debug)]
pub struct Reports(Mutex<Receiver<Report>>);

impl Reports {
    /// Reports that come through this channel.
    pub const fn new(reports: Receiver<Report>) -> Self {
        Self(Mutex::new(reports))
    }

    /// Wait for the next report, no longer than `timeout`; `None` if there is none.
    ///
    /// # Errors
    /// When nothing more will come.
    pub fn poll(&self, timeout: Duration) -> Result<Option<Report>, EngineError> {
        let reports = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match reports.recv_timeout(timeout) {
            Ok(report) => Ok(Some(report)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(EngineError::Stopped),
        }
    }
}
