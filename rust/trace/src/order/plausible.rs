//! Whether the units of a trace look right.

use super::super::reader::{Level, SourceFacts};
use super::super::traced_io::{TracedIo, TracedOperation};

/// Longest trace that is not questioned.
const LONG_NS: i64 = 366 * 24 * 3_600_000_000_000;
/// Longest pause after the first I/O that is not questioned.
const LONG_PAUSE_NS: i64 = 24 * 3_600_000_000_000;
/// Most I/Os in a second that are not questioned.
const MOST_PER_S: u64 = 100_000_000;
/// I/Os after which a missing direction is questioned.
const MANY_IOS: u64 = 1000;
/// Formats that openpts itself writes: their directions are words, and no codes that could be taken the wrong way.
const OWN_FORMATS: [&str; 3] = ["openpts", "recipe", "model"];

/// What is needed to judge.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Plausible {
    ios: u64,
    reads: u64,
    writes: u64,
    /// All bits that any place or length has.
    bits: u64,
    unaligned: u64,
    longest_bytes: u64,
    ends_bytes: Vec<u64>,
    last_ns: i64,
    first_pause_ns: Option<i64>,
}

impl Plausible {
    /// Take I/Os in order, with times since the first.
    pub(in super::super) fn add(&mut self, ios: &[TracedIo]) {
        for io in ios {
            self.ios += 1;
            self.reads += u64::from(io.operation == TracedOperation::Read);
            self.writes += u64::from(io.operation == TracedOperation::Write);
            let bits = io.offset_bytes | io.length_bytes;
            self.bits |= bits;
            self.unaligned += u64::from(bits % 512 != 0);
            self.longest_bytes = self.longest_bytes.max(io.length_bytes);
            let device = usize::from(io.device);
            if self.ends_bytes.len() <= device {
                self.ends_bytes.resize(device + 1, 0);
            }
            self.ends_bytes[device] = self.ends_bytes[device].max(io.end_bytes());
            if self.ios == 2 {
                self.first_pause_ns = Some(io.issued_ns);
            }
            self.last_ns = io.issued_ns;
        }
    }

    /// How many there were.
    pub(in super::super) const fn ios(&self) -> u64 {
        self.ios
    }

    /// Sentences about what looks wrong.
    pub(in super::super) fn warnings(&self, facts: &SourceFacts) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.ios == 0 {
            return warnings;
        }
        self.judge_places(facts, &mut warnings);
        for (device, end_bytes) in facts.devices.iter().zip(&self.ends_bytes) {
            if let Some(capacity_bytes) =
                device.capacity_bytes.filter(|capacity_bytes| capacity_bytes < end_bytes)
            {
                warnings.push(format!(
                    "I/Os on {} reach byte {end_bytes}, past its capacity of {capacity_bytes}",
                    device.name
                ));
            }
        }
        let has_codes = !OWN_FORMATS.contains(&facts.format);
        if has_codes && self.ios >= MANY_IOS && (self.reads == 0) != (self.writes == 0) {
            let (there, missing) = if self.reads == 0 { ("writes", "reads") } else { ("reads", "writes") };
            warnings.push(format!(
                "there are only {there} and no {missing}: are the codes of the directions right?"
            ));
        }
        self.judge_times(facts, &mut warnings);
        warnings
    }

    fn judge_places(&self, facts: &SourceFacts, warnings: &mut Vec<String>) {
        if facts.level == Level::File {
            return;
        }
        if self.unaligned > 0 {
            warnings.push(format!(
                "{} of {} I/Os do not begin and end on sectors of 512 bytes: are their units right?",
                self.unaligned, self.ios
            ));
        }
        if self.longest_bytes > 0 && self.longest_bytes < 512 {
            warnings.push(format!(
                "the longest I/O has {} bytes: are lengths in sectors rather than bytes?",
                self.longest_bytes
            ));
        }
        // Bytes taken for sectors: what was a multiple of 512 is one of its square.
        if self.ios >= MANY_IOS && self.bits != 0 && self.bits.trailing_zeros() >= 18 {
            warnings.push(
                "all places and lengths are multiples of 256 KiB: were they bytes rather than sectors?"
                    .into(),
            );
        }
    }

    fn judge_times(&self, facts: &SourceFacts, warnings: &mut Vec<String>) {
        if facts.resolution_ns == 0 {
            return;
        }
        if self.last_ns > LONG_NS {
            warnings.push(format!(
                "the trace is {} days long: is its unit of time right?",
                self.last_ns / 86_400_000_000_000
            ));
        }
        if self.first_pause_ns.is_some_and(|pause_ns| pause_ns > LONG_PAUSE_NS) && self.ios > 2 {
            warnings.push("more than a day is between the first two I/Os: is the first in its place?".into());
        }
        let span_ns = u128::from(self.last_ns.unsigned_abs().max(1));
        if self.ios >= MANY_IOS && u128::from(self.ios) * 1_000_000_000 / span_ns > u128::from(MOST_PER_S) {
            warnings
                .push("there are more than 100 million I/Os in a second: is the unit of time right?".into());
        }
    }
}
