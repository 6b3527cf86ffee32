//! The open target.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// A descriptor of our own onto a file or device that the caller has opened. The engine opens nothing:
/// who may write to what is decided elsewhere.
#[derive(Debug)]
pub struct Target(OwnedFd);

impl Target {
    /// Duplicate a descriptor; the caller may close his at any time.
    ///
    /// # Errors
    /// If the number is no open descriptor, or the process has too many.
    pub fn duplicate(descriptor: RawFd) -> io::Result<Self> {
        if descriptor < 0 {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        }
        // SAFETY: the borrow lasts for one system call, which answers EBADF if the number is not open.
        let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
        borrowed.try_clone_to_owned().map(Self)
    }
}

impl AsFd for Target {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Target {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
