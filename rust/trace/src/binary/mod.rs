//! Binary formats of fixed records.

mod btrecord;
mod vscsi;

use std::io::{self, BufRead};

use super::formats::Format;

/// The formats of this folder.
pub(super) static FORMATS: &[Format] = &[btrecord::FORMAT, vscsi::FORMAT];

/// Fill a buffer as far as the source goes.
fn fill(bytes: &mut dyn BufRead, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match bytes.read(&mut buffer[filled..])? {
            0 => break,
            length => filled += length,
        }
    }
    Ok(filled)
}
