//! Wakes threads that wait for I/O.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

/// An event that every queue watches. Once woken it stays so.
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

    /// End the wait of every queue that watches: the one in progress, or else its next one.
    pub fn wake(&self) {
        // Fails only when the counter is full, that is when it was woken 2^64 - 2 times before.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

impl AsRawFd for Watch {
    fn as_raw_fd(&self) -> RawFd {
        self.event.as_raw_fd()
    }
}

impl AsRawFd for Waker {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// How a queue watches a waker where the kernel does not do it for the queue. It reports the event once.
#[derive(Debug)]
pub(super) struct Watch {
    event: OwnedFd,
    reported: bool,
}

impl Watch {
    pub(super) fn new(waker: &Waker) -> io::Result<Self> {
        Ok(Self { event: waker.0.try_clone()?, reported: false })
    }

    /// Whether the waker was woken and no wait has ended for it yet.
    pub(super) fn strikes(&mut self) -> bool {
        self.strikes_within(Some(Duration::ZERO))
    }

    /// The same, but wait for it: for that long, or without end.
    pub(super) fn strikes_within(&mut self, timeout: Option<Duration>) -> bool {
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        });
        let interest = if self.reported { PollFlags::empty() } else { PollFlags::IN };
        let mut files = [PollFd::from_borrowed_fd(self.event.as_fd(), interest)];
        let woken = poll(&mut files, timeout.as_ref()).is_ok_and(|ready| ready > 0);
        self.reported |= woken;
        woken
    }

    /// Another wait has ended for it.
    pub(super) fn dismiss(&mut self) {
        self.reported = true;
    }
}
