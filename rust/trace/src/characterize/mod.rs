//! What a trace is like: all figures in one pass, in bounded memory.
//!
//! Counters are exact. What is followed by block is exact up to 2^20 blocks of 4 KiB, and a sample by hash beyond,
//! with an error beside each figure; percentiles are within 0.1 %. Figures that a trace can't tell are `null`.

mod arrivals;
mod blocks;
mod depths;
mod extents;
mod heat;
mod hurst;
mod miss_ratio;
mod mix;
mod places;
mod processes;
mod rates;
mod reuse;
mod sample;
mod slice;
mod values;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::error::TraceError;
use super::reader::SourceFacts;
use super::steps::{Kind, StepLatencies, StepOptions, StepRow, StepTable, Stream, Subject, step_table};
use super::traced_io::TracedIo;
pub(crate) use blocks::touched;
pub(crate) use reuse::UseOrder;
pub(crate) use sample::name_of;
use slice::Slice;

/// Blocks that are followed one by one, of the whole trace and of each part.
const MOST_BLOCKS: usize = 1 << 20;
const MOST_BLOCKS_OF_PART: usize = 1 << 15;
/// Parts with figures of their own; what is in none of them is in a last one.
const MOST_PARTS: usize = 15;

/// By what a trace is cut into parts that have all figures, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Device.
    Device,
    /// Process.
    Process,
    /// Kind of access, by the strict rule.
    Stream,
}

/// What a part has in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Device(u16),
    Process(i32, u16),
    Stream(Stream),
    Rest,
}

/// Takes I/Os in the order of their issue.
pub struct Characterizer {
    by: Option<By>,
    whole: Option<Slice>,
    parts: BTreeMap<Part, Slice>,
    sequences: super::steps::Sequences,
    steps: StepTable,
    has_completions: bool,
}

impl Characterizer {
    /// Without I/Os; the length of steps is 1 s, 10 s or 5 min by the trace's duration.
    #[must_use]
    pub fn new(by: Option<By>) -> Self {
        Self {
            by,
            whole: None,
            parts: BTreeMap::new(),
            sequences: super::steps::Sequences::default(),
            steps: StepTable::new(StepOptions::OF_A_TRACE),
            has_completions: false,
        }
    }

    /// Take the next I/O.
    ///
    /// # Errors
    /// If it comes before the one before it, or if completions can't be right.
    pub fn push(&mut self, io: &TracedIo) -> Result<(), TraceError> {
        self.has_completions |= io.completed_ns.is_some();
        self.steps.push(io)?;
        let start_ns = io.issued_ns;
        self.whole.get_or_insert_with(|| Slice::new(start_ns, MOST_BLOCKS)).push(io)?;
        let Some(by) = self.by else { return Ok(()) };
        let mut part = self.part_of(by, io);
        if self.parts.len() >= MOST_PARTS && !self.parts.contains_key(&part) {
            part = Part::Rest;
        }
        let start_ns = self.whole.as_ref().map_or(start_ns, Slice::start_ns);
        self.parts.entry(part).or_insert_with(|| Slice::new(start_ns, MOST_BLOCKS_OF_PART)).push(io)
    }

    fn part_of(&mut self, by: By, io: &TracedIo) -> Part {
        match by {
            By::Device => Part::Device(io.device),
            By::Process => Part::Process(io.pid, io.command),
            By::Stream => Part::Stream(Stream {
                kind: Kind::of(io.operation),
                pattern: self.sequences.judge(io).pattern,
                size_bytes: io.length_bytes,
                is_binned: false,
            }),
        }
    }

    /// All figures, with what the source says about itself.
    ///
    /// # Errors
    /// If the steps of the trace are too many.
    pub fn finish(self, facts: &SourceFacts) -> Result<Value, TraceError> {
        let Some(whole) = self.whole else {
            return Err(TraceError::Refused("can't characterize a trace without I/Os".to_owned()));
        };
        let length_ns = self.steps.length_ns();
        let rows = self.steps.finish(None)?;
        let capacity_bytes = facts.devices.iter().map(|device| device.capacity_bytes).sum();
        let parts: Vec<_> = self
            .parts
            .into_iter()
            .map(|(part, slice)| {
                let capacity_bytes = match part {
                    Part::Device(number) => {
                        facts.devices.get(usize::from(number)).and_then(|device| device.capacity_bytes)
                    }
                    Part::Process(..) | Part::Stream(_) | Part::Rest => capacity_bytes,
                };
                json!({"part": part.name(facts), "figures": slice.into_json(facts, capacity_bytes)})
            })
            .collect();
        Ok(json!({
            "whole": whole.into_json(facts, capacity_bytes),
            "streams": streams(&rows), "steps": steps(&rows, length_ns, self.has_completions),
            "parts": parts,
        }))
    }
}

