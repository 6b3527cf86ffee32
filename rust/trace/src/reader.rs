//! What all readers have in common.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::error::TraceError;
use super::header::TraceHeader;
use super::tally::{Place, Tally};
use super::traced_io::TracedIo;

/// I/Os that a reader adds to a batch at once, about.
pub const BATCH_IOS: usize = 8192;

/// Where in the stack a trace was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// System calls on files.
    File,
    /// Arrival of I/Os at the block layer (Q).
    Queue,
    /// Hand-over of requests to the driver (D).
    Issue,
    /// Below the driver: a hypervisor, an array, a network.
    Wire,
}

impl Level {
    /// The word for messages and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Queue => "queue",
            Self::Issue => "issue",
            Self::Wire => "wire",
        }
    }
}

/// Names with numbers, in the order in which they were met.
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    names: Vec<String>,
    numbers: HashMap<Box<[u8]>, u16>,
}

impl Dictionary {
    /// The number of a name, which gets one if it has none; `None` if there are too many.
    pub fn number(&mut self, name: &[u8]) -> Option<u16> {
        if let Some(number) = self.numbers.get(name) {
            return Some(*number);
        }
        let number = u16::try_from(self.names.len()).ok()?;
        self.names.push(String::from_utf8_lossy(name).into_owned());
        self.numbers.insert(name.into(), number);
        Some(number)
    }

    /// All names, in the order of their numbers.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// A device of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedDevice {
    /// As the source names it.
    pub name: String,
    /// If the source tells.
    pub capacity_bytes: Option<u64>,
    /// If the source tells.
    pub sector_bytes: Option<u32>,
}

/// What a source says about itself. Complete once the reader has ended: devices and names come with the records.
#[derive(Clone, Debug)]
pub struct SourceFacts {
    /// Name of the format, as `--format` takes it.
    pub format: &'static str,
    /// Where in the stack.
    pub level: Level,
    /// Smallest step of its times; 1 for nanoseconds, 0 for a source without times.
    pub resolution_ns: u64,
    /// Wall-clock time at which its own clock was 0, in ns since 1970, if it tells.
    pub epoch_ns: Option<i64>,
    /// Whether completions, or latencies, are in it.
    pub has_completions: bool,
    /// Whether the moment of issue is in it, and not only that of completion.
    pub has_issue_times: bool,
    /// In the order of their numbers.
    pub devices: Vec<TracedDevice>,
    /// Names of processes, in the order of their numbers; the first is empty.
    pub commands: Vec<String>,
}

/// Reads one trace, of one or several files, once and from front to back.
pub trait TraceReader: Send {
    /// Append some I/Os to the batch, about [`BATCH_IOS`], in the order of the source; count every record.
    /// False once there are no more.
    ///
    /// # Errors
    /// If the source can't be read, or is no trace of this format at all. Damaged records are no error: they are
    /// counted.
    fn read(&mut self, batch: &mut Vec<TracedIo>, tally: &mut Tally) -> Result<bool, TraceError>;

    /// What the source says about itself, as far as it was read.
    fn facts(&self) -> SourceFacts;

    /// How far its I/Os are from the order of their times.
    fn disorder(&self) -> Disorder {
        Disorder::Near
    }

    /// Which of the sources is being read.
    fn current_file(&self) -> usize {
        0
    }

    /// What [`TracedIo::source_position`] means.
    fn place(&self, source_position: u64) -> Place {
        Place::Line(source_position)
    }

    /// What the canonical form says about the trace that it was made of.
    fn header(&self) -> Option<&TraceHeader> {
        None
    }
}

/// How far the I/Os of a source are from the order of their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disorder {
    /// In order, and its times are already those since the trace's first I/O.
    None,
    /// In order but for what was in flight together.
    Near,
    /// As far as it is long.
    Any,
}
