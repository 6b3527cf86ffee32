//! Submission queue entries, and what is answered to them.

use std::time::Instant;

use super::bytes::{u16_at, u32_at, u64_at};
use super::room::Held;

/// Transfers of up to 1 MiB, as a power of two of pages.
pub(super) const MOST_TRANSFER_EXPONENT: u8 = 8;
/// The same in bytes.
pub(super) const MOST_TRANSFER_BYTES: u32 = 4096 << MOST_TRANSFER_EXPONENT;

/// Bytes of a submission queue entry.
pub(super) const COMMAND_BYTES: usize = 64;
/// The opcode of all commands of NVMe over Fabrics.
pub(super) const FABRICS: u8 = 0x7F;

const SGL_IN_CAPSULE: u8 = 0x01;
const SGL_TRANSPORT: u8 = 0x5A;

/// Where a command's data are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataPlace {
    /// In its capsule, so many bytes from an offset on.
    InCapsule { offset: u64, length: u32 },
    /// In PDUs of their own.
    Apart { length: u32 },
    /// A descriptor that this transport has not.
    Unknown,
}

/// A submission queue entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command([u8; COMMAND_BYTES]);

impl Command {
    pub(super) const fn new(bytes: [u8; COMMAND_BYTES]) -> Self {
        Self(bytes)
    }

    pub(super) const fn opcode(&self) -> u8 {
        self.0[0]
    }

    /// The type of a fabrics command.
    pub(super) const fn fabrics_type(&self) -> u8 {
        self.0[4]
    }

    pub(super) fn id(&self) -> u16 {
        u16_at(&self.0, 2)
    }

    pub(super) fn namespace(&self) -> u32 {
        u32_at(&self.0, 4)
    }

    /// A 32-bit word by its number in the specification.
    pub(super) fn dword(&self, number: usize) -> u32 {
        u32_at(&self.0, number * 4)
    }

    /// Two words by the number of the first.
    pub(super) fn qword(&self, number: usize) -> u64 {
        u64_at(&self.0, number * 4)
    }

    pub(super) fn bytes(&self) -> &[u8; COMMAND_BYTES] {
        &self.0
    }

    pub(super) fn data_place(&self) -> DataPlace {
        let (address, length) = (self.qword(6), self.dword(8));
        match self.0[39] {
            SGL_IN_CAPSULE => DataPlace::InCapsule { offset: address, length },
            SGL_TRANSPORT => DataPlace::Apart { length },
            // What has no data may leave the field empty.
            0 if length == 0 => DataPlace::Apart { length },
            _ => DataPlace::Unknown,
        }
    }

    /// Bytes that the host has room for; `None` where its descriptor leaves no place for data that it gets.
    pub(super) fn room(&self) -> Option<usize> {
        match self.data_place() {
            DataPlace::Apart { length } => Some(length as usize),
            DataPlace::InCapsule { .. } | DataPlace::Unknown => None,
        }
    }

    /// Whether the host has data for it.
    pub(super) const fn brings_data(&self) -> bool {
        let code = if self.opcode() == FABRICS { self.fabrics_type() } else { self.opcode() };
        code & 3 == 1
    }
}

/// Status of a completion: type and code, as `type << 8 | code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status(u16);

