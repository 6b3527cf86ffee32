//! Which blocks are used, how often, and when again.

use serde_json::{Value, json};

use super::extents::Extents;
use super::sample::{GROUPS, Sample, error_of_groups, group_of, name_of};
use super::values::Distribution;
use crate::steps::Kind;
use crate::traced_io::TracedIo;

pub(super) const BLOCK_BYTES: u64 = 4096;
/// Windows of the working set.
const WINDOWS_S: [u64; 6] = [1, 10, 60, 600, 3600, 86_400];
/// Shares of the hottest blocks, %.
const HOTTEST_PCT: [f64; 3] = [1.0, 5.0, 20.0];
/// Points of the curve of accesses over blocks, %.
const CURVE_PCT: [f64; 12] = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 35.0, 50.0, 75.0, 100.0];
/// Blocks that a slope needs.
const LEAST_RANKS: usize = 200;
const INTERVALS: [&str; 4] = ["read_after_read", "read_after_write", "write_after_read", "write_after_write"];

/// One block.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    reads: u32,
    writes: u32,
    last_ns: i64,
    was_written: bool,
    is_read_first: bool,
}

/// Distinct blocks in windows of one length.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    start_ns: i64,
    blocks: u64,
    sum: u64,
    most: u64,
}

/// Blocks of 4 KiB.
pub(super) struct Blocks {
    start_ns: i64,
    sample: Sample<Block>,
    windows: [Window; WINDOWS_S.len()],
    intervals: [Distribution; 4],
    trimmed: Extents,
    written_bytes: u64,
}

/// The blocks that an I/O touches, from the first to the last.
pub(crate) fn touched(io: &TracedIo) -> std::ops::RangeInclusive<u64> {
    let last = io.end_bytes().saturating_sub(1).max(io.offset_bytes);
    io.offset_bytes / BLOCK_BYTES..=last / BLOCK_BYTES
}

impl Blocks {
    pub(super) fn new(start_ns: i64, capacity: usize) -> Self {
        let window = Window { start_ns, ..Window::default() };
        Self {
            start_ns,
            sample: Sample::new(capacity),
            windows: [window; WINDOWS_S.len()],
            intervals: Default::default(),
            trimmed: Extents::default(),
            written_bytes: 0,
        }
    }

    pub(super) fn push(&mut self, kind: Kind, io: &TracedIo) {
        self.turn_windows(io.issued_ns);
        match kind {
            Kind::Read | Kind::Write if io.length_bytes > 0 => {
                let is_write = kind == Kind::Write;
                self.written_bytes += if is_write { io.length_bytes } else { 0 };
                for block in touched(io) {
                    let name = name_of(io.device, block);
                    if self.sample.has(name) {
                        self.touch(name, is_write, io.issued_ns);
                    }
                }
                while self.sample.thin(|_, _| ()) {}
            }
            Kind::Trim => self.trimmed.add(io.device, io.offset_bytes, io.end_bytes()),
            _ => {}
        }
    }

    fn touch(&mut self, name: u64, is_write: bool, at_ns: i64) {
        let weight = self.sample.weight();
        let known = self.sample.blocks.len();
        let block = self.sample.blocks.entry(name).or_default();
        let is_new = block.reads == 0 && block.writes == 0;
        for window in &mut self.windows {
            if is_new || block.last_ns < window.start_ns {
                window.blocks += weight;
            }
        }
        if is_new {
            block.is_read_first = !is_write;
        } else {
            let between = usize::from(block.was_written) | usize::from(is_write) << 1;
            self.intervals[between].record(block.last_ns.abs_diff(at_ns));
        }
        *(if is_write { &mut block.writes } else { &mut block.reads }) += 1;
        (block.last_ns, block.was_written) = (at_ns, is_write);
        debug_assert!(self.sample.blocks.len() >= known);
    }

    fn turn_windows(&mut self, now_ns: i64) {
        for (window, length_s) in self.windows.iter_mut().zip(WINDOWS_S) {
            let length_ns = length_s * 1_000_000_000;
            let over_ns = window.start_ns.abs_diff(now_ns);
            if over_ns >= length_ns {
                window.sum += window.blocks;
                window.most = window.most.max(window.blocks);
                window.blocks = 0;
                window.start_ns += (over_ns / length_ns * length_ns).cast_signed();
            }
        }
    }

    pub(super) fn to_json(&self, end_ns: i64, capacity_bytes: Option<u64>) -> Value {
        let blocks = || self.sample.blocks.values();
        let count = |has: fn(&Block) -> bool| {
            let sampled = blocks().filter(|block| has(block)).count();
            let bytes = sampled as u64 * self.sample.weight() * BLOCK_BYTES;
            json!({"bytes": bytes, "relative_error": self.sample.relative_error(sampled)})
        };
        let written = blocks().filter(|block| block.writes > 0).count() as f64;
        let again = blocks().filter(|block| block.writes > 1).count() as f64;
        let writes: u64 = blocks().map(|block| u64::from(block.writes)).sum();
        let known = |value: f64| if written > 0.0 { json!(value) } else { Value::Null };
        let intervals: serde_json::Map<_, _> = INTERVALS
            .iter()
            .zip(&self.intervals)
            .map(|(name, intervals)| ((*name).to_owned(), intervals.to_json()))
            .collect();
        json!({
            "sampled_blocks": self.sample.blocks.len(), "sampling_rate": 1.0 / self.sample.weight() as f64,
            "footprint": {
                "touched": count(|_| true),
                "read": count(|block| block.reads > 0), "written": count(|block| block.writes > 0),
                "read_and_written": count(|block| block.reads > 0 && block.writes > 0),
                "read_before_write": count(|block| block.is_read_first),
                "trimmed_bytes": self.trimmed.bytes(),
            },
            "working_set": self.working_set(end_ns),
            "heat": {
                "all": self.heat(|block| block.reads + block.writes, capacity_bytes),
                "read": self.heat(|block| block.reads, capacity_bytes),
                "write": self.heat(|block| block.writes, capacity_bytes),
            },
            "updates": {
                "intervals_ns": intervals,
                "coverage": known(again / written), "writes_per_block": known(writes as f64 / written),
            },
        })
    }

