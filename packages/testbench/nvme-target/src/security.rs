//! A drive's locking: level 0 discovery of the Trusted Computing Group, and the session of a PSID revert.
//!
//! TCG Storage Architecture Core Specification; all numbers are big-endian.

use super::access::Security;
use super::tcg_tokens::{Token, tokens};

pub(super) const TCG: u32 = 0x01;
pub(super) const LEVEL0: u16 = 0x0001;
/// The communication identifier on which sessions are held.
pub(super) const COM_ID: u16 = 0x0800;
pub(super) const MOST_BYTES: u32 = 1 << 16;

/// The blocks that a shadow MBR takes the place of.
pub(super) const SHADOW_BYTES: u64 = 128 << 20;

/// Headers in front of a session's payload: ComPacket, packet, subpacket.
pub(super) const HEADERS_BYTES: usize = 20 + 24 + 12;
const PACKET_AT: usize = 20;
pub(super) const PAYLOAD_LENGTH_AT: usize = HEADERS_BYTES - 4;

const START_SESSION: [u8; 8] = [0, 0, 0, 0, 0, 0, 0xFF, 0x02];
const SYNC_SESSION: [u8; 8] = [0, 0, 0, 0, 0, 0, 0xFF, 0x03];
const SESSION_MANAGER: [u8; 8] = [0, 0, 0, 0, 0, 0, 0, 0xFF];
const ADMIN_SP: [u8; 8] = [0, 0, 2, 5, 0, 0, 0, 1];
const PSID_AUTHORITY: [u8; 8] = [0, 0, 0, 9, 0, 1, 0xFF, 1];
const REVERT: [u8; 8] = [0, 0, 0, 6, 0, 0, 2, 2];

const CALL: u8 = 0xF8;
const START_LIST: u8 = 0xF0;
const END_LIST: u8 = 0xF1;
const START_NAME: u8 = 0xF2;
const END_OF_DATA: u8 = 0xF9;
const END_OF_SESSION: u8 = 0xFA;

const SUCCESS: u8 = 0;
const NOT_AUTHORIZED: u8 = 1;
const OUR_SESSION: u32 = 0x1001;

/// The drive's locking, and the session that a host holds with it.
#[derive(Debug, Default)]
pub(super) struct Locking {
    state: Security,
    /// The session's number of the host, while one is open.
    session: Option<u32>,
    /// What the host will receive.
    pub(super) answer: Vec<u8>,
}

impl Locking {
    pub(super) fn new(state: Security) -> Self {
        Self { state, ..Self::default() }
    }

    /// Whether the drive has security commands.
    pub(super) fn is_there(&self) -> bool {
        self.state != Security::None
    }

    /// Whether nothing can be read or written.
    pub(super) fn is_locked(&self) -> bool {
        matches!(self.state, Security::Locked | Security::Enterprise | Security::Pyrite)
    }

    /// Whether an MBR of the drive's own is shown.
    pub(super) fn is_shadowed(&self) -> bool {
        self.state == Security::ShadowMbr
    }

    pub(super) fn discovery(&self) -> Vec<u8> {
        let mut features = Vec::new();
        let mut add = |code: u16, version: u8, data: &[u8]| {
            features.extend(code.to_be_bytes());
            features.extend([version << 4, u8::try_from(data.len()).unwrap_or(u8::MAX)]);
            features.extend(data);
        };
        // Synchronous and streaming protocol.
        add(0x0001, 1, &padded(&[1 | 1 << 4], 12));
        let (enabled, locked, mbr) = (1 << 1, 1 << 2, 1 << 4);
        let more = match self.state {
            Security::Enabled => enabled,
            Security::Locked | Security::Enterprise | Security::Pyrite => enabled | locked,
            Security::ShadowMbr => enabled | mbr,
            _ => 0,
        };
        // Locking is there, and media encryption, but for Pyrite.
        let encrypts = if self.state == Security::Pyrite { 0 } else { 1 << 3 };
        add(0x0002, 1, &padded(&[1 | encrypts | more], 12));
        let class = match self.state {
            Security::Opal1 => 0x0200,
            Security::Enterprise => 0x0100,
            Security::Pyrite => 0x0303,
            Security::Ruby => 0x0304,
            _ => 0x0203,
        };
        let [high, low] = COM_ID.to_be_bytes();
        add(class, 1, &padded(&[high, low, 0, 1], 16));
        if self.state == Security::SidBlocked {
            add(0x0402, 1, &padded(&[1 | 1 << 1], 12));
        }
        if self.state == Security::CutOff {
            add(0x0402, 1, &[]);
            if let Some(length) = features.last_mut() {
                *length = 12;
            }
        }
        let stated = if self.state == Security::TooLong { 1 << 16 } else { features.len() + 44 };
        let mut page = u32::try_from(stated).unwrap_or(u32::MAX).to_be_bytes().to_vec();
        page.extend([0, 0, 0, 1]);
        page.resize(48, 0);
        page.extend(features);
        page
    }

