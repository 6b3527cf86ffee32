//! The machine: ways to a target, the clock's counter, where threads run. The one room with unsafe code.
//!
//! ```text
//! probe -> path -> target_queue -> ring (io_uring) : file, nvme, noop    slots, buffers: who owns memory
//! which    its     one of them     positional (one system call per I/O)  waker: ends every wait
//! one?     name
//! ```
//!
//! Knows no test and no Python.
#![allow(unsafe_code)]

mod affinity;
mod buffers;
#[cfg(all(test, not(miri)))]
mod contract;
mod device_files;
mod features;
mod limits;
mod memory_rate;
mod path;
mod positional;
mod prefetch;
mod probe;
mod queue;
mod ring;
mod slots;
mod table;
mod target;
mod target_queue;
#[cfg(all(test, not(miri)))]
mod test_devices;
pub(crate) mod tsc;
mod waker;

pub use affinity::{pin_to_cpu, set_io_priority, tighten_timers, unpin};
pub use features::Features;
pub use limits::{Needs, TooMuch, thread_limits};
pub use memory_rate::{MemoryRates, memory_rates};
pub use path::{IoPath, UnknownPath};
pub use positional::Positional;
pub use prefetch::prefetch;
pub use probe::{Finding, Probe, probe};
pub use queue::{Completion, Queue, QueueError, Shape};
pub use ring::{FileCommands, NoOpCommands, NvmeCommands, Ring, TIMER_DELAY};
pub use table::{Number, Table};
pub use target::{Target, TargetKind};
pub use target_queue::TargetQueue;
pub use waker::Waker;
