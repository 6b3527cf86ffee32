//! The command effects log: which commands there are, and what each of them changes.

use super::bytes::Page;
use super::lock::lock;
use super::subsystem::Subsystem;
use super::{io, opcodes, sanitize};

const LOG_BYTES: usize = 4096;
const IO_COMMANDS_AT: usize = 1024;

/// Effects of a command: supported; changes contents, namespace capabilities, the inventory; must run alone.
const SUPPORTED: u32 = 1;
const CHANGES_CONTENTS: u32 = SUPPORTED | 1 << 1;
const CHANGES_NAMESPACE: u32 = 1 << 2;
const CHANGES_INVENTORY: u32 = SUPPORTED | 1 << 3;
const ALONE: u32 = 2 << 16;

const ADMIN_COMMANDS: [(u8, u32); 12] = [
    (opcodes::GET_LOG_PAGE, SUPPORTED),
    (opcodes::IDENTIFY, SUPPORTED),
    (opcodes::ABORT, SUPPORTED),
    (opcodes::SET_FEATURES, SUPPORTED),
    (opcodes::GET_FEATURES, SUPPORTED),
    (opcodes::ASYNCHRONOUS_EVENT_REQUEST, SUPPORTED),
    (opcodes::NAMESPACE_MANAGEMENT, CHANGES_INVENTORY),
    (opcodes::FIRMWARE_COMMIT, SUPPORTED),
    (opcodes::FIRMWARE_DOWNLOAD, SUPPORTED),
    (opcodes::DEVICE_SELF_TEST, SUPPORTED),
    (opcodes::NAMESPACE_ATTACHMENT, CHANGES_INVENTORY),
    (opcodes::KEEP_ALIVE, SUPPORTED),
];
/// Where the drive can be purged.
const PURGES: [(u8, u32); 2] = [
    (opcodes::FORMAT, CHANGES_CONTENTS | CHANGES_NAMESPACE | ALONE),
    (opcodes::SANITIZE, CHANGES_CONTENTS | ALONE),
];
/// Where the drive can be locked.
const SECURITY: [(u8, u32); 2] =
    [(opcodes::SECURITY_SEND, CHANGES_CONTENTS), (opcodes::SECURITY_RECEIVE, SUPPORTED)];
/// Where hosts may place data.
const PLACEMENT: [(u8, u32); 2] = [(io::MANAGEMENT_RECEIVE, SUPPORTED), (io::MANAGEMENT_SEND, SUPPORTED)];
const IO_COMMANDS: [(u8, u32); 6] = [
    (io::FLUSH, SUPPORTED),
    (io::WRITE, CHANGES_CONTENTS),
    (io::READ, SUPPORTED),
    (io::COMPARE, SUPPORTED),
    (io::WRITE_ZEROES, CHANGES_CONTENTS),
    (io::DATASET_MANAGEMENT, CHANGES_CONTENTS),
];

pub(super) fn log(subsystem: &Subsystem) -> Page {
    let mut page = Page::new(LOG_BYTES);
    let mut put = |begin: usize, commands: &[(u8, u32)]| {
        for (opcode, effects) in commands {
            page.put_u32(begin + usize::from(*opcode) * 4, *effects);
        }
    };
    put(0, &ADMIN_COMMANDS);
    if lock(&subsystem.locking).is_there() {
        put(0, &SECURITY);
    }
    if sanitize::capabilities(subsystem) != 0 {
        put(0, &PURGES);
    }
    put(IO_COMMANDS_AT, &IO_COMMANDS);
    if subsystem.drive.placed().is_some() {
        put(IO_COMMANDS_AT, &PLACEMENT);
    }
    page
}