    /// The mean is that of whole windows: the last one, in which the trace ends, would make it too small.
    fn working_set(&self, end_ns: i64) -> Vec<Value> {
        let span_ns = self.start_ns.abs_diff(end_ns);
        let of = |(window, length_s): (&Window, u64)| {
            let whole = span_ns / (length_s * 1_000_000_000);
            let mean = (whole > 0).then(|| (window.sum * BLOCK_BYTES) as f64 / whole as f64);
            let most = window.most.max(window.blocks);
            json!({
                "window_s": length_s, "mean_bytes": mean, "max_bytes": most * BLOCK_BYTES,
                "is_longer_than_trace": whole == 0,
            })
        };
        self.windows.iter().zip(WINDOWS_S).map(of).collect()
    }

    /// How accesses concentrate on blocks; `null` without any.
    fn heat(&self, accesses: fn(&Block) -> u32, capacity_bytes: Option<u64>) -> Value {
        let mut counts = Vec::new();
        let mut groups: [Vec<u32>; GROUPS] = Default::default();
        for (name, block) in &self.sample.blocks {
            let n = accesses(block);
            if n > 0 {
                counts.push(n);
                groups[group_of(*name)].push(n);
            }
        }
        if counts.is_empty() {
            return Value::Null;
        }
        counts.sort_unstable_by_key(|n| std::cmp::Reverse(*n));
        groups.iter_mut().for_each(|group| group.sort_unstable_by_key(|n| std::cmp::Reverse(*n)));
        let is_exact = self.sample.halvings == 0;
        let hottest: Vec<_> = HOTTEST_PCT
            .iter()
            .map(|pct| {
                let of_groups: Vec<_> = groups
                    .iter()
                    .filter(|group| !group.is_empty())
                    .map(|group| share(group, pct / 100.0))
                    .collect();
                let error = if is_exact { 0.0 } else { error_of_groups(&of_groups) };
                json!({"pct": pct, "share": share(&counts, pct / 100.0), "error": error})
            })
            .collect();
        let curve: Vec<_> = CURVE_PCT.iter().map(|pct| (pct, share(&counts, pct / 100.0))).collect();
        let over_capacity = capacity_bytes.map(|bytes| {
            let blocks =
                bytes as f64 / BLOCK_BYTES as f64 / self.sample.weight() as f64 / counts.len() as f64;
            CURVE_PCT
                .iter()
                .map(|pct| (*pct, share(&counts, (pct / 100.0 * blocks).min(1.0))))
                .collect::<Vec<_>>()
        });
        let total: u64 = counts.iter().map(|n| u64::from(*n)).sum();
        json!({
            "accesses": total * self.sample.weight(), "most_of_a_block": counts[0], "hottest": hottest,
            "curve": curve, "curve_over_capacity": over_capacity, "zipf": zipf(&counts),
        })
    }
}

/// The share of accesses to a part of the blocks that has most; blocks at its edge count in part.
fn share(falling: &[u32], part: f64) -> f64 {
    let blocks = falling.len() as f64 * part;
    let whole = (blocks.floor() as usize).min(falling.len());
    let sum: u64 = falling[..whole].iter().map(|n| u64::from(*n)).sum();
    let edge = falling.get(whole).map_or(0.0, |n| f64::from(*n) * (blocks - whole as f64));
    (sum as f64 + edge) / falling.iter().map(|n| f64::from(*n)).sum::<f64>()
}

/// The slope of log accesses over log rank by least squares, and how well it fits.
fn zipf(falling: &[u32]) -> Value {
    if falling.len() < LEAST_RANKS {
        return json!({"reason": format!("not estimable: {} blocks, and {LEAST_RANKS} are needed", falling.len())});
    }
    let n = falling.len() as f64;
    let points =
        || falling.iter().enumerate().map(|(place, n)| (((place + 1) as f64).ln(), f64::from(*n).ln()));
    let (x, y) = points().fold((0.0, 0.0), |(x, y), point| (x + point.0 / n, y + point.1 / n));
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (dx, dy) in points().map(|point| (point.0 - x, point.1 - y)) {
        (xx, xy, yy) = (xx + dx * dx, xy + dx * dy, yy + dy * dy);
    }
    let r2 = if yy > 0.0 { json!(xy * xy / (xx * yy)) } else { Value::Null };
    json!({"slope": xy / xx, "r2": r2, "blocks": falling.len()})
}
