//! I/Os that fail.

use openpts_core::workload::{Io, Operation};

use crate::preset::Errors;
use crate::scale::Scale;

/// The error script at work.
#[derive(Clone, Debug)]
pub(super) struct Failures {
    sector_bytes: u64,
    /// Sorted.
    unreadable: Vec<u64>,
    unwritable: Vec<u64>,
    read_only_from_bytes: u64,
    media_errors: u64,
}

impl Failures {
    pub(super) fn new(errors: &Errors, sector_bytes: u32, scale: Scale) -> Self {
        let factor = u64::from(scale.factor());
        let scaled = |lbas: &[u64]| {
            let mut sectors: Vec<_> = lbas.iter().map(|lba| lba / factor).collect();
            sectors.sort_unstable();
            sectors
        };
        Self {
            sector_bytes: sector_bytes.into(),
            unreadable: scaled(&errors.unreadable_lbas),
            unwritable: scaled(&errors.unwritable_lbas),
            read_only_from_bytes: errors
                .read_only_after_bytes
                .map_or(u64::MAX, |bytes| bytes.div_ceil(factor)),
            media_errors: 0,
        }
    }

    /// Whether writes are refused once so many bytes were written.
    #[inline]
    pub(super) const fn is_read_only(&self, written_bytes: u64) -> bool {
        written_bytes >= self.read_only_from_bytes
    }

    pub(super) const fn media_errors(&self) -> u64 {
        self.media_errors
    }

    /// Why a read or a write fails, if it does.
    #[inline]
    pub(super) fn error(&mut self, io: &Io, written_bytes: u64) -> Option<&'static str> {
        let (bad, error) = match io.operation {
            Operation::Write if self.is_read_only(written_bytes) => return Some("the drive is read-only"),
            Operation::Write => (&self.unwritable, "write fault"),
            _ => (&self.unreadable, "unrecovered read error"),
        };
        if bad.is_empty() || !self.holds_one_of(bad, io) {
            return None;
        }
        self.media_errors += 1;
        Some(error)
    }

    fn holds_one_of(&self, bad: &[u64], io: &Io) -> bool {
        let first = io.offset_bytes / self.sector_bytes;
        let end = (io.offset_bytes + u64::from(io.length_bytes)).div_ceil(self.sector_bytes);
        bad.get(bad.partition_point(|sector| *sector < first)).is_some_and(|sector| *sector < end)
    }
}
