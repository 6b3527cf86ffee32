//! From events of the block layer to I/Os: arrival and completion are joined by device, operation and place.
//!
//! The kernel gives its events no number of the I/O that they belong to. A completion covers a range, and takes
//! from it the oldest open I/Os that begin there: several if they were merged, a part of one if it was split.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use super::reader::Level;
use super::tally::{SkipReason, Tally};
use super::traced_io::{Flags, Quality, Status, TracedIo, TracedOperation};

/// Bytes of the sectors of block events, whatever those of the device are.
pub const SECTOR_BYTES: u64 = 512;

/// I/Os that are kept until all before them have ended, so that they leave in the order of their arrival.
const HELD_IOS: usize = 1 << 19;
/// I/Os that may be open beyond those; they leave late, when they end.
const LATE_IOS: usize = 1 << 16;
/// Events after which the level is chosen, if it is not given.
const LEVEL_EVENTS: usize = 1 << 14;
/// Arrivals on lower devices that are expected at most.
const EXPECTED_ARRIVALS: usize = 1 << 10;
/// Parts of a split I/O that are kept apart.
const ENDED_PARTS: usize = 1 << 10;
/// Open I/Os before a place that are looked at for one that reaches over it.
const LOOKED_AT: usize = 256;
/// The errno of an I/O that would have had to wait: its sender repeats it.
const EAGAIN: u16 = 11;

/// What happened to an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockAction {
    /// It arrived at the block layer (Q).
    Queue,
    /// It became part of a request, in front or at the back (M, F).
    Merge,
    /// Its request was handed to the driver (D).
    Issue,
    /// The driver gave the request back, to get it again (R).
    Requeue,
    /// It ended, or a part of it (C).
    Complete {
        /// The errno, positive; 0 for none.
        error: u16,
    },
    /// It was cut in two (X).
    Split {
        /// Where the second part begins.
        rest_sector: u64,
    },
    /// It was sent on to a device below (A): the event's sector is there.
    Remap {
        /// The device above.
        from_device: u16,
        /// Its place there.
        from_sector: u64,
        /// The device below, if it is not that of the event: a partition, where events have the whole disk.
        to_device: u16,
    },
}

/// An event of the block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEvent {
    /// By the clock of the source.
    pub time_ns: i64,
    /// What happened.
    pub action: BlockAction,
    /// What the I/O does: a flush if it has no bytes, a write with [`Flags::PREFLUSH`] if it has some.
    pub operation: TracedOperation,
    /// How it was asked for.
    pub flags: Flags,
    /// Number of the device.
    pub device: u16,
    /// First sector, of 512 bytes.
    pub sector: u64,
    /// Length; of a completion, of what has ended.
    pub bytes: u64,
    /// Process in which it happened.
    pub pid: i32,
    /// Number of its name.
    pub command: u16,
    /// Processor on which it happened.
    pub cpu: i16,
    /// Where the event is in the source.
    pub source_position: u64,
}

impl BlockEvent {
    fn end_sector(&self) -> u64 {
        self.sector.saturating_add(self.bytes.div_ceil(SECTOR_BYTES))
    }
}

/// Device, operation, first sector, number: those of a device and an operation in the order of their places, and
/// at one place in the order of their arrival.
type Key = (u16, TracedOperation, u64, u64);

struct Entry {
    io: TracedIo,
    first_sector: u64,
    end_sector: u64,
    /// What has ended of one that was split, and nothing of others.
    ended_parts: Vec<(u64, u64)>,
    open_sectors: u64,
    /// Where the rest of a split begins that may arrive once more.
    rest_sector: Option<u64>,
    is_open: bool,
    /// Whether it is an I/O of the trace: not one that is counted on a device above, or was taken back.
    counts: bool,
}

impl Entry {
    fn has_ended_at(&self, sector: u64) -> bool {
        self.ended_parts.iter().any(|&(from, to)| (from..to).contains(&sector))
    }

