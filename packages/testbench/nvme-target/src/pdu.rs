//! Protocol data units of NVMe over TCP: from bytes, and to bytes.
//!
//! ```text
//! | type flags hlen pdo plen | rest of the header | header digest | padding | data | data digest |
//! ```

use std::io::{self, Read};

use super::bytes::{u16_at, u32_at};
use super::command::{COMMAND_BYTES, Command, MOST_TRANSFER_BYTES, Response};

/// Length of the PDUs that begin a connection.
pub(super) const INITIALIZE_BYTES: usize = 128;

const COMMON_BYTES: usize = 8;
const DIGEST_BYTES: usize = 4;
const COMMAND_HEADER_BYTES: usize = COMMON_BYTES + COMMAND_BYTES;
const SHORT_HEADER_BYTES: usize = 24;

const INITIALIZE_REQUEST: u8 = 0x00;
const INITIALIZE_RESPONSE: u8 = 0x01;
const TERMINATE_BY_HOST: u8 = 0x02;
const TERMINATE_BY_CONTROLLER: u8 = 0x03;
const COMMAND_CAPSULE: u8 = 0x04;
const RESPONSE_CAPSULE: u8 = 0x05;
const DATA_OF_HOST: u8 = 0x06;
const DATA_OF_CONTROLLER: u8 = 0x07;
const READY_TO_TRANSFER: u8 = 0x09;

const HAS_HEADER_DIGEST: u8 = 1;
const HAS_DATA_DIGEST: u8 = 1 << 1;
const IS_LAST: u8 = 1 << 2;

/// What both sides agreed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wire {
    pub(super) header_digest: bool,
    pub(super) data_digest: bool,
    /// Data for the host begin at a multiple of so many bytes.
    pub(super) host_alignment: usize,
}

/// What the host wants of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Initialize {
    pub(super) format: u16,
    pub(super) wire: Wire,
}

/// Data of the host that were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostData {
    pub(super) command: u16,
    pub(super) tag: u16,
    pub(super) offset: u32,
    pub(super) is_last: bool,
    pub(super) data: Vec<u8>,
    /// Whether the data digest held.
    pub(super) is_intact: bool,
}

/// A PDU from the host.
#[derive(Clone, Debug)]
pub(super) enum Pdu {
    Initialize(Initialize),
    Command { command: Command, data: Vec<u8>, is_intact: bool },
    Data(HostData),
    Terminate,
}

/// Why a connection ends, in the words of the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(super) enum Fatal {
    InvalidHeaderField = 1,
    Sequence = 2,
    HeaderDigest = 3,
    DataOutOfRange = 4,
    UnsupportedParameter = 6,
}

/// Why there is no PDU.
#[derive(Debug)]
pub(super) enum NoPdu {
    /// The connection ended.
    Closed,
    /// The host broke the protocol; what came of the header goes back to it.
    Broken { fatal: Fatal, field: u32, header: Vec<u8> },
}

impl From<io::Error> for NoPdu {
    fn from(_: io::Error) -> Self {
        Self::Closed
    }
}

/// Read the next PDU; `most_bytes` is what it may carry in data.
pub(super) fn read_pdu(from: &mut impl Read, wire: Wire, most_bytes: u32) -> Result<Pdu, NoPdu> {
    let header = read_header(from, wire)?;
    if header[0] == TERMINATE_BY_HOST {
        return Ok(Pdu::Terminate);
    }
    let (data, is_intact) = read_data(from, wire, &header, most_bytes)?;
    decode(&header, data, is_intact)
}

fn broken<T>(header: &[u8], fatal: Fatal, field: u32) -> Result<T, NoPdu> {
    Err(NoPdu::Broken { fatal, field, header: header.to_vec() })
}

const fn has_digests(kind: u8) -> bool {
    matches!(kind, COMMAND_CAPSULE | DATA_OF_HOST)
}

