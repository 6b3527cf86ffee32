//! Runs a program of steps on warm threads, without idle time between the steps.
//!
//! ```text
//! submit -> barrier -> worker x TC ------> part -> collector -> poll
//!           starts    step_pass: queue,  tally    pending:     intervals
//!           a step    slots, pace,       and      merges       and steps
//!           for all   stream, data       outcome  the parts
//! ```

mod account;
mod answer;
mod barrier;
mod collector;
mod completion_wait;
mod configuration;
mod context;
mod cpu;
mod error;
mod outcome;
mod output;
mod overhead;
mod pace;
mod pending;
mod playback;
mod progress;
mod reports;
mod result;
mod session;
mod shared;
mod signals;
mod slots;
mod slow;
mod standstill;
mod steady;
mod step_pass;
mod tally;
mod threads;
mod worker;

pub use completion_wait::CompletionWait;
pub use configuration::{CaptureOrder, Configuration, Resumed, carried_json};
pub use cpu::CpuShares;
pub use error::{EngineError, NO_CAPTURE};
pub use outcome::{EndedBy, ErrorTally, Failure, StepState};
pub use overhead::Overhead;
pub use progress::Progress;
pub use result::{IntervalResult, OperationResult, Report, Spent, StepResult, StreamResult};
pub use session::Session;
pub use slots::Outstanding;
pub use slow::{AtDriver, SlowIo};
pub use standstill::{Standstill, WatchedTime};
pub use tally::ChoiceCounts;

// Knows nothing of threads: the host of simulated drives counts and judges with the same.
pub use account::{Answers, StepAccount};
pub use outcome::Outcome;
pub use reports::Reports;
pub use tally::Tally;
