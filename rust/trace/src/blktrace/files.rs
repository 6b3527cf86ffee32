//! Files of records, each in the order of its processor, as one sequence.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::BufRead;
use std::path::Path;

use crate::error::TraceError;
use crate::source::Source;
use crate::tally::{Place, Tally};

use super::record::{Header, RecordLayout, VERSIONS};

/// A record with its payload and its place.
pub(crate) struct Record {
    pub header: Header,
    pub layout: RecordLayout,
    pub payload: Vec<u8>,
    pub file: usize,
    pub position: u64,
}

/// One file.
struct RecordFile {
    source: Source,
    number: usize,
    position: u64,
    layout: Option<RecordLayout>,
}

/// Time, processor, sequence, file.
type MergeKey = (u64, u32, u32, usize);

/// All of them, merged by time, processor and sequence.
pub(super) struct RecordFiles {
    files: Vec<RecordFile>,
    version: Option<u8>,
    /// The next of each file.
    next: Vec<Option<Record>>,
    order: BinaryHeap<Reverse<MergeKey>>,
    has_begun: bool,
}

impl RecordFiles {
    pub fn new(sources: Vec<Source>) -> Self {
        let file = |(number, source)| RecordFile { source, number, position: 0, layout: None };
        let files: Vec<RecordFile> = sources.into_iter().enumerate().map(file).collect();
        Self {
            next: files.iter().map(|_| None).collect(),
            files,
            version: None,
            order: BinaryHeap::new(),
            has_begun: false,
        }
    }

    /// The next record of all files.
    pub fn next(&mut self, tally: &mut Tally) -> Result<Option<Record>, TraceError> {
        if !self.has_begun {
            self.has_begun = true;
            for file in 0..self.files.len() {
                self.advance(file, tally)?;
            }
        }
        let Some(Reverse((.., file))) = self.order.pop() else { return Ok(None) };
        let record = self.next[file].take();
        self.advance(file, tally)?;
        Ok(record)
    }

    fn advance(&mut self, file: usize, tally: &mut Tally) -> Result<(), TraceError> {
        if let Some(record) = self.files[file].read(&mut self.version, tally)? {
            let header = &record.header;
            self.order.push(Reverse((header.time_ns, header.cpu, header.sequence, file)));
            self.next[file] = Some(record);
        }
        Ok(())
    }
}

impl RecordFile {
    fn read(&mut self, version: &mut Option<u8>, tally: &mut Tally) -> Result<Option<Record>, TraceError> {
        let position = self.position;
        let mut header = [0; RecordLayout::LONGEST];
        let mut got = self.fill(&mut header[..4])?;
        if got == 0 {
            return Ok(None);
        }
        let layout = match self.layout_of(&header[..got]) {
            Some(layout) => layout,
            None => {
                tally.damage(self.number, Place::Byte(position), "no record where one should be");
                match self.find_next(&mut header[..4])? {
                    Some(layout) => layout,
                    None => return Ok(None),
                }
            }
        };
        got = 4;
        let position = self.position - got as u64;
        let header_bytes = accept_version(&self.source.path, layout, version)?;
        self.layout = Some(layout);
        got += self.fill(&mut header[4..header_bytes])?;
        if got < header_bytes {
            tally.damage(self.number, Place::Byte(position), "record cut off");
            return Ok(None);
        }
        let header = layout.decode(&header);
        let mut payload = vec![0; usize::from(header.payload_bytes)];
        if self.fill(&mut payload)? < payload.len() {
            tally.damage(self.number, Place::Byte(position), "payload cut off");
            return Ok(None);
        }
        Ok(Some(Record { header, layout, payload, file: self.number, position }))
    }

    /// That of a record which begins here: the byte order never changes within a file, a version would be refused.
    fn layout_of(&self, magic: &[u8]) -> Option<RecordLayout> {
        RecordLayout::at(magic).filter(|here| self.layout.is_none_or(|first| here.has_order_of(first)))
    }

    /// Go on to the next magic number.
    fn find_next(&mut self, window: &mut [u8]) -> Result<Option<RecordLayout>, TraceError> {
        loop {
            window.rotate_left(1);
            if self.fill(&mut window[3..])? == 0 {
                return Ok(None);
            }
            if let Some(layout) = self.layout_of(window) {
                return Ok(Some(layout));
            }
        }
    }

    /// As many bytes as there are.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<usize, TraceError> {
        let got = read_all_there_is(&mut self.source.bytes, bytes);
        let got = got.map_err(|source| TraceError::File { path: self.source.path.clone(), source })?;
        self.position += got as u64;
        Ok(got)
    }
}

fn accept_version(path: &Path, layout: RecordLayout, version: &mut Option<u8>) -> Result<usize, TraceError> {
    let refuse = |why: String| Err(TraceError::Refused(format!("can't read {}: {why}", path.display())));
    let here = layout.version;
    let Some(header_bytes) = layout.header_bytes() else {
        return refuse(format!(
            "blktrace version {here}; versions {} and {} can be read",
            VERSIONS[0], VERSIONS[1]
        ));
    };
    match *version.get_or_insert(here) {
        first if first != here => refuse(format!(
            "records of blktrace versions {first} and {here} in one trace; read the files of each recording by themselves"
        )),
        _ => Ok(header_bytes),
    }
}

fn read_all_there_is(source: &mut (impl BufRead + ?Sized), bytes: &mut [u8]) -> std::io::Result<usize> {
    let mut got = 0;
    while got < bytes.len() {
        match source.read(&mut bytes[got..]) {
            Ok(0) => break,
            Ok(count) => got += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}
