//! Data that a drive can compress and deduplicate, by exactly as much as was asked.
//!
//! A granule is random up to the asked share of its length and zero from there on: it holds that share
//! of the information of random bytes, and a compressor that removes runs reduces it to that share. (The
//! entropy of its byte histogram is higher: it does not see that all zeros stand together.)
//!
//! Granules lie on a grid that starts at the target's first byte, since this is what a drive sees. What
//! a byte of a granule is like depends on its place in there only; writes of parts of a granule make a
//! whole one of the asked entropy.

use super::deck::Deck;
use super::random_bytes::RandomBytes;
use crate::workload::Uniform;

/// Granules that all copies are copies of: a count of duplicates is that many below that of copies,
/// since the first of each is none.
const MASTERS: u64 = 16;
/// Part of a master that is made from a seed of its own, so that none of them has to be stored and a
/// write may begin anywhere inside.
const CELL_BYTES: usize = 4096;

/// Where the bytes of a granule come from.
#[derive(Clone, Copy, Debug)]
enum Origin {
    Fresh,
    Copy { master: u64 },
}

/// Granules of a chosen entropy, of which a share are copies.
#[derive(Clone, Debug)]
pub(super) struct Granules {
    granule_bytes: u64,
    random_bytes: u64,
    copies: Deck,
    choice: Uniform,
    /// The masters belong to the session, not to the thread: copies of all threads are the same.
    masters_key: u64,
    /// Origin of the granule that was written last, and where in the target that write ended.
    last: (Origin, u64),
}

