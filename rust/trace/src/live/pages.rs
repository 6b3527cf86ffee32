//! Pages of the kernel's trace buffer, entry by entry, after its own description of them.

use std::collections::HashMap;

/// Entries of these types hold no event; smaller ones do, and tell their length in words.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// The upper two bits of a page's length tell of lost events.
const LENGTH_MASK: u64 = (1 << 30) - 1;

/// Where something is in a record or a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub offset: usize,
    pub size: usize,
}

impl Field {
    pub fn bytes(self, of: &[u8]) -> Option<&[u8]> {
        of.get(self.offset..self.offset.checked_add(self.size)?)
    }

    /// Unsigned, in the machine's byte order.
    pub fn number(self, of: &[u8]) -> Option<u64> {
        let bytes = self.bytes(of)?;
        Some(match bytes.len() {
            1 => u64::from(bytes[0]),
            2 => u64::from(u16::from_ne_bytes(bytes.try_into().ok()?)),
            4 => u64::from(u32::from_ne_bytes(bytes.try_into().ok()?)),
            8 => u64::from_ne_bytes(bytes.try_into().ok()?),
            _ => return None,
        })
    }
}

/// The fields of a `format` file, or of `header_page`, by name.
pub(super) fn fields(description: &str) -> HashMap<String, Field> {
    let field = |line: &str| {
        let mut parts = line.trim().strip_prefix("field:")?.split(';');
        let declared = parts.next()?.split('[').next()?;
        let name = declared.split_whitespace().next_back()?.to_owned();
        let value = |part: Option<&str>, key: &str| part?.trim().strip_prefix(key)?.parse().ok();
        Some((name, Field { offset: value(parts.next(), "offset:")?, size: value(parts.next(), "size:")? }))
    };
    description.lines().filter_map(field).collect()
}

/// The number by which records say that they are of this event.
pub(super) fn event_number(description: &str) -> Option<u64> {
    description.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok())
}

/// How pages are laid out.
#[derive(Clone, Copy)]
pub(super) struct PageLayout {
    timestamp: Field,
    commit: Field,
    data: Field,
}

impl PageLayout {
    pub fn of(header_page: &str) -> Option<Self> {
        let fields = fields(header_page);
        let field = |name| fields.get(name).copied();
        Some(Self { timestamp: field("timestamp")?, commit: field("commit")?, data: field("data")? })
    }

    fn page_bytes(self) -> usize {
        self.data.offset + self.data.size
    }

    /// All records of whole pages with their times. False if they are not laid out so.
    pub fn records<'p>(self, pages: &'p [u8], mut record: impl FnMut(i64, &'p [u8])) -> bool {
        pages.chunks(self.page_bytes()).all(|page| self.records_of_page(page, &mut record).is_some())
    }

    fn records_of_page<'p>(self, page: &'p [u8], record: &mut impl FnMut(i64, &'p [u8])) -> Option<()> {
        let length = usize::try_from(self.commit.number(page)? & LENGTH_MASK).ok()?;
        let mut time_ns = self.timestamp.number(page)?;
        let data = page.get(self.data.offset..)?.get(..length)?;
        let word = |at: usize| Some(u32::from_ne_bytes(data.get(at..at + 4)?.try_into().ok()?));
        let mut at = 0;
        while at < data.len() {
            let entry = word(at)?;
            let (kind, delta_ns) = (entry & 31, u64::from(entry >> 5));
            at += 4;
            match kind {
                TIME_EXTEND => {
                    time_ns = time_ns.wrapping_add((u64::from(word(at)?) << 27) + delta_ns);
                    at += 4;
                }
                TIME_STAMP => {
                    // the upper five bits are those of the time so far
                    time_ns = (time_ns >> 59 << 59) | ((u64::from(word(at)?) << 27) + delta_ns);
                    at += 4;
                }
                PADDING if delta_ns == 0 => break,
                PADDING => {
                    time_ns = time_ns.wrapping_add(delta_ns);
                    at += word(at)?.next_multiple_of(4) as usize;
                }
                _ => {
                    time_ns = time_ns.wrapping_add(delta_ns);
                    // too long for the type: the first word is the length, itself included
                    let (from, to) = match kind {
                        0 => (at + 4, at + word(at)?.next_multiple_of(4) as usize),
                        words => (at, at + (words as usize) * 4),
                    };
                    record(i64::try_from(time_ns).ok()?, data.get(from..to)?);
                    at = to;
                }
            }
        }
        Some(())
    }
}
