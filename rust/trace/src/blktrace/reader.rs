//! Files of records become I/Os.

use crate::error::TraceError;
use crate::formats::{Opened, ReadOptions};
use crate::pairing::Pairing;
use crate::reader::{BATCH_IOS, Level, SourceFacts, TraceReader};
use crate::source::Source;
use crate::tally::{Place, Tally};
use crate::traced_io::TracedIo;

use super::files::RecordFiles;
use super::interpreter::Interpreter;

/// A reader, of one merged file or the files of all processors.
pub(super) fn open(sources: Vec<Source>, options: &ReadOptions) -> Opened {
    if let Some(level @ (Level::File | Level::Wire)) = options.from {
        let why = format!("a blktrace has no I/Os of the {} level; use queue or issue", level.name());
        return Err(TraceError::Refused(why));
    }
    Ok(Box::new(BlktraceReader {
        files: RecordFiles::new(sources),
        interpreter: Interpreter::new(),
        pairing: Pairing::new(options.from),
        has_ended: false,
    }))
}

struct BlktraceReader {
    files: RecordFiles,
    interpreter: Interpreter,
    pairing: Pairing,
    has_ended: bool,
}

impl TraceReader for BlktraceReader {
    fn read(&mut self, batch: &mut Vec<TracedIo>, tally: &mut Tally) -> Result<bool, TraceError> {
        if self.has_ended {
            return Ok(false);
        }
        let enough = batch.len() + BATCH_IOS;
        while batch.len() < enough {
            let Some(record) = self.files.next(tally)? else {
                self.has_ended = true;
                self.pairing.end(batch, tally);
                break;
            };
            if let Some(event) = self.interpreter.event_of(&record, tally) {
                self.pairing.event(&event, batch, tally);
            }
        }
        Ok(true)
    }

    fn facts(&self) -> SourceFacts {
        SourceFacts {
            format: "blktrace",
            level: self.pairing.level(),
            resolution_ns: 1,
            epoch_ns: self.interpreter.epoch_ns(),
            has_completions: self.pairing.has_completions(),
            has_issue_times: true,
            devices: self.interpreter.devices().to_vec(),
            commands: self.interpreter.commands().to_vec(),
        }
    }

    fn place(&self, source_position: u64) -> Place {
        Place::Byte(source_position)
    }
}