/// Read and check a header, and its digest.
fn read_header(from: &mut impl Read, wire: Wire) -> Result<Vec<u8>, NoPdu> {
    let mut header = vec![0; COMMON_BYTES];
    from.read_exact(&mut header)?;
    let (kind, flags, hlen) = (header[0], header[1], usize::from(header[2]));
    let expected = match kind {
        INITIALIZE_REQUEST => INITIALIZE_BYTES,
        COMMAND_CAPSULE => COMMAND_HEADER_BYTES,
        DATA_OF_HOST | TERMINATE_BY_HOST => SHORT_HEADER_BYTES,
        _ => return broken(&header, Fatal::InvalidHeaderField, 0),
    };
    if hlen != expected {
        return broken(&header, Fatal::InvalidHeaderField, 2);
    }
    if has_digests(kind) && (flags & HAS_HEADER_DIGEST != 0) != wire.header_digest {
        return broken(&header, Fatal::InvalidHeaderField, 1);
    }
    header.resize(hlen, 0);
    from.read_exact(&mut header[COMMON_BYTES..])?;
    if has_digests(kind) && wire.header_digest {
        let mut digest = [0; DIGEST_BYTES];
        from.read_exact(&mut digest)?;
        if u32::from_le_bytes(digest) != crc32c::crc32c(&header) {
            return broken(&header, Fatal::HeaderDigest, crc32c::crc32c(&header));
        }
    }
    Ok(header)
}

/// Read what is behind a header, and whether its digest holds. Data begin where the header says.
fn read_data(
    from: &mut impl Read,
    wire: Wire,
    header: &[u8],
    most_bytes: u32,
) -> Result<(Vec<u8>, bool), NoPdu> {
    let (kind, flags, begin) = (header[0], header[1], usize::from(header[3]));
    let length = u32_at(header, 4) as usize;
    let read = header.len() + if has_digests(kind) && wire.header_digest { DIGEST_BYTES } else { 0 };
    if length == read {
        return Ok((Vec::new(), true));
    }
    let has_digest = wire.data_digest && flags & HAS_DATA_DIGEST != 0;
    let end = if has_digest { DIGEST_BYTES } else { 0 };
    if begin < read || length < begin + end || !has_digests(kind) {
        return broken(header, Fatal::InvalidHeaderField, 3);
    }
    let bytes = length - begin - end;
    if bytes > most_bytes as usize {
        return broken(header, Fatal::InvalidHeaderField, 4);
    }
    from.read_exact(&mut vec![0; begin - read])?;
    let mut data = vec![0; bytes];
    from.read_exact(&mut data)?;
    if !has_digest {
        return Ok((data, true));
    }
    let mut digest = [0; DIGEST_BYTES];
    from.read_exact(&mut digest)?;
    let is_intact = u32::from_le_bytes(digest) == crc32c::crc32c(&data);
    Ok((data, is_intact))
}

fn decode(header: &[u8], data: Vec<u8>, is_intact: bool) -> Result<Pdu, NoPdu> {
    Ok(match header[0] {
        INITIALIZE_REQUEST => Pdu::Initialize(Initialize {
            format: u16_at(header, 8),
            wire: Wire {
                header_digest: header[11] & 1 != 0,
                data_digest: header[11] & 2 != 0,
                host_alignment: (usize::from(header[10] & 31) + 1) * 4,
            },
        }),
        COMMAND_CAPSULE => {
            let mut entry = [0; COMMAND_BYTES];
            entry.copy_from_slice(&header[COMMON_BYTES..]);
            Pdu::Command { command: Command::new(entry), data, is_intact }
        }
        _ => {
            if u32_at(header, 16) as usize != data.len() {
                return broken(header, Fatal::InvalidHeaderField, 16);
            }
            Pdu::Data(HostData {
                command: u16_at(header, 8),
                tag: u16_at(header, 10),
                offset: u32_at(header, 12),
                is_last: header[1] & IS_LAST != 0,
                data,
                is_intact,
            })
        }
    })
}

fn common(out: &mut Vec<u8>, kind: u8, flags: u8, hlen: usize, pdo: usize, length: usize) {
    #[expect(clippy::cast_possible_truncation, reason = "headers are short, data are bounded")]
    out.extend_from_slice(&[kind, flags, hlen as u8, pdo as u8]);
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
}

