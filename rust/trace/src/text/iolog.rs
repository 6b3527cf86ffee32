//! fio's iolog, versions 2 and 3: a line per I/O or per action on a file.

use std::collections::HashMap;

use super::lines::{Line, head_lines};
use super::number::{time, whole};
use super::reader::{LineReader, TextReader, damage};
use crate::error::TraceError;
use crate::formats::{Format, HEAD_BYTES, Opened, ReadOptions, Segments};
use crate::reader::{Level, SourceFacts, TracedDevice};
use crate::source::Source;
use crate::tally::{DamageClass, Tally};
use crate::traced_io::{Quality, TracedIo, TracedOperation};

const NAME: &str = "fio_iolog";
/// Waits below this are none, by fio's manual.
const WAIT_US_MIN: u64 = 100;

/// Version 3 has a time with each line; version 2 has waits; version 1 has neither.
pub(super) const FORMAT: Format =
    Format { name: NAME, label: "fio iolog, version 2 or 3", is_at_head, nearness, open };

fn is_at_head(head: &[u8]) -> bool {
    head_lines(head, head.len() < HEAD_BYTES).next().is_some_and(|line| version(line).is_some())
}

/// Lines as those of an iolog, of which the first is missing.
fn nearness(head: &[u8]) -> Option<(usize, String)> {
    const LINES: usize = 20;
    let lines: Vec<_> = head_lines(head, head.len() < HEAD_BYTES).take(LINES).collect();
    let has_times = |line: &&[u8]| {
        let line = line.trim_ascii_start();
        let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
        time(&line[..end], 1_000).is_ok() && entry(&line[end..]).is_ok()
    };
    let version = if lines.iter().all(has_times) { 3 } else { 2 };
    let is_one = !lines.is_empty() && (version == 3 || lines.iter().all(|line| entry(line).is_ok()));
    is_one.then(|| {
        (
            lines.len(),
            format!("its first line, 'fio version {version} iolog', is missing: write it above the others"),
        )
    })
}

fn open(sources: Vec<Source>, options: &ReadOptions) -> Opened {
    Ok(TextReader::boxed(
        sources,
        Iolog {
            version: None,
            segments: options.segments,
            waits_as_manual: options.iolog2_wait_as_manual,
            begin_ns: 0,
            now_ns: 0,
            last_ns: 0,
            has_waits: false,
            numbers: HashMap::new(),
            devices: Vec::new(),
        },
    ))
}

/// The version that a header names.
fn version(line: &[u8]) -> Option<u64> {
    let digits = line.trim_ascii().strip_prefix(b"fio version ")?.strip_suffix(b" iolog")?;
    whole(digits).ok()
}

struct Iolog {
    version: Option<u64>,
    segments: Segments,
    waits_as_manual: bool,
    /// Of the segment, in the trace's time.
    begin_ns: i64,
    /// Of version 2: when the waits so far are over.
    now_ns: i64,
    /// Of all I/Os.
    last_ns: i64,
    has_waits: bool,
    numbers: HashMap<Box<[u8]>, u16>,
    devices: Vec<TracedDevice>,
}

/// What a line is, apart from its time.
enum Entry<'l> {
    File(&'l [u8]),
    Wait(u64),
    Io {
        file: &'l [u8],
        operation: TracedOperation,
        offset_bytes: u64,
        length_bytes: u64,
        is_range_sync: bool,
    },
}

impl Iolog {
    fn header(&mut self, version: u64, line: Line<'_>) -> Result<(), TraceError> {
        if !(2..=3).contains(&version) {
            return Err(TraceError::Refused(format!(
                "cannot read an iolog of version {version}: fio writes version 3 today, record it again"
            )));
        }
        if self.version.replace(version).is_some() {
            match self.segments {
                Segments::Refuse => {
                    return Err(TraceError::Refused(format!(
                        "cannot read the iolog as one run: its clock begins again at line {} of file {}; \
                         say whether the runs follow each other (concatenate) or begin together (merge)",
                        line.number,
                        line.file + 1
                    )));
                }
                Segments::Concatenate => self.begin_ns = self.last_ns,
                Segments::Merge => self.begin_ns = 0,
            }
            self.now_ns = 0;
        }
        Ok(())
    }

