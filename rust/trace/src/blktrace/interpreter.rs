//! What records say, with what earlier ones have said: names of processes, devices, the clock, sequences.

use std::collections::BTreeMap;

use crate::block_event::{BlockAction, BlockEvent, SECTOR_BYTES};
use crate::reader::{Dictionary, TracedDevice};
use crate::tally::{DamageClass, Loss, Place, SkipReason, Tally};
use crate::traced_io::{NO_PROCESSOR, TracedOperation};

use super::actions::{Meaning, Remap, flags, meaning, operation};
use super::record::Header;
use super::stream::Record;

/// Processes and counters that are kept at most; a kernel has fewer.
const KEPT: usize = 1 << 20;
/// Beyond it a place has no number of its byte.
const HIGHEST_SECTOR: u64 = i64::MAX as u64 / SECTOR_BYTES;
/// Bits of the minor number in a device's number.
const MINOR_BITS: u32 = 20;

/// Where the records of a processor have come to.
struct Counted {
    next_sequence: u32,
    last_ns: i64,
    missing: u32,
}

/// Makes events of records.
pub(crate) struct Interpreter {
    device_numbers: BTreeMap<u32, u16>,
    devices: Vec<TracedDevice>,
    commands: Dictionary,
    processes: BTreeMap<u32, u16>,
    sequences: BTreeMap<(u32, u32), Counted>,
    /// Wall clock and trace clock when the recording began.
    clock: Option<(i64, i64)>,
    first_event_ns: Option<i64>,
}

impl Interpreter {
    pub fn new() -> Self {
        let mut commands = Dictionary::default();
        commands.number(b"");
        Self {
            device_numbers: BTreeMap::new(),
            devices: Vec::new(),
            commands,
            processes: BTreeMap::new(),
            sequences: BTreeMap::new(),
            clock: None,
            first_event_ns: None,
        }
    }

    /// In the order of their numbers.
    pub fn devices(&self) -> &[TracedDevice] {
        &self.devices
    }

    /// Names of processes, in the order of their numbers.
    pub fn commands(&self) -> &[String] {
        self.commands.names()
    }

    /// Wall-clock time at which the clock of the records was 0. A merged file begins at 0, but for the record
    /// with the time of day.
    pub fn epoch_ns(&self) -> Option<i64> {
        self.clock.map(|(wall_ns, note_ns)| match self.first_event_ns {
            Some(first_ns) if first_ns < note_ns => wall_ns,
            _ => wall_ns - note_ns,
        })
    }

    /// The event of a record that is one; others are counted.
    pub fn event_of(&mut self, record: &Record<'_>, tally: &mut Tally) -> Option<BlockEvent> {
        match meaning(&record.header, record.payload) {
            Meaning::Process(name) => {
                self.name_process(record.header.pid, name, tally);
                tally.skip("name of a process");
            }
            Meaning::Clock(payload) => {
                let words = record.layout.two_u32(payload);
                let wall = words.map(|(s, ns)| i64::from(s) * 1_000_000_000 + i64::from(ns));
                self.clock = self.clock.or(wall.zip(i64::try_from(record.header.time_ns).ok()));
                tally.skip("time of day");
            }
            Meaning::Skipped(reason) => {
                self.count_sequence(&record.header, reason, tally);
                tally.skip(reason);
            }
            Meaning::Damaged(class) => tally.damage(record.file, Place::Byte(record.position), class),
            Meaning::Event(action, remap) => {
                self.count_sequence(&record.header, "", tally);
                match self.event(record, action, remap) {
                    Ok(event) => return Some(event),
                    Err(class) => tally.damage(record.file, Place::Byte(record.position), class),
                }
            }
        }
        None
    }

    fn event(
        &mut self,
        record: &Record<'_>,
        action: BlockAction,
        remap: Option<Remap>,
    ) -> Result<BlockEvent, DamageClass> {
        let header = &record.header;
        let operation = operation(header);
        let time_ns = i64::try_from(header.time_ns).map_err(|_| "time out of range")?;
        if header.sector > HIGHEST_SECTOR && operation != TracedOperation::Flush && header.bytes > 0 {
            return Err("place out of range");
        }
        let action = match remap {
            Some(remap) => BlockAction::Remap {
                from_device: self.device(remap.from_device)?,
                from_sector: remap.from_sector,
                to_device: self.device(remap.to_device)?,
            },
            None => action,
        };
        self.first_event_ns = Some(self.first_event_ns.map_or(time_ns, |first| first.min(time_ns)));
        Ok(BlockEvent {
            time_ns,
            action,
            operation,
            flags: flags(header),
            device: self.device(header.device)?,
            sector: header.sector.min(HIGHEST_SECTOR),
            bytes: u64::from(header.bytes),
            pid: header.pid.cast_signed(),
            command: self.processes.get(&header.pid).copied().unwrap_or_default(),
            cpu: i16::try_from(header.cpu).unwrap_or(NO_PROCESSOR),
            source_position: record.position,
        })
    }

    /// The number of a device, by that of the kernel.
    pub fn device(&mut self, kernel_number: u32) -> Result<u16, DamageClass> {
        if let Some(number) = self.device_numbers.get(&kernel_number) {
            return Ok(*number);
        }
        let number = u16::try_from(self.devices.len()).map_err(|_| "more devices than can be told apart")?;
        let (major, minor) = (kernel_number >> MINOR_BITS, kernel_number & ((1 << MINOR_BITS) - 1));
        self.devices.push(TracedDevice { name: format!("{major},{minor}"), ..TracedDevice::default() });
        self.device_numbers.insert(kernel_number, number);
        Ok(number)
    }

    fn name_process(&mut self, pid: u32, name: &[u8], tally: &mut Tally) {
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        match self.commands.number(name) {
            Some(number) if self.processes.len() < KEPT => {
                self.processes.insert(pid, number);
            }
            _ => tally.note("name of a process that is one too many"),
        }
    }

    /// A gap is a loss; a record that is merely late takes one off it.
    fn count_sequence(&mut self, header: &Header, reason: SkipReason, tally: &mut Tally) {
        // The kernel gives messages none.
        if reason == "message" || self.sequences.len() >= KEPT {
            return;
        }
        let time_ns = i64::try_from(header.time_ns).unwrap_or(i64::MAX);
        let first = || Counted { next_sequence: header.sequence, last_ns: time_ns, missing: 0 };
        let counted = self.sequences.entry((header.device, header.cpu)).or_insert_with(first);
        let ahead = header.sequence.wrapping_sub(counted.next_sequence).cast_signed();
        if ahead < 0 {
            if counted.missing > 0 {
                counted.missing -= 1;
                tally.lost -= 1;
            }
            return;
        }
        if ahead > 0 {
            counted.missing = counted.missing.saturating_add(ahead.unsigned_abs());
            tally.lose(Loss {
                cpu: header.cpu,
                from_ns: counted.last_ns,
                to_ns: time_ns,
                records: u64::from(ahead.unsigned_abs()),
            });
        }
        counted.next_sequence = header.sequence.wrapping_add(1);
        counted.last_ns = time_ns;
    }
}
