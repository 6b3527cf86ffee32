//! The kinds of I/O, and one access of them.

use serde::Deserialize;

/// What an I/O does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Operation {
    /// From the device.
    Read,
    /// To the device.
    Write,
    /// Tells the device that the data are not needed any more (deallocate, discard, unmap).
    Trim,
    /// Makes the device's volatile cache durable; a file's data as well.
    Flush,
    /// As a flush, and a file's metadata as well.
    Fsync,
}

impl Operation {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::Read, Self::Write, Self::Trim, Self::Flush, Self::Fsync];

    /// The word for messages and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::Flush => "flush",
            Self::Fsync => "fsync",
        }
    }

    /// Whether it has a place and a length; a flush concerns the whole target.
    #[must_use]
    pub const fn is_addressed(self) -> bool {
        !matches!(self, Self::Flush | Self::Fsync)
    }
}

/// Which of a stimulus's several sizes and access ranges an access is of, so that counting it need not
/// find out from its length and place. Numbers begin at 1; 0 where there is nothing to choose among.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Number of the block size, in the stimulus's order.
    pub size: u8,
    /// Number of the zone, in the stimulus's order.
    pub zone: u8,
}

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// What to do.
    pub operation: Operation,
    /// First byte; 0 for a flush.
    pub offset_bytes: u64,
    /// Number of bytes; 0 for a flush.
    pub length_bytes: u32,
    /// What it was dealt.
    pub choice: Choice,
    /// A write that is answered when it is on the media (force unit access).
    pub fua: bool,
    /// The placement handle that a write names (NVMe flexible data placement).
    pub handle: Option<u16>,
    /// A write that is on the media wholly or not at all, also after a loss of power (`RWF_ATOMIC`).
    pub atomic: bool,
}

impl Io {
    /// An access of a stimulus that leaves no choice.
    #[must_use]
    pub const fn new(operation: Operation, offset_bytes: u64, length_bytes: u32) -> Self {
        Self {
            operation,
            offset_bytes,
            length_bytes,
            choice: Choice { size: 0, zone: 0 },
            fua: false,
            handle: None,
            atomic: false,
        }
    }
}

/// One value for each operation.
#[derive(Clone, Debug, Default)]
pub struct ByOperation<T>([T; Operation::ALL.len()]);

impl<T> ByOperation<T> {
    /// The value of one operation.
    #[inline]
    #[must_use]
    pub const fn of(&self, operation: Operation) -> &T {
        &self.0[operation as usize]
    }

    /// The value of one operation, to change it.
    #[inline]
    pub const fn of_mut(&mut self, operation: Operation) -> &mut T {
        &mut self.0[operation as usize]
    }

    /// All values, in the order of [`Operation::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Operation, &T)> {
        Operation::ALL.into_iter().zip(&self.0)
    }

    /// Join the values of two, operation by operation.
    pub fn merge(&mut self, other: &Self, mut join: impl FnMut(&mut T, &T)) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| join(mine, theirs));
    }
}
