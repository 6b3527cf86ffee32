//! Log pages.

use std::time::Instant;

use super::bytes::Page;
use super::command::{Answered, Command, Done, Status};
use super::controller::Controller;
use super::lock::lock;
use super::subsystem::{Subsystem, Traffic};
use super::{discovery, effects, health, identify, ocp_logs, placement, power_log, self_test, telemetry};

const ERROR_INFORMATION: u8 = 0x01;
const HEALTH: u8 = 0x02;
const FIRMWARE_SLOTS: u8 = 0x03;
const CHANGED_NAMESPACES: u8 = 0x04;
const COMMAND_EFFECTS: u8 = 0x05;
const SELF_TEST: u8 = 0x06;
const TELEMETRY_HOST: u8 = 0x07;
const TELEMETRY_CONTROLLER: u8 = 0x08;
const POWER_MEASUREMENT: u8 = 0x25;
const DISCOVERY: u8 = 0x70;
const SANITIZE_STATUS: u8 = 0x81;
const SMART_EXTENDED: u8 = 0xC0;
const ERROR_RECOVERY: u8 = 0xC1;
const LATENCY_MONITOR: u8 = 0xC3;
const UNSUPPORTED_REQUIREMENTS: u8 = 0xC5;
/// Pages of vendors, which the index of a UUID distinguishes.
const OF_VENDORS: u8 = 0xC0;

/// What one command may ask for.
const MOST_BYTES_AT_ONCE: usize = 1 << 20;

/// Get Log Page.
pub(super) fn get(subsystem: &Subsystem, controller: &Controller, command: &Command, port: &str) -> Answered {
    #[expect(clippy::cast_possible_truncation, reason = "the number has 8 bits")]
    let log = command.dword(10) as u8;
    if log >= OF_VENDORS {
        identify::admit_uuid_index(command)?;
    }
    let page = match (controller.is_discovery, log) {
        (true, DISCOVERY) => discovery::log(subsystem, port).into_bytes(),
        (false, ERROR_INFORMATION) => lock(&subsystem.drive.errors).page().into_bytes(),
        (false, HEALTH) => health::page(subsystem, controller).into_bytes(),
        (false, FIRMWARE_SLOTS) => lock(&subsystem.firmware).log().into_bytes(),
        (false, CHANGED_NAMESPACES) => {
            // Which of them changed is not kept: all may have.
            let mut page = Page::new(4096);
            page.put_u32(0, u32::MAX);
            page.into_bytes()
        }
        (false, COMMAND_EFFECTS) => effects::log(subsystem).into_bytes(),
        (false, SELF_TEST) => self_test::log(subsystem).into_bytes(),
        (false, SANITIZE_STATUS) => {
            subsystem.sanitize().page(Traffic::of(&subsystem.traffic.write_bytes)).into_bytes()
        }
        (false, TELEMETRY_HOST) => telemetry::of_host(subsystem, command.dword(10) & 1 << 8 != 0),
        (false, TELEMETRY_CONTROLLER) => telemetry::of_controller(),
        (false, POWER_MEASUREMENT) => power_log::page(subsystem).into_bytes(),
        (false, SMART_EXTENDED) => ocp_logs::smart_extended(subsystem).into_bytes(),
        (false, ERROR_RECOVERY) => ocp_logs::error_recovery().into_bytes(),
        (false, LATENCY_MONITOR) => lock(&subsystem.drive.monitor).page(Instant::now()).into_bytes(),
        (false, UNSUPPORTED_REQUIREMENTS) => ocp_logs::unsupported_requirements().into_bytes(),
        (false, placement::FIRST_LOG..=placement::LAST_LOG) => {
            placement::log(subsystem, command)?.into_bytes()
        }
        _ => return Err(Status::INVALID_LOG_PAGE),
    };
    // A host that retains the event looks on; else its kind may be told again.
    if command.dword(10) & 1 << 15 == 0 {
        controller.lock().events.log_read(log);
        controller.tell();
    }
    part(page, command)
}

/// What the command asks for of a page: what lies behind its end is zeros.
fn part(page: Vec<u8>, command: &Command) -> Answered {
    let dwords = u64::from(command.dword(10) >> 16) | u64::from(command.dword(11) & 0xFFFF) << 16;
    let length = usize::try_from((dwords + 1) * 4).map_err(|_| Status::INVALID_FIELD)?;
    let offset = usize::try_from(command.qword(12)).map_err(|_| Status::INVALID_FIELD)?;
    if offset > page.len() || length > MOST_BYTES_AT_ONCE || offset % 4 != 0 {
        return Err(Status::INVALID_FIELD);
    }
    let mut asked = page[offset..].to_vec();
    asked.resize(length, 0);
    Ok(Done::data(asked))
}
