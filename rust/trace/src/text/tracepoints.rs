//! The kernel's block events as perf script, trace-cmd report and tracefs print them.

use memchr::memmem;

use super::events::{Events, Happened, Unused, Written, cut_word};
use super::lines::{Line, head_lines};
use super::number::{Time, time, whole};
use super::reader::{LineReader, TextReader, damage};
use crate::error::TraceError;
use crate::formats::{Format, HEAD_BYTES, Opened, ReadOptions};
use crate::reader::SourceFacts;
use crate::source::Source;
use crate::tally::Tally;
use crate::traced_io::TracedIo;

const NAME: &str = "tracepoints";
const HEAD_LINES: usize = 512;
const MICROSECOND_NS: u64 = 1_000;

/// `name-pid [cpu] flags seconds: event: ...` of trace-cmd and tracefs, `name pid [cpu] seconds: block:event: ...`
/// of perf.
pub(super) const FORMAT: Format = Format {
    name: NAME,
    label: "block events of perf script, trace-cmd report, or tracefs",
    is_at_head,
    nearness: |_| None,
    open,
};

fn open(sources: Vec<Source>, options: &ReadOptions) -> Opened {
    Ok(TextReader::boxed(sources, Tracepoints { events: Events::new(options, MICROSECOND_NS) }))
}

fn is_at_head(head: &[u8]) -> bool {
    let (mut events, mut others) = (0, 0);
    for line in head_lines(head, head.len() < HEAD_BYTES).take(HEAD_LINES) {
        match written(line) {
            Ok(_) => events += 1,
            Err(Unused::Skipped(_)) => {}
            Err(Unused::Damaged(_)) => others += 1,
        }
    }
    events > 0 && others * 8 <= events + others
}

struct Tracepoints {
    events: Events,
}

/// What is before an event's name.
struct LeadIn<'l> {
    command: &'l [u8],
    pid: i32,
    cpu: Option<i16>,
    time: Time,
}

/// The parts of a line, and the step of its time.
fn written(line: &[u8]) -> Result<(Written<'_>, u64), Unused> {
    let Some((lead, event, arguments)) = cut_event(line) else { return Err(other(line)) };
    let happened = match event {
        b"block_bio_queue" => Happened::Queue,
        b"block_bio_backmerge" | b"block_bio_frontmerge" => Happened::Merge,
        b"block_rq_issue" => Happened::Issue,
        b"block_rq_requeue" => Happened::Requeue,
        b"block_rq_complete" | b"block_bio_complete" => Happened::Complete,
        b"block_split" => Happened::Split,
        b"block_bio_remap" => Happened::Remap,
        _ => return Err(Unused::Skipped("block event that is neither arrival, issue nor completion")),
    };
    let lead = lead_in(lead)?;
    let mut payload = arguments;
    let device = cut_word(&mut payload);
    let letters = cut_word(&mut payload);
    let written = Written {
        time_ns: lead.time.ns,
        happened,
        device,
        letters,
        payload,
        pid: Some(lead.pid),
        command: Some(lead.command),
        cpu: lead.cpu,
    };
    Ok((written, lead.time.step_ns))
}

/// A line at its block event: what is before its name, the name, and what is behind it.
fn cut_event(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    for begin in memmem::find_iter(line, b"block_") {
        let length = line[begin..].iter().position(|byte| !byte.is_ascii_lowercase() && *byte != b'_')?;
        let (lead, event) = (&line[..begin], &line[begin..begin + length]);
        let lead = lead.strip_suffix(b"block:").unwrap_or(lead).trim_ascii_end();
        if line[begin + length] == b':' && lead.ends_with(b":") {
            return Some((&lead[..lead.len() - 1], event, &line[begin + length + 1..]));
        }
    }
    None
}

