//! One record as it is in the file.

/// Those that can be read.
pub(super) const VERSIONS: [u8; 2] = [7, 8];

const MAGIC: u32 = 0x0065_6174;
/// Bytes in front of the payload.
const HEADER_BYTES: [usize; 2] = [48, 64];
/// Versions have small numbers; a letter behind the magic is text.
const HIGHEST_VERSION: u8 = 0x1f;

/// Version and byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordLayout {
    /// Of the record.
    pub version: u8,
    is_big_endian: bool,
}

impl RecordLayout {
    /// That of the record which begins here, of any version.
    pub fn at(head: &[u8]) -> Option<Self> {
        let magic: [u8; 4] = head.get(..4)?.try_into().ok()?;
        let little = u32::from_le_bytes(magic);
        let big = u32::from_be_bytes(magic);
        let layout = |magic: u32, is_big_endian| Self { version: (magic & 0xff) as u8, is_big_endian };
        let found = if little >> 8 == MAGIC {
            layout(little, false)
        } else if big >> 8 == MAGIC {
            layout(big, true)
        } else {
            return None;
        };
        (found.version <= HIGHEST_VERSION).then_some(found)
    }

    /// Bytes of its header, if the version is known.
    pub fn header_bytes(self) -> Option<usize> {
        let index = VERSIONS.iter().position(|&version| version == self.version)?;
        Some(HEADER_BYTES[index])
    }

    /// Whether numbers are written alike.
    pub const fn has_order_of(self, other: Self) -> bool {
        self.is_big_endian == other.is_big_endian
    }

    /// The fields of a whole header.
    pub fn decode(self, header: &[u8]) -> Header {
        let u16_at = |at: usize| {
            let bytes = [header[at], header[at + 1]];
            if self.is_big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
        };
        let u32_at = |at: usize| {
            let bytes = header[at..at + 4].try_into().expect("four bytes");
            if self.is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        let u64_at = |at: usize| {
            let bytes = header[at..at + 8].try_into().expect("eight bytes");
            if self.is_big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
        };
        let is_wide = self.version == VERSIONS[1];
        Header {
            sequence: u32_at(4),
            time_ns: u64_at(8),
            sector: u64_at(16),
            bytes: u32_at(24),
            action: if is_wide { u64_at(32) } else { u64::from(u32_at(28)) },
            pid: if is_wide { u32_at(28) } else { u32_at(32) },
            device: if is_wide { u32_at(40) } else { u32_at(36) },
            cpu: if is_wide { u32_at(44) } else { u32_at(40) },
            error: if is_wide { u16_at(48) } else { u16_at(44) }.cast_signed(),
            payload_bytes: if is_wide { u16_at(50) } else { u16_at(46) },
        }
    }

    /// Two numbers of a payload in the byte order of the record.
    pub fn two_u32(self, payload: &[u8]) -> Option<(u32, u32)> {
        let number = |at: usize| {
            let bytes = payload.get(at..at + 4)?.try_into().ok()?;
            Some(if self.is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
        };
        Some((number(0)?, number(4)?))
    }
}

/// The fields, in the order of version 7.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub sequence: u32,
    pub time_ns: u64,
    pub sector: u64,
    pub bytes: u32,
    pub action: u64,
    pub pid: u32,
    pub device: u32,
    pub cpu: u32,
    /// Negative errno.
    pub error: i16,
    pub payload_bytes: u16,
}
