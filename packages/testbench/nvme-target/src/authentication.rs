//! DH-HMAC-CHAP: a host proves that it knows its secret, and the drive that it knows its own if the host asks.
//!
//! ```text
//! host -> negotiate | challenge <- drive | host -> reply | success1 <- drive | host -> success2
//! ```
//!
//! After the NVMe base specification 2.0, section 8.13, without secure channels.

use std::collections::BTreeMap;
use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::bytes::{u16_at, u32_at};
use super::command::Status;
use super::diffie_hellman::{Exchange, GROUPS, Group};

const COMMON: u8 = 0x00;
const CHAP: u8 = 0x01;

const NEGOTIATE: u8 = 0x00;
const CHALLENGE: u8 = 0x01;
const REPLY: u8 = 0x02;
const SUCCESS1: u8 = 0x03;
const SUCCESS2: u8 = 0x04;
const FAILURE2: u8 = 0xF0;
const FAILURE1: u8 = 0xF1;

/// Bytes of a message before its values, and of those that have none.
const HEAD_BYTES: usize = 16;
const SHORTEST_BYTES: usize = 6;
/// Where a negotiation describes the one protocol that it offers, and how long that is.
const PROTOCOL_AT: usize = 8;
const PROTOCOL_BYTES: usize = 64;
const MOST_IDS: usize = 30;
const NO_GROUP: u8 = 0;
/// Groups in the order in which they are taken: the first is as strong as SHA-256, and fast.
const PREFERRED_GROUPS: [u8; 6] = [2, 3, 1, 4, 5, NO_GROUP];

/// What a host and the drive know of each other.
#[derive(Clone)]
pub struct Secret {
    /// The host's key, as it is after its transformation with the host's name.
    pub host_key: Vec<u8>,
    /// The drive's own, transformed with the drive's name; without it no host can ask for a proof.
    pub controller_key: Option<Vec<u8>>,
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

/// The hosts that may connect, by their NQNs; none: all may, without a proof.
pub type Secrets = BTreeMap<String, Secret>;

/// Why authentication fails, in the words of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Failure {
    Failed = 1,
    ConcatenationMismatch = 3,
    HashUnusable = 4,
    GroupUnusable = 5,
    IncorrectPayload = 6,
    IncorrectMessage = 7,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hash {
    Sha256 = 1,
    Sha384 = 2,
    Sha512 = 3,
}

fn keyed<M: Mac + KeyInit>(key: &[u8], parts: &[&[u8]]) -> M {
    let mut mac = <M as KeyInit>::new_from_slice(key).expect("HMAC takes keys of every length");
    parts.iter().for_each(|part| mac.update(part));
    mac
}

impl Hash {
    const fn bytes(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    fn digest(self, data: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha256 => Sha256::digest(data).to_vec(),
            Self::Sha384 => Sha384::digest(data).to_vec(),
            Self::Sha512 => Sha512::digest(data).to_vec(),
        }
    }

    fn hmac(self, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
        match self {
            Self::Sha256 => keyed::<Hmac<Sha256>>(key, parts).finalize().into_bytes().to_vec(),
            Self::Sha384 => keyed::<Hmac<Sha384>>(key, parts).finalize().into_bytes().to_vec(),
            Self::Sha512 => keyed::<Hmac<Sha512>>(key, parts).finalize().into_bytes().to_vec(),
        }
    }

    /// Whether this is the HMAC, found in a time that tells nothing of where it differs.
    fn is_hmac(self, key: &[u8], parts: &[&[u8]], expected: &[u8]) -> bool {
        match self {
            Self::Sha256 => keyed::<Hmac<Sha256>>(key, parts).verify_slice(expected),
            Self::Sha384 => keyed::<Hmac<Sha384>>(key, parts).verify_slice(expected),
            Self::Sha512 => keyed::<Hmac<Sha512>>(key, parts).verify_slice(expected),
        }
        .is_ok()
    }
}

/// A challenge that waits for its reply.
struct Challenge {
    hash: Hash,
    value: Vec<u8>,
    number: u32,
    exchange: Option<Exchange>,
}

/// What comes next.
enum Step {
    Negotiate,
    Challenge {
        hash: Hash,
        group: Option<&'static Group>,
    },
    Reply(Challenge),
    /// The drive's own proof, if the host has asked for it.
    Success1 {
        hash: Hash,
        proof: Option<Vec<u8>>,
    },
    Success2,
    Fail(Failure),
}

/// What a message of the host has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    GoesOn,
    Proven,
    Failed,
}

/// What one connection has to prove.
pub(super) struct Dialogue {
    host_nqn: String,
    subsystem_nqn: String,
    secret: Secret,
    transaction: u16,
    step: Step,
}

impl fmt::Debug for Dialogue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Dialogue").field("host_nqn", &self.host_nqn).finish_non_exhaustive()
    }
}

