//! What texts of block events have in common: their payload, and what becomes of them.

use super::columns::named_devices;
use super::letters;
use super::number::whole;
use crate::block_event::{BlockAction, BlockEvent, SECTOR_BYTES};
use crate::formats::ReadOptions;
use crate::pairing::Pairing;
use crate::reader::{Dictionary, SourceFacts};
use crate::tally::{DamageClass, SkipReason, Tally};
use crate::traced_io::{Flags, NO_PROCESS, NO_PROCESSOR, TracedIo, TracedOperation};

pub(super) const PASS_THROUGH: SkipReason = "pass-through command";
/// Last sector that bytes can be counted to.
const SECTORS_MAX: u64 = i64::MAX as u64 / SECTOR_BYTES;

/// What a line is if it is no event of an I/O.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unused {
    Skipped(SkipReason),
    Damaged(DamageClass),
}

impl From<DamageClass> for Unused {
    fn from(class: DamageClass) -> Self {
        Self::Damaged(class)
    }
}

/// What a line says happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happened {
    Queue,
    Merge,
    Issue,
    Requeue,
    Complete,
    Split,
    Remap,
}

/// One event as it is written: the parts of a line, in the text's own words.
pub(super) struct Written<'l> {
    pub(super) time_ns: i64,
    pub(super) happened: Happened,
    /// `major,minor`.
    pub(super) device: &'l [u8],
    pub(super) letters: &'l [u8],
    /// All behind the letters.
    pub(super) payload: &'l [u8],
    pub(super) pid: Option<i32>,
    /// Name of the process; in the payload, if it is not given before.
    pub(super) command: Option<&'l [u8]>,
    pub(super) cpu: Option<i16>,
}

/// Place, length and end of an event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Payload<'l> {
    pub(super) sector: Option<u64>,
    pub(super) sectors: u64,
    /// In brackets at the end: a process or an errno.
    pub(super) bracket: Option<&'l [u8]>,
    /// Of a split.
    pub(super) rest_sector: Option<u64>,
    /// Of a remap: device above, and place there.
    pub(super) above: Option<(&'l [u8], u64)>,
    /// Whether there is a command that is not empty.
    pub(super) has_command: bool,
}

/// Reads a payload by its signs, not by columns: `[bytes] [(command)] sector [+ n | / sector] [(us)] [priority]
/// [<- (device) sector] [[name or errno]]`.
pub(super) fn payload(text: &[u8]) -> Result<Payload<'_>, DamageClass> {
    let mut payload = Payload::default();
    let mut rest = text.trim_ascii();
    // A name may contain brackets of its own.
    if let (Some(first), Some(b']')) = (memchr::memchr(b'[', rest), rest.last()) {
        payload.bracket = Some(&rest[first + 1..rest.len() - 1]);
        rest = rest[..first].trim_ascii_end();
    }
    let mut number = cut_number(&mut rest);
    if let Some(inside) = cut_group(&mut rest) {
        payload.has_command = !inside.is_empty();
        // Bytes and a command, or no more than a place and the time that blkparse -t adds.
        if let Some(sector) = cut_number(&mut rest) {
            number = Some(sector);
        } else if number.is_some() && inside.iter().all(u8::is_ascii_digit) {
            payload.has_command = false;
        }
    }
    let Some(number) = number else {
        return if rest.is_empty() { Ok(payload) } else { Err("not an event's place") };
    };
    payload.sector = Some(whole(number)?);
    match rest {
        [b'+', after @ ..] => {
            rest = after.trim_ascii_start();
            payload.sectors = whole(cut_number(&mut rest).ok_or("no length")?)?;
        }
        [b'/', after @ ..] => {
            rest = after.trim_ascii_start();
            payload.rest_sector = Some(whole(cut_number(&mut rest).ok_or("no place of the second part")?)?);
        }
        _ => {}
    }
    if let Some(after) = rest.strip_prefix(b"<-") {
        rest = after.trim_ascii_start();
        let device = cut_group(&mut rest).ok_or("no device above")?;
        payload.above = Some((device, whole(cut_number(&mut rest).ok_or("no place above")?)?));
    }
    Ok(payload)
}

/// The next word, and what is behind it.
pub(super) fn cut_word<'l>(text: &mut &'l [u8]) -> &'l [u8] {
    let begun = text.trim_ascii_start();
    let end = begun.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(begun.len());
    *text = &begun[end..];
    &begun[..end]
}

/// The digits at the beginning, and what is behind them and blanks.
fn cut_number<'l>(text: &mut &'l [u8]) -> Option<&'l [u8]> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    if number.is_empty() {
        return None;
    }
    *text = rest.trim_ascii_start();
    Some(number)
}

/// What is in parentheses at the beginning, without blanks around it.
fn cut_group<'l>(text: &mut &'l [u8]) -> Option<&'l [u8]> {
    let inside = text.strip_prefix(b"(")?;
    let end = memchr::memchr(b')', inside)?;
    *text = inside[end + 1..].trim_ascii_start();
    Some(inside[..end].trim_ascii())
}

/// An errno as it is printed: signed, or as 16 bits without a sign.
fn errno(text: &[u8]) -> Result<u16, DamageClass> {
    const NO_ERRNO: DamageClass = "not an errno";
    let number = whole(text.strip_prefix(b"-").unwrap_or(text)).map_err(|_| NO_ERRNO)?;
    let number = if number > 0x7fff { 0x1_0000_u64.checked_sub(number).ok_or(NO_ERRNO)? } else { number };
    u16::try_from(number).map_err(|_| NO_ERRNO)
}

