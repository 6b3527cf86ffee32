//! Runs a program of steps on warm threads, without idle time between the steps.
//!
//! ```text
//! submit -> gate -> worker x TC -> shard -> collector -> poll
//!           starts    ring,         one       merges      one result
//!           a step    stream        thread's              per step
//!           for all                 counts
//! ```

mod collector;
mod cpu;
mod gate;
mod progress;
mod session;
mod shard;
mod worker;

pub use collector::{DirectionResult, IntervalResult, StepResult};
pub use cpu::CpuShares;
pub use progress::Progress;
pub use session::{Configuration, EngineError, Session};
pub use shard::{Failure, StepState};
