//! Relay files of blktrace, as they grow.

use crate::blktrace::{Interpreter, RecordStream};
use crate::block_event::BlockEvent;
use crate::error::TraceError;
use crate::tally::Tally;

use super::places::Places;

/// The files of all processors.
pub(super) struct Relay {
    streams: Vec<RecordStream>,
    version: Option<u8>,
    interpreter: Interpreter,
}

impl Relay {
    pub fn new(places: &mut Places) -> Self {
        let mut interpreter = Interpreter::new();
        places.number_disks(|disk| interpreter.device(disk).ok());
        Self { streams: Vec::new(), version: None, interpreter }
    }

    pub fn commands(&self) -> &[String] {
        self.interpreter.commands()
    }

    pub fn feed(
        &mut self,
        file: usize,
        bytes: &[u8],
        places: &Places,
        events: &mut Vec<BlockEvent>,
        tally: &mut Tally,
    ) -> Result<(), TraceError> {
        for number in self.streams.len()..=file {
            self.streams.push(RecordStream::new(number));
        }
        let stream = &mut self.streams[file];
        stream.extend(bytes);
        let refused = |why| TraceError::Refused(format!("can't read the kernel's trace buffer: {why}"));
        while stream.next(&mut self.version, tally).map_err(refused)?.is_some() {
            let Some(mut record) = stream.take() else { break };
            record.header.device = places.disk_of(record.header.device);
            events.extend(self.interpreter.event_of(&record, tally));
        }
        Ok(())
    }
}
