//! Captures in steps: what was done in each slice of time, by stream and process.

mod capture;
mod depth_times;
mod file;
mod in_flight;
mod row;
mod sequence;
mod stream;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use capture::step_table;
pub use capture::{Capture, CaptureStep, StepLatencies, StepStream, read_capture};
pub use depth_times::DepthTimes;
pub(crate) use file::STEPS_KEY;
pub use file::{StepHeader, read_steps, write_steps};
pub(crate) use in_flight::InFlight;
pub use row::{ALL_DEVICES, Counts, Latencies, StepRow, Subject, coarsened};
pub use sequence::{SEQUENTIAL_RULE, Sequences, Verdict, WINDOW_RUNS, WINDOWED_RULE};
pub use stream::{Kind, Pattern, Stream};
pub use table::{Detail, StepLength, StepOptions, StepTable};
