//! The discovery log: where the drive is.

use super::bytes::Page;
use super::subsystem::Subsystem;

/// The name under which any target tells what it has.
pub(super) const DISCOVERY_NQN: &str = "nqn.2014-08.org.nvmexpress.discovery";

const ENTRY_BYTES: usize = 1024;
const TCP: u8 = 3;
const IPV4: u8 = 1;
const IPV6: u8 = 2;
const NVM_SUBSYSTEM: u8 = 2;
/// Any controller that is free.
const DYNAMIC: u16 = u16::MAX;
const ADMIN_ENTRIES: u16 = 32;

/// One entry: this drive at the address by which the host has come.
pub(super) fn log(subsystem: &Subsystem, port: &str) -> Page {
    let (address, number) = port.rsplit_once(':').unwrap_or((port, ""));
    let address = address.trim_matches(['[', ']']);
    let family = if address.contains(':') { IPV6 } else { IPV4 };
    let mut page = Page::new(2 * ENTRY_BYTES);
    page.put_u64(0, 1).put_u64(8, 1);
    let entry = ENTRY_BYTES;
    page.put(entry, &[TCP, family, NVM_SUBSYSTEM, 0])
        .put_u16(entry + 4, 1)
        .put_u16(entry + 6, DYNAMIC)
        .put_u16(entry + 8, ADMIN_ENTRIES)
        .put_text(entry + 32, 32, number)
        .put(entry + 256, text(&subsystem.identity.nqn, 255))
        .put_text(entry + 512, 256, address);
    page
}

/// A text that ends with a zero: the page has zeros behind it.
fn text(text: &str, most: usize) -> &[u8] {
    &text.as_bytes()[..text.len().min(most)]
}
