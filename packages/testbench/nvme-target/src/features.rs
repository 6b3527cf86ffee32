//! Features: what a host may set, and read back.

use std::time::Instant;

use super::bytes::u64_at;
use super::command::{Answered, Command, Done, Status};
use super::controller::{Controller, MOST_IO_QUEUES};
use super::identify;
use super::lock::lock;
use super::placement;
use super::power;
use super::settings::Settings;
use super::subsystem::Subsystem;

const ARBITRATION: u8 = 0x01;
const POWER_MANAGEMENT: u8 = 0x02;
const TEMPERATURE_THRESHOLD: u8 = 0x04;
const ERROR_RECOVERY: u8 = 0x05;
const VOLATILE_WRITE_CACHE: u8 = 0x06;
const NUMBER_OF_QUEUES: u8 = 0x07;
const WRITE_ATOMICITY: u8 = 0x0A;
const ASYNCHRONOUS_EVENTS: u8 = 0x0B;
const AUTONOMOUS_TRANSITIONS: u8 = 0x0C;
const TIMESTAMP: u8 = 0x0E;
const KEEP_ALIVE: u8 = 0x0F;
const HOST_IDENTIFIER: u8 = 0x81;
const LATENCY_MONITOR: u8 = 0xC5;
/// Features of vendors, which the index of a UUID distinguishes.
const OF_VENDORS: u8 = 0xC0;

/// Of a timestamp: ms since 1970.
const HOST_MS: u64 = (1 << 48) - 1;

const CURRENT: u32 = 0;
const DEFAULT: u32 = 1;
const SAVED: u32 = 2;
const SUPPORTED: u32 = 3;
/// Of the capabilities that "supported" asks for.
const CHANGEABLE: u64 = 1 << 2;

fn queues() -> u64 {
    u64::from(MOST_IO_QUEUES - 1) * 0x1_0001
}

/// The feature that a command names. Who only asks where drives are has those that concern the asking.
fn named(controller: &Controller, command: &Command) -> Result<u8, Status> {
    #[expect(clippy::cast_possible_truncation, reason = "the number has 8 bits")]
    let feature = command.dword(10) as u8;
    if controller.is_discovery && !matches!(feature, ASYNCHRONOUS_EVENTS | KEEP_ALIVE) {
        return Err(Status::INVALID_FIELD);
    }
    if feature >= OF_VENDORS {
        identify::admit_uuid_index(command)?;
    }
    Ok(feature)
}

/// Get Features.
pub(super) fn get(subsystem: &Subsystem, controller: &Controller, command: &Command) -> Answered {
    let feature = named(controller, command)?;
    if matches!(feature, placement::FEATURE | placement::EVENTS_FEATURE) {
        return placement::feature(subsystem, command);
    }
    let mut features = match command.dword(10) >> 8 & 7 {
        CURRENT => controller.lock().features,
        // Nothing is saved: what is saved is the default.
        DEFAULT | SAVED => Settings::new(0, subsystem.warning_k()),
        SUPPORTED => return supported(subsystem, feature).map(Done::result),
        _ => return Err(Status::INVALID_FIELD),
    };
    let is_current = command.dword(10) >> 8 & 7 == CURRENT;
    Ok(Done::result(match feature {
        ARBITRATION => features.arbitration.into(),
        POWER_MANAGEMENT => {
            power::setting(&subsystem.drive, is_current).map_or(0, |setting| setting.state.into())
        }
        AUTONOMOUS_TRANSITIONS => {
            let setting = power::setting(&subsystem.drive, is_current);
            return setting.map(|setting| power::table(&setting)).ok_or(Status::INVALID_FIELD);
        }
        TEMPERATURE_THRESHOLD => (*features.threshold(command.dword(11))?).into(),
        ERROR_RECOVERY => features.error_recovery.into(),
        VOLATILE_WRITE_CACHE => {
            let now = subsystem.drive.write_cache().ok_or(Status::INVALID_FIELD)?;
            u64::from(!is_current || now)
        }
        NUMBER_OF_QUEUES => queues(),
        WRITE_ATOMICITY => features.write_atomicity.into(),
        ASYNCHRONOUS_EVENTS => features.event_wishes.into(),
        KEEP_ALIVE => features.keep_alive_ms.into(),
        TIMESTAMP => {
            let now = lock(&subsystem.drive.monitor).stamp(Instant::now());
            return Ok(Done::data(now.to_le_bytes().to_vec()));
        }
        // What it is set to is in its log page.
        LATENCY_MONITOR => 0,
        HOST_IDENTIFIER => return Ok(Done::data(controller.host.id.to_vec())),
        _ => return Err(Status::INVALID_FIELD),
    }))
}

