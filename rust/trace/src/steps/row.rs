//! Rows of a step table.

use openpts_core::histogram::{self, DecodeError, LatencyHistogram};

use super::depth_times::DepthTimes;
use super::stream::Stream;
use crate::traced_io::NO_PROCESS;

/// The number of all devices together, in the row that adds them up.
pub const ALL_DEVICES: u16 = u16::MAX;

/// Latencies that are kept one by one while they are counted.
const MOST_SINGLE: usize = 512;
/// Those that are kept so in a row.
const MOST_SINGLE_IN_ROW: usize = 64;

/// Counts of latencies.
#[derive(Clone, Debug)]
enum Kept {
    Single(Vec<u64>),
    Histogram(Box<LatencyHistogram>),
    /// As in files.
    Encoded(Vec<u8>),
}

/// Latencies of some I/Os, with exact sum and maximum, small as long as they are few.
#[derive(Clone, Debug)]
pub struct Latencies {
    /// Sum of all.
    pub sum_ns: u64,
    /// Longest.
    pub max_ns: u64,
    kept: Kept,
}

impl Default for Latencies {
    fn default() -> Self {
        Self { sum_ns: 0, max_ns: 0, kept: Kept::Single(Vec::new()) }
    }
}

impl Latencies {
    pub(crate) fn record(&mut self, latency_ns: u64) {
        self.sum_ns = self.sum_ns.saturating_add(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
        match &mut self.kept {
            Kept::Single(single) if single.len() < MOST_SINGLE => single.push(latency_ns),
            Kept::Histogram(histogram) => histogram.record(latency_ns),
            Kept::Single(_) | Kept::Encoded(_) => {
                let mut histogram = Box::new(self.histogram());
                histogram.record(latency_ns);
                self.kept = Kept::Histogram(histogram);
            }
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        if let Kept::Single(single) = &other.kept {
            single.iter().for_each(|latency_ns| self.record(*latency_ns));
            return;
        }
        let mut histogram = Box::new(self.histogram());
        histogram.add(&other.histogram());
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.kept = Kept::Histogram(histogram);
    }

    /// As small as it gets, for a row that is complete.
    pub(super) fn packed(mut self) -> Self {
        let is_small = matches!(&self.kept, Kept::Single(single) if single.len() <= MOST_SINGLE_IN_ROW);
        if !is_small {
            self.kept = Kept::Encoded(self.encoded());
        }
        self
    }

    /// As they were written, if the bytes are a histogram.
    pub(super) fn restored(sum_ns: u64, max_ns: u64, encoded: Vec<u8>) -> Result<Self, DecodeError> {
        histogram::decode(&encoded)?;
        Ok(Self { sum_ns, max_ns, kept: Kept::Encoded(encoded) })
    }

    /// As in files: empty if no latency is known.
    pub(super) fn encoded(&self) -> Vec<u8> {
        match &self.kept {
            Kept::Encoded(encoded) => encoded.clone(),
            Kept::Single(single) if single.is_empty() => Vec::new(),
            Kept::Single(_) | Kept::Histogram(_) => histogram::encode(&self.histogram()),
        }
    }

    /// Whether no latency is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(&self.kept, Kept::Single(single) if single.is_empty())
    }

    /// All of them.
    ///
    /// # Panics
    /// Never: bytes are decoded before they are kept.
    #[must_use]
    pub fn histogram(&self) -> LatencyHistogram {
        match &self.kept {
            Kept::Histogram(histogram) => (**histogram).clone(),
            Kept::Encoded(encoded) => histogram::decode(encoded).expect("decoded before"),
            Kept::Single(single) => {
                let mut histogram = LatencyHistogram::default();
                single.iter().for_each(|latency_ns| histogram.record(*latency_ns));
                histogram
            }
        }
    }
}

impl PartialEq for Latencies {
    fn eq(&self, other: &Self) -> bool {
        (self.sum_ns, self.max_ns) == (other.sum_ns, other.max_ns)
            && self.histogram().buckets().eq(other.histogram().buckets())
    }
}

/// What a row is about. A device's row is the sum of its streams' rows, and a stream's that of its processes'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// A device.
    Device,
    /// One of its streams.
    Stream(Stream),
    /// What a process, by its number and that of its name, did of a stream.
    Process(Stream, i32, u16),
}