    /// Take what a host sends in its session; whether the drive is to be reverted.
    pub(super) fn hear(&mut self, payload: &[u8], psid: &[u8]) -> bool {
        let heard = tokens(payload);
        let mut reverts = false;
        self.answer = match heard.as_slice() {
            [Token::Control(END_OF_SESSION), ..] => {
                self.session = None;
                self.packet(&[END_OF_SESSION])
            }
            [
                Token::Control(CALL),
                Token::Bytes(_),
                Token::Bytes(method),
                Token::Control(START_LIST),
                Token::Number(host),
                rest @ ..,
            ] if *method == START_SESSION => self.start(u32::try_from(*host).unwrap_or(0), rest, psid),
            [Token::Control(CALL), Token::Bytes(object), Token::Bytes(method), ..]
                if *object == ADMIN_SP && *method == REVERT && self.session.is_some() =>
            {
                reverts = true;
                let answer = self.packet(&status(&[START_LIST, END_LIST], SUCCESS));
                self.session = None;
                answer
            }
            _ => self.packet(&status(&[START_LIST, END_LIST], NOT_AUTHORIZED)),
        };
        if reverts {
            self.state = if self.state == Security::Opal1 { Security::Opal1 } else { Security::Opal2 };
        }
        reverts
    }

    /// Answer a host that begins a session, which only the PSID opens.
    fn start(&mut self, host: u32, rest: &[Token], psid: &[u8]) -> Vec<u8> {
        let is_named = |number: u64, value: &[u8]| {
            rest.windows(3).any(|three| {
                three == [Token::Control(START_NAME), Token::Number(number), Token::Bytes(value)]
            })
        };
        if !(is_named(0, psid) && is_named(3, &PSID_AUTHORITY)) {
            return self.packet(&status(&[START_LIST, END_LIST], NOT_AUTHORIZED));
        }
        self.session = Some(host);
        let mut call = vec![CALL, 0xA8];
        call.extend(SESSION_MANAGER);
        call.push(0xA8);
        call.extend(SYNC_SESSION);
        call.push(START_LIST);
        for number in [host, OUR_SESSION] {
            call.push(0x84);
            call.extend(number.to_be_bytes());
        }
        call.push(END_LIST);
        self.packet(&status(&call, SUCCESS))
    }

    fn packet(&self, payload: &[u8]) -> Vec<u8> {
        let rounded = payload.len().next_multiple_of(4);
        let length = |bytes: usize| u32::try_from(bytes).unwrap_or(0).to_be_bytes();
        let mut packet = vec![0; HEADERS_BYTES];
        packet[4..6].copy_from_slice(&COM_ID.to_be_bytes());
        packet[16..20].copy_from_slice(&length(24 + 12 + rounded));
        packet[PACKET_AT..PACKET_AT + 4].copy_from_slice(&OUR_SESSION.to_be_bytes());
        packet[PACKET_AT + 4..PACKET_AT + 8].copy_from_slice(&self.session.unwrap_or(0).to_be_bytes());
        packet[PACKET_AT + 20..PACKET_AT + 24].copy_from_slice(&length(12 + rounded));
        packet[PAYLOAD_LENGTH_AT..HEADERS_BYTES].copy_from_slice(&length(payload.len()));
        packet.extend(payload);
        packet.resize(HEADERS_BYTES + rounded, 0);
        packet
    }
}

fn padded(bytes: &[u8], length: usize) -> Vec<u8> {
    let mut data = bytes.to_vec();
    data.resize(length, 0);
    data
}

/// What a method gives, and how it ended.
fn status(result: &[u8], code: u8) -> Vec<u8> {
    [result, &[END_OF_DATA, START_LIST, code, 0, 0, END_LIST]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_discovery_has_the_fields_of_the_specification() {
        let page = Locking::new(Security::Locked).discovery();
        assert_eq!(page[..4], u32::try_from(page.len() - 4).unwrap().to_be_bytes());
        assert_eq!(page[48..53], [0, 1, 1 << 4, 12, 0x11]);
        // Locking: there, enabled, locked, encrypts its media.
        assert_eq!(page[64..69], [0, 2, 1 << 4, 12, 0b1111]);
        assert_eq!(page[80..86], [2, 3, 1 << 4, 16, 8, 0]);
    }

    #[test]
    fn only_the_psid_opens_a_session_and_only_a_session_reverts() {
        let mut locking = Locking::new(Security::Locked);
        let start = |psid: &[u8]| {
            let mut call = vec![CALL, 0xA8];
            call.extend(SESSION_MANAGER);
            call.push(0xA8);
            call.extend(START_SESSION);
            call.extend([START_LIST, 0x81, 0x41, 0xA8]);
            call.extend(ADMIN_SP);
            call.extend([1, START_NAME, 0, 0xA0 | u8::try_from(psid.len()).unwrap()]);
            call.extend(psid);
            call.extend([0xF3, START_NAME, 3, 0xA8]);
            call.extend(PSID_AUTHORITY);
            call.extend([0xF3, END_LIST, END_OF_DATA, START_LIST, 0, 0, 0, END_LIST]);
            call
        };
        let revert = [&[CALL, 0xA8][..], &ADMIN_SP, &[0xA8], &REVERT, &[START_LIST, END_LIST]].concat();
        assert!(!locking.hear(&revert, b"RIGHT"));
        assert!(!locking.hear(&start(b"WRONG"), b"RIGHT"));
        assert!(!locking.hear(&revert, b"RIGHT"));
        assert!(!locking.hear(&start(b"RIGHT"), b"RIGHT"));
        assert!(locking.is_locked());
        assert!(locking.hear(&revert, b"RIGHT"));
        assert!(!locking.is_locked());
    }
}
