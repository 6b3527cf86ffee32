//! A program of steps as it arrives from outside: declarative, in JSON, the same for every engine.

use std::ops::Range;

use serde::Deserialize;

use super::operation::Operation;
use super::schedule::Replay;

/// Steps to be run one after the other without idle time between them.
pub type Program = Vec<Step>;

/// What is issued side by side, and the rule that ends it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What to issue, each by threads of its own; none is a gap without I/O, which only a duration can end.
    pub streams: Vec<Stream>,
    /// When to stop all of them.
    pub stop: Stop,
    /// Time at the beginning that counts for nothing but the ramp-up; the stop rule begins after it.
    #[serde(default)]
    pub ramp_ns: u64,
    /// Whether every single I/O of it, those of the ramp-up included, goes into the engine's capture.
    #[serde(default)]
    pub capture: bool,
}

impl Step {
    /// A step whose figures count from its first I/O on, and which no capture wants.
    #[must_use]
    pub fn new(stimulus: Option<Stimulus>, stop: Stop) -> Self {
        Self { streams: stimulus.map(Stream::new).into_iter().collect(), stop, ramp_ns: 0, capture: false }
    }

    /// Whether it is a gap without I/O.
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        self.streams.is_empty()
    }

    /// What to issue, where there is but one stream.
    #[must_use]
    pub fn only_stimulus(&self) -> Option<&Stimulus> {
        if let [stream] = &*self.streams { Some(&stream.stimulus) } else { None }
    }

    /// Threads of all streams together.
    #[must_use]
    pub fn tc(&self) -> u32 {
        self.streams.iter().map(|stream| stream.stimulus.tc).sum()
    }

    /// The number of the stream that the thread of this number has a part in, and the thread's number among
    /// those of the stream. The first threads are those of the first stream.
    #[must_use]
    pub fn part_of(&self, thread: u32) -> Option<(usize, u32)> {
        let mut thread = thread;
        for (number, stream) in self.streams.iter().enumerate() {
            if thread < stream.stimulus.tc {
                return Some((number, thread));
            }
            thread -= stream.stimulus.tc;
        }
        None
    }
}

/// One of the loads that a step applies at the same time.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// What to issue.
    pub stimulus: Stimulus,
    /// Time from the step's start in which it issues nothing; what its pacing plans is planned from then on.
    #[serde(default)]
    pub delay_ns: u64,
    /// What ends it before the step's own rule does.
    #[serde(default)]
    pub bounds: Bounds,
    /// I/O priority as `ioprio_set` has it: the class, shifted by 13, and the level. 0 for none.
    #[serde(default)]
    pub priority: u16,
    /// Streams with shares keep their I/Os in that ratio while they run: one that is ahead waits. 0: it goes
    /// its own way.
    #[serde(default)]
    pub share: u32,
    /// I/Os of a schedule in place of those of the stimulus, which then says what they need: operations, the
    /// largest size, the range, and the most that may be outstanding. The bounds say how many of them.
    #[serde(default)]
    pub replay: Option<Replay>,
}

impl Stream {
    /// From the step's start to its end.
    #[must_use]
    pub const fn new(stimulus: Stimulus) -> Self {
        Self { stimulus, delay_ns: 0, bounds: Bounds::NONE, priority: 0, share: 0, replay: None }
    }
}

/// What ends one stream of a step: whichever comes first. A step ends when all its streams have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Bounds {
    /// Stop issuing after this time, counted from the stream's own start.
    pub duration_ns: Option<u64>,
    /// Stop after this many bytes, all threads of the stream together.
    pub amount_bytes: Option<u64>,
    /// Stop after this many I/Os, all threads of the stream together.
    pub ios: Option<u64>,
}

impl Bounds {
    /// It goes on until the step ends.
    pub const NONE: Self = Self { duration_ns: None, amount_bytes: None, ios: None };

    /// Whether there is one.
    #[must_use]
    pub const fn any(&self) -> bool {
        self.duration_ns.is_some() || self.amount_bytes.is_some() || self.ios.is_some()
    }
}

