//! From events of the block layer to I/Os: arrival and completion are joined by device, operation and place.
//!
//! The kernel gives its events no number of the I/O that they belong to. A completion covers a range, and takes
//! from it the oldest open I/Os that begin there: several if they were merged, a part of one if it was split.

use std::collections::{HashSet, VecDeque};

use super::block_event::{BlockAction, BlockEvent};
use super::open_ios::OpenIos;
use super::reader::Level;
use super::tally::{SkipReason, Tally};
use super::traced_io::{Quality, Status, TracedIo, TracedOperation};

/// Events after which the level is chosen, if it is not given.
const LEVEL_EVENTS: usize = 1 << 14;
/// Arrivals on lower devices that are expected at most.
const EXPECTED_ARRIVALS: usize = 1 << 10;
/// The errno of an I/O that would have had to wait: its sender repeats it.
const EAGAIN: u16 = 11;

struct Expected {
    devices: [u16; 2],
    operation: TracedOperation,
    sector: u64,
}

/// Makes I/Os of events, in bounded memory.
pub struct Pairing {
    level: Option<Level>,
    undecided: Vec<BlockEvent>,
    open: OpenIos,
    expected: VecDeque<Expected>,
    devices_with_arrivals: Vec<bool>,
    has_splits: bool,
}

impl Pairing {
    /// What arrives is taken from this level; without one, from the events: those of issue, unless there are
    /// none, or the trace has devices above each other.
    #[must_use]
    pub fn new(from: Option<Level>) -> Self {
        Self {
            level: from,
            undecided: Vec::new(),
            open: OpenIos::default(),
            expected: VecDeque::new(),
            devices_with_arrivals: Vec::new(),
            has_splits: false,
        }
    }

    /// From this level, and strictly in the order of arrival: one that is open after very many others have arrived
    /// leaves without its completion.
    #[must_use]
    pub fn in_order(from: Level) -> Self {
        Self { open: OpenIos::in_order(), ..Self::new(Some(from)) }
    }

