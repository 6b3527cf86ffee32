//! All figures of one set of I/Os.

use serde_json::{Value, json};

use super::arrivals::Arrivals;
use super::blocks::Blocks;
use super::depths::Depths;
use super::heat::Heat;
use super::mix::Mix;
use super::places::Places;
use super::processes::{Processes, ThinkTime};
use super::rates::Rates;
use super::reuse::Reuse;
use crate::error::TraceError;
use crate::reader::SourceFacts;
use crate::steps::Kind;
use crate::traced_io::TracedIo;

/// Coarsest clock with which slack is known, ns.
const FINE_NS: u64 = 1000;
const HOUR_NS: u64 = 3_600_000_000_000;
const DAY_S: f64 = 86_400.0;
/// Hours that are kept apart.
const MOST_HOURS: usize = 24 * 366 * 10;

/// All figures.
pub(super) struct Slice {
    start_ns: i64,
    last_ns: i64,
    mix: Mix,
    places: Places,
    arrivals: Arrivals,
    rates: Rates,
    /// Of reads and of writes.
    rates_by_operation: [Rates; 2],
    depths: Depths,
    heat: Heat,
    blocks: Blocks,
    reuse: Reuse,
    processes: Processes,
    think_time: ThinkTime,
    /// Bytes written and trimmed, by hour.
    hours: Vec<(u64, u64)>,
}

impl Slice {
    pub(super) fn new(start_ns: i64, most_blocks: usize) -> Self {
        Self {
            start_ns,
            last_ns: start_ns,
            mix: Mix::default(),
            places: Places::default(),
            arrivals: Arrivals::default(),
            rates: Rates::default(),
            rates_by_operation: Default::default(),
            depths: Depths::since(start_ns),
            heat: Heat::default(),
            blocks: Blocks::new(start_ns, most_blocks),
            reuse: Reuse::default(),
            processes: Processes::default(),
            think_time: ThinkTime::default(),
            hours: Vec::new(),
        }
    }

    pub(super) const fn start_ns(&self) -> i64 {
        self.start_ns
    }

    pub(super) fn push(&mut self, io: &TracedIo) -> Result<(), TraceError> {
        let kind = Kind::of(io.operation);
        let since_ns = self.start_ns.abs_diff(io.issued_ns);
        self.last_ns = io.issued_ns;
        self.mix.push(kind, io);
        self.places.push(kind, io);
        self.arrivals.push(kind, io.issued_ns);
        self.rates.push(since_ns);
        if kind.has_pattern() {
            self.rates_by_operation[kind as usize].push(since_ns);
        }
        self.depths.push(kind, io)?;
        self.heat.push(kind, since_ns, io.offset_bytes);
        self.blocks.push(kind, io);
        self.reuse.push(kind, io);
        self.processes.push(kind, io, since_ns);
        self.think_time.push(io)?;
        let hour = ((since_ns / HOUR_NS) as usize).min(MOST_HOURS);
        if self.hours.len() <= hour {
            self.hours.resize(hour + 1, (0, 0));
        }
        match kind {
            Kind::Write => self.hours[hour].0 += io.length_bytes,
            Kind::Trim => self.hours[hour].1 = self.hours[hour].1.saturating_add(io.length_bytes),
            _ => {}
        }
        Ok(())
    }

    pub(super) fn into_json(self, facts: &SourceFacts, capacity_bytes: Option<u64>) -> Value {
        let span_ns = self.start_ns.abs_diff(self.last_ns);
        let has_slack = facts.resolution_ns > 0
            && facts.resolution_ns <= FINE_NS
            && facts.has_issue_times
            && facts.has_completions;
        json!({
            "span_ns": span_ns, "start_ns": self.start_ns,
            "endurance": self.endurance(span_ns, capacity_bytes),
            "mix": self.mix.to_json(),
            "places": self.places.into_json(),
            "arrivals": self.arrivals.to_json(),
            "rates": self.rates.to_json(&self.rates_by_operation),
            "completions": self.depths.into_json(self.last_ns),
            "map": self.heat.to_json(),
            "blocks": self.blocks.to_json(self.last_ns, capacity_bytes),
            "reuse": self.reuse.to_json(),
            "processes": self.processes.into_json(&facts.commands),
            "think_time": if has_slack { self.think_time.to_json() } else { Value::Null },
            "content": Value::Null,
        })
    }

    fn endurance(&self, span_ns: u64, capacity_bytes: Option<u64>) -> Value {
        let written: u64 = self.hours.iter().map(|(written, _)| written).sum();
        let trimmed = self.hours.iter().fold(0, |sum: u64, (_, trimmed)| sum.saturating_add(*trimmed));
        let days = span_ns as f64 / 1e9 / DAY_S;
        let per_day = (span_ns > 0).then(|| written as f64 / days);
        json!({
            "written_bytes": written, "trimmed_bytes": trimmed, "written_bytes_per_day": per_day,
            "capacity_bytes": capacity_bytes,
            "drive_writes_per_day": per_day.zip(capacity_bytes).map(|(written, capacity)| written / capacity as f64),
            "by_hour": self.hours,
        })
    }
}
