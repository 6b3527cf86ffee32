//! What the drive answers otherwise than it would: bytes of pages, statuses and delays, as an operator orders.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use super::command::{Answer, Answered, Command, Done, FABRICS, Status};
use super::opcodes::{GET_FEATURES, GET_LOG_PAGE, IDENTIFY};

/// What is changed of an answer.
#[derive(Clone, Debug)]
pub enum Change {
    /// Its page is this, whatever the drive has; of a feature, dword 0 and then its data.
    Page(Vec<u8>),
    /// From a byte of the page on, these bytes.
    Bytes(usize, Vec<u8>),
    /// It is refused, with type and code of the status.
    Refuse(u16),
    /// It comes so much later.
    Delay(Duration),
}

/// One change, of the answers to some commands.
#[derive(Debug)]
pub struct Override {
    /// Opcode of the commands; of Fabrics' 7Fh, Property Get.
    pub opcode: u8,
    /// Log, structure, feature with what is selected of it, or offset of the property; `None`: any.
    pub number: Option<u32>,
    /// So many commands are answered as ever before.
    pub after: u64,
    /// What is changed.
    pub change: Change,
    seen: AtomicU64,
}

impl Override {
    /// A change of the answers behind the first `after`.
    pub fn new(opcode: u8, number: Option<u32>, after: u64, change: Change) -> Self {
        Self { opcode, number, after, change, seen: AtomicU64::new(0) }
    }

    fn concerns(&self, opcode: u8, number: u32) -> bool {
        self.opcode == opcode
            && self.number.is_none_or(|each| each == number)
            && self.seen.fetch_add(1, Ordering::Relaxed) >= self.after
    }
}

impl Clone for Override {
    fn clone(&self) -> Self {
        Self::new(self.opcode, self.number, self.after, self.change.clone())
    }
}

/// All changes that were ordered; later ones win.
#[derive(Clone, Debug, Default)]
pub struct Overrides(pub Vec<Override>);

impl Overrides {
    /// An admin command's answer, with what is changed of it.
    pub(super) fn admin(&self, command: &Command, execute: impl FnOnce() -> Answer) -> Answer {
        let changes = self.of(command.opcode(), number(command));
        if changes.is_empty() {
            return execute();
        }
        wait(&changes);
        match changes.iter().rev().find(|each| !matches!(each, Change::Bytes(..) | Change::Delay(_))) {
            Some(Change::Refuse(status)) => Answer::Now(Err(Status::new(*status))),
            Some(Change::Page(page)) => {
                Answer::Now(part(page, command).map(|done| patch(done, &changes, command)))
            }
            _ => match execute() {
                Answer::Now(Ok(done)) => Answer::Now(Ok(patch(done, &changes, command))),
                other => other,
            },
        }
    }

    /// A property, with what is changed of it.
    pub(super) fn property(&self, offset: u32, value: Result<u64, Status>) -> Result<u64, Status> {
        let mut value = value;
        for change in self.of(FABRICS, offset) {
            match change {
                Change::Page(page) => {
                    let mut bytes = [0; 8];
                    let length = page.len().min(8);
                    bytes[..length].copy_from_slice(&page[..length]);
                    value = Ok(u64::from_le_bytes(bytes));
                }
                Change::Bytes(at, bytes) => {
                    let mut whole = value.unwrap_or(0).to_le_bytes();
                    put(&mut whole, *at, bytes);
                    value = Ok(u64::from_le_bytes(whole));
                }
                Change::Refuse(status) => value = Err(Status::new(*status)),
                Change::Delay(time) => sleep(*time),
            }
        }
        value
    }

    /// An I/O command's refusal, if there is one; what is late is waited for. `number` has no meaning for I/O.
    pub(super) fn io(&self, command: &Command) -> Result<(), Status> {
        let changes: Vec<&Change> = self
            .0
            .iter()
            .filter(|each| each.number == Some(IO) && each.concerns(command.opcode(), IO))
            .map(|each| &each.change)
            .collect();
        wait(&changes);
        match changes
            .into_iter()
            .find_map(|each| if let Change::Refuse(status) = each { Some(*status) } else { None })
        {
            Some(status) => Err(Status::new(status)),
            None => Ok(()),
        }
    }

    fn of(&self, opcode: u8, number: u32) -> Vec<&Change> {
        self.0.iter().filter(|each| each.concerns(opcode, number)).map(|each| &each.change).collect()
    }
}

/// The number that says that I/O commands of this opcode are meant.
pub const IO: u32 = u32::MAX;

/// What a command names: its log, structure, or feature with the selection.
fn number(command: &Command) -> u32 {
    let word = command.dword(10);
    match command.opcode() {
        GET_LOG_PAGE | IDENTIFY => word & 0xFF,
        GET_FEATURES => word & 0x7FF,
        _ => word & 0xFFFF,
    }
}

fn wait(changes: &[&Change]) {
    for change in changes {
        if let Change::Delay(time) = change {
            sleep(*time);
        }
    }
}