    /// Which events the I/Os are.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level.unwrap_or_else(|| level_of(&self.undecided))
    }

    /// Whether there were any.
    #[must_use]
    pub const fn has_completions(&self) -> bool {
        self.open.has_completions
    }

    /// I/Os that have arrived and not ended.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.open.len()
    }

    /// The next event, in the order of times; I/Os that have ended, and all before them, go to the batch.
    pub fn event(&mut self, event: &BlockEvent, ios: &mut Vec<TracedIo>, tally: &mut Tally) {
        if self.level.is_some() {
            self.take(event, ios, tally);
            return;
        }
        self.undecided.push(*event);
        if self.undecided.len() >= LEVEL_EVENTS {
            self.decide(ios, tally);
        }
    }

    /// No more events: whatever is open goes to the batch as it is.
    pub fn end(&mut self, ios: &mut Vec<TracedIo>, tally: &mut Tally) {
        self.decide(ios, tally);
        self.open.end(ios);
    }

    fn decide(&mut self, ios: &mut Vec<TracedIo>, tally: &mut Tally) {
        self.level = Some(self.level());
        for event in std::mem::take(&mut self.undecided) {
            self.take(&event, ios, tally);
        }
    }

    fn take(&mut self, event: &BlockEvent, ios: &mut Vec<TracedIo>, tally: &mut Tally) {
        let is_queue = self.level == Some(Level::Queue);
        match event.action {
            BlockAction::Queue if is_queue => self.arrive(event, ios, tally),
            BlockAction::Issue if !is_queue => self.arrive(event, ios, tally),
            BlockAction::Queue => tally.skip("arrival at the queue, I/Os are those of issue"),
            BlockAction::Issue => tally.skip("issue to the driver, I/Os are those of the queue"),
            BlockAction::Complete { error } => self.complete(event, error, ios, tally),
            BlockAction::Requeue => {
                if !is_queue {
                    self.take_back(event, ios, tally);
                }
                tally.accept();
            }
            BlockAction::Merge => {
                if let Some(number) = self.open.oldest_at(event, event.sector) {
                    self.open.entry(number).io.quality.0 |= Quality::PART_OF_MERGE.0;
                }
                tally.accept();
            }
            BlockAction::Split { rest_sector } => {
                if let Some(number) = self.open.oldest_over(event, rest_sector) {
                    let entry = self.open.entry(number);
                    entry.io.quality.0 |= Quality::SPLIT.0;
                    entry.rest_sector = Some(rest_sector);
                    self.has_splits = true;
                }
                tally.accept();
            }
            BlockAction::Remap { from_device, from_sector, to_device } => {
                self.expect(event, from_device, from_sector, to_device);
                tally.accept();
            }
        }
    }

    fn arrive(&mut self, event: &BlockEvent, ios: &mut Vec<TracedIo>, tally: &mut Tally) {
        if self.has_splits && self.is_rest_of_split(event) {
            return tally.skip("rest of a split I/O");
        }
        let is_below =
            !self.expected.is_empty() && self.forget_expected(event.device, event.operation, event.sector);
        if is_below {
            tally.skip("counted on the device above");
        } else {
            tally.accept();
        }
        let device = usize::from(event.device);
        if self.devices_with_arrivals.len() <= device {
            self.devices_with_arrivals.resize(device + 1, false);
        }
        self.devices_with_arrivals[device] = true;
        self.open.arrive(event, !is_below, ios);
    }

    /// A kernel that lets the rest of a split go through the queue again.
    fn is_rest_of_split(&mut self, event: &BlockEvent) -> bool {
        let Some(number) = self.open.oldest_over(event, event.sector) else {
            return false;
        };
        let entry = self.open.entry(number);
        let is_rest = entry.rest_sector == Some(event.sector) && entry.end_sector == event.end_sector();
        if is_rest {
            entry.rest_sector = None;
        }
        is_rest
    }

    /// The same I/O will arrive on the device below, unless that above has none of it.
    fn expect(&mut self, event: &BlockEvent, from_device: u16, from_sector: u64, to_device: u16) {
        let above = BlockEvent { device: from_device, ..*event };
        let is_above = || {
            self.open.oldest_at(&above, from_sector).or_else(|| self.open.oldest_over(&above, from_sector))
        };
        if is_above().is_none() && !self.forget_expected(from_device, event.operation, from_sector) {
            return;
        }
        if self.expected.len() == EXPECTED_ARRIVALS {
            self.expected.pop_front();
        }
        self.expected.push_back(Expected {
            devices: [event.device, to_device],
            operation: event.operation,
            sector: event.sector,
        });
    }

    fn forget_expected(&mut self, device: u16, operation: TracedOperation, sector: u64) -> bool {
        let is_it = |expected: &Expected| {
            expected.devices.contains(&device) && expected.operation == operation && expected.sector == sector
        };
        let index = self.expected.iter().rposition(is_it);
        index.is_some_and(|index| self.expected.remove(index).is_some())
    }

    fn take_back(&mut self, event: &BlockEvent, ios: &mut Vec<TracedIo>, tally: &mut Tally) {
        if let Some(number) = self.open.oldest_at(event, event.place()) {
            tally.note("given back by the driver");
            self.open.close(number);
            self.open.entry(number).counts = false;
            self.open.let_go(number, ios);
        }
    }

    fn complete(&mut self, event: &BlockEvent, error: u16, ios: &mut Vec<TracedIo>, tally: &mut Tally) {
        self.open.has_completions = true;
        let ended = if event.bytes == 0 {
            self.complete_without_bytes(event, error, ios)
        } else {
            self.complete_range(event, error, ios, tally)
        };
        if ended {
            tally.accept();
        } else if event.bytes == 0 {
            tally.skip("second end of a flush");
        } else if !self.devices_with_arrivals.get(usize::from(event.device)).is_some_and(|&has| has) {
            tally.skip("completion on a device without arrivals");
        } else {
            tally.skip(unpaired(event.operation));
        }
    }

    /// A flush, an operation without a length, or a bio whose driver has counted its length down.
    fn complete_without_bytes(&mut self, event: &BlockEvent, error: u16, ios: &mut Vec<TracedIo>) -> bool {
        let flush = BlockEvent { operation: TracedOperation::Flush, ..*event };
        let number = if event.operation.transfers() {
            let last = event.sector.checked_sub(1);
            self.open.oldest_at(&flush, 0).or_else(|| self.open.oldest_over(event, last?))
        } else {
            self.open.oldest_at(event, event.place())
        };
        let Some(number) = number else { return false };
        self.finish(number, event, error, ios);
        true
    }

    fn complete_range(
        &mut self,
        event: &BlockEvent,
        error: u16,
        ios: &mut Vec<TracedIo>,
        tally: &mut Tally,
    ) -> bool {
        let (first, end) = (event.sector, event.end_sector());
        let mut place = first;
        while place < end {
            let Some(number) = self.oldest_with(event, place) else { break };
            let entry = self.open.entry(number);
            if place > first || end > entry.end_sector {
                entry.io.quality.0 |= Quality::PART_OF_MERGE.0;
            }
            // of an append the place was not known yet
            let is_placed = place < entry.end_sector && place >= entry.first_sector;
            let part = (place, if is_placed { entry.end_sector.min(end) } else { end });
            place = part.1;
            if is_placed && part != (entry.first_sector, entry.end_sector) {
                entry.io.quality.0 |= Quality::SPLIT.0;
                if error != 0 {
                    entry.io.status = Status::Failed(error);
                }
                entry.end_part(part);
                if entry.open_sectors > 0 {
                    continue;
                }
            }
            self.finish(number, event, error, ios);
        }
        if place > first && place < end {
            tally.note("completion longer than what was open");
        }
        place > first
    }

    fn oldest_with(&self, event: &BlockEvent, place: u64) -> Option<u64> {
        let here = self.open.oldest_at(event, place).or_else(|| self.open.oldest_over(event, place));
        let is_append = event.operation == TracedOperation::ZoneAppend && place == event.sector;
        here.or_else(|| is_append.then(|| self.open.oldest_as_long(event)).flatten())
    }

    fn finish(&mut self, number: u64, event: &BlockEvent, error: u16, ios: &mut Vec<TracedIo>) {
        let is_queue = self.level == Some(Level::Queue);
        self.open.close(number);
        let entry = self.open.entry(number);
        entry.io.completed_ns = Some(event.time_ns);
        if is_queue && error == EAGAIN {
            entry.counts = false;
        } else if error != 0 {
            entry.io.status = Status::Failed(error);
        }
        self.open.let_go(number, ios);
    }
}