fn supported(subsystem: &Subsystem, feature: u8) -> Result<u64, Status> {
    match feature {
        ARBITRATION
        | TEMPERATURE_THRESHOLD
        | ERROR_RECOVERY
        | WRITE_ATOMICITY
        | ASYNCHRONOUS_EVENTS
        | TIMESTAMP
        | KEEP_ALIVE => Ok(CHANGEABLE),
        // It is always saved.
        LATENCY_MONITOR => Ok(CHANGEABLE | 1),
        VOLATILE_WRITE_CACHE => {
            subsystem.drive.write_cache().map(|_| CHANGEABLE).ok_or(Status::INVALID_FIELD)
        }
        POWER_MANAGEMENT | AUTONOMOUS_TRANSITIONS if subsystem.drive.power().is_some() => Ok(CHANGEABLE),
        POWER_MANAGEMENT | NUMBER_OF_QUEUES => Ok(0),
        _ => Err(Status::INVALID_FIELD),
    }
}

/// Set Features.
pub(super) fn set(
    subsystem: &Subsystem,
    controller: &Controller,
    command: &Command,
    data: &[u8],
) -> Answered {
    let feature = named(controller, command)?;
    if feature == LATENCY_MONITOR {
        let mut monitor = lock(&subsystem.drive.monitor);
        return monitor.set(data, Instant::now()).map(|()| Done::default());
    }
    if command.dword(10) >> 31 != 0 {
        return Err(Status::NOT_SAVEABLE);
    }
    if matches!(feature, placement::FEATURE | placement::EVENTS_FEATURE) {
        return placement::set_feature(subsystem, command, data);
    }
    let value = command.dword(11);
    if feature == TIMESTAMP {
        let host_ms = data.get(..8).map(|set| u64_at(set, 0) & HOST_MS).ok_or(Status::DATA_TRANSFER_ERROR)?;
        lock(&subsystem.drive.monitor).set_clock(Instant::now(), host_ms);
        return Ok(Done::default());
    }
    if feature == VOLATILE_WRITE_CACHE {
        subsystem.drive.write_cache().ok_or(Status::INVALID_FIELD)?;
        if value & 1 == 0 && subsystem.store.sync().is_err() {
            return Err(Status::INTERNAL_ERROR);
        }
        let refused = subsystem.drive.set_write_cache(value & 1 != 0);
        return refused.map(|()| Done::default()).map_err(|_| Status::NOT_CHANGEABLE);
    }
    match feature {
        POWER_MANAGEMENT if subsystem.drive.power().is_some() => {
            return power::command(&subsystem.drive, value);
        }
        AUTONOMOUS_TRANSITIONS => return power::set_table(&subsystem.drive, value, data),
        _ => {}
    }
    let mut state = controller.lock();
    let features = &mut state.features;
    match feature {
        ARBITRATION => features.arbitration = value,
        POWER_MANAGEMENT if value & 31 == 0 => {}
        #[expect(clippy::cast_possible_truncation, reason = "the threshold has 16 bits")]
        TEMPERATURE_THRESHOLD => *features.threshold(value)? = value as u16,
        ERROR_RECOVERY => features.error_recovery = value,
        NUMBER_OF_QUEUES if value & 0xFFFF != 0xFFFF && value >> 16 != 0xFFFF => {
            return Ok(Done::result(queues()));
        }
        WRITE_ATOMICITY => features.write_atomicity = value,
        ASYNCHRONOUS_EVENTS => features.event_wishes = value,
        KEEP_ALIVE => features.keep_alive_ms = value,
        _ => return Err(Status::INVALID_FIELD),
    }
    Ok(Done::default())
}
