//! One I/O of a trace, whatever format it comes from.

use serde::Deserialize;

/// What a traced I/O did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum TracedOperation {
    /// From the device.
    Read,
    /// To the device.
    Write,
    /// Deallocate, discard, unmap.
    Trim,
    /// Makes the volatile cache durable; without place and length.
    Flush,
    /// Zeroes without a transfer of data.
    WriteZeroes,
    /// A write whose place the device chooses.
    ZoneAppend,
    /// A zone is emptied.
    ZoneReset,
    /// Anything else that is known to be no access of data; kept for counts, never replayed.
    Other,
}

impl TracedOperation {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Read,
        Self::Write,
        Self::Trim,
        Self::Flush,
        Self::WriteZeroes,
        Self::ZoneAppend,
        Self::ZoneReset,
        Self::Other,
    ];

    /// The word for messages and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::Flush => "flush",
            Self::WriteZeroes => "write_zeroes",
            Self::ZoneAppend => "zone_append",
            Self::ZoneReset => "zone_reset",
            Self::Other => "other",
        }
    }

    /// Whether data are transferred.
    #[must_use]
    pub const fn transfers(self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::ZoneAppend)
    }
}

/// A set of bits, each with a name.
macro_rules! bits {
    ($(#[$doc:meta])* $name:ident: $type:ty { $($(#[$bit_doc:meta])* $bit:ident = $value:expr;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name(pub $type);

        impl $name {
            /// Without any.
            pub const NONE: Self = Self(0);
            $($(#[$bit_doc])* pub const $bit: Self = Self($value);)*

            /// Whether all of these are set.
            #[must_use]
            pub const fn has(self, others: Self) -> bool {
                self.0 & others.0 == others.0
            }

            /// With these as well.
            #[must_use]
            pub const fn with(self, others: Self) -> Self {
                Self(self.0 | others.0)
            }
        }
    };
}

bits! {
    /// How it was asked for.
    Flags: u16 {
        /// The issuer waits for it.
        SYNC = 1;
        /// Through to the media (force unit access).
        FUA = 1 << 1;
        /// A flush goes before it.
        PREFLUSH = 1 << 2;
        /// Of a file system's own data.
        META = 1 << 3;
        /// Read before it is asked for.
        READ_AHEAD = 1 << 4;
        /// Work in the background: no program waits for it.
        BACKGROUND = 1 << 5;
        /// With a priority above the others.
        PRIORITY = 1 << 6;
    }
}

bits! {
    /// What of it was not in the source as it stands here.
    Quality: u8 {
        /// The moment of issue was made: equal stamps were spread, or it is completion less latency.
        TIME_SYNTHETIC = 1;
        /// The latency has the resolution of a coarse clock.
        LATENCY_QUANTIZED = 1 << 1;
        /// The operation was inferred.
        OPERATION_INFERRED = 1 << 2;
        /// The length was rounded.
        LENGTH_ROUNDED = 1 << 3;
        /// It is part of a request that was merged.
        PART_OF_MERGE = 1 << 4;
        /// It is part of one that was split.
        SPLIT = 1 << 5;
    }
}

/// How it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// As it should, or the source says nothing of it.
    #[default]
    Done,
    /// With this error number (errno, positive).
    Failed(u16),
    /// Its completion is not in a source that has those of others.
    NoCompletionSeen,
}

/// The process is not known.
pub const NO_PROCESS: i32 = -1;
/// The processor is not known.
pub const NO_PROCESSOR: i16 = -1;

/// One I/O. Times are ns of the source's clock until the trace is put in order, and from then on since its first
/// I/O. Names are numbers in the dictionaries of [`SourceFacts`](super::SourceFacts).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedIo {
    /// When it was issued.
    pub issued_ns: i64,
    /// When it was completed, by the same clock.
    pub completed_ns: Option<i64>,
    /// What it did.
    pub operation: TracedOperation,
    /// First byte on its device; 0 for a flush.
    pub offset_bytes: u64,
    /// Number of bytes; 0 for a flush.
    pub length_bytes: u64,
    /// How it was asked for.
    pub flags: Flags,
    /// Number of its device.
    pub device: u16,
    /// Ordering domain: I/Os of one are replayed in order. The device, unless the source knows better.
    pub domain: u16,
    /// Process that issued it, or [`NO_PROCESS`].
    pub pid: i32,
    /// Number of that process's name; 0 is the empty name.
    pub command: u16,
    /// Processor that issued it, or [`NO_PROCESSOR`].
    pub cpu: i16,
    /// How it ended.
    pub status: Status,
    /// What of this is not the source's own word.
    pub quality: Quality,
    /// Where it is in the source: line number, or byte offset.
    pub source_position: u64,
}

impl TracedIo {
    /// One of whose issue only the moment and the place are known, on the first device.
    #[must_use]
    pub const fn new(
        issued_ns: i64,
        operation: TracedOperation,
        offset_bytes: u64,
        length_bytes: u64,
        source_position: u64,
    ) -> Self {
        Self {
            issued_ns,
            completed_ns: None,
            operation,
            offset_bytes,
            length_bytes,
            flags: Flags::NONE,
            device: 0,
            domain: 0,
            pid: NO_PROCESS,
            command: 0,
            cpu: NO_PROCESSOR,
            status: Status::Done,
            quality: Quality::NONE,
            source_position,
        }
    }

    /// From issue to completion.
    #[must_use]
    pub fn latency_ns(&self) -> Option<u64> {
        self.completed_ns
            .and_then(|completed_ns| u64::try_from(completed_ns.checked_sub(self.issued_ns)?).ok())
    }

    /// Byte after the last one.
    #[must_use]
    pub const fn end_bytes(&self) -> u64 {
        self.offset_bytes.saturating_add(self.length_bytes)
    }
}
