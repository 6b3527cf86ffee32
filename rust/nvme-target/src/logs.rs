//! Log pages.

use super::bytes::Page;
use super::command::{Answered, Command, Done, Status};
use super::controller::Controller;
use super::lock::lock;
use super::subsystem::{Subsystem, Traffic};
use super::{discovery, effects, health, placement, self_test};

const ERROR_INFORMATION: u8 = 0x01;
const HEALTH: u8 = 0x02;
const FIRMWARE_SLOTS: u8 = 0x03;
const CHANGED_NAMESPACES: u8 = 0x04;
const COMMAND_EFFECTS: u8 = 0x05;
const SELF_TEST: u8 = 0x06;
const DISCOVERY: u8 = 0x70;
const SANITIZE_STATUS: u8 = 0x81;

/// What one command may ask for.
const MOST_BYTES_AT_ONCE: usize = 1 << 20;

/// Get Log Page.
pub(super) fn get(subsystem: &Subsystem, controller: &Controller, command: &Command, port: &str) -> Answered {
    #[expect(clippy::cast_possible_truncation, reason = "the number has 8 bits")]
    let log = command.dword(10) as u8;
    let page = match (controller.is_discovery, log) {
        (true, DISCOVERY) => discovery::log(subsystem, port),
        (false, ERROR_INFORMATION) => lock(&subsystem.drive.errors).page(),
        (false, HEALTH) => health::page(subsystem, controller),
        (false, FIRMWARE_SLOTS) => {
            let mut page = Page::new(512);
            page.put_u8(0, 1).put_text(8, 8, &subsystem.identity.firmware);
            page
        }
        (false, CHANGED_NAMESPACES) => {
            // Which of them changed is not kept: all may have.
            let mut page = Page::new(4096);
            page.put_u32(0, u32::MAX);
            page
        }
        (false, COMMAND_EFFECTS) => effects::log(subsystem),
        (false, SELF_TEST) => self_test::log(subsystem),
        (false, SANITIZE_STATUS) => subsystem.sanitize().page(Traffic::of(&subsystem.traffic.write_bytes)),
        (false, placement::FIRST_LOG..=placement::LAST_LOG) => placement::log(subsystem, command)?,
        _ => return Err(Status::INVALID_LOG_PAGE),
    };
    // A host that retains the event looks on; else its kind may be told again.
    if command.dword(10) & 1 << 15 == 0 {
        controller.lock().events.log_read(log);
        controller.tell();
    }
    part(page.into_bytes(), command)
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
