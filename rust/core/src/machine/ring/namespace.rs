//! What an NVMe namespace says of itself.

use std::ffi::c_void;
use std::io;
use std::os::fd::AsFd;

use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl, opcode as number};

use super::nvme_command::Command;
use crate::machine::buffers::Buffers;

/// Identify, with the data structure of a namespace (CNS 00h) as its answer.
const IDENTIFY: u8 = 0x06;
const IDENTIFY_BYTES: usize = 4096;
/// Offsets in that structure: Number of LBA Formats, Formatted LBA Size, and the formats themselves.
const NLBAF: usize = 25;
const FLBAS: usize = 26;
const LBAF: usize = 128;

/// A namespace's number and the format of its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Namespace {
    pub(super) identifier: u32,
    /// A logical block has 2 to the power of this many bytes.
    pub(super) block_shift: u32,
    /// And so many beside its data.
    pub(super) metadata_bytes: u16,
}

impl Namespace {
    /// Ask the namespace behind an NVMe generic device.
    pub(super) fn identify(device: impl AsFd) -> io::Result<Self> {
        // SAFETY: the request takes no argument, and a device which doesn't know it refuses it.
        let identifier = unsafe { ioctl(&device, NamespaceId) }?;
        let mut memory = Buffers::new(1, IDENTIFY_BYTES, 0)?;
        let mut command = Command::new(IDENTIFY, identifier);
        command.data(memory.block_mut(0, IDENTIFY_BYTES).as_mut_ptr(), IDENTIFY_BYTES as u32);
        // SAFETY: the command writes into `memory` until it returns, and no further than its length.
        match unsafe { ioctl(&device, AdminCommand(&mut command)) }? {
            0 => Ok(Self::parse(identifier, memory.block(0, IDENTIFY_BYTES))),
            status => Err(io::Error::other(format!("Identify ended with status {status:#x}"))),
        }
    }

    fn parse(identifier: u32, answer: &[u8]) -> Self {
        let flbas = usize::from(answer[FLBAS]);
        // The index of the format in use has four bits, and two more where there are over 16 formats.
        let more = if answer[NLBAF] >= 16 { flbas >> 5 & 0b11 } else { 0 };
        let format = &answer[LBAF + 4 * (more << 4 | flbas & 0b1111)..][..4];
        Self {
            identifier,
            block_shift: format[2].into(),
            metadata_bytes: u16::from_le_bytes([format[0], format[1]]),
        }
    }
}

/// `NVME_IOCTL_ID`: answers the namespace's identifier.
struct NamespaceId;

// SAFETY: the request takes no argument and answers with its return value.
unsafe impl Ioctl for NamespaceId {
    type Output = u32;
    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        number::none(b'N', 0x40)
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::null_mut()
    }

    // SAFETY: the caller has nothing to promise: it looks at the answer's number alone.
    unsafe fn output_from_ptr(output: IoctlOutput, _: *mut c_void) -> rustix::io::Result<u32> {
        Ok(output.cast_unsigned())
    }
}

/// `NVME_IOCTL_ADMIN_CMD`: carries out an admin command and answers with its status.
struct AdminCommand<'a>(&'a mut Command);

// SAFETY: the argument is a `struct nvme_passthru_cmd`, which the request reads and writes its result into.
unsafe impl Ioctl for AdminCommand<'_> {
    type Output = i32;
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        number::read_write::<[u8; Command::BYTES]>(b'N', 0x41)
    }

    fn as_ptr(&mut self) -> *mut c_void {
        self.0.as_mut_bytes().as_mut_ptr().cast()
    }

    // SAFETY: the caller has nothing to promise: it looks at the answer's number alone.
    unsafe fn output_from_ptr(output: IoctlOutput, _: *mut c_void) -> rustix::io::Result<i32> {
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_the_requests_are_those_of_the_kernels_header() {
        // As gcc expands them from linux/nvme_ioctl.h.
        assert_eq!(NamespaceId.opcode(), 0x4e40);
        assert_eq!(AdminCommand(&mut Command::new(IDENTIFY, 1)).opcode(), 0xc048_4e41);
    }

    #[test]
    fn the_format_in_use_is_found_among_few_and_many() {
        let parse = |formats: u8, flbas: u8, index: usize| {
            let mut answer = [0; IDENTIFY_BYTES];
            (answer[NLBAF], answer[FLBAS]) = (formats - 1, flbas);
            answer[LBAF + 4 * index..][..4].copy_from_slice(&[8, 0, 12, 0]);
            Namespace::parse(7, &answer)
        };
        let expected = Namespace { identifier: 7, block_shift: 12, metadata_bytes: 8 };
        assert_eq!(parse(8, 5, 5), expected);
        // Bit 4 tells where metadata are; bits 5 and 6 count only where there are over 16 formats.
        assert_eq!(parse(16, 0b111_0101, 5), expected);
        assert_eq!(parse(17, 0b011_0000, 16), expected);
        assert_eq!(parse(64, 0b110_1111, 63), expected);
    }
}
