//! The error information log: the latest commands that failed on the media.

use std::collections::VecDeque;

use super::bytes::Page;
use super::command::Status;

/// Entries that are kept.
pub(super) const ENTRIES: usize = 64;
const ENTRY_BYTES: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Entry {
    number: u64,
    queue: u16,
    command: u16,
    status: Status,
    lba: u64,
    namespace: u32,
}

/// The latest errors, the newest first.
#[derive(Debug, Default)]
pub(super) struct ErrorLog {
    entries: VecDeque<Entry>,
    errors: u64,
}

impl ErrorLog {
    /// How many there ever were.
    pub(super) const fn errors(&self) -> u64 {
        self.errors
    }

    pub(super) fn add(&mut self, queue: u16, command: u16, status: Status, lba: u64, namespace: u32) {
        self.errors += 1;
        self.entries.truncate(ENTRIES - 1);
        self.entries.push_front(Entry { number: self.errors, queue, command, status, lba, namespace });
    }

    pub(super) fn page(&self) -> Page {
        let mut page = Page::new(ENTRIES * ENTRY_BYTES);
        for (place, entry) in self.entries.iter().enumerate() {
            let at = place * ENTRY_BYTES;
            page.put_u64(at, entry.number)
                .put_u16(at + 8, entry.queue)
                .put_u16(at + 10, entry.command)
                .put_u16(at + 12, entry.status.field())
                .put_u16(at + 14, u16::MAX)
                .put_u64(at + 16, entry.lba)
                .put_u32(at + 24, entry.namespace);
        }
        page
    }
}
