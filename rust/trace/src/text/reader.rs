//! What all readers of lines have in common.

use super::lines::{Line, Lines, TOO_LONG};
use crate::error::TraceError;
use crate::reader::{BATCH_IOS, SourceFacts, TraceReader};
use crate::source::Source;
use crate::tally::{DamageClass, Place, Tally};
use crate::traced_io::TracedIo;

/// What a line without anything is counted as.
pub(super) const BLANK: &str = "blank line";

/// Makes I/Os of lines.
pub(super) trait LineReader: Send {
    /// One line that is neither blank nor too long: counts it, and appends what becomes of it.
    fn line(
        &mut self,
        line: Line<'_>,
        batch: &mut Vec<TracedIo>,
        tally: &mut Tally,
    ) -> Result<(), TraceError>;

    /// After the last line: appends what was held back.
    fn finish(&mut self, _batch: &mut Vec<TracedIo>, _tally: &mut Tally) -> Result<(), TraceError> {
        Ok(())
    }

    fn facts(&self) -> SourceFacts;
}

/// Counts a line that can't be used.
#[cold]
pub(super) fn damage(line: Line<'_>, class: DamageClass, tally: &mut Tally) {
    tally.damage(line.file, Place::Line(line.number), line.damage_class(class));
}

/// Reads the lines of all sources by one reader of lines.
pub(super) struct TextReader<L> {
    lines: Lines,
    by: L,
    is_in_file: bool,
    is_finished: bool,
}

impl<L: LineReader + 'static> TextReader<L> {
    pub(super) fn boxed(sources: Vec<Source>, by: L) -> Box<dyn TraceReader> {
        Box::new(Self { lines: Lines::new(sources), by, is_in_file: false, is_finished: false })
    }
}

impl<L: LineReader> TraceReader for TextReader<L> {
    fn read(&mut self, batch: &mut Vec<TracedIo>, tally: &mut Tally) -> Result<bool, TraceError> {
        if self.is_finished {
            return Ok(false);
        }
        // A batch is of one file, so that damage that is found later has its place.
        if !self.is_in_file && !self.lines.next_file()? {
            self.is_finished = true;
            self.by.finish(batch, tally)?;
            return Ok(true);
        }
        self.is_in_file = true;
        for _ in 0..BATCH_IOS {
            let Some(line) = self.lines.next()? else {
                self.is_in_file = false;
                break;
            };
            if line.is_too_long {
                tally.damage(line.file, Place::Line(line.number), TOO_LONG);
            } else if line.text.iter().all(u8::is_ascii_whitespace) {
                tally.skip(BLANK);
            } else {
                self.by.line(line, batch, tally)?;
            }
        }
        Ok(true)
    }

    fn facts(&self) -> SourceFacts {
        self.by.facts()
    }

    fn current_file(&self) -> usize {
        self.lines.file()
    }
}
