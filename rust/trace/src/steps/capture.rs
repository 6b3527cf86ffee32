//! A capture as tests apply it: what all of its devices together did in each step.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use serde::Serialize;

use super::file::{StepHeader, is_step_table, read_steps};
use super::row::{ALL_DEVICES, Latencies, StepRow, Subject};
use super::sequence::SEQUENTIAL_RULE;
use super::stream::Stream;
use super::table::{StepOptions, StepTable};
use crate::error::TraceError;
use crate::open::Fingerprint;
use crate::reader::BATCH_IOS;
use crate::recipe::shipped;
use crate::trace::{IoStream, OpenOptions, open_trace};

/// Response times of a step's I/Os, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepLatencies {
    /// Mean.
    pub mean_ns: f64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p99_9_ns: u64,
    /// 99.999th percentile.
    pub p99_999_ns: u64,
    /// Longest.
    pub max_ns: u64,
}

impl StepLatencies {
    #[expect(clippy::cast_precision_loss)]
    pub(crate) fn of(latencies: &Latencies) -> Option<Self> {
        if latencies.is_empty() {
            return None;
        }
        let histogram = latencies.histogram();
        Some(Self {
            mean_ns: latencies.sum_ns as f64 / histogram.count() as f64,
            p99_ns: histogram.value_at_percentile(99.0),
            p99_9_ns: histogram.value_at_percentile(99.9),
            p99_999_ns: histogram.value_at_percentile(99.999),
            max_ns: latencies.max_ns,
        })
    }
}

/// I/Os of one kind in one step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepStream {
    /// As [`Kind`](super::Kind) names it.
    pub kind: &'static str,
    /// As [`Pattern`](super::Pattern) names it.
    pub pattern: &'static str,
    /// Of each I/O, or the largest of several.
    pub size_bytes: u64,
    /// Whether there are several.
    pub is_binned: bool,
    /// Number.
    pub ios: u64,
    /// Sum of lengths.
    pub bytes: u64,
}

/// A step.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CaptureStep {
    /// Of the step.
    pub length_ns: u64,
    /// Number of I/Os.
    pub ios: u64,
    /// Sum of their lengths.
    pub bytes: u64,
    /// Events that were lost: with any, all figures are lower bounds.
    pub lost: u64,
    /// Queue depth times ns, if completions are known.
    pub depth_ns: Option<u64>,
    /// Deepest queue.
    pub max_depth: Option<u64>,
    /// Of I/Os whose completion is known.
    pub latencies: Option<StepLatencies>,
    /// Share of the host's processors that worked, if it was captured.
    pub cpu_busy: Option<f32>,
    /// The one with most I/Os first.
    pub streams: Vec<StepStream>,
}

/// All steps, in order; those without I/Os, too.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Capture {
    /// What the capture says about itself; of a trace, what its source says.
    pub header: StepHeader,
    /// SHA-256 of its file.
    pub sha256: String,
    /// Whether it was a step table. Otherwise it is a trace, whose steps were made now.
    pub is_step_table: bool,
    /// By number.
    pub steps: Vec<CaptureStep>,
}

/// A step table, or the steps of a trace or a shipped recipe: of 1 s up to an hour, 10 s up to a day, then 5 min.
///
/// # Errors
/// If the file can't be read, or is neither.
pub fn read_capture(path: &Path) -> Result<Capture, TraceError> {
    let file = || File::open(path).map_err(|source| TraceError::File { path: path.to_owned(), source });
    if shipped(path)?.is_some() || path.is_dir() || !is_step_table(file()?) {
        return steps_of_trace(path);
    }
    let (header, rows) = step_table(path)?;
    let sha256 = Fingerprint::new(path).finish()?.sha256;
    Ok(Capture { header, sha256, is_step_table: true, steps: together(&rows) })
}

/// The header and the rows of a step table.
pub(crate) fn step_table(path: &Path) -> Result<(StepHeader, Vec<StepRow>), TraceError> {
    let file = File::open(path).map_err(|source| TraceError::File { path: path.to_owned(), source })?;
    read_steps(file).map_err(|error| {
        TraceError::Refused(format!("can't read the step table {}: {error}", path.display()))
    })
}

fn steps_of_trace(path: &Path) -> Result<Capture, TraceError> {
    let mut trace = open_trace(&[path.to_owned()], &OpenOptions::default())?;
    let mut table = StepTable::new(StepOptions::OF_A_TRACE);
    let (mut batch, mut has_completions) = (Vec::with_capacity(BATCH_IOS), false);
    while trace.read(&mut batch)? {
        for io in &batch {
            has_completions |= io.completed_ns.is_some();
            table.push(io)?;
        }
    }
    let step_length_ns = table.length_ns();
    let mut rows = table.finish(None)?;
    if !has_completions {
        rows.iter_mut().for_each(|row| row.depth_times = None);
    }
    let facts = trace.facts();
    let header = StepHeader {
        step_length_ns,
        epoch_ns: facts.epoch_ns,
        level: facts.level.name().to_owned(),
        sequential_rule: SEQUENTIAL_RULE.to_owned(),
        devices: facts.devices.into_iter().map(|device| device.name).collect(),
        ..StepHeader::default()
    };
    Ok(Capture { header, sha256: trace.sha256()?, is_step_table: false, steps: together(&rows) })
}

/// Devices added up. The row of all of them is there only if there are several.
fn together(rows: &[StepRow]) -> Vec<CaptureStep> {
    let last = rows.iter().map(|row| row.step).max().map_or(0, |step| step as usize + 1);
    let mut steps = vec![CaptureStep::default(); last];
    let mut streams: Vec<BTreeMap<Stream, (u64, u64)>> = vec![BTreeMap::new(); last];
    // That of all devices has the highest number, and so comes last.
    let mut devices: Vec<&StepRow> = rows.iter().filter(|row| row.subject == Subject::Device).collect();
    devices.sort_by_key(|row| row.device);
    for row in devices {
        let step = &mut steps[row.step as usize];
        let lost = if row.device == ALL_DEVICES { row.lost } else { step.lost + row.lost };
        *step = CaptureStep {
            length_ns: row.length_ns,
            ios: row.counts.ios,
            bytes: row.counts.bytes,
            lost,
            depth_ns: row.depth_times.as_ref().map(|times| times.area_ns),
            max_depth: row.depth_times.as_ref().map(|times| times.max),
            latencies: StepLatencies::of(&row.counts.latencies),
            cpu_busy: row.cpu_busy.or(step.cpu_busy),
            streams: Vec::new(),
        };
    }
    for row in rows {
        if let Subject::Stream(stream) = row.subject {
            let sum = streams[row.step as usize].entry(stream).or_default();
            *sum = (sum.0 + row.counts.ios, sum.1 + row.counts.bytes);
        }
    }
    for (step, sums) in steps.iter_mut().zip(streams) {
        step.streams = sums.into_iter().map(|(stream, (ios, bytes))| of_stream(stream, ios, bytes)).collect();
        step.streams.sort_by_key(|stream| std::cmp::Reverse((stream.ios, stream.bytes)));
    }
    steps
}

const fn of_stream(stream: Stream, ios: u64, bytes: u64) -> StepStream {
    StepStream {
        kind: stream.kind.name(),
        pattern: stream.pattern.name(),
        size_bytes: stream.size_bytes,
        is_binned: stream.is_binned,
        ios,
        bytes,
    }
}
