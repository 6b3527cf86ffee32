//! Ten lines of each format against what they mean, reckoned outside of this program; damage of each class; bytes
//! that are no text.

mod arbitrary;
mod damaged;
mod fio;
mod letters;
mod lines;
mod not_traces;
mod samples;

use std::io::Cursor;
use std::path::PathBuf;

use crate::FORMATS;
use crate::error::TraceError;
use crate::formats::{Format, ReadOptions};
use crate::reader::SourceFacts;
use crate::source::Source;
use crate::tally::Tally;
use crate::traced_io::{Flags, NO_PROCESS, NO_PROCESSOR, Quality, Status, TracedIo};

/// What reading some texts gives.
struct Outcome {
    ios: Vec<TracedIo>,
    tally: Tally,
    facts: SourceFacts,
}

fn format(name: &str) -> &'static Format {
    FORMATS.iter().copied().flatten().find(|format| format.name == name).unwrap()
}

fn source(text: impl AsRef<[u8]>) -> Source {
    Source { path: PathBuf::from("trace"), bytes: Box::new(Cursor::new(text.as_ref().to_vec())) }
}

fn read_all(name: &str, sources: Vec<Source>, options: &ReadOptions) -> Result<Outcome, TraceError> {
    let mut reader = (format(name).open)(sources, options)?;
    let (mut ios, mut tally) = (Vec::new(), Tally::default());
    while reader.read(&mut ios, &mut tally)? {}
    assert!(tally.is_conserved(), "{tally:?}");
    Ok(Outcome { ios, tally, facts: reader.facts() })
}

fn read(name: &str, text: impl AsRef<[u8]>) -> Outcome {
    read_all(name, vec![source(text)], &ReadOptions::default()).unwrap()
}

fn refusal(name: &str, text: impl AsRef<[u8]>) -> String {
    match read_all(name, vec![source(text)], &ReadOptions::default()) {
        Ok(outcome) => panic!("read {} I/Os", outcome.ios.len()),
        Err(error) => error.to_string(),
    }
}

/// One line: times, operation, place, device, and what is not as usual.
fn in_words(io: &TracedIo, facts: &SourceFacts) -> String {
    let done = io.completed_ns.map_or_else(|| "-".into(), |ns| ns.to_string());
    let mut words = format!(
        "{} {done} {} {} {} {}",
        io.issued_ns,
        io.operation.name(),
        io.offset_bytes,
        io.length_bytes,
        facts.devices[usize::from(io.device)].name
    );
    let flags: Vec<_> = [
        (Flags::SYNC, "sync"),
        (Flags::FUA, "fua"),
        (Flags::PREFLUSH, "preflush"),
        (Flags::META, "meta"),
        (Flags::READ_AHEAD, "read_ahead"),
    ]
    .iter()
    .filter(|(flag, _)| io.flags.has(*flag))
    .map(|(_, name)| *name)
    .collect();
    let qualities: Vec<_> = [
        (Quality::TIME_SYNTHETIC, "time_synthetic"),
        (Quality::LATENCY_QUANTIZED, "latency_quantized"),
        (Quality::OPERATION_INFERRED, "operation_inferred"),
        (Quality::PART_OF_MERGE, "part_of_merge"),
        (Quality::SPLIT, "split"),
    ]
    .iter()
    .filter(|(quality, _)| io.quality.has(*quality))
    .map(|(_, name)| *name)
    .collect();
    if !flags.is_empty() {
        words += &format!(" flags={}", flags.join(","));
    }
    if io.pid != NO_PROCESS {
        words += &format!(" pid={}", io.pid);
    }
    if io.command != 0 {
        words += &format!(" comm={}", facts.commands[usize::from(io.command)]);
    }
    if io.cpu != NO_PROCESSOR {
        words += &format!(" cpu={}", io.cpu);
    }
    match io.status {
        Status::Done => {}
        Status::Failed(errno) => words += &format!(" errno={errno}"),
        Status::NoCompletionSeen => words += " no_completion",
    }
    if !qualities.is_empty() {
        words += &format!(" quality={}", qualities.join(","));
    }
    words
}
