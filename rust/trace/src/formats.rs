//! What a format is: how it is recognized, and what reads it.

use serde::Deserialize;

use super::error::TraceError;
use super::reader::{Level, TraceReader};
use super::source::Source;

/// Bytes of a source's beginning by which its format is recognized.
pub const HEAD_BYTES: usize = 1 << 16;

/// What an operator may decide where a format leaves it open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadOptions {
    /// Which of the events count as the I/O where a source has several: [`Level::Queue`] or [`Level::Issue`].
    pub from: Option<Level>,
    /// What becomes of I/Os without a direction.
    pub unknown_direction: UnknownDirection,
    /// What becomes of a log whose clock begins again.
    pub segments: Segments,
    /// Whether `wait` of a fio iolog of version 2 is relative, as the manual has it, or as fio's code does it.
    pub iolog2_wait_as_manual: bool,
    /// How the columns of a text are to be read, as TOML: for formats that have no reader of their own.
    pub column_map: Option<String>,
    /// What I/Os with equal coarse times are spread by.
    pub spread: Spread,
}

/// I/Os that may be reads or writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownDirection {
    /// Left out, and counted.
    #[default]
    Skip,
    /// Taken as reads.
    Read,
    /// Taken as writes.
    Write,
}

/// Several recordings in one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Segments {
    /// The trace is refused.
    #[default]
    Refuse,
    /// One after the other.
    Concatenate,
    /// All begin at the same moment.
    Merge,
}

/// Where I/Os that share a coarse stamp go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// Evenly over the tick.
    #[default]
    Even,
    /// All at its beginning.
    Burst,
    /// At random, by the seed.
    Poisson {
        /// Of the random numbers.
        seed: u64,
    },
}

/// A reader, unless the sources are none of its format.
pub type Opened = Result<Box<dyn TraceReader>, TraceError>;

/// A format.
pub struct Format {
    /// As `--format` takes it.
    pub name: &'static str,
    /// What it is, for lists and messages.
    pub label: &'static str,
    /// Whether a source that begins so is of this format. Not by the file's name.
    pub is_at_head: fn(&[u8]) -> bool,
    /// How near a source that begins so is to this format, above 0, and what it lacks.
    pub nearness: fn(&[u8]) -> Option<(usize, String)>,
    /// What reads it: several files are one trace, in this order.
    pub open: fn(Vec<Source>, &ReadOptions) -> Opened,
}
