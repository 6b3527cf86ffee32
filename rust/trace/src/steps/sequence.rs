//! Whether an I/O goes on where another has ended.

use std::collections::HashMap;

use super::stream::{Kind, Pattern};
use crate::traced_io::TracedIo;

/// By which I/Os are sequential.
pub const SEQUENTIAL_RULE: &str = "CHR-SEQ-01: an I/O is sequential if it starts where the previous one of its operation, device and domain ended";
/// The same for streams that run side by side, each of which is followed.
pub const WINDOWED_RULE: &str = "CHR-SEQ-02: an I/O is sequential if it starts where one of the last 32 runs of its \
                                 operation, device and domain ended; the run that was longest without an I/O gives way";
/// Runs that are followed at once.
pub const WINDOW_RUNS: usize = 32;

/// What both rules say of one I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// By the strict rule.
    pub pattern: Pattern,
    /// By the windowed one.
    pub is_windowed: bool,
}

/// The last runs of reads or writes of a domain.
#[derive(Clone, Debug, Default)]
struct Runs {
    /// Where they ended, the last one first.
    ends: Vec<u64>,
}

/// Follows reads and writes of all devices and domains.
#[derive(Clone, Debug, Default)]
pub struct Sequences(HashMap<(u16, u16, Kind), Runs>);

impl Sequences {
    /// Judge an I/O, and remember it.
    pub fn judge(&mut self, io: &TracedIo) -> Verdict {
        let kind = Kind::of(io.operation);
        if !kind.has_pattern() {
            return Verdict { pattern: Pattern::None, is_windowed: false };
        }
        let ends = &mut self.0.entry((io.device, io.domain, kind)).or_default().ends;
        let found = ends.iter().position(|end| *end == io.offset_bytes);
        let pattern = if found == Some(0) { Pattern::Sequential } else { Pattern::Random };
        match found {
            Some(place) => ends[..=place].rotate_right(1),
            None if ends.len() < WINDOW_RUNS => ends.insert(0, 0),
            None => ends.rotate_right(1),
        }
        ends[0] = io.end_bytes();
        Verdict { pattern, is_windowed: found.is_some() }
    }
}
