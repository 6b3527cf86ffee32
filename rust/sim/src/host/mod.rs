//! The host of simulated drives: runs programs of steps in virtual time, on one thread.
//!
//! ```text
//! submit -> queue -> step_run: flows (streams, arrivals) -> slots -> drive
//!           scaled   events: what is answered, woken or due next
//!           down     intervals: counts, scaled up -> poll
//! ```

mod context;
mod ending;
mod entropy;
mod events;
mod flow;
mod halt;
mod intervals;
mod pacing;
mod queue;
mod runner;
mod scaled_program;
mod scaled_results;
mod session;
mod shared_drive;
mod step_run;

pub use session::{VirtualConfiguration, VirtualSession};
pub use shared_drive::SharedDrive;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
