//! The slots of a thread's queue: which are free, and what is in flight in the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::workload::{Choice, Io, Operation};

/// An I/O that the device has not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outstanding {
    /// When its latency began, on the engine's clock.
    pub submitted_ns: u64,
    /// What it is.
    pub io: Io,
}

/// What is in flight in one slot. Only the thread writes; others read it to see which I/O hangs, and may
/// see a mixture of two I/Os in the moment of a change, which is gone when they look again.
#[derive(Debug, Default)]
struct Flight {
    /// 0: nothing is in flight.
    issued_ns: AtomicU64,
    /// Where its latency begins; 0: with the submission.
    planned_ns: AtomicU64,
    offset_bytes: AtomicU64,
    /// Length and, above it, a byte each for the operation's number, the size's, the zone's, and FUA. The
    /// placement handle is not kept, nor whether it is atomic: all writes of a stream are alike.
    what: AtomicU64,
}

const OPERATION_SHIFT: u32 = 32;
const SIZE_SHIFT: u32 = 40;
const ZONE_SHIFT: u32 = 48;
const FUA_SHIFT: u32 = 56;

/// The flights of one thread, in cache lines of their own.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Flights(Box<[Flight]>);

impl Flights {
    pub(super) fn new(slots: usize) -> Self {
        Self((0..slots).map(|_| Flight::default()).collect())
    }

    /// The I/O that waits longest for its answer.
    pub(super) fn oldest(&self) -> Option<Outstanding> {
        self.0.iter().filter_map(Flight::outstanding).min_by_key(|outstanding| outstanding.submitted_ns)
    }

    /// All I/Os that wait for their answers.
    pub(super) fn outstanding(&self) -> impl Iterator<Item = Outstanding> {
        self.0.iter().filter_map(Flight::outstanding)
    }
}

impl Flight {
    #[inline]
    fn prepare(&self, io: &Io) {
        self.offset_bytes.store(io.offset_bytes, Ordering::Relaxed);
        let what = u64::from(io.length_bytes)
            | (io.operation as u64) << OPERATION_SHIFT
            | u64::from(io.choice.size) << SIZE_SHIFT
            | u64::from(io.choice.zone) << ZONE_SHIFT
            | u64::from(io.fua) << FUA_SHIFT;
        self.what.store(what, Ordering::Relaxed);
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "each has its own bits")]
    fn io(&self) -> Io {
        let what = self.what.load(Ordering::Relaxed);
        Io {
            operation: Operation::ALL[usize::from((what >> OPERATION_SHIFT) as u8)],
            offset_bytes: self.offset_bytes.load(Ordering::Relaxed),
            length_bytes: what as u32,
            choice: Choice { size: (what >> SIZE_SHIFT) as u8, zone: (what >> ZONE_SHIFT) as u8 },
            fua: what >> FUA_SHIFT > 0,
            handle: None,
            atomic: false,
        }
    }

    fn outstanding(&self) -> Option<Outstanding> {
        let submitted_ns = self.issued_ns.load(Ordering::Relaxed);
        (submitted_ns > 0).then(|| Outstanding { submitted_ns, io: self.io() })
    }
}

/// One thread's view of its slots.
pub(super) struct Slots {
    flights: Arc<Flights>,
    free: Vec<usize>,
    prepared: Vec<usize>,
    /// Whether any of those has a planned moment.
    some_planned: bool,
    /// When a slot became free while none was: what was planned for an earlier moment had no room until then.
    room_since_ns: u64,
}

impl Slots {
    /// All slots of the thread; `use_only` decides how many of them a step may use.
    pub(super) fn new(flights: Arc<Flights>) -> Self {
        let count = flights.0.len();
        Self {
            flights,
            free: (0..count).rev().collect(),
            prepared: Vec::with_capacity(count),
            some_planned: false,
            room_since_ns: 0,
        }
    }

    /// Begin a step that may use `count` slots; nothing may be in flight.
    pub(super) fn use_only(&mut self, count: usize) {
        self.free.clear();
        self.free.extend((0..count).rev());
        self.prepared.clear();
    }

    pub(super) fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// The slot that `take` would give.
    #[inline]
    pub(super) fn next_free(&self) -> Option<usize> {
        self.free.last().copied()
    }

    /// Put the I/O into the next free slot. Its latency begins at `planned_ns`, or with the submission.
    #[inline(always)]
    pub(super) fn take(&mut self, io: &Io, planned_ns: Option<u64>) {
        let slot = self.reserve().expect("the caller looked");
        self.take_reserved(slot, io, planned_ns);
    }

    /// A free slot for an I/O that is prepared now and taken later.
    #[inline]
    pub(super) fn reserve(&mut self) -> Option<usize> {
        self.free.pop()
    }

