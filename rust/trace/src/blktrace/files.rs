//! Files of records, each in the order of its processor, as one sequence.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::io::ErrorKind;

use crate::error::TraceError;
use crate::source::Source;
use crate::tally::Tally;

use super::stream::{Record, RecordStream};

/// Time, processor, sequence, file.
type MergeKey = (u64, u32, u32, usize);

/// All of them, merged by time, processor and sequence.
pub(super) struct RecordFiles {
    files: Vec<(Source, RecordStream)>,
    version: Option<u8>,
    /// Of the next record of each file.
    order: BinaryHeap<Reverse<MergeKey>>,
    has_begun: bool,
}

impl RecordFiles {
    pub fn new(sources: Vec<Source>) -> Self {
        let file = |(number, source)| (source, RecordStream::new(number));
        let files = sources.into_iter().enumerate().map(file).collect();
        Self { files, version: None, order: BinaryHeap::new(), has_begun: false }
    }

    /// The next record of all files.
    pub fn next(&mut self, tally: &mut Tally) -> Result<Option<Record<'_>>, TraceError> {
        if !self.has_begun {
            self.has_begun = true;
            for (source, stream) in &mut self.files {
                self.order.extend(next_of(source, stream, &mut self.version, tally)?);
            }
        } else if let Some(mut last) = self.order.peek_mut() {
            // It was the first of all: what follows it in its file takes its place.
            let (source, stream) = &mut self.files[last.0.3];
            match next_of(source, stream, &mut self.version, tally)? {
                Some(next) => *last = next,
                None => drop(PeekMut::pop(last)),
            }
        }
        let Some(Reverse((.., file))) = self.order.peek() else { return Ok(None) };
        Ok(self.files[*file].1.take())
    }
}

/// Of the next record of a file, if there is one.
fn next_of(
    source: &mut Source,
    stream: &mut RecordStream,
    version: &mut Option<u8>,
    tally: &mut Tally,
) -> Result<Option<Reverse<MergeKey>>, TraceError> {
    let refused = |why| TraceError::Refused(format!("can't read {}: {why}", source.path.display()));
    loop {
        if let Some(header) = stream.next(version, tally).map_err(refused)? {
            return Ok(Some(Reverse((header.time_ns, header.cpu, header.sequence, stream.file()))));
        }
        let length = match source.bytes.fill_buf() {
            Ok(bytes) => {
                stream.extend(bytes);
                bytes.len()
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(TraceError::File { path: source.path.clone(), source: error }),
        };
        if length == 0 {
            stream.end(tally);
            return Ok(None);
        }
        source.bytes.consume(length);
    }
}
