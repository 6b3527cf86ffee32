//! The data of one thread, as the stimulus of each step asks for them.

use super::lasting::{Lasting, LastingBuffers};
use super::miscompare::Miscompare;
use super::random_bytes::RandomBytes;
use super::reducible::Granules;
use super::verified::Sectors;
use crate::workload::{Data, Uniform};

/// Keeps the masters of copies apart from everything else that is made of the seed.
const MASTERS_DOMAIN: u64 = u64::from_le_bytes(*b"masters\0");

/// Fills the buffers of one thread as a stimulus asks.
///
/// Random data never start again: steps go on with the thread's stream, so no step or thread writes what
/// another one wrote, except where the stimulus asks for just that.
#[derive(Clone, Debug)]
pub struct DataSource {
    random: RandomBytes,
    choice: Uniform,
    once_key: u64,
    masters_key: u64,
    /// What the step in progress asked for, and of which sectors.
    asked: Option<(Data, u32)>,
    content: Content,
}

/// What is written; one variant for each way in which it is made.
#[derive(Clone, Debug)]
enum Content {
    Random,
    Lasting(LastingBuffers),
    Reducible(Granules),
    Verified(Sectors),
}

impl DataSource {
    /// The data of one thread under a seed, unrelated to the thread's offsets; random until a step
    /// [begins](Self::begin).
    #[must_use]
    pub fn new(seed: u64, thread: u32) -> Self {
        let mut choice = Uniform::for_thread(!seed, thread);
        Self {
            random: RandomBytes::new(&mut choice),
            once_key: choice.bits(),
            masters_key: Uniform::for_thread(seed ^ MASTERS_DOMAIN, 0).bits(),
            choice,
            asked: None,
            content: Content::Random,
        }
    }

    /// The data of the thread after so many interruptions of its run: random data that no earlier part of
    /// the run has written, and the same lasting data and masters of copies.
    #[must_use]
    pub fn after_interruptions(mut self, interruptions: u32) -> Self {
        if interruptions > 0 {
            (0..interruptions).for_each(|_| self.choice.skip_far());
            self.random = RandomBytes::new(&mut self.choice);
        }
        self
    }

    /// Begin a step: what to write from now on, to a target of `sector_bytes` per LBA. A step that asks
    /// for the same data as the one before goes on with its buffers and decks.
    ///
    /// # Panics
    /// If the pattern is empty, a granule has no bytes, a share is not of 0 to 100 per cent, or sectors
    /// of verified data have no room for their header of 32 bytes.
    pub fn begin(&mut self, data: &Data, sector_bytes: u32) {
        let asked = Some((data.clone(), sector_bytes));
        if self.asked != asked {
            self.content = self.content_of(data, sector_bytes);
            self.asked = asked;
        }
    }

    fn content_of(&mut self, data: &Data, sector_bytes: u32) -> Content {
        match data {
            Data::Random => Content::Random,
            Data::RandomOnce => lasting(Lasting::RandomOnce { key: self.once_key }),
            Data::Zero => lasting(Lasting::Zero),
            Data::Pattern(bytes) => {
                assert!(!bytes.is_empty(), "a pattern without bytes");
                lasting(Lasting::Pattern(bytes.clone()))
            }
            &Data::Reducible { entropy_pct, duplicate_pct, granule_bytes } => {
                let choice = Uniform::for_thread(self.choice.bits(), 0);
                let masters_key = self.masters_key;
                Content::Reducible(Granules::new(
                    entropy_pct,
                    duplicate_pct,
                    granule_bytes,
                    choice,
                    masters_key,
                ))
            }
            &Data::Verified { generation } => Content::Verified(Sectors::new(sector_bytes, generation)),
        }
    }

    /// Make the data of a write to `offset_bytes` of the target in the whole of `buffer`, which is the
    /// start of the slot's own buffer, the same memory each time. Lasting data cost nothing after a
    /// slot's first write, until something else was in its buffer
    /// ([`buffer_was_read_into`](Self::buffer_was_read_into)).
    #[inline]
    pub fn fill(&mut self, slot: usize, buffer: &mut [u8], offset_bytes: u64) {
        match &mut self.content {
            Content::Random => self.random.fill(buffer),
            Content::Lasting(buffers) => buffers.fill(slot, buffer),
            Content::Reducible(granules) => granules.fill(&mut self.random, buffer, offset_bytes),
            Content::Verified(sectors) => sectors.fill(&mut self.random, buffer, offset_bytes),
        }
    }

    /// To be called for each read that is issued, whether or not it succeeds: what the slot's buffer
    /// held is gone.
    #[inline]
    pub fn buffer_was_read_into(&mut self, slot: usize) {
        if let Content::Lasting(buffers) = &mut self.content {
            buffers.spoil(slot);
        }
    }

    /// Look at what a completed read from `offset_bytes` has brought: `None` when all sectors are right,
    /// and when the step's data are not verified ones.
    #[must_use]
    pub fn verify(&self, buffer: &[u8], offset_bytes: u64) -> Option<Miscompare> {
        match &self.content {
            Content::Verified(sectors) => sectors.verify(buffer, offset_bytes),
            _ => None,
        }
    }
}

fn lasting(data: Lasting) -> Content {
    Content::Lasting(LastingBuffers::new(data))
}

#[cfg(test)]
mod tests {
    use super::super::MiscompareKind;
    use super::*;
    use std::collections::HashSet;
    use std::io::Write;

    fn begun(data: &Data) -> DataSource {
        let mut source = DataSource::new(1, 0);
        source.begin(data, 512);
        source
    }