    fn end_part(&mut self, (from, to): (u64, u64)) {
        self.open_sectors = self.open_sectors.saturating_sub(to - from);
        if let Some(last) = self.ended_parts.last_mut().filter(|last| last.1 == from) {
            last.1 = to;
        } else if self.ended_parts.len() < ENDED_PARTS {
            self.ended_parts.push((from, to));
        }
    }
}

struct Expected {
    devices: [u16; 2],
    operation: TracedOperation,
    sector: u64,
}

/// Makes I/Os of events. Memory is bounded: about 60 MB at worst.
pub struct Pairing {
    level: Option<Level>,
    undecided: Vec<BlockEvent>,
    /// From the oldest that is held, in the order of arrival.
    held: VecDeque<Entry>,
    /// Number of the first one in `held`.
    first_held: u64,
    /// Open ones that are older.
    late: BTreeMap<u64, Entry>,
    open: BTreeSet<Key>,
    /// Longest of each operation.
    longest_sectors: [u64; TracedOperation::ALL.len()],
    expected: VecDeque<Expected>,
    devices_with_arrivals: Vec<bool>,
    has_completions: bool,
}

impl Pairing {
    /// What arrives is taken from this level; without one, from the events: those of issue, unless there are
    /// none, or the trace has devices above each other.
    #[must_use]
    pub fn new(from: Option<Level>) -> Self {
        Self {
            level: from,
            undecided: Vec::new(),
            held: VecDeque::new(),
            first_held: 0,
            late: BTreeMap::new(),
            open: BTreeSet::new(),
            longest_sectors: [0; TracedOperation::ALL.len()],
            expected: VecDeque::new(),
            devices_with_arrivals: Vec::new(),
            has_completions: false,
        }
    }