    fn io(
        &mut self,
        line: Line<'_>,
        version: u64,
        tally: &mut Tally,
    ) -> Result<Option<TracedIo>, DamageClass> {
        let (stamp_ns, rest) = match version {
            2 => (None, line.text),
            _ => {
                let text = line.text.trim_ascii_start();
                let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
                (Some(time(&text[..end], 1_000)?.ns), &text[end..])
            }
        };
        let (file, operation, offset_bytes, length_bytes) = match entry(rest)? {
            Entry::File(file) => {
                self.add(file)?;
                tally.skip("file added, opened or closed");
                return Ok(None);
            }
            Entry::Wait(_) if stamp_ns.is_some() => return Err("wait in an iolog of version 3"),
            Entry::Wait(span) => {
                self.wait(span)?;
                tally.accept();
                return Ok(None);
            }
            Entry::Io { file, operation, offset_bytes, length_bytes, is_range_sync } => {
                if is_range_sync {
                    tally.note("sync_file_range or syncfs, taken as a flush");
                }
                (file, operation, offset_bytes, length_bytes)
            }
        };
        let device = *self.numbers.get(file).ok_or("I/O on a file that was never added or opened")?;
        let ns = stamp_ns.unwrap_or(self.now_ns).checked_add(self.begin_ns).ok_or("time out of range")?;
        let mut io = if operation == TracedOperation::Flush {
            TracedIo::new(ns, operation, 0, 0, line.number)
        } else {
            TracedIo::new(ns, operation, offset_bytes, length_bytes, line.number)
        };
        if stamp_ns.is_none() {
            io.quality = Quality::TIME_SYNTHETIC;
        }
        (io.device, io.domain) = (device, device);
        self.last_ns = self.last_ns.max(ns);
        Ok(Some(io))
    }

    fn add(&mut self, file: &[u8]) -> Result<(), DamageClass> {
        if !self.numbers.contains_key(file) {
            let number = u16::try_from(self.devices.len()).map_err(|_| "more than 65,536 files")?;
            self.numbers.insert(file.into(), number);
            let name = String::from_utf8_lossy(file).into_owned();
            self.devices.push(TracedDevice { name, ..TracedDevice::default() });
        }
        Ok(())
    }

    /// fio sleeps until so many ms after its start; its manual has so many us after the last wait.
    fn wait(&mut self, span: u64) -> Result<(), DamageClass> {
        const TOO_LONG: DamageClass = "wait too long";
        let unit_ns = if self.waits_as_manual { 1_000 } else { 1_000_000 };
        let span_ns = i64::try_from(span).ok().and_then(|span| span.checked_mul(unit_ns)).ok_or(TOO_LONG)?;
        self.has_waits = true;
        if !self.waits_as_manual {
            self.now_ns = self.now_ns.max(span_ns);
        } else if span >= WAIT_US_MIN {
            self.now_ns = self.now_ns.checked_add(span_ns).ok_or(TOO_LONG)?;
        }
        Ok(())
    }
}

/// `file action` or `file action offset length`, from behind: names may contain blanks.
fn entry(text: &[u8]) -> Result<Entry<'_>, DamageClass> {
    const UNKNOWN: DamageClass = "unknown action";
    let (rest, last) = cut_last(text);
    if matches!(last, b"add" | b"open" | b"close") {
        return if rest.is_empty() { Err("no file name") } else { Ok(Entry::File(rest)) };
    }
    let (rest, offset) = cut_last(rest);
    let (file, action) = cut_last(rest);
    let operation = match action {
        b"read" => TracedOperation::Read,
        b"write" => TracedOperation::Write,
        b"trim" => TracedOperation::Trim,
        b"sync" | b"datasync" | b"sync_file_range" | b"syncfs" => TracedOperation::Flush,
        b"wait" => return Ok(Entry::Wait(whole(offset)?)),
        _ => return Err(UNKNOWN),
    };
    let is_range_sync = matches!(action, b"sync_file_range" | b"syncfs");
    Ok(Entry::Io { file, operation, offset_bytes: whole(offset)?, length_bytes: whole(last)?, is_range_sync })
}

/// What is before the last field, without blanks around it, and that field.
fn cut_last(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii();
    match text.iter().rposition(u8::is_ascii_whitespace) {
        Some(blank) => (text[..blank].trim_ascii_end(), &text[blank + 1..]),
        None => (&[], text),
    }
}

impl LineReader for Iolog {
    fn line(
        &mut self,
        line: Line<'_>,
        batch: &mut Vec<TracedIo>,
        tally: &mut Tally,
    ) -> Result<(), TraceError> {
        if let Some(version) = version(line.text) {
            self.header(version, line)?;
            tally.skip("header line");
            return Ok(());
        }
        let Some(version) = self.version else {
            return Err(TraceError::Refused(format!(
                "cannot read line {} as an iolog of fio: the first line must be 'fio version 3 iolog'",
                line.number
            )));
        };
        match self.io(line, version, tally) {
            Ok(Some(io)) => {
                tally.accept();
                batch.push(io);
            }
            Ok(None) => {}
            Err(class) => damage(line, class, tally),
        }
        Ok(())
    }

    fn facts(&self) -> SourceFacts {
        let resolution_ns = match (self.version, self.has_waits, self.waits_as_manual) {
            (Some(2), false, _) => 0,
            (Some(2), true, false) => 1_000_000,
            _ => 1_000,
        };
        SourceFacts {
            format: NAME,
            level: Level::File,
            resolution_ns,
            epoch_ns: None,
            has_completions: false,
            has_issue_times: resolution_ns > 0,
            devices: self.devices.clone(),
            commands: vec![String::new()],
        }
    }
}
