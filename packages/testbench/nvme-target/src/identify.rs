//! Identify data.

use super::bytes::Page;
use super::command::{Answered, Command, Done, MOST_TRANSFER_EXPONENT, Status};
use super::controller::{Controller, MOST_ENTRIES, VERSION};
use super::discovery::DISCOVERY_NQN;
use super::error_log;
use super::events;
use super::lock::lock;
use super::media::{ALL, LBA_SHIFTS, MOST_NAMESPACES, Media, Namespace};
use super::subsystem::{Subsystem, kelvin};
use super::{firmware, placement, power, sanitize, self_test_log};

const PAGE_BYTES: usize = 4096;
/// Attributes of the controller.
const UUID_LIST: u32 = 1 << 9;
const POWER_MEASUREMENT: u32 = 1 << 21;
/// OCP's pages and features, and its place in the list of UUIDs.
const OCP_UUID: [u8; 16] = 0xC194_D55B_E094_4794_A21D_2999_8F56_BE6F_u128.to_be_bytes();
const OCP_UUID_INDEX: u32 = 1;
const UUID_ENTRY_BYTES: usize = 32;
/// Data in a capsule of an I/O queue.
pub(super) const IN_CAPSULE_BYTES: u32 = 16 << 10;

/// Identify.
pub(super) fn identify(subsystem: &Subsystem, controller: &Controller, command: &Command) -> Answered {
    let structure = command.dword(10) & 0xFF;
    if controller.is_discovery && structure != 0x01 {
        return Err(Status::INVALID_FIELD);
    }
    let id = command.namespace();
    let media = subsystem.media();
    let page = match structure {
        0x00 => match id {
            ALL => namespace_in_common(&media),
            _ => match media.attached(id) {
                Ok(found) => namespace(subsystem, found),
                // One that exists, and that this host may not use, is shown as nothing.
                Err(_) if (1..=MOST_NAMESPACES).contains(&id) => Page::new(PAGE_BYTES),
                Err(status) => return Err(status),
            },
        },
        0x01 if controller.is_discovery => discovery_controller(subsystem, controller),
        0x01 => io_controller(subsystem, controller, &media),
        0x02 => list(&media, id, |each| each.is_attached)?,
        0x03 => descriptors(subsystem, media.attached(id)?),
        // By command set: the NVM set adds nothing to what stands elsewhere.
        0x05 if command.dword(11) >> 24 == 0 => media.attached(id).map(|_| Page::new(PAGE_BYTES))?,
        0x06 if command.dword(11) >> 24 == 0 => Page::new(PAGE_BYTES),
        0x10 => list(&media, id, |_| true)?,
        0x11 => namespace(subsystem, media.allocated(id)?),
        0x12 => {
            let is_attached = media.allocated(id)?.is_attached;
            controllers(subsystem, command, is_attached)
        }
        0x13 => controllers(subsystem, command, true),
        0x17 => uuids(),
        _ => return Err(Status::INVALID_FIELD),
    };
    Ok(Done::data(page.into_bytes()))
}

fn names(subsystem: &Subsystem, controller: &Controller) -> Page {
    let identity = &subsystem.identity;
    let mut page = Page::new(PAGE_BYTES);
    page.put_text(4, 20, &identity.serial)
        .put_text(24, 40, &identity.model)
        .put_text(64, 8, lock(&subsystem.firmware).revision())
        .put_u16(78, controller.id)
        .put_u32(80, VERSION)
        .put_u16(514, MOST_ENTRIES)
        // Kept alive in units of 100 ms, here of a second.
        .put_u16(320, 10)
        .put_u32(536, 1 | 1 << 20);
    page
}

fn discovery_controller(subsystem: &Subsystem, controller: &Controller) -> Page {
    let mut page = names(subsystem, controller);
    page.put_u8(111, 2).put_u8(261, 1 << 2).put(768, DISCOVERY_NQN.as_bytes());
    page
}