/// One access pattern and its demand.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stimulus {
    /// Sizes of the transfers, 1 to 64 of them. Exact over every deck, which has as many I/Os as the sum
    /// of the weights, divided by what they have in common: 10,000 at most, as all decks. Flushes have no
    /// size and take none from the deck.
    pub block_sizes: Vec<BlockSize>,
    /// What the I/Os do; exact over every deck of the weights.
    pub operations: OperationWeights,
    /// Share of accesses, in per cent, that go to a random place, exact over every deck; the others go on
    /// where the thread's sequential stream stopped, in an earlier step on the same part of the range as
    /// well.
    pub random_pct: u8,
    /// First byte of the active range.
    pub range_start_bytes: u64,
    /// Byte after the last one of the active range.
    pub range_end_bytes: u64,
    /// Where in the range the random accesses go.
    #[serde(default)]
    pub placement: Placement,
    /// Offsets of random accesses are multiples of it, counted from the target's first byte; a multiple of
    /// the sector. Default: 4 KiB for transfers of at least that size, a sector for smaller ones.
    #[serde(default)]
    pub alignment_bytes: Option<u32>,
    /// Distance from the start of one sequential access to the start of the next, a multiple of the sector
    /// and no less than the largest transfer; default: the access's length. A strided stream begins anew
    /// at the start of the thread's part of the range.
    #[serde(default)]
    pub stride_bytes: Option<u64>,
    /// Threads that issue I/O.
    pub tc: u32,
    /// I/Os that each thread keeps outstanding, or may have outstanding where arrivals are paced.
    pub qd: u32,
    /// When the I/Os are issued.
    #[serde(default)]
    pub pacing: Pacing,
    /// What is written.
    #[serde(default)]
    pub data: Data,
    /// The placement handle that its writes name (NVMe flexible data placement); none: the drive's default.
    #[serde(default)]
    pub placement_handle: Option<u16>,
    /// Whether its writes are atomic: wholly on the media, or not at all.
    #[serde(default)]
    pub atomic: bool,
}

impl Stimulus {
    /// Random accesses of one size, anywhere in the range, by one thread that has one outstanding: what is
    /// otherwise is changed in it.
    #[must_use]
    pub fn random(operations: OperationWeights, block_size_bytes: u32, range_bytes: Range<u64>) -> Self {
        Self {
            block_sizes: vec![BlockSize::new(block_size_bytes, 1)],
            operations,
            random_pct: 100,
            range_start_bytes: range_bytes.start,
            range_end_bytes: range_bytes.end,
            placement: Placement::Uniform,
            alignment_bytes: None,
            stride_bytes: None,
            tc: 1,
            qd: 1,
            pacing: Pacing::ClosedLoop,
            data: Data::Random,
            placement_handle: None,
            atomic: false,
        }
    }

    /// The largest transfer; 0 for none.
    #[must_use]
    pub fn largest_block_bytes(&self) -> u32 {
        self.block_sizes.iter().map(|size| size.bytes).max().unwrap_or(0)
    }

    /// Sizes that a choice is made among: none where there is but one.
    #[must_use]
    pub fn mixed_sizes(&self) -> usize {
        if self.block_sizes.len() > 1 { self.block_sizes.len() } else { 0 }
    }

    /// Access ranges; none where the placement knows of none.
    #[must_use]
    pub fn zones(&self) -> &[Zone] {
        if let Placement::Zones(zones) = &self.placement { zones } else { &[] }
    }
}

/// One of several transfer sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockSize {
    /// Size of the transfer, a multiple of the sector.
    pub bytes: u32,
    /// Its part of the sum of all weights; may be 0.
    pub weight: u32,
}

impl BlockSize {
    /// A size with its weight.
    #[must_use]
    pub const fn new(bytes: u32, weight: u32) -> Self {
        Self { bytes, weight }
    }
}

/// Parts of the I/Os that do this or that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OperationWeights {
    /// Reads.
    pub read: u32,
    /// Writes.
    pub write: u32,
    /// Trims (deallocate, discard, unmap).
    pub trim: u32,
    /// Flushes of the volatile cache (fdatasync on a file).
    pub flush: u32,
    /// Fsyncs; on a drive the same as a flush.
    pub fsync: u32,
}

impl OperationWeights {
    /// So many reads in each hundred I/Os, 100 at most, and writes for the rest.
    #[must_use]
    pub const fn reads_pct(read_pct: u32) -> Self {
        Self { read: read_pct, write: 100 - read_pct, trim: 0, flush: 0, fsync: 0 }
    }

    /// The weight of one operation.
    #[must_use]
    pub const fn of(&self, operation: Operation) -> u32 {
        match operation {
            Operation::Read => self.read,
            Operation::Write => self.write,
            Operation::Trim => self.trim,
            Operation::Flush => self.flush,
            Operation::Fsync => self.fsync,
        }
    }
}

/// Where in the active range random accesses go.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Placement {
    /// Anywhere, with equal probability.
    #[default]
    Uniform,
    /// Access ranges, 1 to 64, one behind the other from the start of the active range; exact over every
    /// deck of the weights, uniform inside each (PTS 13, composite block size). A transfer lies whole in
    /// its zone.
    Zones(Vec<Zone>),
    /// The place of rank r is accessed in proportion to r^-theta; ranks are scattered over the range.
    Zipf {
        /// Exponent, above 0.
        theta: f64,
    },
    /// Self-similar: a share `h` of the places, below 0.5, gets a share `1 - h` of the accesses, and so on
    /// inside of each; places are scattered over the range.
    Pareto {
        /// Share of the hot places, between 0 and 0.5.
        h: f64,
    },
    /// Around a hot spot, cut at the ends of the range.
    Normal {
        /// Middle of the hot spot, in per cent of the range, 0 to 100.
        mean_pct: f64,
        /// Standard deviation, in per cent of the range, above 0 and at most 100.
        deviation_pct: f64,
    },
    /// Uniform over a number of equally sized LBA segments, which are spread at random over the range
    /// without overlap, the same for every thread and step of a session (PTS 6(5)).
    Segments {
        /// Number of segments, at most 65,536.
        count: u32,
        /// Size of each, a multiple of the largest transfer's alignment and no less than that transfer.
        bytes: u64,
    },
    /// Uniform over a fixed random choice of places that covers this many bytes: the total of unique LBAs
    /// accessed, the same for every thread and step of a session (PTS 6(4)). Only where all accesses are
    /// random.
    UniqueLbas {
        /// Total of the unique LBAs; rounded down to whole places of the largest transfer size.
        bytes: u64,
    },
}

