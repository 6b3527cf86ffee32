//! Sectors that say where they belong, when they were written, and whether they are intact.
//!
//! Layout, little-endian: magic with the version of this layout (12 bytes), checksum of all that follows
//! it (4), LBA (8), generation (8), random bytes up to the end of the sector.
//!
//! The checksum is CRC-32C, the guard of iSCSI, ext4 and NVMe's 32-bit protection information. A hash
//! only promises odds; a CRC finds every error of up to 32 bits in a row and every three flipped bits
//! for certain, and all else but one in 2^32. Processors have an instruction for it.

use super::miscompare::{Miscompare, MiscompareKind};
use super::random_bytes::RandomBytes;

/// Its end is the version of the layout; its length lets the numbers behind it be aligned.
const MAGIC: [u8; CHECKSUM_AT] = *b"openpts v001";
const CHECKSUM_AT: usize = 12;
const LBA_AT: usize = 16;
const GENERATION_AT: usize = 24;
const HEADER_BYTES: usize = 32;

/// How the sectors of one generation are written and recognised.
#[derive(Clone, Debug)]
pub(crate) struct Sectors {
    sector_bytes: usize,
    generation: u64,
}

impl Sectors {
    pub(crate) fn new(sector_bytes: u32, generation: u64) -> Self {
        assert!(
            sector_bytes as usize >= HEADER_BYTES,
            "a sector of {sector_bytes} B has no room for a header"
        );
        Self { sector_bytes: sector_bytes as usize, generation }
    }

    /// Fresh sectors for a write to `offset_bytes`. What is less than a sector at the end is random.
    pub(crate) fn fill(&self, random: &mut RandomBytes, buffer: &mut [u8], offset_bytes: u64) {
        random.fill(buffer);
        let first_lba = self.lba(offset_bytes);
        for (lba, sector) in (first_lba..).zip(buffer.chunks_exact_mut(self.sector_bytes)) {
            sector[..CHECKSUM_AT].copy_from_slice(&MAGIC);
            sector[LBA_AT..GENERATION_AT].copy_from_slice(&lba.to_le_bytes());
            sector[GENERATION_AT..HEADER_BYTES].copy_from_slice(&self.generation.to_le_bytes());
            let checksum = crc32c::crc32c(&sector[LBA_AT..]);
            sector[CHECKSUM_AT..LBA_AT].copy_from_slice(&checksum.to_le_bytes());
        }
    }

    /// What a read from `offset_bytes` should not have brought, if anything.
    pub(super) fn verify(&self, buffer: &[u8], offset_bytes: u64) -> Option<Miscompare> {
        let mut found: Option<Miscompare> = None;
        let first_lba = self.lba(offset_bytes);
        for (lba, sector) in (first_lba..).zip(buffer.chunks_exact(self.sector_bytes)) {
            if let Some(kind) = self.fault(sector, lba) {
                found.get_or_insert(Miscompare { lba, kind, sectors: 0 }).sectors += 1;
            }
        }
        found
    }

    fn fault(&self, sector: &[u8], lba: u64) -> Option<MiscompareKind> {
        match generation_of(sector, lba) {
            Ok(generation) if generation == self.generation => None,
            Ok(found) => Some(MiscompareKind::WrongGeneration { found, expected: self.generation }),
            Err(kind) => Some(kind),
        }
    }

    fn lba(&self, offset_bytes: u64) -> u64 {
        debug_assert!(offset_bytes.is_multiple_of(self.sector_bytes as u64), "a transfer within a sector");
        offset_bytes / self.sector_bytes as u64
    }
}

/// The generation of an intact sector that belongs to this LBA; else what is wrong with it.
///
/// Magic and checksum know nothing of each other, so either of them shows that the sector was ours.
pub(crate) fn generation_of(sector: &[u8], lba: u64) -> Result<u64, MiscompareKind> {
    let marked = sector[..CHECKSUM_AT] == MAGIC;
    let intact = sector[CHECKSUM_AT..LBA_AT] == crc32c::crc32c(&sector[LBA_AT..]).to_le_bytes();
    match (marked, intact, word(sector, LBA_AT)) {
        (false, false, _) => Err(MiscompareKind::NoHeader),
        (true, false, _) | (false, true, _) => Err(MiscompareKind::Checksum),
        (true, true, found) if found != lba => Err(MiscompareKind::WrongLba { found }),
        (true, true, _) => Ok(word(sector, GENERATION_AT)),
    }
}