fn io_controller(subsystem: &Subsystem, controller: &Controller, media: &Media) -> Page {
    let character = &subsystem.character;
    let mut page = names(subsystem, controller);
    // Optional admin commands: security, firmware, namespace management, self-test, and format.
    let can_purge = sanitize::capabilities(subsystem) != 0;
    let security = u16::from(lock(&subsystem.locking).is_there());
    let admin = security | 1 << 2 | 1 << 3 | 1 << 4 | if can_purge { 1 << 1 } else { 0 };
    let threshold = |celsius: Option<f64>| celsius.map_or(0, kelvin);
    placement::describe_controller(subsystem, &mut page);
    page.put_u8(77, MOST_TRANSFER_EXPONENT)
        // Events on namespaces that change.
        .put_u32(92, 1 << 8)
        .put_u32(96, attributes(subsystem))
        .put_u8(111, 1)
        .put(112, &subsystem.identity.guid)
        .put_u16(256, admin)
        .put_u8(258, 3)
        .put_u8(259, u8::try_from(events::MOST_REQUESTS - 1).unwrap_or(0))
        // Effects log, logs by offset, telemetry.
        .put_u8(261, 1 << 1 | 1 << 2 | 1 << 3)
        .put_u8(262, u8::try_from(error_log::ENTRIES - 1).unwrap_or(0))
        .put_u16(266, threshold(character.warning_c))
        .put_u16(268, threshold(character.critical_c))
        .put_u64(280, subsystem.drive.capacity_bytes())
        .put_u64(296, media.unallocated_bytes())
        .put_u16(316, self_test_log::EXTENDED_MINUTES)
        // One self-test at a time, whichever controller begins it.
        .put_u8(318, 1)
        .put_u32(328, sanitize::capabilities(subsystem))
        .put_u8(512, 0x66)
        .put_u8(513, 0x44)
        .put_u32(516, MOST_NAMESPACES)
        // Compare, deallocate, write zeroes, timestamp.
        .put_u16(520, 1 | 1 << 2 | 1 << 3 | 1 << 6)
        // Crypto erase by format, which concerns the namespace that is named.
        .put_u8(524, 1 << 2)
        // A flush of all namespaces is possible.
        .put_u8(525, u8::from(subsystem.drive.write_cache().is_some()) | 3 << 1)
        .put(768, subsystem.identity.nqn.as_bytes())
        .put_u32(1792, (64 + IN_CAPSULE_BYTES) / 16)
        .put_u32(1796, 1)
        .put_u8(1803, 1);
    firmware::describe(&mut page);
    power::describe(&subsystem.drive, &mut page);
    page
}

/// A list of UUIDs; power is measured where the preset has energy, data are placed where it has handles.
fn attributes(subsystem: &Subsystem) -> u32 {
    let power = if subsystem.drive.smart().energy_j.is_some() { POWER_MEASUREMENT } else { 0 };
    UUID_LIST | power | placement::attributes(subsystem)
}

/// The UUIDs that distinguish pages and features of vendors.
fn uuids() -> Page {
    let mut page = Page::new(PAGE_BYTES);
    page.put(UUID_ENTRY_BYTES * OCP_UUID_INDEX as usize + UUID_ENTRY_BYTES / 2, &OCP_UUID);
    page
}

/// Whether a command may have its index of a UUID; 0 is no particular vendor.
pub(super) fn admit_uuid_index(command: &Command) -> Result<(), Status> {
    if command.dword(14) & 0x7F > OCP_UUID_INDEX { Err(Status::INVALID_FIELD) } else { Ok(()) }
}

fn formats(page: &mut Page) {
    page.put_u8(25, u8::try_from(LBA_SHIFTS.len() - 1).unwrap_or(0)).put_u8(33, 1 | 1 << 3);
    for (number, shift) in LBA_SHIFTS.into_iter().enumerate() {
        // 4096 is the better one: smaller accesses are parts of pages.
        let performance = if shift < 12 { 1 } else { 0 };
        page.put_u32(128 + number * 4, shift << 16 | performance << 24);
    }
}

