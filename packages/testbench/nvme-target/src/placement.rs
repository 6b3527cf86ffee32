//! Flexible data placement: handles in write commands, logs 20h to 23h, features 1Dh and 1Eh, and the
//! commands of I/O management (NVM Express Base Specification 2.1, "Flexible Data Placement").
//!
//! There is one endurance group with one configuration, one reclaim group, and as many placement handles for
//! each namespace as the drive has reclaim unit handles: a placement identifier is the number of its handle.

use openpts_sim::{Placed, UnitEvent};

use super::bytes::{Page, u16_at};
use super::command::{Answered, Command, Done, Status};
use super::declared::{Filled, declared};
use super::lock::lock;
use super::media::MOST_NAMESPACES;
use super::placement_events::MOST_EVENTS;
use super::subsystem::Subsystem;

pub(super) const FIRST_LOG: u8 = CONFIGURATIONS;
pub(super) const LAST_LOG: u8 = EVENTS;
const CONFIGURATIONS: u8 = 0x20;
const HANDLE_USAGE: u8 = 0x21;
const STATISTICS: u8 = 0x22;
const EVENTS: u8 = 0x23;

pub(super) const FEATURE: u8 = 0x1D;
pub(super) const EVENTS_FEATURE: u8 = 0x1E;

const ENDURANCE_GROUP: u16 = 1;
/// Directive type "data placement", in dword 12 of a write.
const DATA_PLACEMENT: u32 = 2;
/// Management operation of I/O Management Receive (status) and Send (update) alike.
const RECLAIM_UNIT_HANDLES: u32 = 1;

const NOT_FULLY_WRITTEN: u8 = 0x00;
const INVALID_IDENTIFIER: u8 = 0x03;
const UNIT_CHANGED: u8 = 0x81;
/// Types of events, and whether they are the host's.
const EVENT_TYPES: [(u8, bool); 3] =
    [(NOT_FULLY_WRITTEN, true), (INVALID_IDENTIFIER, true), (UNIT_CHANGED, false)];
fn placed(subsystem: &Subsystem) -> Result<Placed, Status> {
    subsystem.drive.placed().ok_or(Status::INVALID_FIELD)
}

/// Attributes of the controller: endurance groups and flexible data placement.
pub(super) fn attributes(subsystem: &Subsystem) -> u32 {
    if subsystem.drive.placed().is_some() { 1 << 4 | 1 << 19 } else { 0 }
}

/// In Identify Controller: the largest number of an endurance group.
pub(super) fn describe_controller(subsystem: &Subsystem, page: &mut Page) {
    if subsystem.drive.placed().is_some() {
        page.put_u16(340, ENDURANCE_GROUP);
    }
}

/// In Identify Namespace: its endurance group.
pub(super) fn describe_namespace(subsystem: &Subsystem, page: &mut Page) {
    if subsystem.drive.placed().is_some() {
        page.put_u16(102, ENDURANCE_GROUP);
    }
}

/// The handle that a write names. An identifier that names none is an event, and the write is placed as one
/// without an identifier.
pub(super) fn handle_of(subsystem: &Subsystem, command: &Command) -> Result<Option<u16>, Status> {
    if command.dword(12) >> 20 & 15 != DATA_PLACEMENT {
        return Ok(None);
    }
    let handles = placed(subsystem)?.handles;
    let identifier = (command.dword(13) >> 16) as u16;
    if identifier < handles {
        return Ok(Some(identifier));
    }
    let mut events = lock(&subsystem.placement_events);
    events.keep(command.namespace(), identifier);
    Ok(None)
}

