//! io_uring: submission and reaping. The one room with unsafe code.
#![allow(unsafe_code)]

mod buffers;
mod target;
mod uring;
mod waker;

pub use target::Target;
pub use uring::{Completion, Ring, RingError, RingFeatures};
pub use waker::Waker;
