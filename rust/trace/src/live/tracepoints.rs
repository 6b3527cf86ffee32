//! Records of the kernel's block tracepoints, each after its own `format` file.

use std::collections::{BTreeMap, HashMap};

use crate::block_event::{BlockAction, BlockEvent, SECTOR_BYTES};
use crate::error::TraceError;
use crate::reader::Dictionary;
use crate::tally::{Place, Tally};
use crate::text::letters;
use crate::traced_io::{Flags, NO_PROCESSOR, TracedOperation};

use super::pages::{Field, PageLayout, event_number, fields};
use super::places::Places;

/// Sectors beyond it have no number of their byte.
const HIGHEST_SECTOR: u64 = i64::MAX as u64 / SECTOR_BYTES;

/// The tracepoints that are understood.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tracepoint {
    Queue,
    Issue,
    Requeue,
    Complete,
    Remap,
}

const TRACEPOINTS: [(&str, Tracepoint); 6] = [
    ("block_bio_queue", Tracepoint::Queue),
    ("block_rq_issue", Tracepoint::Issue),
    ("block_rq_requeue", Tracepoint::Requeue),
    ("block_rq_complete", Tracepoint::Complete),
    ("block_bio_complete", Tracepoint::Complete),
    ("block_bio_remap", Tracepoint::Remap),
];

/// One of them, with the places of its fields.
struct Format {
    tracepoint: Tracepoint,
    pid: Field,
    device: Field,
    sector: Field,
    sectors: Field,
    letters: Field,
    command: Option<Field>,
    error: Option<Field>,
    old: Option<(Field, Field)>,
}

impl Format {
    fn of(name: &str, description: &str) -> Option<(u64, Self)> {
        let fields = fields(description);
        let field = |name| fields.get(name).copied();
        let (_, tracepoint) = TRACEPOINTS.into_iter().find(|(known, _)| *known == name)?;
        let format = Self {
            tracepoint,
            pid: field("common_pid")?,
            device: field("dev")?,
            sector: field("sector")?,
            sectors: field("nr_sector")?,
            letters: field("rwbs")?,
            command: field("comm"),
            error: field("error").or_else(|| field("errors")),
            old: field("old_dev").zip(field("old_sector")),
        };
        Some((event_number(description)?, format))
    }
}

/// All processors.
pub(super) struct Tracepoints {
    layout: PageLayout,
    formats: HashMap<u64, Format>,
    /// Where each record has the number of its format.
    kind: Field,
    devices: HashMap<u32, u16>,
    commands: Dictionary,
    positions: Vec<u64>,
}

impl Tracepoints {
    pub fn new(
        header_page: &str,
        formats: &BTreeMap<String, String>,
        places: &mut Places,
    ) -> Result<Self, TraceError> {
        let refuse = |what: &str| {
            TraceError::Refused(format!(
                "can't read the kernel's trace buffer: its description of {what} has not the fields that are needed"
            ))
        };
        let layout = PageLayout::of(header_page).ok_or_else(|| refuse("pages"))?;
        let read = |(name, text): (&String, &String)| Format::of(name, text).ok_or_else(|| refuse(name));
        let kind = formats.values().find_map(|text| fields(text).get("common_type").copied());
        let mut commands = Dictionary::default();
        commands.number(b"");
        let mut made = Self {
            layout,
            formats: formats.iter().map(read).collect::<Result<_, _>>()?,
            kind: kind.ok_or_else(|| refuse("events"))?,
            devices: HashMap::new(),
            commands,
            positions: Vec::new(),
        };
        places.number_disks(|disk| made.device(disk));
        Ok(made)
    }

    pub fn commands(&self) -> &[String] {
        self.commands.names()
    }

    fn device(&mut self, kernel_number: u32) -> Option<u16> {
        let next = u16::try_from(self.devices.len()).ok()?;
        Some(*self.devices.entry(kernel_number).or_insert(next))
    }

    pub fn feed(
        &mut self,
        cpu: usize,
        pages: &[u8],
        places: &Places,
        events: &mut Vec<BlockEvent>,
        tally: &mut Tally,
    ) {
        if self.positions.len() <= cpu {
            self.positions.resize(cpu + 1, 0);
        }
        let processor = i16::try_from(cpu).unwrap_or(NO_PROCESSOR);
        let layout = self.layout;
        let mut position = self.positions[cpu];
        let is_whole = layout.records(pages, |time_ns, record| {
            position += 1;
            match self.event(time_ns, record, places) {
                Some(event) if event.operation == TracedOperation::Other && event.bytes == 0 => {
                    tally.skip("command passed through to the device");
                }
                Some(event) => {
                    events.push(BlockEvent { cpu: processor, source_position: position, ..event });
                }
                None => tally.damage(cpu, Place::Byte(position), "record without the fields of its event"),
            }
        });
        self.positions[cpu] = position;
        if !is_whole {
            tally.damage(cpu, Place::Byte(position), "page that is laid out otherwise");
        }
    }

    fn event(&mut self, time_ns: i64, record: &[u8], places: &Places) -> Option<BlockEvent> {
        let format = self.formats.get(&self.kind.number(record)?)?;
        let bytes = format.sectors.number(record)?.checked_mul(SECTOR_BYTES)?;
        let letters = format.letters.bytes(record)?.split(|&byte| byte == 0).next()?;
        let (operation, flags) = operation_of(letters, bytes)?;
        let sector = format.sector.number(record)?.min(HIGHEST_SECTOR);
        let kernel_number = |field: Field| Some(places.disk_of(u32::try_from(field.number(record)?).ok()?));
        let device = kernel_number(format.device)?;
        let action = match format.tracepoint {
            Tracepoint::Queue => BlockAction::Queue,
            Tracepoint::Issue => BlockAction::Issue,
            Tracepoint::Requeue => BlockAction::Requeue,
            Tracepoint::Complete => BlockAction::Complete { error: error_of(format.error?.number(record)?) },
            Tracepoint::Remap => {
                let (old_device, old_sector) = format.old?;
                let (from, from_sector) = (kernel_number(old_device)?, old_sector.number(record)?);
                let (from_device, to_device) = (self.device(from)?, self.device(device)?);
                BlockAction::Remap { from_device, from_sector, to_device }
            }
        };
        let format = &self.formats[&self.kind.number(record)?];
        let name = format.command.and_then(|field| field.bytes(record)?.split(|&byte| byte == 0).next());
        let pid = u32::try_from(format.pid.number(record)?).ok()?.cast_signed();
        Some(BlockEvent {
            time_ns,
            action,
            operation,
            flags,
            command: name.and_then(|name| self.commands.number(name)).unwrap_or_default(),
            device: self.device(device)?,
            sector,
            bytes,
            pid,
            cpu: NO_PROCESSOR,
            source_position: 0,
        })
    }
}

/// Kernels print a write of zeroes as none of the operations that they name.
fn operation_of(letters: &[u8], bytes: u64) -> Option<(TracedOperation, Flags)> {
    let (operation, flags) = letters::operation(letters)?;
    let is_unnamed = letters.first() == Some(&b'N');
    Some(match operation {
        TracedOperation::Other if is_unnamed && bytes > 0 => (TracedOperation::WriteZeroes, flags),
        TracedOperation::Write if bytes == 0 && flags.has(Flags::PREFLUSH) => (TracedOperation::Flush, flags),
        _ => (operation, flags),
    })
}

/// The kernel's is negative.
fn error_of(field: u64) -> u16 {
    let error = (field as u32).cast_signed().unsigned_abs();
    u16::try_from(error).unwrap_or(u16::MAX)
}