/// I/O Management Receive: each handle of the namespace, and the blocks that its reclaim unit has left.
pub(super) fn handle_status(
    subsystem: &Subsystem,
    lba_shift: u32,
    command: &Command,
) -> Result<Vec<u8>, Status> {
    if command.dword(10) & 0xFF != RECLAIM_UNIT_HANDLES {
        return Err(Status::INVALID_FIELD);
    }
    let placed = placed(subsystem)?;
    let length = (command.dword(11) as usize + 1) * 4;
    if command.room().is_none_or(|room| room < length) {
        return Err(Status::DATA_SGL_LENGTH);
    }
    let mut page = Page::new(16 + 32 * usize::from(placed.handles));
    page.put_u16(14, placed.handles);
    for handle in 0..placed.handles {
        let at = 16 + 32 * usize::from(handle);
        // One that the drive takes and does not follow has what the only one has.
        let status = placed.status.iter().find(|status| status.handle == handle).or(placed.status.first());
        let left = status.map_or(0, |status| status.left_bytes >> lba_shift);
        page.put_u16(at, handle).put_u16(at + 2, handle).put_u64(at + 8, left);
    }
    let mut asked = page.into_bytes();
    asked.resize(length, 0);
    Ok(asked)
}

/// I/O Management Send: handles go on in other reclaim units.
pub(super) fn update_handles(subsystem: &Subsystem, command: &Command, data: &[u8]) -> Result<(), Status> {
    if command.dword(10) & 0xFF != RECLAIM_UNIT_HANDLES {
        return Err(Status::INVALID_FIELD);
    }
    let handles = placed(subsystem)?.handles;
    let count = (command.dword(10) >> 16) as usize + 1;
    if data.len() < count * 2 {
        return Err(Status::DATA_TRANSFER_ERROR);
    }
    let named: Vec<u16> = (0..count).map(|place| u16_at(data, place * 2)).collect();
    // Asked before anything is changed.
    if named.iter().any(|handle| *handle >= handles) {
        return Err(Status::INVALID_FIELD);
    }
    for handle in named {
        subsystem.drive.update_handle(handle).map_err(|_| Status::WRITE_FAULT)?;
    }
    Ok(())
}

/// A log of the endurance group that the command names.
pub(super) fn log(subsystem: &Subsystem, command: &Command) -> Result<Filled, Status> {
    let placed = subsystem.drive.placed().ok_or(Status::INVALID_LOG_PAGE)?;
    if command.dword(11) >> 16 != u32::from(ENDURANCE_GROUP) {
        return Err(Status::INVALID_FIELD);
    }
    Ok(match command.dword(10) as u8 {
        CONFIGURATIONS => configurations(&placed),
        HANDLE_USAGE => {
            let mut page = declared("fdp-handle-usage").page();
            page.put("reclaim_unit_handles", placed.handles);
            // The host may name all of them.
            for handle in 0..usize::from(placed.handles) {
                page.put_entry("handles", 0, handle, &[("use", 1)]);
            }
            page
        }
        STATISTICS => {
            let mut page = declared("fdp-statistics").page();
            page.put("host_write_bytes", placed.host_bytes)
                .put("media_write_bytes", placed.media_bytes)
                .put("media_erased_bytes", placed.erased_bytes);
            page
        }
        _ => events(subsystem, &placed, command.dword(10) >> 8 & 1 == 1),
    })
}

fn configurations(placed: &Placed) -> Filled {
    let handles = placed.handles.into();
    let mut page = declared("fdp-configurations").page();
    page.put("configuration_count", 1);
    // No bits of an identifier are a reclaim group.
    let values = [
        ("descriptor_bytes", 64 + 4 * handles),
        ("is_valid", 1),
        ("reclaim_groups", 1),
        ("reclaim_unit_handles", handles),
        ("most_placement_identifiers", handles),
        ("most_namespaces", MOST_NAMESPACES.into()),
        ("reclaim_unit_bytes", placed.unit_bytes.into()),
    ];
    let base = page.put_entry("configurations", 0, 0, &values);
    let kind = if placed.persistently { 2 } else { 1 };
    for handle in 0..usize::from(placed.handles) {
        page.put_entry("configurations.handles", base, handle, &[("type", kind)]);
    }
    let length = i128::try_from(page.len()).unwrap_or(0);
    page.put("log_bytes", length);
    page
}