/// The figures that a step table has: streams and steps; those of single I/Os are `null`.
///
/// # Errors
/// If the table can't be read, or has no I/O.
pub fn of_step_table(path: &Path) -> Result<Value, TraceError> {
    let (header, rows) = step_table(path)?;
    let streams = streams(&rows);
    if streams.is_empty() {
        return Err(TraceError::Refused("can't characterize a step table without I/Os".to_owned()));
    }
    let has_completions = rows.iter().any(|row| row.depth_times.is_some());
    // The row of all devices together has the highest number; it is there if there are several.
    let of_devices: Vec<&StepRow> = rows.iter().filter(|row| row.subject == Subject::Device).collect();
    let all = of_devices.iter().map(|row| row.device).max();
    let lost: u64 = of_devices.iter().filter(|row| Some(row.device) == all).map(|row| row.lost).sum();
    let devices: Vec<_> = header.devices.iter().map(|name| json!({"name": name})).collect();
    Ok(json!({
        "whole": null, "streams": streams, "steps": steps(&rows, header.step_length_ns, has_completions),
        "parts": [],
        "trace": {
            "files": [path.file_name().unwrap_or_default().to_string_lossy()], "warnings": [],
            "meaning": "steps of a capture, without single I/Os",
            "header": {
                "format": "step table", "level": header.level, "devices": devices,
                "records": {"damaged": {}, "lost": lost},
            },
        },
    }))
}

impl Part {
    fn name(self, facts: &SourceFacts) -> String {
        let device = |number: u16| facts.devices.get(usize::from(number)).map(|device| device.name.clone());
        let command = |number: u16| facts.commands.get(usize::from(number)).cloned().unwrap_or_default();
        match self {
            Self::Device(number) => device(number).unwrap_or_else(|| format!("device {number}")),
            Self::Process(pid, name) => format!("{} {pid}", command(name)).trim().to_owned(),
            Self::Stream(stream) => stream.to_string(),
            Self::Rest => "others".to_owned(),
        }
    }
}

/// The streams of all steps and devices together, the one with most I/Os first; ties by bytes, then by name.
fn streams(rows: &[StepRow]) -> Vec<Value> {
    let mut sums: BTreeMap<Stream, (u64, u64)> = BTreeMap::new();
    for row in rows {
        if let Subject::Stream(stream) = row.subject {
            let sum = sums.entry(stream).or_default();
            *sum = (sum.0 + row.counts.ios, sum.1 + row.counts.bytes);
        }
    }
    let mut named: Vec<_> = sums.into_iter().map(|(stream, sum)| (stream.to_string(), stream, sum)).collect();
    named.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
    named
        .into_iter()
        .map(|(name, stream, (ios, bytes))| {
            json!({
                "name": name, "kind": stream.kind.name(), "pattern": stream.pattern.name(),
                "size_bytes": stream.size_bytes, "binned": stream.is_binned, "ios": ios, "bytes": bytes,
            })
        })
        .collect()
}

/// One line for each device and step: I/Os by stream, and what completions show.
fn steps(rows: &[StepRow], length_ns: u64, has_completions: bool) -> Value {
    let mut lines: BTreeMap<(u16, u32), Value> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.device != super::steps::ALL_DEVICES) {
        let key = (row.device, row.step);
        match row.subject {
            Subject::Device => {
                let times = row.depth_times.as_ref().filter(|_| has_completions);
                let line = json!({
                    "device": row.device, "step": row.step, "start_ns": row.start_ns, "length_ns": row.length_ns,
                    "ios": row.counts.ios, "bytes": row.counts.bytes, "lost": row.lost,
                    "latency": StepLatencies::of(&row.counts.latencies),
                    "mean_depth": times.map(|times| times.area_ns as f64 / row.length_ns as f64),
                    "max_depth": times.map(|times| times.max), "busy_ns": times.map(super::steps::DepthTimes::busy_ns),
                    "streams": {},
                });
                lines.insert(key, line);
            }
            Subject::Stream(stream) => {
                if let Some(line) = lines.get_mut(&key) {
                    line["streams"][stream.to_string()] = json!([row.counts.ios, row.counts.bytes]);
                }
            }
            Subject::Process(..) => {}
        }
    }
    json!({"length_ns": length_ns, "rows": lines.into_values().collect::<Vec<_>>()})
}
