//! Reads as much as is asked for, if there is so much.

use std::io::{self, BufRead};

/// Fill a buffer as far as the source goes.
pub(super) fn fill(bytes: &mut dyn BufRead, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match bytes.read(&mut buffer[filled..])? {
            0 => break,
            length => filled += length,
        }
    }
    Ok(filled)
}
