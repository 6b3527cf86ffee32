//! I/Os that have arrived, until they and all before them have ended; found by device, operation and place.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::block_event::BlockEvent;
use super::traced_io::{Status, TracedIo, TracedOperation};

/// I/Os that are kept until all before them have ended, so that they leave in the order of their arrival.
const HELD_IOS: usize = 1 << 18;
/// I/Os that may be open beyond those; they leave late, when they end.
const LATE_IOS: usize = 1 << 16;
/// Parts of a split I/O that are kept apart.
const ENDED_PARTS: usize = 1 << 10;
/// Open I/Os before a place that are looked at for one that reaches over it.
const LOOKED_AT: usize = 256;

/// Device, operation, first sector, number: those of a device and an operation in the order of their places, and
/// at one place in the order of their arrival. One number, since comparing them is most of the work.
type Key = u128;

const NUMBER_BITS: u32 = 48;
const SECTOR_BITS: u32 = 56;
const ANY_NUMBER: u64 = (1 << NUMBER_BITS) - 1;
const ANY_SECTOR: u64 = (1 << SECTOR_BITS) - 1;

fn key(device: u16, operation: TracedOperation, sector: u64, number: u64) -> Key {
    let kind = u128::from(device) << 8 | operation as u128;
    (kind << SECTOR_BITS | u128::from(sector.min(ANY_SECTOR))) << NUMBER_BITS | u128::from(number)
}

fn key_of(event: &BlockEvent, sector: u64, number: u64) -> Key {
    key(event.device, event.operation, sector, number)
}

const fn number_of(key: Key) -> u64 {
    key as u64 & ANY_NUMBER
}

/// One that has arrived.
pub(crate) struct OpenIo {
    pub io: TracedIo,
    pub first_sector: u64,
    pub end_sector: u64,
    /// What has ended of one that was split, and nothing of others.
    ended_parts: Vec<(u64, u64)>,
    pub open_sectors: u64,
    /// Where the rest of a split begins that may arrive once more.
    pub rest_sector: Option<u64>,
    is_open: bool,
    /// Whether it is an I/O of the trace: not one that is counted on a device above, or was taken back.
    pub counts: bool,
}

impl OpenIo {
    fn has_ended_at(&self, sector: u64) -> bool {
        self.ended_parts.iter().any(|&(from, to)| (from..to).contains(&sector))
    }

    pub fn end_part(&mut self, (from, to): (u64, u64)) {
        self.open_sectors = self.open_sectors.saturating_sub(to - from);
        if let Some(last) = self.ended_parts.last_mut().filter(|last| last.1 == from) {
            last.1 = to;
        } else if self.ended_parts.len() < ENDED_PARTS {
            self.ended_parts.push((from, to));
        }
    }
}

/// All of them, by number. Memory is bounded: about 50 MB at worst.
pub(crate) struct OpenIos {
    /// From the oldest that is held, in the order of arrival.
    held: VecDeque<OpenIo>,
    /// Number of the first one in `held`.
    first_held: u64,
    /// Open ones that are older.
    late: BTreeMap<u64, OpenIo>,
    open: BTreeSet<Key>,
    /// Longest of each operation.
    longest_sectors: [u64; TracedOperation::ALL.len()],
    /// How many of those there may be.
    most_late: usize,
    /// Whether any has ended so far.
    pub has_completions: bool,
}

impl Default for OpenIos {
    fn default() -> Self {
        Self {
            held: VecDeque::new(),
            first_held: 0,
            late: BTreeMap::new(),
            open: BTreeSet::new(),
            longest_sectors: [0; TracedOperation::ALL.len()],
            most_late: LATE_IOS,
            has_completions: false,
        }
    }
}

impl OpenIos {
    /// Whose I/Os leave in the order of their arrival, whatever becomes of them.
    pub fn in_order() -> Self {
        Self { most_late: 0, ..Self::default() }
    }

    pub fn len(&self) -> usize {
        self.open.len()
    }

