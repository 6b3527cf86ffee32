//! Sectors that say which write of which run they are of.

use crate::data::{MiscompareKind, RandomBytes, Sectors, generation_of};

/// Bits of a generation that count writes; those above are the run's.
const SEQUENCE_BITS: u32 = 40;
/// Spreads neighbors over all seeds of a sector's random bytes.
const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

/// How the sectors of one run are written and recognized. All bytes of a sector follow from its LBA and the
/// number of its write, so that one which is torn can be held against both of its halves.
#[derive(Clone, Copy, Debug)]
pub struct Stamps {
    run: u64,
    sector_bytes: u32,
}

impl Stamps {
    /// Those of a run, which its seed tells from others.
    #[must_use]
    pub fn new(seed: u64, sector_bytes: u32) -> Self {
        Self { run: (seed.wrapping_mul(ODD) >> SEQUENCE_BITS) << SEQUENCE_BITS, sector_bytes }
    }

    /// Size of a sector.
    #[must_use]
    pub const fn sector_bytes(&self) -> usize {
        self.sector_bytes as usize
    }

    /// The sectors of a write from `first_lba` on.
    pub fn fill(&self, sequence: u64, first_lba: u64, buffer: &mut [u8]) {
        let generation = self.run | sequence;
        let sectors = Sectors::new(self.sector_bytes, generation);
        for (lba, sector) in (first_lba..).zip(buffer.chunks_exact_mut(self.sector_bytes())) {
            let mut random = RandomBytes::of(generation.wrapping_mul(ODD) ^ lba);
            sectors.fill(&mut random, sector, lba * u64::from(self.sector_bytes));
        }
    }

    /// The number of the write that an intact sector is of; else what it is instead, in words.
    pub(super) fn sequence_of(&self, sector: &[u8], lba: u64) -> Result<u64, &'static str> {
        match generation_of(sector, lba) {
            Ok(generation) if generation >> SEQUENCE_BITS == self.run >> SEQUENCE_BITS => {
                Ok(generation ^ self.run)
            }
            Ok(_) => Err("a sector of another run"),
            Err(MiscompareKind::WrongLba { .. }) => Err("a sector that belongs to another LBA"),
            Err(_) if sector.iter().all(|byte| *byte == 0) => Err("zeros"),
            Err(MiscompareKind::NoHeader) => Err("data without a stamp"),
            Err(_) => Err("a stamp with a wrong checksum"),
        }
    }

    /// Whether each byte is that of one of two writes: the first bytes of one, the others of the other.
    pub(super) fn is_torn_of(&self, sector: &[u8], lba: u64, sequences: [u64; 2]) -> bool {
        let [left, right] = sequences.map(|sequence| {
            let mut made = vec![0; self.sector_bytes()];
            self.fill(sequence, lba, &mut made);
            made
        });
        let tears = |first: &[u8], last: &[u8]| {
            let alike = sector.iter().zip(first).take_while(|(found, made)| found == made).count();
            alike > 0 && sector[alike..] == last[alike..]
        };
        tears(&left, &right) || tears(&right, &left)
    }
}