/// What all namespaces that may be made have in common.
fn namespace_in_common(media: &Media) -> Page {
    let mut page = Page::new(PAGE_BYTES);
    page.put_u64(48, media.unallocated_bytes());
    formats(&mut page);
    page
}

fn namespace(subsystem: &Subsystem, namespace: &Namespace) -> Page {
    let lbas = namespace.lbas();
    let shift = namespace.lba_shift();
    let pages_of = |bytes: u64| u16::try_from((bytes >> shift).saturating_sub(1)).unwrap_or(0);
    let used = used_bytes(subsystem, namespace) >> shift;
    let mut page = Page::new(PAGE_BYTES);
    page.put_u64(0, lbas)
        .put_u64(8, lbas)
        .put_u64(16, used.min(lbas))
        // Utilisation is told; preferred sizes are those of pages.
        .put_u8(24, 1 | 1 << 4)
        .put_u8(26, u8::try_from(namespace.format).unwrap_or(0))
        .put_u64(48, namespace.bytes)
        .put_u16(64, pages_of(4096))
        .put_u16(66, pages_of(4096))
        .put_u16(68, pages_of(4096))
        .put_u16(70, pages_of(4096))
        .put(104, &guid_of(subsystem, namespace));
    placement::describe_namespace(subsystem, &mut page);
    formats(&mut page);
    page
}

/// Bytes of a namespace that are in use: the store knows them of all of the drive.
fn used_bytes(subsystem: &Subsystem, namespace: &Namespace) -> u64 {
    let whole = subsystem.drive.capacity_bytes();
    let used =
        u128::from(subsystem.store.allocated_bytes()) * u128::from(namespace.bytes) / u128::from(whole);
    u64::try_from(used).unwrap_or(0)
}

/// Logical blocks in use, of all namespaces.
pub(super) fn used_lbas(subsystem: &Subsystem) -> u64 {
    let media = subsystem.media();
    let used = |one: &Namespace| (used_bytes(subsystem, one) >> one.lba_shift()).min(one.lbas());
    media.namespaces.iter().map(used).sum()
}

/// The drive's identifier with the namespace's number in it.
fn guid_of(subsystem: &Subsystem, namespace: &Namespace) -> [u8; 16] {
    let mut guid = subsystem.identity.guid;
    guid[15] = guid[15].wrapping_add(u8::try_from(namespace.id).unwrap_or(0));
    guid
}

/// Identifier, its UUID form and command set.
fn descriptors(subsystem: &Subsystem, namespace: &Namespace) -> Page {
    let guid = guid_of(subsystem, namespace);
    let mut page = Page::new(PAGE_BYTES);
    page.put(0, &[2, 16]).put(4, &guid).put(20, &[3, 16]).put(24, &guid).put(40, &[4, 1]).put_u8(44, 0);
    page
}

/// Numbers of the namespaces behind one.
fn list(media: &Media, after: u32, is_wanted: impl Fn(&Namespace) -> bool) -> Result<Page, Status> {
    if after >= u32::MAX - 1 {
        return Err(Status::INVALID_NAMESPACE);
    }
    let mut page = Page::new(PAGE_BYTES);
    let found = media.namespaces.iter().filter(|each| each.id > after && is_wanted(each));
    for (place, namespace) in found.enumerate() {
        page.put_u32(place * 4, namespace.id);
    }
    Ok(page)
}

/// Numbers of the controllers from one on, behind their number.
fn controllers(subsystem: &Subsystem, command: &Command, any: bool) -> Page {
    let mut page = Page::new(PAGE_BYTES);
    let from = command.dword(10) >> 16;
    let ids = if any { subsystem.controller_ids() } else { Vec::new() };
    let ids: Vec<u16> = ids.into_iter().filter(|id| u32::from(*id) >= from).take(2047).collect();
    page.put_u16(0, u16::try_from(ids.len()).unwrap_or(0));
    for (place, id) in ids.into_iter().enumerate() {
        page.put_u16(2 + place * 2, id);
    }
    page
}