    pub fn arrive(&mut self, event: &BlockEvent, counts: bool, ios: &mut Vec<TracedIo>) {
        let (first_sector, end_sector) = (event.place(), event.place().max(event.end_sector()));
        let sectors = end_sector - first_sector;
        let longest = &mut self.longest_sectors[event.operation as usize];
        *longest = (*longest).max(sectors);
        let number = self.first_held + self.held.len() as u64;
        self.open.insert(key_of(event, first_sector, number));
        self.held.push_back(OpenIo {
            io: event.io(),
            first_sector,
            end_sector,
            ended_parts: Vec::new(),
            open_sectors: sectors,
            rest_sector: None,
            is_open: true,
            counts,
        });
        if self.held.len() > HELD_IOS {
            self.make_room(ios);
        }
    }

    pub fn entry(&mut self, number: u64) -> &mut OpenIo {
        match number.checked_sub(self.first_held) {
            Some(index) => &mut self.held[usize::try_from(index).expect("as many as are held")],
            None => self.late.get_mut(&number).expect("what is open is held or late"),
        }
    }

    fn entry_ref(&self, number: u64) -> &OpenIo {
        match number.checked_sub(self.first_held) {
            Some(index) => &self.held[usize::try_from(index).expect("as many as are held")],
            None => &self.late[&number],
        }
    }

    /// The oldest one of the event's device and operation that begins here.
    pub fn oldest_at(&self, event: &BlockEvent, sector: u64) -> Option<u64> {
        let last = key_of(event, sector, ANY_NUMBER);
        let here = self.open.range(key_of(event, sector, 0)..).take_while(|key| **key <= last);
        let numbers = here.map(|key| number_of(*key));
        numbers.take(LOOKED_AT).find(|&number| !self.entry_ref(number).has_ended_at(sector))
    }

    /// The oldest that begins before this sector and reaches over it.
    pub fn oldest_over(&self, event: &BlockEvent, sector: u64) -> Option<u64> {
        let from = sector.saturating_sub(self.longest_sectors[event.operation as usize]);
        let before = self.open.range(key_of(event, from, 0)..key_of(event, sector, 0)).rev().take(LOOKED_AT);
        let reaches = |&number: &u64| {
            let entry = self.entry_ref(number);
            entry.end_sector > sector && !entry.has_ended_at(sector)
        };
        before.map(|key| number_of(*key)).filter(reaches).min()
    }

    /// The oldest of this length, wherever it was to go: the device may have chosen another place.
    pub fn oldest_as_long(&self, event: &BlockEvent) -> Option<u64> {
        let all = key_of(event, 0, 0)..=key_of(event, ANY_SECTOR, ANY_NUMBER);
        let all = self.open.range(all).take(LOOKED_AT);
        all.map(|key| number_of(*key))
            .filter(|&number| self.entry_ref(number).io.length_bytes == event.bytes)
            .min()
    }

    /// It is not open any more; it goes once all before it have ended.
    pub fn close(&mut self, number: u64) {
        let entry = self.entry(number);
        entry.is_open = false;
        let key = key(entry.io.device, entry.io.operation, entry.first_sector, number);
        self.open.remove(&key);
    }

    /// Those that have ended, and all before them.
    pub fn let_go(&mut self, closed: u64, ios: &mut Vec<TracedIo>) {
        if let Some(entry) = self.late.remove(&closed) {
            self.put_out(entry, ios);
        }
        while self.held.front().is_some_and(|entry| !entry.is_open) {
            self.first_held += 1;
            if let Some(entry) = self.held.pop_front() {
                self.put_out(entry, ios);
            }
        }
    }

    /// Whatever is left, open or not.
    pub fn end(&mut self, ios: &mut Vec<TracedIo>) {
        self.open.clear();
        for entry in std::mem::take(&mut self.late).into_values().chain(std::mem::take(&mut self.held)) {
            self.put_out(entry, ios);
        }
    }

    /// The oldest that is held lets those after it go, and leaves when it ends.
    fn make_room(&mut self, ios: &mut Vec<TracedIo>) {
        if let Some(entry) = self.held.pop_front() {
            self.late.insert(self.first_held, entry);
            self.first_held += 1;
        }
        if self.late.len() > self.most_late
            && let Some((&number, _)) = self.late.first_key_value()
        {
            self.close(number);
            self.let_go(number, ios);
        }
    }

    fn put_out(&self, mut entry: OpenIo, ios: &mut Vec<TracedIo>) {
        if !entry.counts {
            return;
        }
        if entry.io.completed_ns.is_none() && self.has_completions {
            entry.io.status = Status::NoCompletionSeen;
        }
        ios.push(entry.io);
    }
}