impl Dialogue {
    pub(super) fn new(host_nqn: &str, subsystem_nqn: &str, secret: &Secret) -> Self {
        Self {
            host_nqn: host_nqn.into(),
            subsystem_nqn: subsystem_nqn.into(),
            secret: secret.clone(),
            transaction: 0,
            step: Step::Negotiate,
        }
    }

    /// Take a message of the host. One that fails has failed for good: the connection ends with it.
    pub(super) fn take(&mut self, message: &[u8]) -> Outcome {
        match self.taken(message) {
            Ok((step, outcome)) => {
                self.step = step;
                outcome
            }
            Err(failure) => {
                self.step = Step::Fail(failure);
                Outcome::Failed
            }
        }
    }

    fn taken(&mut self, message: &[u8]) -> Result<(Step, Outcome), Failure> {
        if message.len() < SHORTEST_BYTES {
            return Err(Failure::IncorrectPayload);
        }
        let transaction = u16_at(message, 4);
        let is_same = transaction == self.transaction;
        match (message[0], message[1], std::mem::replace(&mut self.step, Step::Negotiate)) {
            (COMMON, NEGOTIATE, Step::Negotiate) => {
                self.transaction = transaction;
                negotiated(message).map(|step| (step, Outcome::GoesOn))
            }
            (CHAP, REPLY, Step::Reply(challenge)) if is_same => self.replied(&challenge, message),
            (CHAP, SUCCESS2, Step::Success2) if is_same => Ok((Step::Negotiate, Outcome::Proven)),
            (_, FAILURE2, _) => Err(Failure::Failed),
            _ => Err(Failure::IncorrectMessage),
        }
    }

    /// A reply: the host's proof, perhaps a challenge of its own, and its part of the secret of both.
    fn replied(&self, challenge: &Challenge, message: &[u8]) -> Result<(Step, Outcome), Failure> {
        let Challenge { hash, value, number, exchange } = challenge;
        let length = hash.bytes();
        if message.len() < HEAD_BYTES + 2 * length || usize::from(message[6]) != length {
            return Err(Failure::IncorrectPayload);
        }
        let (proof, rest) = message[HEAD_BYTES..].split_at(length);
        let (asked, rest) = rest.split_at(length);
        let other = rest.get(..u16_at(message, 10).into()).ok_or(Failure::IncorrectPayload)?;
        let session_key = match exchange {
            Some(exchange) => Some(hash.digest(&exchange.shared(other).ok_or(Failure::IncorrectPayload)?)),
            None if other.is_empty() => None,
            None => return Err(Failure::IncorrectPayload),
        };
        // Bound to this exchange, where there is one.
        let augmented = |value: &[u8]| match &session_key {
            Some(key) => hash.hmac(key, &[value]),
            None => value.to_vec(),
        };
        let challenged = augmented(value);
        let [host, drive] = [self.host_nqn.as_bytes(), self.subsystem_nqn.as_bytes()];
        let parts = |challenged, number, role, from, to| -> [&[u8]; 8] {
            [challenged, number, &message[4..6], &[0], role, from, &[0], to]
        };
        let number = number.to_le_bytes();
        if !hash.is_hmac(&self.secret.host_key, &parts(&challenged, &number, b"HostHost", host, drive), proof)
        {
            return Err(Failure::Failed);
        }
        if message[8] & 1 == 0 {
            return Ok((Step::Success1 { hash: *hash, proof: None }, Outcome::Proven));
        }
        // A host that gets its own proof back knows nothing of the drive.
        if asked == value {
            return Err(Failure::Failed);
        }
        let key = self.secret.controller_key.as_ref().ok_or(Failure::Failed)?;
        let challenged = augmented(asked);
        let number = u32_at(message, 12).to_le_bytes();
        let proof = hash.hmac(key, &parts(&challenged, &number, b"Controller", drive, host));
        Ok((Step::Success1 { hash: *hash, proof: Some(proof) }, Outcome::GoesOn))
    }

