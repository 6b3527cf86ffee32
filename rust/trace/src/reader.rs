//! What all readers have in common.

use std::collections::HashMap;

use super::error::TraceError;
pub use super::facts::{Level, SourceFacts, TracedDevice};
use super::header::TraceHeader;
use super::tally::{Place, Tally};
use super::traced_io::TracedIo;

/// I/Os that a reader adds to a batch at once, about.
pub const BATCH_IOS: usize = 8192;

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