fn word(sector: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(sector[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECTOR: usize = 512;
    const FIRST_LBA: u64 = 1000;
    const OFFSET: u64 = FIRST_LBA * SECTOR as u64;

    fn pass(generation: u64) -> Sectors {
        Sectors::new(SECTOR as u32, generation)
    }

    fn written(generation: u64, sectors: usize) -> Vec<u8> {
        let mut buffer = vec![0; sectors * SECTOR];
        pass(generation).fill(&mut RandomBytes::of(generation), &mut buffer, OFFSET);
        buffer
    }

    fn miscompare(sector: u64, kind: MiscompareKind, sectors: u32) -> Option<Miscompare> {
        Some(Miscompare { lba: FIRST_LBA + sector, kind, sectors })
    }

    /// The test cases of RFC 3720, appendix B.4.
    #[test]
    fn the_checksum_is_that_of_iscsi() {
        let rising: Vec<u8> = (0..32).collect();
        let falling: Vec<u8> = (0..32).rev().collect();
        assert_eq!(crc32c::crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c::crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c::crc32c(&rising), 0x46dd_794e);
        assert_eq!(crc32c::crc32c(&falling), 0x113f_db5c);
    }

    #[test]
    fn what_was_written_is_right_for_sectors_of_any_size() {
        for sector_bytes in [512, 520, 4096, 4160] {
            let sectors = Sectors::new(sector_bytes, 7);
            let offset_bytes = u64::from(sector_bytes) * 12_345;
            let mut buffer = vec![0; sector_bytes as usize * 9];
            sectors.fill(&mut RandomBytes::of(1), &mut buffer, offset_bytes);
            assert_eq!(sectors.verify(&buffer, offset_bytes), None);
        }
    }

    #[test]
    fn every_single_flipped_bit_is_found() {
        let mut buffer = written(1, 2);
        for bit in 0..buffer.len() * 8 {
            buffer[bit / 8] ^= 1 << (bit % 8);
            let sector = (bit / 8 / SECTOR) as u64;
            assert_eq!(pass(1).verify(&buffer, OFFSET), miscompare(sector, MiscompareKind::Checksum, 1));
            buffer[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn what_we_never_wrote_has_no_header() {
        for sector_bytes in [512, 4096] {
            let sectors = Sectors::new(sector_bytes, 0);
            let mut random = vec![0; 4096];
            RandomBytes::of(3).fill(&mut random);
            for foreign in [vec![0; 4096], vec![0xff; 4096], random] {
                let count = 4096 / sector_bytes;
                let expected = Miscompare { lba: 0, kind: MiscompareKind::NoHeader, sectors: count };
                assert_eq!(sectors.verify(&foreign, 0), Some(expected));
            }
        }
    }

    #[test]
    fn a_later_layout_is_not_read_as_this_one() {
        let mut buffer = written(1, 1);
        buffer[MAGIC.len() - 1] += 1;
        assert!(pass(1).verify(&buffer, OFFSET).is_some());
    }

    proptest! {
        #[test]
        fn swapped_sectors_are_found(a in 0..32_usize, b in 0..32_usize) {
            prop_assume!(a < b);
            let mut buffer = written(1, 32);
            let (left, right) = buffer.split_at_mut(b * SECTOR);
            left[a * SECTOR..][..SECTOR].swap_with_slice(&mut right[..SECTOR]);
            let kind = MiscompareKind::WrongLba { found: FIRST_LBA + b as u64 };
            prop_assert_eq!(pass(1).verify(&buffer, OFFSET), miscompare(a as u64, kind, 2));
        }

        /// A lost write leaves the sectors of the pass before; a torn one leaves some of their bytes.
        #[test]
        fn stale_and_torn_sectors_are_found(
            expected: u64, found: u64, sector in 0..8_usize, torn_at in 1..SECTOR,
        ) {
            prop_assume!(expected != found);
            let (old, mut buffer) = (written(found, 8), written(expected, 8));
            let span = sector * SECTOR..(sector + 1) * SECTOR;
            buffer[span.clone()].copy_from_slice(&old[span.clone()]);
            let stale = MiscompareKind::WrongGeneration { found, expected };
            prop_assert_eq!(pass(expected).verify(&buffer, OFFSET), miscompare(sector as u64, stale, 1));

            let new = written(expected, 8);
            buffer[span.start..][..torn_at].copy_from_slice(&new[span.start..][..torn_at]);
            // A tear inside of what both have alike has torn nothing: in the magic, or by chance at the end.
            let sector_now = &buffer[span.clone()];
            let torn = if sector_now == &old[span.clone()] { stale } else { MiscompareKind::Checksum };
            let expected_now =
                if sector_now == &new[span] { None } else { miscompare(sector as u64, torn, 1) };
            prop_assert_eq!(pass(expected).verify(&buffer, OFFSET), expected_now);
        }

        #[test]
        fn bursts_are_found_and_counted(from in 0..4000_usize, length in 1..96_usize, mask in 1..=255_u8) {
            let mut buffer = written(1, 8);
            buffer[from..from + length].iter_mut().for_each(|byte| *byte ^= mask);
            let (first, last) = (from / SECTOR, (from + length - 1) / SECTOR);
            let found = pass(1).verify(&buffer, OFFSET).expect("a miscompare");
            prop_assert_eq!(found.lba, FIRST_LBA + first as u64);
            prop_assert_eq!(found.sectors as usize, last - first + 1);
        }
    }
}