impl Granules {
    /// `choice` decides which granules are copies and of what.
    pub(super) fn new(
        entropy_pct: f64,
        duplicate_pct: f64,
        granule_bytes: u32,
        choice: Uniform,
        masters_key: u64,
    ) -> Self {
        assert!(granule_bytes > 0, "a granule without bytes");
        let shares = [entropy_pct, duplicate_pct];
        assert!(shares.iter().all(|pct| (0.0..=100.0).contains(pct)), "shares of {shares:?} per cent");
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to the granule's size"
        )]
        let random_bytes = (f64::from(granule_bytes) * entropy_pct / 100.0).round() as u64;
        Self {
            granule_bytes: u64::from(granule_bytes),
            random_bytes,
            copies: Deck::new(duplicate_pct),
            choice,
            masters_key,
            last: (Origin::Fresh, 0),
        }
    }

    /// The data of a write to `offset_bytes`. A granule counts as one of the deck when a write enters it;
    /// a write that goes on exactly where the last one stopped goes on with its granule.
    pub(super) fn fill(&mut self, random: &mut RandomBytes, buffer: &mut [u8], offset_bytes: u64) {
        let (mut at, mut rest) = (offset_bytes, buffer);
        while !rest.is_empty() {
            let from = at % self.granule_bytes;
            let to_end = usize::try_from(self.granule_bytes - from).expect("a granule's size has 32 bits");
            let length = to_end.min(rest.len());
            let (piece, others) = rest.split_at_mut(length);
            let (last_origin, last_end) = self.last;
            let origin = if from > 0 && at == last_end { last_origin } else { self.deal() };
            self.fill_piece(origin, random, piece, from);
            at += length as u64;
            self.last = (origin, at);
            rest = others;
        }
    }

    fn deal(&mut self) -> Origin {
        if self.copies.deal(&mut self.choice) {
            Origin::Copy { master: self.choice.below(MASTERS) }
        } else {
            Origin::Fresh
        }
    }

    /// The bytes of a granule from its byte `from` on.
    fn fill_piece(&self, origin: Origin, random: &mut RandomBytes, piece: &mut [u8], from: u64) {
        let random_bytes = self.random_bytes.saturating_sub(from);
        let length = usize::try_from(random_bytes).expect("a granule's size has 32 bits").min(piece.len());
        let (head, tail) = piece.split_at_mut(length);
        match origin {
            Origin::Fresh => random.fill(head),
            Origin::Copy { master } => self.copy(master, head, from),
        }
        tail.fill(0);
    }

    /// The bytes of a master from its byte `from` on.
    fn copy(&self, master: u64, piece: &mut [u8], from: u64) {
        let cell_bytes = CELL_BYTES as u64;
        let mut cell = from / cell_bytes;
        let mut skipped = usize::try_from(from % cell_bytes).expect("less than a cell");
        let mut rest = piece;
        while !rest.is_empty() {
            let length = (CELL_BYTES - skipped).min(rest.len());
            let (part, others) = rest.split_at_mut(length);
            let mut bytes = RandomBytes::of(self.masters_key.wrapping_add(master << 32 | cell));
            if skipped == 0 {
                bytes.fill(part);
            } else {
                let mut whole = [0; CELL_BYTES];
                bytes.fill(&mut whole[..skipped + length]);
                part.copy_from_slice(&whole[skipped..skipped + length]);
            }
            (cell, skipped, rest) = (cell + 1, 0, others);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{HashMap, HashSet};
    use std::io::Write;

    fn granules(entropy_pct: f64, duplicate_pct: f64, granule_bytes: u32) -> Granules {
        Granules::new(entropy_pct, duplicate_pct, granule_bytes, Uniform::for_thread(5, 0), 77)
    }

    fn zlib_bytes(data: &[u8]) -> usize {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap().len()
    }

    /// Compressors as oracles: zlib counts symbols, LZ4 only finds repetitions, as drives do.
    #[test]
    fn each_granule_compresses_to_its_share() {
        for granule_bytes in [4096, 8192, 65_536] {
            for entropy_pct in [0.0, 10.0, 46.0, 50.0, 75.0, 99.0, 100.0] {
                for duplicate_pct in [0.0, 100.0] {
                    let mut data = vec![1; granule_bytes as usize * 20];
                    granules(entropy_pct, duplicate_pct, granule_bytes).fill(
                        &mut RandomBytes::of(1),
                        &mut data,
                        0,
                    );
                    for granule in data.chunks_exact(granule_bytes as usize) {
                        for compressed in [zlib_bytes(granule), lz4_flex::compress(granule).len()] {
                            let share_pct = 100.0 * compressed as f64 / granule.len() as f64;
                            assert!(
                                (share_pct - entropy_pct).abs() < 2.5,
                                "{granule_bytes} B of {entropy_pct} %, {duplicate_pct} % copies: {share_pct} %"
                            );
                        }
                    }
                }
            }
        }
    }

    /// Shannon: the random part has 8 bits a byte, the rest, whose place is fixed, none.
    #[test]
    fn entropy_is_that_of_the_random_part() {
        let mut data = vec![1; 4096 * 500];
        granules(46.0, 0.0, 4096).fill(&mut RandomBytes::of(1), &mut data, 0);
        let mut counts = [0_u64; 256];
        for granule in data.chunks_exact(4096) {
            assert!(granule[1884..].iter().all(|byte| *byte == 0));
            granule[..1884].iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        }
        let total = (1884 * 500) as f64;
        let bits: f64 = counts.iter().map(|count| *count as f64 / total).map(|p| -p * p.log2()).sum();
        // The expected shortfall of a sample is 255 / (2 n ln 2) bits.
        assert!(bits > 8.0 - 4.0 * 255.0 / (2.0 * total * std::f64::consts::LN_2), "{bits}");
    }

    /// A deduplicating drive keeps each distinct granule once.
    #[test]
    fn a_dedup_counter_finds_the_exact_share() {
        const GRANULES: usize = 20_000;
        for duplicate_pct in [0, 1, 25, 50, 90, 100] {
            let mut data = vec![1; GRANULES * 512];
            granules(60.0, f64::from(duplicate_pct), 512).fill(&mut RandomBytes::of(1), &mut data, 0);
            let mut counts = HashMap::new();
            data.chunks_exact(512).for_each(|granule| *counts.entry(granule).or_insert(0_usize) += 1);
            let copies = GRANULES * duplicate_pct as usize / 100;
            let masters = if copies == 0 { 0 } else { MASTERS as usize };
            assert_eq!(counts.len(), GRANULES - copies + masters);
            let repeated: usize = counts.values().filter(|count| **count > 1).sum();
            assert_eq!(repeated, copies);
        }
    }

    #[test]
    fn every_hundred_granules_hold_the_share() {
        let mut source = granules(60.0, 35.0, 512);
        let mut data = vec![1; 512 * 5000];
        source.fill(&mut RandomBytes::of(1), &mut data, 0);
        let mut seen = HashSet::new();
        let masters: HashSet<&[u8]> =
            data.chunks_exact(512).filter(|granule| !seen.insert(*granule)).collect();
        for hundred in data.chunks_exact(512 * 100) {
            let copies = hundred.chunks_exact(512).filter(|granule| masters.contains(granule)).count();
            assert_eq!(copies, 35);
        }
    }

    #[test]
    fn threads_share_their_masters_and_nothing_else() {
        let mut seen = HashSet::new();
        for thread in 0..4 {
            let choice = Uniform::for_thread(5, thread);
            let mut source = Granules::new(100.0, 50.0, 512, choice, 77);
            let mut data = vec![1; 512 * 1000];
            source.fill(&mut RandomBytes::of(u64::from(thread)), &mut data, 0);
            data.chunks_exact(512).for_each(|granule| {
                seen.insert(granule.to_vec());
            });
        }
        assert_eq!(seen.len(), 4 * 500 + MASTERS as usize);
    }

    proptest! {
        /// However a stretch is cut into writes, copies are the same; and the zeros are where they belong.
        #[test]
        fn writes_of_any_length_make_whole_granules(
            granule_bytes in 1..20_000_u32,
            entropy_pct in 0.0..=100.0_f64,
            start in 0..100_000_u64,
            cuts in prop::collection::vec(1..9000_usize, 1..12),
        ) {
            let length = cuts.iter().sum();
            let (mut whole, mut pieces) = (vec![1; length], vec![1; length]);
            granules(entropy_pct, 100.0, granule_bytes).fill(&mut RandomBytes::of(1), &mut whole, start);
            let mut source = granules(entropy_pct, 100.0, granule_bytes);
            let mut at = 0;
            for cut in cuts {
                source.fill(&mut RandomBytes::of(2), &mut pieces[at..at + cut], start + at as u64);
                at += cut;
            }
            prop_assert_eq!(&whole, &pieces);
            let random_bytes = (f64::from(granule_bytes) * entropy_pct / 100.0).round() as u64;
            for (byte, at) in whole.iter().zip(start..) {
                prop_assert!(at % u64::from(granule_bytes) < random_bytes || *byte == 0);
            }
        }
    }
}
