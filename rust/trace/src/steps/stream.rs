//! Streams as captures count them: a kind of access, not an ordering domain.

use std::fmt;

use crate::traced_io::TracedOperation;

/// The operations that streams tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// From the device.
    Read,
    /// To the device; zone appends, too.
    Write,
    /// Deallocations.
    Trim,
    /// Flushes.
    Flush,
    /// Zeroes without data.
    Zeroes,
    /// What else there is.
    Other,
}

impl Kind {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 6] = [Self::Read, Self::Write, Self::Trim, Self::Flush, Self::Zeroes, Self::Other];

    /// Of an operation.
    #[must_use]
    pub const fn of(operation: TracedOperation) -> Self {
        match operation {
            TracedOperation::Read => Self::Read,
            TracedOperation::Write | TracedOperation::ZoneAppend => Self::Write,
            TracedOperation::Trim => Self::Trim,
            TracedOperation::Flush => Self::Flush,
            TracedOperation::WriteZeroes => Self::Zeroes,
            TracedOperation::ZoneReset | TracedOperation::Other => Self::Other,
        }
    }

    /// The word for files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::Flush => "flush",
            Self::Zeroes => "zeroes",
            Self::Other => "other",
        }
    }

    /// Whether it is random or sequential.
    #[must_use]
    pub const fn has_pattern(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}

/// Whether an I/O goes on where the one before it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pattern {
    /// It does not.
    Random,
    /// It does.
    Sequential,
    /// Neither can be said of this kind.
    None,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Random, Self::Sequential, Self::None];

    /// The word for files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "rnd",
            Self::Sequential => "seq",
            Self::None => "na",
        }
    }
}

/// A kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stream {
    /// What is done.
    pub kind: Kind,
    /// By [`SEQUENTIAL_RULE`](super::SEQUENTIAL_RULE).
    pub pattern: Pattern,
    /// Length of its I/Os, or the largest length of several.
    pub size_bytes: u64,
    /// Whether it has I/Os of several lengths, up to its own and above half of it.
    pub is_binned: bool,
}

impl Stream {
    /// The one that takes in this one and others of similar length.
    pub(crate) fn binned(self) -> Self {
        let size_bytes = self.size_bytes.checked_next_power_of_two().unwrap_or(u64::MAX);
        Self { size_bytes, is_binned: true, ..self }
    }
}

/// `RND 4K W`, `SEQ 128K R`, `TRIM 64M`, `FLUSH`; of several lengths `RND <=64K W`.
impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = if self.is_binned { "<=" } else { "" };
        let size = Size(self.size_bytes);
        let pattern = if self.pattern == Pattern::Sequential { "SEQ" } else { "RND" };
        match self.kind {
            Kind::Read => write!(f, "{pattern} {bound}{size} R"),
            Kind::Write => write!(f, "{pattern} {bound}{size} W"),
            Kind::Trim => write!(f, "TRIM {bound}{size}"),
            Kind::Zeroes => write!(f, "ZEROES {bound}{size}"),
            Kind::Flush => f.write_str("FLUSH"),
            Kind::Other => f.write_str("OTHER"),
        }
    }
}

/// A length in the largest unit of which it is a multiple; sectors are halves of a KiB.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0;
        for (shift, unit) in [(40, "T"), (30, "G"), (20, "M"), (10, "K")] {
            if bytes > 0 && bytes.trailing_zeros() >= shift {
                return write!(f, "{}{unit}", bytes >> shift);
            }
        }
        if bytes > 0 && bytes.is_multiple_of(512) {
            return write!(f, "{}.5K", bytes >> 10);
        }
        write!(f, "{bytes}B")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_streams() {
        let name =
            |kind, pattern, size_bytes| Stream { kind, pattern, size_bytes, is_binned: false }.to_string();
        assert_eq!(name(Kind::Write, Pattern::Random, 4096), "RND 4K W");
        assert_eq!(name(Kind::Read, Pattern::Sequential, 128 << 10), "SEQ 128K R");
        assert_eq!(name(Kind::Write, Pattern::Random, 512), "RND 0.5K W");
        assert_eq!(name(Kind::Write, Pattern::Random, 3584), "RND 3.5K W");
        assert_eq!(name(Kind::Read, Pattern::Random, 100), "RND 100B R");
        assert_eq!(name(Kind::Trim, Pattern::None, 64 << 20), "TRIM 64M");
        assert_eq!(name(Kind::Flush, Pattern::None, 0), "FLUSH");
        let odd = Stream { kind: Kind::Read, pattern: Pattern::Random, size_bytes: 5000, is_binned: false };
        assert_eq!(odd.binned().to_string(), "RND <=8K R");
    }
}