    fn written(source: &mut DataSource, length: usize) -> Vec<u8> {
        let mut buffer = vec![0xee; length];
        source.buffer_was_read_into(0);
        source.fill(0, &mut buffer, 0);
        buffer
    }

    fn every_kind() -> [Data; 6] {
        [
            Data::Random,
            Data::RandomOnce,
            Data::Zero,
            Data::Pattern(b"abc".to_vec()),
            Data::Reducible { entropy_pct: 50.0, duplicate_pct: 20.0, granule_bytes: 4096 },
            Data::Verified { generation: 3 },
        ]
    }

    // proves: PTS-DAT-01
    #[test]
    fn random_bytes_do_not_compress() {
        for data in [Data::Random, Data::RandomOnce] {
            let buffer = written(&mut begun(&data), 1 << 20);
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
            encoder.write_all(&buffer).unwrap();
            assert!(encoder.finish().unwrap().len() >= buffer.len());
        }
    }

    // proves: PTS-DAT-01
    #[test]
    fn no_block_comes_twice_in_any_thread_or_step() {
        let mut seen = HashSet::new();
        for thread in 0..4 {
            let mut source = DataSource::new(1, thread);
            let mut buffer = [0; 512];
            for data in [Data::Random, Data::Zero, Data::Random, Data::Verified { generation: 1 }] {
                source.begin(&data, 512);
                for write in (0..5000).filter(|_| data != Data::Zero) {
                    source.fill(0, &mut buffer, write * 512);
                    assert!(seen.insert(buffer));
                }
            }
        }
    }

    /// Whatever was in the buffer, each byte has been overwritten.
    #[test]
    fn odd_lengths_are_filled_to_the_last_byte() {
        for data in every_kind() {
            for length in [1, 7, 63, 65, 511, 4095, 5000] {
                let mut stayed = vec![true; length];
                let mut source = begun(&data);
                for stale in 0..=255 {
                    let mut buffer = vec![stale; length];
                    source.buffer_was_read_into(0);
                    source.fill(0, &mut buffer, 0);
                    stayed.iter_mut().zip(&buffer).for_each(|(stayed, byte)| *stayed &= *byte == stale);
                }
                assert!(stayed.iter().all(|stayed| !stayed), "{data:?} of {length} B");
            }
        }
    }

    #[test]
    fn a_seed_repeats_its_data_and_threads_and_seeds_differ() {
        let writes = |data: &Data, seed, thread| {
            let mut source = DataSource::new(seed, thread);
            source.begin(data, 512);
            written(&mut source, 8192)
        };
        for data in every_kind().iter().filter(|data| !matches!(data, Data::Zero | Data::Pattern(_))) {
            assert_eq!(writes(data, 1, 0), writes(data, 1, 0));
            assert_ne!(writes(data, 1, 0), writes(data, 2, 0));
            assert_ne!(writes(data, 1, 0), writes(data, 1, 1));
        }
    }

    #[test]
    fn random_once_belongs_to_the_slot_and_survives_other_steps() {
        let mut source = begun(&Data::RandomOnce);
        let first = written(&mut source, 1000);
        let mut other_slot = vec![0; 1000];
        source.fill(1, &mut other_slot, 0);
        assert_ne!(first, other_slot);
        source.begin(&Data::Zero, 512);
        assert_eq!(written(&mut source, 1000), [0; 1000]);
        source.begin(&Data::RandomOnce, 512);
        let mut again = vec![0; 1000];
        source.fill(0, &mut again, 512);
        assert_eq!(again, first);
    }

    #[test]
    fn the_next_step_does_not_trust_the_buffers_of_other_data() {
        let mut source = begun(&Data::Zero);
        let mut buffer = [1; 512];
        source.fill(0, &mut buffer, 0);
        for data in [Data::Random, Data::Zero, Data::Pattern(vec![7]), Data::Zero] {
            source.begin(&data, 512);
            source.fill(0, &mut buffer, 0);
        }
        assert_eq!(buffer, [0; 512]);
    }

    #[test]
    fn a_share_goes_on_over_steps_of_the_same_data() {
        let data = Data::Reducible { entropy_pct: 100.0, duplicate_pct: 50.0, granule_bytes: 512 };
        let mut source = DataSource::new(1, 0);
        let mut distinct = HashSet::new();
        for write in 0..1000 {
            source.begin(&data, 512);
            let mut buffer = vec![0; 512];
            source.fill(0, &mut buffer, write * 512);
            distinct.insert(buffer);
        }
        assert_eq!(distinct.len(), 500 + 16);
    }

    #[test]
    fn only_verified_data_are_verified_and_against_the_step_in_progress() {
        let mut source = begun(&Data::Verified { generation: 3 });
        let buffer = written(&mut source, 4096);
        assert_eq!(source.verify(&buffer, 0), None);
        source.begin(&Data::Verified { generation: 4 }, 512);
        let stale = MiscompareKind::WrongGeneration { found: 3, expected: 4 };
        assert_eq!(source.verify(&buffer, 0), Some(Miscompare { lba: 0, kind: stale, sectors: 8 }));
        source.begin(&Data::Random, 512);
        assert_eq!(source.verify(&buffer, 0), None);
    }

    #[test]
    fn another_session_verifies_what_this_one_wrote() {
        let buffer = written(&mut begun(&Data::Verified { generation: 3 }), 4096);
        let mut later = DataSource::new(99, 5);
        later.begin(&Data::Verified { generation: 3 }, 512);
        assert_eq!(later.verify(&buffer, 0), None);
    }
}
