//! How true a replay was to its schedule.

use crate::histogram::LatencyHistogram;
use crate::workload::operation::ByOperation;

/// An I/O that was submitted later than this after its due moment is late, and its lateness has a cause.
pub const LATE_NS: u64 = 10_000;

/// Why an I/O was late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Cause {
    /// The thread was not there in time, or was busy.
    Host,
    /// The schedule was not read in time: the host's fault as well, but another one.
    Reader,
    /// As many as may be outstanding were.
    Depth,
    /// It, or one before it, waited for one that it conflicts with, or a flush for writes.
    Order,
    /// The submission of those before it took so long.
    Device,
}

impl Cause {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::Host, Self::Reader, Self::Depth, Self::Order, Self::Device];

    /// The word for records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Reader => "reader",
            Self::Depth => "depth",
            Self::Order => "order",
            Self::Device => "device",
        }
    }
}

/// Sums over pairs: others in flight at an I/O's issue, in the trace and in the replay.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InFlightFit {
    /// Pairs.
    pub ios: u64,
    /// Sum of the trace's.
    pub traced: f64,
    /// Sum of the replay's.
    pub replayed: f64,
    /// Sum of the absolute differences.
    pub difference: f64,
    /// Sums of squares and of products, from which the correlation follows.
    pub traced_squares: f64,
    /// See above.
    pub replayed_squares: f64,
    /// See above.
    pub products: f64,
}

impl InFlightFit {
    #[inline]
    pub(super) fn add(&mut self, traced: u16, replayed: usize) {
        let (traced, replayed) = (f64::from(traced), replayed as f64);
        self.ios += 1;
        self.traced += traced;
        self.replayed += replayed;
        self.difference += (traced - replayed).abs();
        self.traced_squares += traced * traced;
        self.replayed_squares += replayed * replayed;
        self.products += traced * replayed;
    }
}

/// How true the replay of one schedule was. Times are since the stream's start.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// Number of the stream.
    pub stream: usize,
    /// I/Os of the schedule.
    pub scheduled: u64,
    /// I/Os that were submitted.
    pub issued: u64,
    /// I/Os that were left out because they conflict with others.
    pub dropped: u64,
    /// I/Os that overlapped one in flight, where one of them changes data.
    pub conflicts: u64,
    /// Submitted after one that comes later in the schedule.
    pub reordered: u64,
    /// Submitted before their due moments.
    pub early: u64,
    /// From due moment to submission; empty where no moments are due.
    pub slips: LatencyHistogram,
    /// Of the last I/O.
    pub last_slip_ns: u64,
    /// Differences, without signs, of gaps between submissions from those that were due.
    pub gap_errors: LatencyHistogram,
    /// From due moment to answer.
    pub due_latencies: ByOperation<LatencyHistogram>,
    /// Late I/Os by cause.
    pub late: [u64; Cause::ALL.len()],
    /// Time in which an I/O that was due waited, by cause.
    pub waited_ns: [u64; Cause::ALL.len()],
    /// Submission of the first.
    pub first_submission_ns: Option<u64>,
    /// Answer to the last.
    pub last_answer_ns: u64,
    /// Time in which a read or write was executing.
    pub busy_ns: u64,
    /// Of I/Os whose completions are in the trace.
    pub in_flight: InFlightFit,
}