    /// The drive's next message.
    ///
    /// # Errors
    /// If it is the host's turn, or the kernel has no random numbers.
    pub(super) fn give(&mut self) -> Result<Vec<u8>, Status> {
        let transaction = self.transaction.to_le_bytes();
        let head = |kind, id| vec![kind, id, 0, 0, transaction[0], transaction[1]];
        match std::mem::replace(&mut self.step, Step::Negotiate) {
            Step::Challenge { hash, group } => {
                let challenge = challenge(hash, group).map_err(|_| Status::INTERNAL_ERROR)?;
                let public = challenge.exchange.as_ref().map(Exchange::public).unwrap_or_default();
                let mut message = head(CHAP, CHALLENGE);
                message.extend([hash.bytes() as u8, 0, hash as u8, group.map_or(NO_GROUP, |group| group.id)]);
                message.extend(u16::try_from(public.len()).unwrap_or(0).to_le_bytes());
                message.extend(challenge.number.to_le_bytes());
                message.extend(&challenge.value);
                message.extend(public);
                self.step = Step::Reply(challenge);
                Ok(message)
            }
            Step::Success1 { hash, proof } => {
                let mut message = head(CHAP, SUCCESS1);
                message.extend([hash.bytes() as u8, 0, u8::from(proof.is_some())]);
                message.resize(HEAD_BYTES, 0);
                if let Some(proof) = proof {
                    message.extend(proof);
                    self.step = Step::Success2;
                }
                Ok(message)
            }
            Step::Fail(failure) => {
                self.step = Step::Fail(failure);
                let mut message = head(COMMON, FAILURE1);
                message.extend([1, failure as u8]);
                Ok(message)
            }
            step @ (Step::Negotiate | Step::Reply(_) | Step::Success2) => {
                self.step = step;
                Err(Status::COMMAND_SEQUENCE)
            }
        }
    }
}

/// What both sides use, of what the host offers.
fn negotiated(message: &[u8]) -> Result<Step, Failure> {
    let protocol = message.get(PROTOCOL_AT..PROTOCOL_AT + PROTOCOL_BYTES).ok_or(Failure::IncorrectPayload)?;
    if message[6] != 0 {
        return Err(Failure::ConcatenationMismatch);
    }
    let (hashes, groups) = (usize::from(protocol[2]), usize::from(protocol[3]));
    if message[7] == 0 || protocol[0] != CHAP || hashes > MOST_IDS || groups > MOST_IDS {
        return Err(Failure::IncorrectPayload);
    }
    let hashes = &protocol[4..4 + hashes];
    let groups = &protocol[4 + MOST_IDS..4 + MOST_IDS + groups];
    let hash = [Hash::Sha256, Hash::Sha384, Hash::Sha512]
        .into_iter()
        .find(|hash| hashes.contains(&(*hash as u8)))
        .ok_or(Failure::HashUnusable)?;
    let id = PREFERRED_GROUPS.iter().find(|id| groups.contains(id)).ok_or(Failure::GroupUnusable)?;
    Ok(Step::Challenge { hash, group: GROUPS.iter().find(|group| group.id == *id) })
}

fn challenge(hash: Hash, group: Option<&Group>) -> rustix::io::Result<Challenge> {
    let mut random = [0; 68];
    getrandom(&mut random, GetRandomFlags::empty())?;
    let (value, number) = (random[..hash.bytes()].to_vec(), u32_at(&random, 64).max(1));
    let exchange = group.map(Exchange::new).transpose()?;
    Ok(Challenge { hash, value, number, exchange })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn dialogue() -> Dialogue {
        let secret = Secret { host_key: vec![7; 32], controller_key: Some(vec![9; 32]) };
        Dialogue::new("nqn.host", "nqn.drive", &secret)
    }

    /// A negotiation that offers SHA-256 and no exchange.
    fn negotiation() -> Vec<u8> {
        let mut message = vec![0; PROTOCOL_AT + PROTOCOL_BYTES];
        message[7..12].copy_from_slice(&[1, CHAP, 0, 1, 1]);
        message[PROTOCOL_AT + 4] = Hash::Sha256 as u8;
        message
    }

    #[test]
    fn a_debug_print_tells_no_key() {
        assert!(!format!("{:?} {:?}", dialogue(), dialogue().secret).contains('7'));
    }

    proptest! {
        #[test]
        fn no_message_proves_anything_without_the_key(
            messages in vec((0..2_u8, prop_oneof![0..5_u8, Just(FAILURE2)], vec(any::<u8>(), 0..120)), 1..4),
            negotiates in any::<bool>(),
        ) {
            let mut dialogue = dialogue();
            if negotiates {
                prop_assert_eq!(dialogue.take(&negotiation()), Outcome::GoesOn);
                prop_assert_eq!(dialogue.give().unwrap().len(), HEAD_BYTES + 32);
            }
            for (kind, id, rest) in messages {
                let transaction = [0, 0, 0, 0];
                let message = [&[kind, id], &transaction[..], &rest].concat();
                prop_assert_ne!(dialogue.take(&message), Outcome::Proven);
                let _ = dialogue.give();
            }
        }

        #[test]
        fn no_negotiation_does_harm(bytes in vec(any::<u8>(), 0..100)) {
            let mut dialogue = dialogue();
            let message = [&[COMMON, NEGOTIATE, 0, 0, 1, 0, 0, 1, CHAP, 0], &bytes[..]].concat();
            prop_assert_ne!(dialogue.take(&message), Outcome::Proven);
            prop_assert!(dialogue.give().is_ok());
        }
    }
}