/// What the command asks for of a page.
fn part(page: &[u8], command: &Command) -> Answered {
    match command.opcode() {
        GET_FEATURES => {
            let mut first = [0; 4];
            let length = page.len().min(4);
            first[..length].copy_from_slice(&page[..length]);
            Ok(Done { result: u32::from_le_bytes(first).into(), data: page[length..].to_vec() })
        }
        GET_LOG_PAGE => {
            let dwords = (command.dword(10) >> 16) as usize | ((command.dword(11) & 0xFFFF) as usize) << 16;
            let from = usize::try_from(command.qword(12)).map_err(|_| Status::INVALID_FIELD)?;
            let mut asked = page.get(from..).unwrap_or_default().to_vec();
            asked.resize((dwords + 1) * 4, 0);
            Ok(Done::data(asked))
        }
        _ => {
            let mut whole = page.to_vec();
            whole.resize(4096, 0);
            Ok(Done::data(whole))
        }
    }
}

fn patch(done: Done, changes: &[&Change], command: &Command) -> Done {
    let mut done = done;
    let from =
        if command.opcode() == GET_LOG_PAGE { usize::try_from(command.qword(12)).unwrap_or(0) } else { 0 };
    for change in changes {
        let Change::Bytes(at, bytes) = change else { continue };
        if command.opcode() == GET_FEATURES {
            let mut whole = done.result.to_le_bytes()[..4].to_vec();
            whole.append(&mut done.data);
            put(&mut whole, *at, bytes);
            done.data = whole.split_off(4);
            done.result = u64::from(u32::from_le_bytes([whole[0], whole[1], whole[2], whole[3]]));
            continue;
        }
        for (place, byte) in bytes.iter().enumerate() {
            if let Some(there) = (at + place).checked_sub(from).and_then(|index| done.data.get_mut(index)) {
                *there = *byte;
            }
        }
    }
    done
}

fn put(whole: &mut [u8], at: usize, bytes: &[u8]) {
    for (there, byte) in whole.iter_mut().skip(at).zip(bytes) {
        *there = *byte;
    }
}

#[cfg(test)]
mod tests {
    use super::super::command::COMMAND_BYTES;
    use super::*;

    fn command(opcode: u8, dwords: &[(usize, u32)]) -> Command {
        let mut bytes = [0; COMMAND_BYTES];
        bytes[0] = opcode;
        for (number, value) in dwords {
            bytes[number * 4..number * 4 + 4].copy_from_slice(&value.to_le_bytes());
        }
        Command::new(bytes)
    }

    fn overrides(rules: &[(u8, Option<u32>, u64, Change)]) -> Overrides {
        Overrides(rules.iter().cloned().map(|(a, b, c, d)| Override::new(a, b, c, d)).collect())
    }

    fn ok(answer: Answer) -> Done {
        match answer {
            Answer::Now(Ok(done)) => done,
            _ => Done::default(),
        }
    }

    #[test]
    fn a_page_is_read_in_parts_and_patched_at_its_own_offsets() {
        let rules = overrides(&[
            (GET_LOG_PAGE, Some(0xC0), 0, Change::Page((0..64).collect())),
            (GET_LOG_PAGE, Some(0xC0), 0, Change::Bytes(17, vec![0xEE, 0xEF])),
        ]);
        let asked = command(GET_LOG_PAGE, &[(10, 0xC0 | 1 << 16), (12, 16)]);
        assert_eq!(ok(rules.admin(&asked, || Answer::Held)).data, [16, 0xEE, 0xEF, 19, 20, 21, 22, 23]);
        let other = command(GET_LOG_PAGE, &[(10, 0xC1)]);
        assert!(matches!(rules.admin(&other, || Answer::Held), Answer::Held));
    }

    #[test]
    fn a_feature_has_its_word_before_its_data_and_a_selection_of_its_own() {
        let rules = overrides(&[(GET_FEATURES, Some(0x1C2), 0, Change::Page(vec![1, 2, 0, 0, 9]))]);
        let done = ok(rules.admin(&command(GET_FEATURES, &[(10, 0x1C2)]), || Answer::Held));
        assert_eq!((done.result, done.data), (0x201, vec![9]));
        assert!(matches!(rules.admin(&command(GET_FEATURES, &[(10, 0xC2)]), || Answer::Held), Answer::Held));
    }

    #[test]
    fn refusals_begin_behind_what_is_left_alone() {
        let rules = overrides(&[(IDENTIFY, None, 1, Change::Refuse(2))]);
        let asked = command(IDENTIFY, &[(10, 1)]);
        assert!(matches!(rules.admin(&asked, || Answer::Held), Answer::Held));
        assert!(matches!(rules.admin(&asked, || Answer::Held), Answer::Now(Err(Status::INVALID_FIELD))));
        assert_eq!(rules.property(0, Ok(5)), Ok(5));
        let capabilities = overrides(&[(FABRICS, Some(0), 0, Change::Bytes(1, vec![1]))]);
        assert_eq!(capabilities.property(0, Ok(5)), Ok(0x105));
        let io = overrides(&[(2, Some(IO), 0, Change::Refuse(0x281))]);
        assert_eq!(io.io(&command(2, &[])), Err(Status::UNRECOVERED_READ));
        assert!(matches!(io.admin(&command(2, &[(10, 1)]), || Answer::Held), Answer::Held));
    }
}
