//! Wakes threads that wait in io_uring.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::event::{EventfdFlags, eventfd};

/// An event that every ring watches. Once woken it stays so.
#[derive(Debug)]
pub struct Waker(OwnedFd);

impl Waker {
    /// A waker that sleeps.
    ///
    /// # Errors
    /// If the process has too many open files.
    pub fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// End the waits of all threads, now and in future.
    pub fn wake(&self) {
        // Fails only when the counter is full, that is when it was woken 2^64 - 2 times before.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

impl AsRawFd for Waker {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