    /// Which events the I/Os are.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level.unwrap_or_else(|| level_of(&self.undecided))
    }

    /// Whether there were any.
    #[must_use]
    pub const fn has_completions(&self) -> bool {
        self.has_completions
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
        self.open.clear();
        for entry in std::mem::take(&mut self.late).into_values().chain(std::mem::take(&mut self.held)) {
            self.put_out(entry, ios);
        }
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
                    self.take_back(event, tally);
                }
                tally.accept();
            }
            BlockAction::Merge => {
                if let Some(number) = self.oldest_at(event, event.sector) {
                    self.entry(number).io.quality.0 |= Quality::PART_OF_MERGE.0;
                }
                tally.accept();
            }
            BlockAction::Split { rest_sector } => {
                if let Some(number) = self.oldest_over(event, rest_sector) {
                    let entry = self.entry(number);
                    entry.io.quality.0 |= Quality::SPLIT.0;
                    entry.rest_sector = Some(rest_sector);
                }
                tally.accept();
            }
            BlockAction::Remap { from_device, from_sector, to_device } => {
                self.expect(event, from_device, from_sector, to_device);
                tally.accept();
            }
        }
        self.let_go(ios);
    }

    fn arrive(&mut self, event: &BlockEvent, ios: &mut Vec<TracedIo>, tally: &mut Tally) {
        if self.is_rest_of_split(event) {
            return tally.skip("rest of a split I/O");
        }
        let counts = !self.was_expected(event);
        if counts {
            tally.accept();
        } else {
            tally.skip("counted on the device above");
        }
        let device = usize::from(event.device);
        if self.devices_with_arrivals.len() <= device {
            self.devices_with_arrivals.resize(device + 1, false);
        }
        self.devices_with_arrivals[device] = true;

        let (first_sector, end_sector) = (event.sector, event.end_sector());
        let longest = &mut self.longest_sectors[event.operation as usize];
        *longest = (*longest).max(end_sector - first_sector);
        let number = self.first_held + self.held.len() as u64;
        self.open.insert((event.device, event.operation, place_of(event), number));
        self.held.push_back(Entry {
            io: io_of(event),
            first_sector: place_of(event),
            end_sector,
            ended_parts: Vec::new(),
            open_sectors: end_sector - first_sector,
            rest_sector: None,
            is_open: true,
            counts,
        });
        if self.held.len() > HELD_IOS {
            self.make_room(ios);
        }
    }

    /// A kernel that lets the rest of a split go through the queue again.
    fn is_rest_of_split(&mut self, event: &BlockEvent) -> bool {
        let Some(number) = self.oldest_over(event, event.sector) else {
            return false;
        };
        let entry = self.entry(number);
        let is_rest = entry.rest_sector == Some(event.sector) && entry.end_sector == event.end_sector();
        if is_rest {
            entry.rest_sector = None;
        }
        is_rest
    }

    /// The same I/O will arrive on the device below, unless that above has none of it.
    fn expect(&mut self, event: &BlockEvent, from_device: u16, from_sector: u64, to_device: u16) {
        let above = BlockEvent { device: from_device, ..*event };
        let was_expected = self.forget_expected(from_device, event.operation, from_sector);
        if !was_expected && self.oldest_at(&above, from_sector).is_none() {
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

    fn was_expected(&mut self, event: &BlockEvent) -> bool {
        !self.expected.is_empty() && self.forget_expected(event.device, event.operation, event.sector)
    }

    fn forget_expected(&mut self, device: u16, operation: TracedOperation, sector: u64) -> bool {
        let is_it = |expected: &Expected| {
            expected.devices.contains(&device) && expected.operation == operation && expected.sector == sector
        };
        let index = self.expected.iter().rposition(is_it);
        index.is_some_and(|index| self.expected.remove(index).is_some())
    }

    fn take_back(&mut self, event: &BlockEvent, tally: &mut Tally) {
        if let Some(number) = self.oldest_at(event, place_of(event)) {
            tally.note("given back by the driver");
            self.close(number);
            self.entry(number).counts = false;
        }
    }

    fn complete(&mut self, event: &BlockEvent, error: u16, ios: &mut Vec<TracedIo>, tally: &mut Tally) {
        self.has_completions = true;
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
            self.oldest_at(&flush, 0).or_else(|| self.oldest_over(event, last?))
        } else {
            self.oldest_at(event, place_of(event))
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
        let (mut place, end) = (event.sector, event.end_sector());
        let mut numbers = 0_u32;
        while place < end {
            let found = self.oldest_at(event, place).or_else(|| self.oldest_over(event, place));
            let Some(number) = found.or_else(|| self.oldest_append(event, place)) else { break };
            numbers += 1;
            let is_alone = numbers == 1;
            let entry = self.entry(number);
            if entry.io.operation == TracedOperation::ZoneAppend {
                place = end;
                self.finish(number, event, error, ios);
                continue;
            }
            if !is_alone || end > entry.end_sector {
                entry.io.quality.0 |= Quality::PART_OF_MERGE.0;
            }
            let part = (place, entry.end_sector.min(end));
            place = part.1;
            if part != (entry.first_sector, entry.end_sector) {
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
        if numbers > 0 && place < end {
            tally.note("completion longer than what was open");
        }
        numbers > 0
    }

    /// The device has chosen the place: the completion may have another one.
    fn oldest_append(&mut self, event: &BlockEvent, place: u64) -> Option<u64> {
        if event.operation != TracedOperation::ZoneAppend || place != event.sector {
            return None;
        }
        let all = (event.device, event.operation, 0, 0)..=(event.device, event.operation, u64::MAX, u64::MAX);
        let numbers: Vec<u64> = self.open.range(all).map(|key| key.3).take(LOOKED_AT).collect();
        numbers.into_iter().filter(|&number| self.entry(number).io.length_bytes == event.bytes).min()
    }

    fn finish(&mut self, number: u64, event: &BlockEvent, error: u16, ios: &mut Vec<TracedIo>) {
        self.close(number);
        let is_queue = self.level == Some(Level::Queue);
        let entry = self.entry(number);
        entry.io.completed_ns = Some(event.time_ns);
        if is_queue && error == EAGAIN {
            entry.counts = false;
        } else if error != 0 {
            entry.io.status = Status::Failed(error);
        }
        if let Some(entry) = self.late.remove(&number) {
            self.put_out(entry, ios);
        }
    }

    fn close(&mut self, number: u64) {
        let entry = self.entry(number);
        entry.is_open = false;
        let key = (entry.io.device, entry.io.operation, entry.first_sector, number);
        self.open.remove(&key);
    }

    fn entry(&mut self, number: u64) -> &mut Entry {
        match number.checked_sub(self.first_held) {
            Some(index) => &mut self.held[usize::try_from(index).expect("as many as are held")],
            None => self.late.get_mut(&number).expect("what is open is held or late"),
        }
    }

    fn oldest_at(&mut self, event: &BlockEvent, sector: u64) -> Option<u64> {
        let key = |number| (event.device, event.operation, sector, number);
        let numbers = self.open.range(key(0)..=key(u64::MAX)).map(|key| key.3);
        let first = numbers.clone().next()?;
        if !self.entry_ref(first).has_ended_at(sector) {
            return Some(first);
        }
        numbers.take(LOOKED_AT).find(|&number| !self.entry_ref(number).has_ended_at(sector))
    }

    fn oldest_over(&self, event: &BlockEvent, sector: u64) -> Option<u64> {
        let from = sector.saturating_sub(self.longest_sectors[event.operation as usize]);
        let key = |sector, number| (event.device, event.operation, sector, number);
        let before = self.open.range(key(from, 0)..key(sector, 0)).rev().take(LOOKED_AT);
        let reaches = |&number: &u64| {
            let entry = self.entry_ref(number);
            entry.end_sector > sector && !entry.has_ended_at(sector)
        };
        before.map(|key| key.3).filter(reaches).min()
    }

    fn entry_ref(&self, number: u64) -> &Entry {
        match number.checked_sub(self.first_held) {
            Some(index) => &self.held[usize::try_from(index).expect("as many as are held")],
            None => &self.late[&number],
        }
    }

    fn let_go(&mut self, ios: &mut Vec<TracedIo>) {
        while self.held.front().is_some_and(|entry| !entry.is_open) {
            self.first_held += 1;
            if let Some(entry) = self.held.pop_front() {
                self.put_out(entry, ios);
            }
        }
    }

    /// The oldest that is held lets those after it go, and leaves when it ends.
    fn make_room(&mut self, ios: &mut Vec<TracedIo>) {
        if let Some(entry) = self.held.pop_front() {
            self.late.insert(self.first_held, entry);
            self.first_held += 1;
        }
        if self.late.len() > LATE_IOS
            && let Some((&number, _)) = self.late.first_key_value()
        {
            self.close(number);
            if let Some(entry) = self.late.remove(&number) {
                self.put_out(entry, ios);
            }
        }
    }

    fn put_out(&self, mut entry: Entry, ios: &mut Vec<TracedIo>) {
        if !entry.counts {
            return;
        }
        if entry.io.completed_ns.is_none() && self.has_completions {
            entry.io.status = Status::NoCompletionSeen;
        }
        ios.push(entry.io);
    }
}

fn level_of(events: &[BlockEvent]) -> Level {
    let of = |action| events.iter().filter(move |event| event.action == action);
    let queued: HashSet<u16> = of(BlockAction::Queue).map(|event| event.device).collect();
    let is_stacked = |event: &BlockEvent| matches!(event.action, BlockAction::Remap { from_device, .. } if queued.contains(&from_device));
    let has_issues = of(BlockAction::Issue).next().is_some();
    if has_issues && !events.iter().any(is_stacked) { Level::Issue } else { Level::Queue }
}

/// A flush has no place, whatever its events have.
fn place_of(event: &BlockEvent) -> u64 {
    if event.operation == TracedOperation::Flush { 0 } else { event.sector }
}

fn io_of(event: &BlockEvent) -> TracedIo {
    let offset_bytes = place_of(event).saturating_mul(SECTOR_BYTES);
    let mut io =
        TracedIo::new(event.time_ns, event.operation, offset_bytes, event.bytes, event.source_position);
    io.flags = event.flags;
    io.device = event.device;
    io.domain = event.device;
    io.pid = event.pid;
    io.command = event.command;
    io.cpu = event.cpu;
    io
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
