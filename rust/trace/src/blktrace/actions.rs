//! What the action of a record means.

use crate::block_event::BlockAction;
use crate::tally::{DamageClass, SkipReason};
use crate::traced_io::{Flags, TracedOperation};

use super::record::Header;

/// The record comes from a control group, whose number leads the payload.
const CGROUP: u64 = 1 << 8;
const CGROUP_BYTES: usize = 8;

/// Bits above the action.
mod category {
    pub const WRITE: u64 = 1 << 17;
    pub const FLUSH: u64 = 1 << 18;
    pub const SYNC: u64 = 1 << 19;
    pub const COMPLETE: u64 = 1 << 23;
    pub const PASS_THROUGH: u64 = 1 << 25;
    pub const NOTE: u64 = 1 << 26;
    pub const READ_AHEAD: u64 = 1 << 27;
    pub const META: u64 = 1 << 28;
    pub const DISCARD: u64 = 1 << 29;
    pub const DRIVER_DATA: u64 = 1 << 30;
    pub const FUA: u64 = 1 << 31;
    pub const ZONE_APPEND: u64 = 1 << 32;
    pub const ZONE_RESET: u64 = (1 << 33) | (1 << 34);
    pub const WRITE_ZEROES: u64 = 1 << 38;
    /// Finish, open and close a zone, and whatever later kernels add.
    pub const OTHER: u64 = !(WRITE_ZEROES | ((1 << 35) - 1));
}

/// A record, by its meaning.
pub(super) enum Meaning<'a> {
    /// Name of a process.
    Process(&'a [u8]),
    /// The wall clock.
    Clock(&'a [u8]),
    /// An event of an I/O; devices of a remap are the kernel's numbers.
    Event(BlockAction, Option<Remap>),
    /// Nothing of I/Os.
    Skipped(SkipReason),
    /// It can't be so.
    Damaged(DamageClass),
}

/// Where an I/O went on from.
pub(super) struct Remap {
    pub from_device: u32,
    pub to_device: u32,
    pub from_sector: u64,
}

pub(super) fn meaning<'a>(header: &Header, payload: &'a [u8]) -> Meaning<'a> {
    let has_cgroup = header.action & CGROUP != 0;
    let payload = if has_cgroup { payload.get(CGROUP_BYTES..).unwrap_or_default() } else { payload };
    let action = header.action & 0xffff & !CGROUP;
    if header.action & category::NOTE != 0 {
        return match action {
            0 => Meaning::Process(payload),
            1 => Meaning::Clock(payload),
            _ => Meaning::Skipped("message"),
        };
    }
    if header.action & category::DRIVER_DATA != 0 {
        return Meaning::Skipped("data of a driver");
    }
    if header.action & category::PASS_THROUGH != 0 {
        return Meaning::Skipped("command passed through to the device");
    }
    match action {
        1 if header.bytes == 0 && operation(header).transfers() => {
            Meaning::Skipped("arrival without a length")
        }
        1 => Meaning::Event(BlockAction::Queue, None),
        2 | 3 => Meaning::Event(BlockAction::Merge, None),
        6 => Meaning::Event(BlockAction::Requeue, None),
        7 => Meaning::Event(BlockAction::Issue, None),
        8 => completion(header),
        13 => split(payload),
        15 => remap(payload),
        4 | 5 | 9..=12 | 14 | 16 | 18 | 19 => Meaning::Skipped("action between arrival and completion"),
        _ => Meaning::Damaged("unknown action"),
    }
}

/// A zone append has two: one that tells the place.
fn completion(header: &Header) -> Meaning<'static> {
    if header.action & category::COMPLETE == 0 && header.action & category::ZONE_APPEND != 0 {
        return Meaning::Skipped("place of a zone append");
    }
    Meaning::Event(BlockAction::Complete { error: header.error.unsigned_abs() }, None)
}

fn split(payload: &[u8]) -> Meaning<'static> {
    match payload.first_chunk() {
        Some(sector) => Meaning::Event(BlockAction::Split { rest_sector: u64::from_be_bytes(*sector) }, None),
        None => Meaning::Damaged("split without a place"),
    }
}

/// Big-endian on any machine.
fn remap(payload: &[u8]) -> Meaning<'static> {
    let Some(payload) = payload.first_chunk::<16>() else {
        return Meaning::Damaged("remap without a place");
    };
    let (devices, sector) = payload.split_at(8);
    let device = |at: usize| u32::from_be_bytes(devices[at..at + 4].try_into().expect("four bytes"));
    let remap = Remap {
        from_device: device(0),
        to_device: device(4),
        from_sector: u64::from_be_bytes(sector.try_into().expect("eight bytes")),
    };
    // The numbers of the devices are the reader's.
    let action = BlockAction::Remap { from_device: 0, from_sector: remap.from_sector, to_device: 0 };
    Meaning::Event(action, Some(remap))
}

pub(super) fn operation(header: &Header) -> TracedOperation {
    let has = |bits: u64| header.action & bits != 0;
    if has(category::DISCARD) {
        TracedOperation::Trim
    } else if has(category::WRITE_ZEROES) {
        TracedOperation::WriteZeroes
    } else if has(category::ZONE_APPEND) {
        TracedOperation::ZoneAppend
    } else if has(category::ZONE_RESET) {
        TracedOperation::ZoneReset
    } else if has(category::OTHER) {
        TracedOperation::Other
    } else if has(category::FLUSH) && header.bytes == 0 {
        TracedOperation::Flush
    } else if has(category::WRITE) {
        TracedOperation::Write
    } else {
        TracedOperation::Read
    }
}

pub(super) fn flags(header: &Header) -> Flags {
    [
        (category::SYNC, Flags::SYNC),
        (category::FUA, Flags::FUA),
        (category::META, Flags::META),
        (category::READ_AHEAD, Flags::READ_AHEAD),
        (if header.bytes > 0 { category::FLUSH } else { 0 }, Flags::PREFLUSH),
    ]
    .into_iter()
    .filter(|(bit, _)| header.action & bit != 0)
    .fold(Flags::NONE, |flags, (_, flag)| flags.with(flag))
}