impl Status {
    pub(super) const SUCCESS: Self = Self(0);
    pub(super) const INVALID_OPCODE: Self = Self(0x01);
    pub(super) const INVALID_FIELD: Self = Self(0x02);
    pub(super) const DATA_TRANSFER_ERROR: Self = Self(0x04);
    pub(super) const INTERNAL_ERROR: Self = Self(0x06);
    pub(super) const INVALID_NAMESPACE: Self = Self(0x0B);
    pub(super) const COMMAND_SEQUENCE: Self = Self(0x0C);
    pub(super) const DATA_SGL_LENGTH: Self = Self(0x0F);
    pub(super) const INVALID_SGL_TYPE: Self = Self(0x11);
    pub(super) const INVALID_SGL_OFFSET: Self = Self(0x16);
    pub(super) const SANITIZE_FAILED: Self = Self(0x1C);
    pub(super) const SANITIZE_IN_PROGRESS: Self = Self(0x1D);
    pub(super) const WRITE_PROTECTED: Self = Self(0x20);
    pub(super) const TRANSIENT_TRANSPORT_ERROR: Self = Self(0x22);
    pub(super) const LBA_OUT_OF_RANGE: Self = Self(0x80);
    pub(super) const NAMESPACE_NOT_READY: Self = Self(0x82);
    pub(super) const FORMAT_IN_PROGRESS: Self = Self(0x84);
    pub(super) const TOO_MANY_EVENT_REQUESTS: Self = Self(0x105);
    pub(super) const INVALID_FIRMWARE_SLOT: Self = Self(0x106);
    pub(super) const INVALID_FIRMWARE_IMAGE: Self = Self(0x107);
    pub(super) const INVALID_LOG_PAGE: Self = Self(0x109);
    pub(super) const INVALID_FORMAT: Self = Self(0x10A);
    pub(super) const NOT_SAVEABLE: Self = Self(0x10D);
    pub(super) const NOT_CHANGEABLE: Self = Self(0x10E);
    pub(super) const OVERLAPPING_RANGE: Self = Self(0x114);
    pub(super) const NO_CAPACITY: Self = Self(0x115);
    pub(super) const NO_NAMESPACE_ID: Self = Self(0x116);
    pub(super) const ALREADY_ATTACHED: Self = Self(0x118);
    pub(super) const NOT_ATTACHED: Self = Self(0x11A);
    pub(super) const THIN_PROVISIONING: Self = Self(0x11B);
    pub(super) const INVALID_CONTROLLER_LIST: Self = Self(0x11C);
    pub(super) const SELF_TEST_IN_PROGRESS: Self = Self(0x11D);
    pub(super) const CONNECT_INCOMPATIBLE: Self = Self(0x180);
    pub(super) const CONNECT_BUSY: Self = Self(0x181);
    pub(super) const CONNECT_INVALID: Self = Self(0x182);
    pub(super) const CONNECT_INVALID_HOST: Self = Self(0x184);
    pub(super) const AUTHENTICATION_REQUIRED: Self = Self(0x191);
    pub(super) const WRITE_FAULT: Self = Self(0x280);
    pub(super) const UNRECOVERED_READ: Self = Self(0x281);
    pub(super) const COMPARE_FAILURE: Self = Self(0x285);
    pub(super) const ACCESS_DENIED: Self = Self(0x286);

    pub(super) const fn new(type_and_code: u16) -> Self {
        Self(type_and_code)
    }

    /// The status field of a completion. What another try may cure leaves the bit "do not retry" unset.
    pub(super) const fn field(self) -> u16 {
        let may_pass = matches!(
            self,
            Self::SUCCESS
                | Self::SANITIZE_IN_PROGRESS
                | Self::FORMAT_IN_PROGRESS
                | Self::NAMESPACE_NOT_READY
                | Self::TRANSIENT_TRANSPORT_ERROR
                | Self::CONNECT_BUSY
                | Self::UNRECOVERED_READ
                | Self::WRITE_FAULT
        );
        self.0 << 1 | if may_pass { 0 } else { 1 << 15 }
    }
}

/// What a command is answered with.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) command: u16,
    pub(super) status: Status,
    pub(super) result: u64,
    /// For the host, before the completion.
    pub(super) data: Vec<u8>,
    /// The room that the data take; what is short has none.
    pub(super) _held: Option<Held>,
}

impl Response {
    pub(super) const fn new(command: &Command, status: Status) -> Self {
        Self {
            command: u16::from_le_bytes([command.0[2], command.0[3]]),
            status,
            result: 0,
            data: Vec::new(),
            _held: None,
        }
    }
}

/// Success with a result and data, or a status that is none.
pub(super) type Answered = Result<Done, Status>;

/// When a command's answer goes out.
pub(super) enum Answer {
    Now(Answered),
    /// Success, then.
    At(Instant),
    /// When something happens.
    Held,
}

/// What a command that succeeded gives.
#[derive(Clone, Debug, Default)]
pub(super) struct Done {
    pub(super) result: u64,
    pub(super) data: Vec<u8>,
}

impl Done {
    pub(super) const fn result(result: u64) -> Self {
        Self { result, data: Vec::new() }
    }

    pub(super) const fn data(data: Vec<u8>) -> Self {
        Self { result: 0, data }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_retried_only_where_that_may_help() {
        assert_eq!(Status::SUCCESS.field(), 0);
        assert_eq!(Status::INVALID_FIELD.field(), 0x8004);
        assert_eq!(Status::SANITIZE_IN_PROGRESS.field(), 0x3A);
        assert_eq!(Status::UNRECOVERED_READ.field(), 0x502);
    }

    #[test]
    fn words_have_the_numbers_of_the_specification() {
        let mut bytes = [0; COMMAND_BYTES];
        bytes[40..44].copy_from_slice(&7_u32.to_le_bytes());
        bytes[39] = SGL_IN_CAPSULE;
        bytes[32..36].copy_from_slice(&512_u32.to_le_bytes());
        let command = Command::new(bytes);
        assert_eq!(command.dword(10), 7);
        assert_eq!(command.data_place(), DataPlace::InCapsule { offset: 0, length: 512 });
    }
}
