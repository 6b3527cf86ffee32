//! A capture without files.

use std::time::Instant;

use openpts_core::capture::{CaptureConfiguration, Closed, Files, OpenFile, Row, Waits};

/// A capture that counts its I/Os, and keeps none of them.
pub struct Counting;

impl Files for Counting {
    fn begin(&self, _: &CaptureConfiguration, _: u32) -> Result<Box<dyn OpenFile>, String> {
        Ok(Box::new(Counted(0)))
    }
}

struct Counted(u64);

impl OpenFile for Counted {
    fn ios(&self) -> u64 {
        self.0
    }

    fn began(&self) -> Instant {
        Instant::now()
    }

    fn add(&mut self, rows: &[Row], _: Waits) -> Result<(), String> {
        self.0 += rows.len() as u64;
        Ok(())
    }

    fn close(self: Box<Self>, error: Option<String>) -> Closed {
        Closed { file: None, ios: self.0, lost: 0, error }
    }
}