    /// As `take`, into a slot that was reserved.
    #[inline(always)]
    pub(super) fn take_reserved(&mut self, slot: usize, io: &Io, planned_ns: Option<u64>) {
        self.flights.0[slot].prepare(io);
        self.flights.0[slot]
            .planned_ns
            .store(planned_ns.map_or(0, |planned_ns| planned_ns.max(1)), Ordering::Relaxed);
        self.some_planned |= planned_ns.is_some();
        self.prepared.push(slot);
    }

    /// What was taken is submitted now. How long after its planned moment, where it has one, or after it had
    /// room, is given to `slipped`: the time of the thread, and not that of the drive.
    #[inline]
    pub(super) fn submitted(&mut self, now_ns: u64, mut slipped: impl FnMut(u64)) {
        if std::mem::take(&mut self.some_planned) {
            for slot in &self.prepared {
                let planned_ns = self.flights.0[*slot].planned_ns.load(Ordering::Relaxed);
                if planned_ns > 0 {
                    slipped(now_ns.saturating_sub(planned_ns.max(self.room_since_ns)));
                }
            }
        }
        for slot in self.prepared.drain(..) {
            self.flights.0[slot].issued_ns.store(now_ns, Ordering::Relaxed);
        }
    }

    /// The slot's I/O was answered. The slot stays taken until it is released.
    #[inline]
    pub(super) fn answered(&mut self, slot: usize) -> Outstanding {
        let flight = &self.flights.0[slot];
        let planned_ns = flight.planned_ns.load(Ordering::Relaxed);
        let issued_ns = flight.issued_ns.load(Ordering::Relaxed);
        flight.issued_ns.store(0, Ordering::Relaxed);
        Outstanding { submitted_ns: if planned_ns > 0 { planned_ns } else { issued_ns }, io: flight.io() }
    }

    /// All I/Os that wait for their answers.
    pub(super) fn outstanding(&self) -> impl Iterator<Item = Outstanding> {
        self.flights.outstanding()
    }

    /// The slot may be used again.
    #[inline]
    pub(super) fn release(&mut self, slot: usize, now_ns: u64) {
        if self.free.is_empty() {
            self.room_since_ns = now_ns;
        }
        self.free.push(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_at(offset_bytes: u64) -> Io {
        Io::new(Operation::Read, offset_bytes, 4096)
    }

    #[test]
    fn the_oldest_flight_is_seen_from_outside_until_it_is_answered() {
        let flights = Arc::new(Flights::new(4));
        let mut slots = Slots::new(Arc::clone(&flights));
        slots.use_only(2);
        assert_eq!(flights.oldest(), None);
        for (offset_bytes, now_ns) in [(8192, 50), (4096, 70)] {
            slots.take(&read_at(offset_bytes), None);
            slots.submitted(now_ns, |_| ());
        }
        assert!(!slots.has_free());
        assert_eq!(flights.oldest(), Some(Outstanding { submitted_ns: 50, io: read_at(8192) }));
        let answered = slots.answered(0);
        slots.release(0, 90);
        assert_eq!(answered, Outstanding { submitted_ns: 50, io: read_at(8192) });
        assert_eq!(flights.oldest().unwrap().io, read_at(4096));
        assert_eq!(slots.next_free(), Some(0));
    }

    // proves: PTS-DEF-03
    #[test]
    fn a_planned_io_counts_from_its_planned_moment() {
        let mut slots = Slots::new(Arc::new(Flights::new(1)));
        slots.take(&read_at(0), Some(1_000));
        let mut slips = Vec::new();
        slots.submitted(5_000, |slip_ns| slips.push(slip_ns));
        assert_eq!(slips, [4_000]);
        let seen = slots.outstanding().next().unwrap();
        assert_eq!(seen.submitted_ns, 5_000, "the device has it only since then");
        assert_eq!(slots.answered(0).submitted_ns, 1_000);
    }

    #[test]
    fn a_planned_io_that_waits_for_room_is_not_late_until_there_is_some() {
        let mut slots = Slots::new(Arc::new(Flights::new(2)));
        let mut slips = Vec::new();
        let mut submit = |slots: &mut Slots, planned_ns, now_ns| {
            slots.take(&read_at(0), Some(planned_ns));
            slots.submitted(now_ns, |slip_ns| slips.push(slip_ns));
        };
        submit(&mut slots, 1_000, 1_010);
        submit(&mut slots, 2_000, 2_020);
        slots.release(0, 7_000);
        submit(&mut slots, 3_000, 7_030);
        slots.release(1, 8_000);
        slots.release(0, 9_000);
        submit(&mut slots, 8_500, 9_040);
        assert_eq!(slips, [10, 20, 30, 540]);
    }
}