fn level_of(events: &[BlockEvent]) -> Level {
    let of = |action| events.iter().filter(move |event| event.action == action);
    let queued: HashSet<u16> = of(BlockAction::Queue).map(|event| event.device).collect();
    let is_stacked = |event: &BlockEvent| matches!(event.action, BlockAction::Remap { from_device, .. } if queued.contains(&from_device));
    let has_issues = of(BlockAction::Issue).next().is_some();
    if has_issues && !events.iter().any(is_stacked) { Level::Issue } else { Level::Queue }
}

/// It began before the trace, or its arrival was lost.
const fn unpaired(operation: TracedOperation) -> SkipReason {
    match operation {
        TracedOperation::Read => "completion of a read that was not seen to begin",
        TracedOperation::Write => "completion of a write that was not seen to begin",
        TracedOperation::Trim => "completion of a trim that was not seen to begin",
        TracedOperation::Flush => "completion of a flush that was not seen to begin",
        TracedOperation::WriteZeroes => "completion of a write of zeroes that was not seen to begin",
        TracedOperation::ZoneAppend => "completion of a zone append that was not seen to begin",
        TracedOperation::ZoneReset => "completion of a zone reset that was not seen to begin",
        TracedOperation::Other => "completion of another operation that was not seen to begin",
    }
}
