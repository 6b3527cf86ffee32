//! blkparse's text: `major,minor cpu sequence seconds.ns pid action letters payload`.

use super::events::{Events, Happened, Unused, Written, cut_word};
use super::lines::{Line, head_lines};
use super::number::{time, whole};
use super::reader::{LineReader, TextReader, damage};
use crate::error::TraceError;
use crate::formats::{Format, HEAD_BYTES, Opened, ReadOptions};
use crate::reader::SourceFacts;
use crate::source::Source;
use crate::tally::{SkipReason, Tally};
use crate::traced_io::TracedIo;

const NAME: &str = "blkparse";
const SUMMARY: SkipReason = "summary at the end";
const HEAD_LINES: usize = 256;

/// As blkparse prints it without a format of one's own, with or without `-t`.
pub(super) const FORMAT: Format =
    Format { name: NAME, label: "blkparse text (its default format)", is_at_head, nearness: |_| None, open };

fn open(sources: Vec<Source>, options: &ReadOptions) -> Opened {
    Ok(TextReader::boxed(sources, Blkparse { events: Events::new(options, 1), file: 0, is_over: false }))
}

fn is_at_head(head: &[u8]) -> bool {
    let (mut events, mut others) = (0, 0);
    for line in head_lines(head, head.len() < HEAD_BYTES).take(HEAD_LINES) {
        if is_summary(line) {
            break;
        }
        match written(line) {
            Ok(_) | Err(Unused::Skipped(_)) => events += 1,
            Err(Unused::Damaged(_)) => others += 1,
        }
    }
    events > 0 && others * 8 <= events + others
}

struct Blkparse {
    events: Events,
    file: usize,
    /// Whether the summary of this file has begun.
    is_over: bool,
}

/// `CPU0 (sda):` or `Total (sda):`, which end the events.
fn is_summary(line: &[u8]) -> bool {
    let after_name = match line {
        [b'C', b'P', b'U', rest @ ..] => {
            &rest[rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len())..]
        }
        _ => line.strip_prefix(b"Total").unwrap_or_default(),
    };
    after_name.starts_with(b" (") && memchr::memmem::find(after_name, b"):").is_some()
}

/// Events that the kernel had no room for, by the last line of the summary: `Skips: 1 forward (5 -   0.1%)`.
fn lost(line: &[u8]) -> Option<u64> {
    let count = line.trim_ascii().strip_prefix(b"Skips:")?.split(|byte| *byte == b'(').nth(1)?;
    let digits: Vec<u8> =
        count.iter().copied().take_while(|byte| *byte != b'-').filter(u8::is_ascii_digit).collect();
    whole(&digits).ok()
}

/// The parts of a line.
fn written(line: &[u8]) -> Result<Written<'_>, Unused> {
    if line.starts_with(b"Input file ") {
        return Err(Unused::Skipped("name of an input file"));
    }
    let mut rest = line;
    let device = cut_word(&mut rest);
    let cpu = whole(cut_word(&mut rest))?;
    whole(cut_word(&mut rest))?;
    let seconds = cut_word(&mut rest);
    if !seconds.contains(&b'.') {
        return Err(Unused::Damaged("not a time in seconds"));
    }
    let time_ns = time(seconds, 1_000_000_000)?.ns;
    let pid = whole(cut_word(&mut rest))?;
    let happened = match cut_word(&mut rest) {
        b"Q" => Happened::Queue,
        b"D" => Happened::Issue,
        b"C" => Happened::Complete,
        b"M" | b"F" => Happened::Merge,
        b"R" => Happened::Requeue,
        b"X" => Happened::Split,
        b"A" => Happened::Remap,
        b"m" => return Err(Unused::Skipped("message")),
        b"G" | b"I" | b"S" | b"P" | b"U" | b"UT" | b"T" | b"B" | b"ZP" | b"ZU" => {
            return Err(Unused::Skipped("event between arrival and issue"));
        }
        _ => return Err(Unused::Damaged("unknown action")),
    };
    Ok(Written {
        time_ns,
        happened,
        device,
        letters: cut_word(&mut rest),
        payload: rest,
        pid: Some(i32::try_from(pid).map_err(|_| "process number too large")?),
        command: None,
        cpu: Some(i16::try_from(cpu).map_err(|_| "processor number too large")?),
    })
}

impl LineReader for Blkparse {
    fn line(
        &mut self,
        line: Line<'_>,
        batch: &mut Vec<TracedIo>,
        tally: &mut Tally,
    ) -> Result<(), TraceError> {
        if line.file != self.file {
            (self.file, self.is_over) = (line.file, false);
        }
        self.is_over |= is_summary(line.text);
        if self.is_over {
            tally.lost += lost(line.text).unwrap_or(0);
            tally.skip(SUMMARY);
            return Ok(());
        }
        let taken =
            written(line.text).and_then(|written| self.events.take(&written, line.number, batch, tally));
        match taken {
            Ok(()) => {}
            Err(Unused::Skipped(reason)) => tally.skip(reason),
            Err(Unused::Damaged(class)) => damage(line, class, tally),
        }
        Ok(())
    }

    fn finish(&mut self, batch: &mut Vec<TracedIo>, tally: &mut Tally) -> Result<(), TraceError> {
        self.events.end(batch, tally);
        Ok(())
    }

    fn facts(&self) -> SourceFacts {
        self.events.facts(NAME)
    }
}