/// The host's events or the drive's own, the latest of them. The drive's model keeps no times of its events.
fn events(subsystem: &Subsystem, placed: &Placed, of_host: bool) -> Filled {
    let kept = lock(&subsystem.placement_events);
    let is_told = |wanted: u8| {
        let known = EVENT_TYPES.iter().position(|(kind, _)| *kind == wanted);
        known.is_some_and(|place| kept.disabled >> place & 1 == 0 && EVENT_TYPES[place].1 == of_host)
    };
    let of_units = placed.events.latest().map(|event| match *event {
        UnitEvent::Full { handle, .. } => (UNIT_CHANGED, handle, None),
        UnitEvent::Updated { handle, .. } => (NOT_FULLY_WRITTEN, handle, None),
    });
    let invalid =
        kept.invalid.iter().map(|(namespace, named)| (INVALID_IDENTIFIER, *named, Some(*namespace)));
    let told: Vec<_> = of_units.chain(invalid).filter(|(kind, ..)| is_told(*kind)).collect();
    let told = &told[told.len().saturating_sub(MOST_EVENTS)..];
    let mut page = declared("fdp-events").page();
    page.put("event_count", i128::try_from(told.len()).unwrap_or(0));
    for (place, &(kind, handle, namespace)) in told.iter().enumerate() {
        // Of an invalid identifier the namespace is valid, and of the others the location.
        let values = [
            ("type", kind.into()),
            ("placement_identifier_is_valid", 1),
            ("namespace_is_valid", i128::from(namespace.is_some())),
            ("location_is_valid", i128::from(namespace.is_none())),
            ("placement_identifier", handle.into()),
            ("namespace", namespace.unwrap_or(0).into()),
            ("reclaim_unit_handle", if namespace.is_some() { 0 } else { handle.into() }),
        ];
        page.put_entry("events", 0, place, &values);
    }
    page
}

/// Get Features: placement is on for good; or which events of a handle are told.
pub(super) fn feature(subsystem: &Subsystem, command: &Command) -> Answered {
    let placed = placed(subsystem)?;
    if command.dword(10) as u8 == FEATURE {
        return if command.dword(11) & 0xFFFF == u32::from(ENDURANCE_GROUP) {
            Ok(Done::result(1))
        } else {
            Err(Status::INVALID_FIELD)
        };
    }
    check_handle(&placed, command)?;
    let disabled = lock(&subsystem.placement_events).disabled;
    let asked = (command.dword(11) >> 16 & 0xFF) as usize;
    let types = EVENT_TYPES.iter().enumerate().take(asked);
    let mut data: Vec<u8> =
        types.flat_map(|(place, (kind, _))| [*kind, u8::from(disabled >> place & 1 == 0)]).collect();
    let count = data.len() / 2;
    data.resize(asked * 2, 0);
    Ok(Done { result: count as u64, data })
}

/// Set Features: placement can't be switched off while there are namespaces; events can, for all handles.
pub(super) fn set_feature(subsystem: &Subsystem, command: &Command, data: &[u8]) -> Answered {
    let placed = placed(subsystem)?;
    if command.dword(10) as u8 == FEATURE {
        let is_known = command.dword(11) & 0xFFFF == u32::from(ENDURANCE_GROUP);
        return match command.dword(12) {
            1 if is_known => Ok(Done::default()),
            0 if is_known => Err(Status::COMMAND_SEQUENCE),
            _ => Err(Status::INVALID_FIELD),
        };
    }
    check_handle(&placed, command)?;
    let count = (command.dword(11) >> 16 & 0xFF) as usize;
    let named = data.get(..count).ok_or(Status::DATA_TRANSFER_ERROR)?;
    let place_of = |wanted: &u8| EVENT_TYPES.iter().position(|(kind, _)| kind == wanted);
    let bits = named.iter().map(|kind| place_of(kind).map(|place| 1 << place));
    let bits: u8 =
        bits.collect::<Option<Vec<u8>>>().ok_or(Status::INVALID_FIELD)?.iter().fold(0, |all, bit| all | bit);
    let mut events = lock(&subsystem.placement_events);
    events.disabled =
        if command.dword(12) & 1 == 1 { events.disabled & !bits } else { events.disabled | bits };
    Ok(Done::default())
}

fn check_handle(placed: &Placed, command: &Command) -> Result<(), Status> {
    if command.dword(11) & 0xFFFF < u32::from(placed.handles) { Ok(()) } else { Err(Status::INVALID_FIELD) }
}
