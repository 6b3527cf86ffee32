//! What a trace in order says about itself.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::facts::{Level, SourceFacts, TracedDevice};
use super::tally::Tally;

/// What timing a trace can support.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FidelityClass {
    /// Issue to the microsecond, and completions.
    A,
    /// Issue to the microsecond.
    B,
    /// Times are coarser than a microsecond.
    C,
    /// Only completions have times; those of issue are derived.
    D,
    /// Without times: not to be replayed by the clock.
    X,
}

/// Coarsest step of a clock whose times are taken as they are.
pub const FINE_NS: u64 = 1000;

impl FidelityClass {
    /// Of a source.
    #[must_use]
    pub const fn of(facts: &SourceFacts) -> Self {
        match facts.resolution_ns {
            0 => Self::X,
            _ if !facts.has_issue_times => Self::D,
            resolution_ns if resolution_ns > FINE_NS => Self::C,
            _ if facts.has_completions => Self::A,
            _ => Self::B,
        }
    }

    /// In words, for messages.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::A => "issue times to 1 us or better, with completions",
            Self::B => "issue times to 1 us or better, without completions",
            Self::C => "issue times coarser than 1 us",
            Self::D => "completion times only; issue times are derived",
            Self::X => "no times; cannot be replayed by the clock",
        }
    }
}

impl fmt::Display for FidelityClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A file that a trace was made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its name without folders.
    pub name: String,
    /// Of the file as it is, compressed if it is.
    pub bytes: u64,
    /// Of the same, in hexadecimal digits.
    pub sha256: String,
}

/// Something done to a trace as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// In words.
    pub done: String,
    /// To these files.
    pub parents: Vec<SourceFile>,
}

/// A [`Tally`] as files have it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Records of the source.
    pub read: u64,
    /// Those that are I/Os, or were joined to one.
    pub accepted: u64,
    /// Those left out, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Those that could not be used, by class.
    pub damaged: BTreeMap<String, u64>,
    /// Records that the source itself has lost.
    pub lost: u64,
    /// What was done to accepted ones.
    pub notes: BTreeMap<String, u64>,
}

impl From<&Tally> for Counts {
    fn from(tally: &Tally) -> Self {
        let named = |counts: &BTreeMap<&'static str, u64>| {
            counts.iter().map(|(name, n)| ((*name).into(), *n)).collect()
        };
        Self {
            read: tally.read,
            accepted: tally.accepted,
            skipped: named(&tally.skipped),
            damaged: named(&tally.damaged),
            lost: tally.lost,
            notes: named(&tally.notes),
        }
    }
}

/// What a trace in order says about itself; complete once all of it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceHeader {
    /// Format that the trace was recorded in.
    pub format: String,
    /// Where in the stack it was taken.
    pub level: Level,
    /// What timing it can support.
    pub class: FidelityClass,
    /// Smallest step of its times, ns; 0 without times.
    pub resolution_ns: u64,
    /// Moment of its time 0, in ns since 1970 UTC, if it is known.
    pub origin_utc_ns: Option<i64>,
    /// Whether completions are in it.
    pub has_completions: bool,
    /// Whether the moments of issue were recorded, and not only those of completion.
    pub has_issue_times: bool,
    /// In the order of their numbers.
    pub devices: Vec<TracedDevice>,
    /// Names of processes, in the order of their numbers.
    pub commands: Vec<String>,
    /// What it was read from at first.
    pub sources: Vec<SourceFile>,
    /// What became of the records of those.
    pub records: Counts,
    /// What was done to the trace since then, the oldest first.
    pub changes: Vec<Change>,
}