impl Subject {
    /// The word for files.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Stream(_) => "stream",
            Self::Process(..) => "process",
        }
    }

    /// The stream, if it is about one.
    #[must_use]
    pub const fn stream(&self) -> Option<Stream> {
        match self {
            Self::Device => None,
            Self::Stream(stream) | Self::Process(stream, _, _) => Some(*stream),
        }
    }

    /// The process and its name, if it is about one.
    #[must_use]
    pub const fn process(&self) -> (i32, u16) {
        match self {
            Self::Device | Self::Stream(_) => (NO_PROCESS, 0),
            Self::Process(_, pid, command) => (*pid, *command),
        }
    }
}

/// Counts of some I/Os.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Number.
    pub ios: u64,
    /// Sum of lengths.
    pub bytes: u64,
    /// How many are sequential by [`WINDOWED_RULE`](super::WINDOWED_RULE).
    pub windowed_sequential_ios: u64,
    /// Of those whose completion is known; a process's row has none.
    pub latencies: Latencies,
}

impl Counts {
    pub(crate) fn count(&mut self, length_bytes: u64, is_windowed: bool) {
        self.ios += 1;
        self.bytes = self.bytes.saturating_add(length_bytes);
        self.windowed_sequential_ios += u64::from(is_windowed);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.add_sums(other);
        self.latencies.add(&other.latencies);
    }

    /// All but the latencies.
    pub(super) fn add_sums(&mut self, other: &Self) {
        self.ios += other.ios;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.windowed_sequential_ios += other.windowed_sequential_ios;
    }
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct StepRow {
    /// Number of the device, or [`ALL_DEVICES`].
    pub device: u16,
    /// From 0.
    pub step: u32,
    /// Since the capture's start.
    pub start_ns: i64,
    /// Of the step; the last one may be shorter.
    pub length_ns: u64,
    /// What it is about.
    pub subject: Subject,
    /// Of the I/Os that were issued in the step.
    pub counts: Counts,
    /// Of a device whose completions are known.
    pub depth_times: Option<DepthTimes>,
    /// Of a device, if it was measured: the host's processors, from 0 to 1.
    pub cpu_busy: Option<f32>,
    /// Of a device: events that the capture has lost. With any, all figures are lower bounds.
    pub lost: u64,
}

impl StepRow {
    pub(super) fn packed(mut self) -> Self {
        self.counts.latencies = self.counts.latencies.packed();
        self
    }
}

/// Rows of steps as of steps that are so many times as long. Depths and counts add up; processors are averaged.
#[must_use]
pub fn coarsened(rows: &[StepRow], factor: u32) -> Vec<StepRow> {
    let mut coarse: std::collections::BTreeMap<(u16, u32, Subject), StepRow> =
        std::collections::BTreeMap::new();
    for row in rows {
        let key = (row.device, row.step / factor, row.subject);
        let Some(sum) = coarse.get_mut(&key) else {
            coarse.insert(key, StepRow { step: key.1, ..row.clone() });
            continue;
        };
        sum.counts.add(&row.counts);
        sum.cpu_busy = mean_busy(sum, row);
        // Streams' rows exist for some steps only: their span is that of the device's row.
        sum.length_ns += row.length_ns;
        sum.lost += row.lost;
        match (&mut sum.depth_times, &row.depth_times) {
            (Some(times), Some(more)) => times.add(more),
            (times, _) => *times = None,
        }
    }
    let spans: std::collections::HashMap<(u16, u32), (i64, u64)> = coarse
        .values()
        .filter(|row| row.subject == Subject::Device)
        .map(|row| ((row.device, row.step), (row.start_ns, row.length_ns)))
        .collect();
    for row in coarse.values_mut() {
        (row.start_ns, row.length_ns) = spans[&(row.device, row.step)];
    }
    coarse.into_values().map(StepRow::packed).collect()
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
fn mean_busy(sum: &StepRow, more: &StepRow) -> Option<f32> {
    let (ns, more_ns) = (sum.length_ns as f64, more.length_ns as f64);
    let busy_ns = f64::from(sum.cpu_busy?) * ns + f64::from(more.cpu_busy?) * more_ns;
    Some((busy_ns / (ns + more_ns)) as f32)
}
