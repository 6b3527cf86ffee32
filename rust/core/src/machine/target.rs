//! The open target.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;

use rustix::fs::{FileType, OFlags, Stat, fcntl_getfl, fstat};

use super::device_files::DeviceFiles;

/// What a target is, as far as the way to it depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A drive, a partition, a loop device ...
    BlockDevice,
    /// A file of a file system.
    RegularFile,
    /// An NVMe namespace's generic character device, which takes commands and neither reads nor writes.
    NvmeGeneric,
    /// Another character device, as `/dev/zero`.
    CharacterDevice,
    /// A pipe, a socket ...
    Other,
}

impl TargetKind {
    /// The words for messages and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BlockDevice => "block device",
            Self::RegularFile => "regular file",
            Self::NvmeGeneric => "NVMe generic device",
            Self::CharacterDevice => "character device",
            Self::Other => "other",
        }
    }
}

/// A descriptor of our own onto a file or device that the caller has opened. The engine opens nothing:
/// who may write to what is decided elsewhere.
#[derive(Debug)]
pub struct Target {
    descriptor: OwnedFd,
    kind: TargetKind,
    /// What sysfs tells of it, if it is a device.
    files: Option<DeviceFiles>,
}

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
        let descriptor = borrowed.try_clone_to_owned()?;
        let (kind, files) = classify(&fstat(&descriptor)?, Path::new("/sys"));
        Ok(Self { descriptor, kind, files })
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> TargetKind {
        self.kind
    }

    /// Its size, where it has one: a character device has none.
    #[must_use]
    pub fn capacity_bytes(&self) -> Option<u64> {
        match self.kind {
            TargetKind::RegularFile => {
                fstat(&self.descriptor).ok().and_then(|status| u64::try_from(status.st_size).ok())
            }
            _ => self.files.as_ref()?.capacity_bytes(),
        }
    }

    /// Whether it was opened for direct I/O, past the page cache.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        fcntl_getfl(&self.descriptor).is_ok_and(|flags| flags.contains(OFlags::DIRECT))
    }

    /// A number among the attributes of the device's queue: `io_poll`, `discard_max_bytes` ...
    pub(super) fn queue_attribute(&self, name: &str) -> Option<u64> {
        self.files.as_ref()?.queue_attribute(name)
    }

    /// The kernel's numbers of reads and writes that the driver has, where it counts what goes this way.
    #[must_use]
    pub fn driver_counts(&self) -> Option<File> {
        let counts = match self.kind {
            TargetKind::BlockDevice => "iostats",
            _ => "iostats_passthrough",
        };
        let files = self.files.as_ref().filter(|files| files.queue_attribute(counts) == Some(1))?;
        files.open("inflight").ok()
    }

    /// The descriptor itself.
    #[must_use]
    pub fn into_descriptor(self) -> OwnedFd {
        self.descriptor
    }

    /// Another descriptor for the same target.
    pub(super) fn try_clone_descriptor(&self) -> io::Result<OwnedFd> {
        self.descriptor.try_clone()
    }
}

fn classify(status: &Stat, sysfs: &Path) -> (TargetKind, Option<DeviceFiles>) {
    match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile => (TargetKind::RegularFile, None),
        FileType::BlockDevice => (TargetKind::BlockDevice, DeviceFiles::of_block(sysfs, status.st_rdev)),
        FileType::CharacterDevice => match DeviceFiles::of_nvme_generic(sysfs, status.st_rdev) {
            Some(files) => (TargetKind::NvmeGeneric, Some(files)),
            None => (TargetKind::CharacterDevice, None),
        },
        _ => (TargetKind::Other, None),
    }
}

impl AsFd for Target {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl AsRawFd for Target {
    fn as_raw_fd(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }
}

// System calls that Miri does not know.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;

    #[test]
    fn a_number_that_is_no_descriptor_is_refused() {
        assert!(Target::duplicate(-1).is_err());
        assert!(Target::duplicate(1_000_000).is_err());
    }

    #[test]
    fn kinds_are_told_apart() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[0; 700]).unwrap();
        let zero = File::open("/dev/zero").unwrap();
        let (pipe, _writer) = io::pipe().unwrap();
        for (descriptor, kind, capacity_bytes) in [
            (file.as_raw_fd(), TargetKind::RegularFile, Some(700)),
            (zero.as_raw_fd(), TargetKind::CharacterDevice, None),
            (pipe.as_raw_fd(), TargetKind::Other, None),
        ] {
            let target = Target::duplicate(descriptor).unwrap();
            assert_eq!((target.kind(), target.capacity_bytes()), (kind, capacity_bytes));
            assert!(!target.is_direct());
        }
    }
}
