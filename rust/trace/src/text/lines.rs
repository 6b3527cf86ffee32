//! Cuts sources into lines, without an allocation per line.

use std::io::Read as _;
use std::vec::IntoIter;

use crate::error::TraceError;
use crate::source::Source;
use crate::tally::DamageClass;

/// Longest line that is looked at: a file without line ends must not fill the memory.
pub(super) const LINE_BYTES_MAX: usize = 1 << 16;
const BUFFER_BYTES: usize = 1 << 18;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Class of a line that is longer than [`LINE_BYTES_MAX`].
pub(super) const TOO_LONG: DamageClass = "line of more than 65,536 bytes";

/// One line, without its end.
#[derive(Clone, Copy)]
pub(super) struct Line<'l> {
    /// Its bytes; some of them if it is too long.
    pub(super) text: &'l [u8],
    /// Number of the file among the sources.
    pub(super) file: usize,
    /// From 1.
    pub(super) number: u64,
    /// Whether it ends with a newline: the last one of a file that was cut off does not.
    pub(super) is_ended: bool,
    /// Whether it is longer than what is looked at.
    pub(super) is_too_long: bool,
}

impl Line<'_> {
    /// Why a line could not be used: what is wrong with it as a text, if anything, else this.
    pub(super) fn damage_class(&self, class: DamageClass) -> DamageClass {
        if memchr::memchr(0, self.text).is_some() {
            "NUL bytes"
        } else if std::str::from_utf8(self.text).is_err() {
            "not UTF-8"
        } else if !self.is_ended {
            "cut off at the end of the file"
        } else {
            class
        }
    }
}

/// The lines of several files, one after the other.
pub(super) struct Lines {
    waiting: IntoIter<Source>,
    source: Option<Source>,
    buffer: Vec<u8>,
    /// What of the buffer is read and not yet given out.
    begin: usize,
    end: usize,
    /// Files begun so far.
    files: usize,
    number: u64,
}

impl Lines {
    pub(super) fn new(sources: Vec<Source>) -> Self {
        Self {
            waiting: sources.into_iter(),
            source: None,
            buffer: vec![0; BUFFER_BYTES],
            begin: 0,
            end: 0,
            files: 0,
            number: 0,
        }
    }

    /// The next line of the file; `None` after the last one.
    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>, TraceError> {
        loop {
            if self.source.is_none() {
                return Ok(None);
            }
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[self.begin..self.end]) {
                return Ok(Some(self.give(length, true, length > LINE_BYTES_MAX)));
            }
            if self.end - self.begin > LINE_BYTES_MAX {
                return self.give_too_long().map(Some);
            }
            if self.fill()? == 0 {
                self.source = None;
                if self.end > self.begin {
                    return Ok(Some(self.give(self.end - self.begin, false, false)));
                }
            }
        }
    }

    /// Number of the file that lines are of.
    pub(super) fn file(&self) -> usize {
        self.files.saturating_sub(1)
    }

    /// Goes on with the next file; false after the last one.
    pub(super) fn next_file(&mut self) -> Result<bool, TraceError> {
        self.source = self.waiting.next();
        if self.source.is_none() {
            return Ok(false);
        }
        self.files += 1;
        self.number = 0;
        (self.begin, self.end) = (0, 0);
        while self.end < BYTE_ORDER_MARK.len() && self.fill()? > 0 {}
        if self.buffer[..self.end].starts_with(BYTE_ORDER_MARK) {
            self.begin = BYTE_ORDER_MARK.len();
        }
        Ok(true)
    }

    /// Reads more behind what is in the buffer; 0 at the end of the file.
    fn fill(&mut self) -> Result<usize, TraceError> {
        if self.begin > 0 {
            self.buffer.copy_within(self.begin..self.end, 0);
            self.end -= self.begin;
            self.begin = 0;
        }
        let Some(source) = &mut self.source else { return Ok(0) };
        loop {
            match source.bytes.read(&mut self.buffer[self.end..]) {
                Ok(count) => {
                    self.end += count;
                    return Ok(count);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(TraceError::File { path: source.path.clone(), source: error }),
            }
        }
    }

    fn give(&mut self, length: usize, is_ended: bool, is_too_long: bool) -> Line<'_> {
        let begin = self.begin;
        self.begin += length + usize::from(is_ended);
        self.number += 1;
        let text = &self.buffer[begin..begin + length.min(LINE_BYTES_MAX)];
        let text = if is_too_long { text } else { text.strip_suffix(b"\r").unwrap_or(text) };
        Line { text, file: self.files - 1, number: self.number, is_ended, is_too_long }
    }

    /// Passes over a line that does not fit into the buffer.
    fn give_too_long(&mut self) -> Result<Line<'_>, TraceError> {
        loop {
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[self.begin..self.end]) {
                return Ok(self.give(length, true, true));
            }
            self.begin = self.end;
            if self.fill()? == 0 {
                self.source = None;
                return Ok(self.give(self.end - self.begin, false, true));
            }
        }
    }
}

/// The complete lines at the beginning of a source, for those who decide by them what it is.
///
/// `is_whole`: whether that beginning is all of the source, so that its last line is complete.
pub(super) fn head_lines(head: &[u8], is_whole: bool) -> impl Iterator<Item = &[u8]> {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let end = if is_whole { head.len() } else { memchr::memrchr(b'\n', head).unwrap_or(0) };
    head[..end]
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.trim_ascii().is_empty())
}
