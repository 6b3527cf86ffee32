//! Data that did not come back as they were written.

use std::fmt;

/// The first bad sector of a transfer, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Miscompare {
    /// Address of the first bad sector, in sectors from the target's first byte.
    pub lba: u64,
    /// What is wrong with that sector.
    pub kind: MiscompareKind,
    /// Bad sectors of the transfer, this one included, whatever is wrong with the others.
    pub sectors: u32,
}

/// What is wrong with a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MiscompareKind {
    /// It was never written by us, or trimmed, or overwritten by another program.
    NoHeader,
    /// It is intact, but belongs elsewhere: a write or a read was misdirected.
    WrongLba {
        /// Where it belongs.
        found: u64,
    },
    /// It is intact and in its place, but of another pass: a write was lost.
    WrongGeneration {
        /// The pass that wrote it.
        found: u64,
        /// The pass that should have.
        expected: u64,
    },
    /// We wrote it, but it changed since, or was written in part.
    Checksum,
}

impl fmt::Display for Miscompare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LBA {}: ", self.lba)?;
        match self.kind {
            MiscompareKind::WrongLba { found } => write!(f, "holds the sector of LBA {found}")?,
            kind => write!(f, "{kind}")?,
        }
        match self.sectors {
            0 | 1 => Ok(()),
            sectors => write!(f, "; {sectors} bad sectors in this transfer"),
        }
    }
}

/// What sectors that are wrong alike have in common.
impl fmt::Display for MiscompareKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHeader => write!(f, "no header, the sector is not one that was written"),
            Self::WrongLba { .. } => write!(f, "holds the sector of another LBA"),
            Self::WrongGeneration { found, expected } => {
                write!(f, "holds generation {found} instead of {expected}")
            }
            Self::Checksum => write!(f, "the checksum is wrong, the sector is corrupt"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_reads_what_is_wrong_and_where() {
        let text = |kind, sectors| Miscompare { lba: 4096, kind, sectors }.to_string();
        assert_eq!(
            text(MiscompareKind::NoHeader, 8),
            "LBA 4096: no header, the sector is not one that was written; 8 bad sectors in this transfer"
        );
        assert_eq!(text(MiscompareKind::WrongLba { found: 7 }, 1), "LBA 4096: holds the sector of LBA 7");
        assert_eq!(
            text(MiscompareKind::WrongGeneration { found: 2, expected: 3 }, 1),
            "LBA 4096: holds generation 2 instead of 3"
        );
        assert_eq!(
            text(MiscompareKind::Checksum, 1),
            "LBA 4096: the checksum is wrong, the sector is corrupt"
        );
    }
}