/// Makes I/Os of written events.
pub(super) struct Events {
    pairing: Pairing,
    devices: Dictionary,
    commands: Dictionary,
    pub(super) resolution_ns: u64,
}

impl Events {
    pub(super) fn new(options: &ReadOptions, resolution_ns: u64) -> Self {
        let mut commands = Dictionary::default();
        commands.number(b"");
        Self { pairing: Pairing::new(options.from), devices: Dictionary::default(), commands, resolution_ns }
    }

    /// Takes one event, which is counted by what becomes of it.
    pub(super) fn take(
        &mut self,
        written: &Written<'_>,
        line_number: u64,
        batch: &mut Vec<TracedIo>,
        tally: &mut Tally,
    ) -> Result<(), Unused> {
        let event = self.event(written, line_number)?;
        self.pairing.event(&event, batch, tally);
        Ok(())
    }

    fn event(&mut self, written: &Written<'_>, line_number: u64) -> Result<BlockEvent, Unused> {
        let (operation, flags) = letters::operation(written.letters).ok_or("unknown operation")?;
        let payload = payload(written.payload)?;
        let operation = operation_of(operation, flags, written.happened, &payload)?;
        // Completions of flushes have the place -1.
        let is_flush = operation == TracedOperation::Flush;
        let sector = if is_flush { 0 } else { payload.sector.unwrap_or(0) };
        let sectors = if is_flush { 0 } else { payload.sectors };
        if sector.checked_add(sectors).is_none_or(|end| end > SECTORS_MAX) {
            return Err(Unused::Damaged("end beyond 2^63 bytes"));
        }
        let command = match (written.command, written.happened) {
            (Some(command), _) => command,
            (None, Happened::Complete | Happened::Requeue) => &[],
            (None, _) => payload.bracket.unwrap_or_default(),
        };
        let device = self.device(written.device)?;
        Ok(BlockEvent {
            time_ns: written.time_ns,
            action: self.action(written.happened, &payload, device)?,
            operation,
            flags,
            device,
            sector,
            bytes: sectors * SECTOR_BYTES,
            pid: written.pid.unwrap_or(NO_PROCESS),
            command: self.commands.number(command).unwrap_or_default(),
            cpu: written.cpu.unwrap_or(NO_PROCESSOR),
            source_position: line_number,
        })
    }

    fn action(
        &mut self,
        happened: Happened,
        payload: &Payload<'_>,
        device: u16,
    ) -> Result<BlockAction, DamageClass> {
        Ok(match happened {
            Happened::Queue => BlockAction::Queue,
            Happened::Merge => BlockAction::Merge,
            Happened::Issue => BlockAction::Issue,
            Happened::Requeue => BlockAction::Requeue,
            Happened::Complete => {
                BlockAction::Complete { error: errno(payload.bracket.ok_or("no result of the I/O")?)? }
            }
            Happened::Split => {
                BlockAction::Split { rest_sector: payload.rest_sector.ok_or("no place of the second part")? }
            }
            Happened::Remap => {
                let (above, from_sector) = payload.above.ok_or("no device above")?;
                BlockAction::Remap { from_device: self.device(above)?, from_sector, to_device: device }
            }
        })
    }

    fn device(&mut self, name: &[u8]) -> Result<u16, DamageClass> {
        let is_pair = |comma| whole(&name[..comma]).is_ok() && whole(&name[comma + 1..]).is_ok();
        if !memchr::memchr(b',', name).is_some_and(is_pair) {
            return Err("not a device (major,minor)");
        }
        self.devices.number(name).ok_or("more than 65,536 devices")
    }

    pub(super) fn end(&mut self, batch: &mut Vec<TracedIo>, tally: &mut Tally) {
        self.pairing.end(batch, tally);
    }

    pub(super) fn facts(&self, format: &'static str) -> SourceFacts {
        SourceFacts {
            format,
            level: self.pairing.level(),
            resolution_ns: self.resolution_ns,
            epoch_ns: None,
            has_completions: self.pairing.has_completions(),
            has_issue_times: true,
            devices: named_devices(&self.devices),
            commands: self.commands.names().to_vec(),
        }
    }
}

/// What an event is of, or why it is of no I/O.
fn operation_of(
    operation: TracedOperation,
    flags: Flags,
    happened: Happened,
    payload: &Payload<'_>,
) -> Result<TracedOperation, Unused> {
    let is_empty = payload.sectors == 0;
    match operation {
        TracedOperation::Write if is_empty && flags.has(Flags::PREFLUSH) => Ok(TracedOperation::Flush),
        TracedOperation::Flush | TracedOperation::ZoneReset => Ok(operation),
        TracedOperation::Other => Err(Unused::Skipped(PASS_THROUGH)),
        _ if payload.has_command => Err(Unused::Skipped(PASS_THROUGH)),
        // A driver may have counted the length down before the end; a split has another place instead of one.
        _ if !is_empty
            || matches!(happened, Happened::Complete | Happened::Split) && payload.sector.is_some() =>
        {
            Ok(operation)
        }
        _ if payload.sector.is_none() => Err(Unused::Skipped(PASS_THROUGH)),
        _ => Err(Unused::Damaged("zero length")),
    }
}