/// A header of 24 bytes, its digest, and room for the digest in its length.
fn short(out: &mut Vec<u8>, wire: Wire, kind: u8, rest: [u8; 16]) {
    let digest = if wire.header_digest { DIGEST_BYTES } else { 0 };
    let begin = out.len();
    let flags = if wire.header_digest { HAS_HEADER_DIGEST } else { 0 };
    common(out, kind, flags, SHORT_HEADER_BYTES, 0, SHORT_HEADER_BYTES + digest);
    out.extend_from_slice(&rest);
    sign(out, begin, wire);
}

fn sign(out: &mut Vec<u8>, begin: usize, wire: Wire) {
    if wire.header_digest {
        let digest = crc32c::crc32c(&out[begin..]);
        out.extend_from_slice(&digest.to_le_bytes());
    }
}

/// The answer to the first PDU of a connection.
pub(super) fn initialize_response(wire: Wire) -> Vec<u8> {
    let mut out = Vec::with_capacity(INITIALIZE_BYTES);
    common(&mut out, INITIALIZE_RESPONSE, 0, INITIALIZE_BYTES, 0, INITIALIZE_BYTES);
    out.extend_from_slice(&[0, 0, 0, u8::from(wire.header_digest) | u8::from(wire.data_digest) << 1]);
    // Older kernels send all data of a command in one PDU, whatever they are told here.
    out.extend_from_slice(&MOST_TRANSFER_BYTES.to_le_bytes());
    out.resize(INITIALIZE_BYTES, 0);
    out
}

/// Ask for all data of a command at once.
pub(super) fn ready_to_transfer(wire: Wire, command: u16, tag: u16, length: u32) -> Vec<u8> {
    let mut rest = [0; 16];
    rest[0..2].copy_from_slice(&command.to_le_bytes());
    rest[2..4].copy_from_slice(&tag.to_le_bytes());
    rest[8..12].copy_from_slice(&length.to_le_bytes());
    let mut out = Vec::new();
    short(&mut out, wire, READY_TO_TRANSFER, rest);
    out
}

/// A completion, behind the data that belong to it.
pub(super) fn respond(out: &mut Vec<u8>, wire: Wire, response: &Response, sq_head: u16) {
    if !response.data.is_empty() {
        data_for_host(out, wire, response.command, &response.data);
    }
    let mut entry = [0; 16];
    entry[0..8].copy_from_slice(&response.result.to_le_bytes());
    entry[8..10].copy_from_slice(&sq_head.to_le_bytes());
    entry[12..14].copy_from_slice(&response.command.to_le_bytes());
    entry[14..16].copy_from_slice(&response.status.field().to_le_bytes());
    short(out, wire, RESPONSE_CAPSULE, entry);
}

fn data_for_host(out: &mut Vec<u8>, wire: Wire, command: u16, data: &[u8]) {
    let digest = |on: bool| if on { DIGEST_BYTES } else { 0 };
    let begin = out.len();
    let header = SHORT_HEADER_BYTES + digest(wire.header_digest);
    let pdo = header.next_multiple_of(wire.host_alignment.max(1));
    let flags = IS_LAST
        | if wire.header_digest { HAS_HEADER_DIGEST } else { 0 }
        | if wire.data_digest { HAS_DATA_DIGEST } else { 0 };
    let length = pdo + data.len() + digest(wire.data_digest);
    common(out, DATA_OF_CONTROLLER, flags, SHORT_HEADER_BYTES, pdo, length);
    out.extend_from_slice(&command.to_le_bytes());
    out.extend_from_slice(&[0; 6]);
    out.extend_from_slice(&u32::try_from(data.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    sign(out, begin, wire);
    out.resize(begin + pdo, 0);
    out.extend_from_slice(data);
    if wire.data_digest {
        out.extend_from_slice(&crc32c::crc32c(data).to_le_bytes());
    }
}

/// End the connection, and say why.
pub(super) fn terminate(fatal: Fatal, field: u32, header: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let length = SHORT_HEADER_BYTES + header.len();
    common(&mut out, TERMINATE_BY_CONTROLLER, 0, SHORT_HEADER_BYTES, 0, length);
    out.extend_from_slice(&(fatal as u16).to_le_bytes());
    out.extend_from_slice(&field.to_le_bytes());
    out.resize(SHORT_HEADER_BYTES, 0);
    out.extend_from_slice(header);
    out
}
