//! Bytes of one file, cut into records as they come.

use crate::tally::{Place, Tally};

use super::record::{Header, RecordLayout, VERSIONS};

/// A record with its payload and its place.
pub(crate) struct Record<'b> {
    pub header: Header,
    pub layout: RecordLayout,
    pub payload: &'b [u8],
    pub file: usize,
    pub position: u64,
}

/// What there is of a file so far, from the first record that was not taken yet.
pub(crate) struct RecordStream {
    file: usize,
    bytes: Vec<u8>,
    /// Where in those the record is that is next, or bytes that are none.
    at: usize,
    /// Place of the first of the bytes in the file.
    position: u64,
    layout: Option<RecordLayout>,
    /// Header and length of what is next, once all of it is there.
    next: Option<(Header, usize)>,
    /// Whether what is next is known to be no record, and counted.
    is_lost: bool,
}

impl RecordStream {
    pub const fn new(file: usize) -> Self {
        Self { file, bytes: Vec::new(), at: 0, position: 0, layout: None, next: None, is_lost: false }
    }

    /// Number of the file.
    pub const fn file(&self) -> usize {
        self.file
    }

    /// What follows in the file.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.at);
        self.position += self.at as u64;
        self.at = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The header of the next record, if all of it is there; what is no record is counted and passed over. Records of
    /// a version other than `version`, which is set by the first, are refused: the error says why.
    pub fn next(&mut self, version: &mut Option<u8>, tally: &mut Tally) -> Result<Option<&Header>, String> {
        while self.next.is_none() {
            let Some(here) = self.bytes.get(self.at..).filter(|here| here.len() >= 4) else { break };
            let Some(layout) = self.layout_of(here) else {
                self.pass_over(tally);
                continue;
            };
            let header_bytes = accept_version(layout, version)?;
            (self.layout, self.is_lost) = (Some(layout), false);
            let Some(header) = here.get(..header_bytes) else { break };
            let header = layout.decode(header);
            let length = header_bytes + usize::from(header.payload_bytes);
            if here.len() < length {
                break;
            }
            self.next = Some((header, length));
        }
        Ok(self.next.as_ref().map(|(header, _)| header))
    }

    /// The record whose header was found; the one after it is next.
    pub fn take(&mut self) -> Option<Record<'_>> {
        let (header, length) = self.next.take()?;
        let position = self.position + self.at as u64;
        self.at += length;
        let payload = &self.bytes[self.at - usize::from(header.payload_bytes)..self.at];
        Some(Record { header, layout: self.layout?, payload, file: self.file, position })
    }

    /// No more will come: count what is cut off.
    pub fn end(&mut self, tally: &mut Tally) {
        let rest = &self.bytes[self.at..];
        let class = match self.layout_of(rest).and_then(RecordLayout::header_bytes) {
            _ if rest.is_empty() || self.is_lost => return,
            None => "no record where one should be",
            Some(header_bytes) if rest.len() < header_bytes => "record cut off",
            Some(_) => "payload cut off",
        };
        tally.damage(self.file, Place::Byte(self.position + self.at as u64), class);
        self.at = self.bytes.len();
    }

    /// That of a record which begins here: the byte order never changes within a file, a version would be refused.
    fn layout_of(&self, here: &[u8]) -> Option<RecordLayout> {
        RecordLayout::at(here).filter(|here| self.layout.is_none_or(|first| here.has_order_of(first)))
    }

    /// Go on to the next magic number, as far as there are bytes.
    fn pass_over(&mut self, tally: &mut Tally) {
        if !self.is_lost {
            tally.damage(
                self.file,
                Place::Byte(self.position + self.at as u64),
                "no record where one should be",
            );
            self.is_lost = true;
        }
        let rest = &self.bytes[self.at..];
        let found = rest.windows(4).position(|here| self.layout_of(here).is_some());
        self.at += found.unwrap_or(rest.len() - 3);
    }
}

fn accept_version(layout: RecordLayout, version: &mut Option<u8>) -> Result<usize, String> {
    let here = layout.version;
    let Some(header_bytes) = layout.header_bytes() else {
        return Err(format!(
            "blktrace version {here}; versions {} and {} can be read",
            VERSIONS[0], VERSIONS[1]
        ));
    };
    match *version.get_or_insert(here) {
        first if first != here => Err(format!(
            "records of blktrace versions {first} and {here} in one trace; read the files of each recording by themselves"
        )),
        _ => Ok(header_bytes),
    }
}
