//! Records become I/Os.

use std::collections::HashMap;

use crate::block_event::{BlockAction, BlockEvent, SECTOR_BYTES};
use crate::error::TraceError;
use crate::formats::{Opened, ReadOptions};
use crate::pairing::Pairing;
use crate::reader::{BATCH_IOS, Dictionary, Level, SourceFacts, TraceReader, TracedDevice};
use crate::source::Source;
use crate::tally::{DamageClass, Loss, Place, SkipReason, Tally};
use crate::traced_io::{NO_PROCESSOR, TracedIo, TracedOperation};

use super::actions::{Meaning, Remap, flags, meaning, operation};
use super::files::{Record, RecordFiles};
use super::record::Header;

/// Processes and counters that are kept at most; a kernel has fewer.
const KEPT: usize = 1 << 20;
/// Beyond it a place has no number of its byte.
const HIGHEST_SECTOR: u64 = i64::MAX as u64 / SECTOR_BYTES;
/// Bits of the minor number in a device's number.
const MINOR_BITS: u32 = 20;

/// A reader, of one merged file or the files of all processors.
pub(super) fn open(sources: Vec<Source>, options: &ReadOptions) -> Opened {
    if let Some(level @ (Level::File | Level::Wire)) = options.from {
        let why = format!("a blktrace has no I/Os of the {} level; use queue or issue", level.name());
        return Err(TraceError::Refused(why));
    }
    Ok(Box::new(BlktraceReader::new(RecordFiles::new(sources), options.from)))
}

/// Where the records of a processor have come to.
struct Counted {
    next_sequence: u32,
    last_ns: i64,
    missing: u32,
}

struct BlktraceReader {
    files: RecordFiles,
    pairing: Pairing,
    device_numbers: HashMap<u32, u16>,
    devices: Vec<TracedDevice>,
    commands: Dictionary,
    processes: HashMap<u32, u16>,
    sequences: HashMap<(u32, u32), Counted>,
    /// Wall clock and trace clock when the recording began.
    clock: Option<(i64, i64)>,
    first_event_ns: Option<i64>,
    has_ended: bool,
}

impl BlktraceReader {
    fn new(files: RecordFiles, from: Option<Level>) -> Self {
        let mut commands = Dictionary::default();
        commands.number(b"");
        Self {
            files,
            pairing: Pairing::new(from),
            device_numbers: HashMap::new(),
            devices: Vec::new(),
            commands,
            processes: HashMap::new(),
            sequences: HashMap::new(),
            clock: None,
            first_event_ns: None,
            has_ended: false,
        }
    }

    fn take(&mut self, record: &Record, batch: &mut Vec<TracedIo>, tally: &mut Tally) {
        match meaning(&record.header, &record.payload) {
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
                    Ok(event) => self.pairing.event(&event, batch, tally),
                    Err(class) => tally.damage(record.file, Place::Byte(record.position), class),
                }
            }
        }
    }

    fn event(
        &mut self,
        record: &Record,
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

    fn device(&mut self, kernel_number: u32) -> Result<u16, DamageClass> {
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

impl TraceReader for BlktraceReader {
    fn read(&mut self, batch: &mut Vec<TracedIo>, tally: &mut Tally) -> Result<bool, TraceError> {
        if self.has_ended {
            return Ok(false);
        }
        let enough = batch.len() + BATCH_IOS;
        while batch.len() < enough {
            let Some(record) = self.files.next(tally)? else {
                self.has_ended = true;
                self.pairing.end(batch, tally);
                break;
            };
            self.take(&record, batch, tally);
        }
        Ok(true)
    }

    fn facts(&self) -> SourceFacts {
        // A merged file begins at 0, but for the record with the time of day.
        let epoch = |(wall_ns, note_ns): (i64, i64)| match self.first_event_ns {
            Some(first_ns) if first_ns < note_ns => wall_ns,
            _ => wall_ns - note_ns,
        };
        SourceFacts {
            format: "blktrace",
            level: self.pairing.level(),
            resolution_ns: 1,
            epoch_ns: self.clock.map(epoch),
            has_completions: self.pairing.has_completions(),
            has_issue_times: true,
            devices: self.devices.clone(),
            commands: self.commands.names().to_vec(),
        }
    }
}
