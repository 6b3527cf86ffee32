//! What a session is made for.

use std::fmt;
use std::sync::Arc;

use super::completion_wait::CompletionWait;
use super::error::EngineError;
use crate::capture::Files;
use crate::machine::IoPath;
use crate::workload::{Carried, Limits};

/// What a session is made for.
#[derive(Debug)]
pub struct Configuration {
    /// Size of the target and of the largest stimulus.
    pub limits: Limits,
    /// Seed of offsets, mix and payload.
    pub seed: u64,
    /// Length of an interval.
    pub interval_ns: u64,
    /// Whether each interval gets histograms of its own.
    pub interval_histograms: bool,
    /// The way to the target.
    pub path: IoPath,
    /// How the threads wait for completions.
    pub completion_wait: CompletionWait,
    /// Processors that the threads are pinned to, in turn; none: wherever the scheduler puts them.
    pub cpus: Vec<usize>,
    /// I/Os that may fail before the session does.
    pub most_errors: u64,
    /// Whether reads that fail, or bring other data than were written, are counted without end.
    pub over_read_errors: bool,
    /// The latency from which an I/O is noted by itself, if any is.
    pub slow_io_ns: Option<u64>,
    /// Where every single I/O is written, if anywhere.
    pub capture: Option<CaptureOrder>,
    /// Where an earlier session under the same seed stopped, to go on there.
    pub resumed: Option<Resumed>,
}

/// Where earlier sessions of an interrupted run stopped.
#[derive(Clone, Debug)]
pub struct Resumed {
    /// Sessions so far: data that they wrote are not written again.
    pub interruptions: u32,
    /// Each thread's streams, as a [step](super::StepResult::carried) left them; `None` before the first.
    pub carried: Option<Vec<Carried>>,
}

impl Resumed {
    /// With the streams as [`carried_json`] has written them; empty before the first step.
    ///
    /// # Errors
    /// If the text is none of these.
    pub fn parse(interruptions: u32, carried: &str) -> Result<Self, EngineError> {
        let carried = match carried {
            "" => None,
            text => Some(serde_json::from_str(text).map_err(|_| EngineError::OtherStreams)?),
        };
        Ok(Self { interruptions, carried })
    }
}

/// The streams of all threads as text for a record.
///
/// # Panics
/// Never: they are integers in arrays and objects.
#[must_use]
pub fn carried_json(carried: &[Carried]) -> String {
    serde_json::to_string(carried).expect("integers can be written")
}

/// Where every single I/O goes.
#[derive(Clone)]
pub struct CaptureOrder {
    /// What makes the capture's files.
    pub files: Arc<dyn Files>,
    /// What all offsets are multiples of: the sector, or more where the program is known to be aligned.
    pub lba_bytes: u32,
}

impl fmt::Debug for CaptureOrder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CaptureOrder").field("lba_bytes", &self.lba_bytes).finish_non_exhaustive()
    }
}
