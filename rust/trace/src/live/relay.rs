//! Relay files of blktrace, as they grow.

use crate::blktrace::{Interpreter, Record, RecordLayout};
use crate::block_event::BlockEvent;
use crate::tally::{Place, Tally};

use super::places::Places;

#[derive(Default)]
struct Stream {
    position: u64,
    /// The beginning of a record whose rest has not come yet.
    rest: Vec<u8>,
}

/// The files of all processors.
pub(super) struct Relay {
    streams: Vec<Stream>,
    interpreter: Interpreter,
}

impl Relay {
    pub fn new(places: &mut Places) -> Self {
        let mut interpreter = Interpreter::new();
        places.number_disks(|disk| interpreter.device(disk).ok());
        Self { streams: Vec::new(), interpreter }
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
    ) {
        if self.streams.len() <= file {
            self.streams.resize_with(file + 1, Stream::default);
        }
        let stream = &mut self.streams[file];
        stream.rest.extend_from_slice(bytes);
        let mut at = 0;
        loop {
            let here = &stream.rest[at..];
            let position = stream.position + at as u64;
            let taken = match record_at(here) {
                Found::Nothing => break,
                Found::Damage => {
                    tally.damage(file, Place::Byte(position), "no record where one should be");
                    1 + here[1..].windows(4).position(|magic| RecordLayout::at(magic).is_some()).unwrap_or(0)
                }
                Found::Record(layout, length) => {
                    let header_bytes = layout.header_bytes().unwrap_or(length);
                    let mut header = layout.decode(&here[..header_bytes]);
                    header.device = places.disk_of(header.device);
                    let payload = here[header_bytes..length].to_vec();
                    let record = Record { header, layout, payload, file, position };
                    events.extend(self.interpreter.event_of(&record, tally));
                    length
                }
            };
            at += taken;
        }
        stream.rest.drain(..at);
        stream.position += at as u64;
    }
}

enum Found {
    Nothing,
    Damage,
    Record(RecordLayout, usize),
}

fn record_at(bytes: &[u8]) -> Found {
    if bytes.len() < 4 {
        return Found::Nothing;
    }
    let Some((layout, header_bytes)) =
        RecordLayout::at(bytes).and_then(|layout| Some((layout, layout.header_bytes()?)))
    else {
        return Found::Damage;
    };
    let Some(header) = bytes.get(..header_bytes) else { return Found::Nothing };
    let length = header_bytes + usize::from(layout.decode(header).payload_bytes);
    if bytes.len() < length { Found::Nothing } else { Found::Record(layout, length) }
}