/// One access range.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// Part of the accesses that go here, of the sum of all zones' weights.
    pub weight: u32,
    /// Its share of the active range, in per cent; the shares of all zones sum to 100.
    pub range_pct: f64,
}

/// When I/Os are issued. Rates hold for all threads together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Pacing {
    /// As soon as another one completes: QD are always outstanding.
    #[default]
    ClosedLoop,
    /// At equal distances, whether or not the device keeps up; latency counts from the planned moment.
    FixedRate {
        /// I/Os per second.
        ios_per_s: f64,
    },
    /// As a Poisson process, whether or not the device keeps up; latency counts from the planned moment.
    Poisson {
        /// Mean I/Os per second.
        ios_per_s: f64,
    },
    /// So many at once, once a period; latency counts from the planned moment.
    Burst {
        /// I/Os of each burst, all threads together.
        ios: u32,
        /// From the start of one burst to the start of the next.
        period_ns: u64,
    },
    /// Closed loop for a while, then nothing for a while, again and again from the step's start.
    DutyCycle {
        /// Time with I/O.
        on_ns: u64,
        /// Time without.
        off_ns: u64,
    },
    /// Each of the QD waits that long after its completion before it is issued again.
    ThinkTime {
        /// The wait.
        think_ns: u64,
    },
    /// Each thread issues so many, waits until all of them are answered, and rests.
    Batches {
        /// I/Os of each batch.
        ios: u32,
        /// The rest.
        rest_ns: u64,
        /// And no faster than this, all threads together: what a rest delays is caught up.
        #[serde(default)]
        cap: Option<Cap>,
    },
    /// A closed loop that is no faster than this, all threads together. What could not be issued in time is
    /// caught up; latency counts from the submission.
    Capped(Cap),
}

/// A rate that is not exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cap {
    /// The most that is issued in a second.
    pub per_s: f64,
    /// What is counted.
    pub unit: CapUnit,
}

/// What a capped rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapUnit {
    /// I/Os.
    Ios,
    /// Bytes moved.
    Bytes,
}

/// What is written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Data {
    /// Random bytes, fresh for every write (PTS 3.5).
    #[default]
    Random,
    /// Random bytes, made once for each buffer and written again and again.
    RandomOnce,
    /// Zero bytes.
    Zero,
    /// These bytes again and again, from the first byte of each write on.
    Pattern(Vec<u8>),
    /// Random bytes of a chosen entropy, with a share of blocks that were written before.
    Reducible {
        /// Entropy of every granule, 0 to 100 per cent of that of random bytes.
        entropy_pct: f64,
        /// Share of granules that are copies from a small fixed set, 0 to 100 per cent.
        duplicate_pct: f64,
        /// Unit in which data are compressible and deduplicable: a multiple of the sector, no larger than
        /// the buffers.
        granule_bytes: u32,
    },
    /// Random bytes with a header in every sector: LBA, generation and checksum. Reads are verified
    /// against them.
    Verified {
        /// Marks one pass of writing; reads expect exactly this one.
        generation: u64,
    },
}

/// What ends a step: whichever comes first. What is outstanding then is waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stop {
    /// Stop issuing after this time.
    pub duration_ns: Option<u64>,
    /// Stop after this many bytes, all threads together.
    pub amount_bytes: Option<u64>,
    /// Stop after this many I/Os, all threads together.
    pub ios: Option<u64>,
    /// Stop when a figure is steady.
    pub steady: Option<SteadyRule>,
    /// But go on for at least this time, also beyond an amount or a number of I/Os.
    pub at_least_ns: u64,
}

/// When a figure counts as steady: over the last `windows` windows it neither leaves the excursion's
/// band around its mean, nor does the slope of its best fit (PTS 2.1.24, in windows instead of rounds).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SteadyRule {
    /// What is tracked.
    pub figure: SteadyFigure,
    /// Time over which one value of the figure is taken.
    pub window_ns: u64,
    /// Number of values that are looked at, 2 to 10,000.
    pub windows: u32,
    /// Largest allowed range of the values, in per cent of their mean.
    pub excursion_pct: f64,
    /// Largest allowed range of the best linear fit, in per cent of the mean.
    pub slope_pct: f64,
}

/// A tracked figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyFigure {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Throughput,
    /// Mean latency.
    MeanLatency,
}
