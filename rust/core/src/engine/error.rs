//! What can go wrong with a session.

use crate::capture::CaptureError;
use crate::machine::{QueueError, TooMuch, thread_limits};
use crate::workload::StimulusError;

/// Why a step is refused whose I/Os have nowhere to go.
pub const NO_CAPTURE: &str = "its I/Os are to be captured, and the engine was opened without a capture";

/// The engine can't be opened, does not take a program, or has ended.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The way to the target can't be made.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// More is wanted than the kernel allows.
    #[error(transparent)]
    TooMuch(#[from] TooMuch),
    /// What wakes the threads, or the collector of their results, could not be made.
    #[error("a thread or its waker can't be made: {0}")]
    Thread(#[source] std::io::Error),
    /// Not all threads that issue I/O could be started.
    #[error(
        "thread {number} of {threads} can't be started: {source}; {}. Raise what limits it, or lower TC or QD",
        thread_limits()
    )]
    Threads {
        /// The thread, from 1.
        number: usize,
        /// All that were to be started.
        threads: usize,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// A thread could not be pinned to its processor.
    #[error("a thread can't be pinned to processor {cpu}: {source}")]
    Pin {
        /// The processor.
        cpu: usize,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// The capture could not be begun or ended.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The program makes no sense on this target.
    #[error(transparent)]
    Program(#[from] StimulusError),
    /// What a run was interrupted with does not fit this session.
    #[error("the streams of offsets that the record holds are of another seed or number of threads")]
    OtherStreams,
    /// The path can't do what the program asks for.
    #[error("step {step}: {reason}")]
    Unsupported {
        /// Position in the program, from 1.
        step: usize,
        /// What can't be done.
        reason: String,
    },
    /// The session was stopped, or an I/O failed: it runs no more programs.
    #[error("the engine has stopped")]
    Stopped,
}