/// What a line without a block event is.
fn other(line: &[u8]) -> Unused {
    let text = line.trim_ascii();
    if text.starts_with(b"#") {
        return Unused::Skipped("comment");
    }
    if lost(text).is_some() {
        return Unused::Skipped("note of lost events");
    }
    let starts_with_number = |text: &[u8], base: u32| {
        let word = text.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        !word.is_empty() && word.iter().all(|byte| char::from(*byte).is_digit(base))
    };
    if text.strip_prefix(b"cpus=").is_some_and(|count| starts_with_number(count, 10)) {
        return Unused::Skipped("header line");
    }
    let is_time = |word: &[u8]| {
        word.strip_suffix(b":").is_some_and(|word| word.contains(&b'.') && time(word, MICROSECOND_NS).is_ok())
    };
    if text.split(u8::is_ascii_whitespace).any(is_time) {
        return Unused::Skipped("event that is not of the block layer");
    }
    if text.starts_with(b"=>")
        || line.first().is_some_and(u8::is_ascii_whitespace) && starts_with_number(text, 16)
    {
        return Unused::Skipped("frame of a stack");
    }
    Unused::Damaged("no event")
}

/// How many events are lost, by `CPU:2 [LOST 5 EVENTS]` of tracefs or `CPU:2 [5 EVENTS DROPPED]` of trace-cmd.
fn lost(text: &[u8]) -> Option<u64> {
    let inside = text.strip_prefix(b"CPU:")?.split(|byte| *byte == b'[').nth(1)?.strip_suffix(b"]")?;
    let number = match inside.strip_suffix(b" EVENTS DROPPED") {
        Some(number) => number,
        None => inside.strip_prefix(b"LOST ")?.strip_suffix(b" EVENTS")?,
    };
    whole(number).ok()
}

/// Reads from behind: the name of the process may contain blanks, dashes and brackets.
fn lead_in(text: &[u8]) -> Result<LeadIn<'_>, Unused> {
    let begin = text.iter().rposition(u8::is_ascii_whitespace).map_or(0, |blank| blank + 1);
    let (mut rest, seconds) = (text[..begin].trim_ascii_end(), &text[begin..]);
    if !seconds.contains(&b'.') {
        return Err(Unused::Damaged("not a time in seconds"));
    }
    let time = time(seconds, 1_000_000_000)?;
    let mut cpu = None;
    if let Some(open) = memchr::memrchr(b'[', rest) {
        // Flags may be between the processor and the time.
        let close = open + rest[open..].iter().position(|byte| *byte == b']').unwrap_or(0);
        if let Ok(number) = whole(&rest[open + 1..close.max(open + 1)]) {
            cpu = Some(i16::try_from(number).map_err(|_| "processor number too large")?);
            rest = rest[..open].trim_ascii_end();
        }
    }
    if let (Some(open), Some(b')')) = (memchr::memrchr(b'(', rest), rest.last()) {
        // The thread group, or dashes for one that is not known.
        rest = rest[..open].trim_ascii_end();
    }
    let digits = rest.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b'/').count();
    let (before, number) = rest.split_at(rest.len() - digits);
    let (b' ' | b'\t' | b'-') = before.last().copied().unwrap_or_default() else {
        return Err(Unused::Damaged("no process number"));
    };
    // perf may print process and thread.
    let number = number.split(|byte| *byte == b'/').next().unwrap_or_default();
    let pid = i32::try_from(whole(number)?).map_err(|_| "process number too large")?;
    Ok(LeadIn { command: before[..before.len() - 1].trim_ascii(), pid, cpu, time })
}

impl LineReader for Tracepoints {
    fn line(
        &mut self,
        line: Line<'_>,
        batch: &mut Vec<TracedIo>,
        tally: &mut Tally,
    ) -> Result<(), TraceError> {
        let taken = written(line.text).and_then(|(written, step_ns)| {
            self.events.resolution_ns = self.events.resolution_ns.min(step_ns);
            self.events.take(&written, line.number, batch, tally)
        });
        match taken {
            Ok(()) => {}
            Err(Unused::Skipped(reason)) => {
                tally.lost += lost(line.text.trim_ascii()).unwrap_or(0);
                tally.skip(reason);
            }
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
