//! Data that are made once for each buffer and written again and again.

use super::random_bytes::RandomBytes;

/// Bytes of a buffer that depend neither on the length nor on the place of a write.
#[derive(Clone, Debug)]
pub(super) enum Lasting {
    /// Random bytes that belong to the slot: a buffer gets the same ones back whenever something else
    /// has been in it.
    RandomOnce { key: u64 },
    /// Zeros.
    Zero,
    /// At least one byte, again and again.
    Pattern(Vec<u8>),
}

impl Lasting {
    fn make(&self, slot: usize, buffer: &mut [u8]) {
        match self {
            Self::RandomOnce { key } => RandomBytes::of(key.wrapping_add(slot as u64)).fill(buffer),
            Self::Zero => buffer.fill(0),
            Self::Pattern(pattern) => repeat(pattern, buffer),
        }
    }
}

/// The buffers of a queue, and how far each is known to hold its lasting data.
#[derive(Clone, Debug)]
pub(super) struct LastingBuffers {
    data: Lasting,
    /// Bytes from the start of each slot's buffer.
    ready_bytes: Vec<usize>,
}

impl LastingBuffers {
    pub(super) fn new(data: Lasting) -> Self {
        Self { data, ready_bytes: Vec::new() }
    }

    /// See to it that `buffer`, the start of the slot's buffer, holds the data.
    #[inline]
    pub(super) fn fill(&mut self, slot: usize, buffer: &mut [u8]) {
        match self.ready_bytes.get_mut(slot) {
            Some(ready) if *ready >= buffer.len() => return,
            Some(ready) => *ready = buffer.len(),
            None => self.admit(slot, buffer.len()),
        }
        self.data.make(slot, buffer);
    }

    /// Something else has been put into the slot's buffer.
    #[inline]
    pub(super) fn spoil(&mut self, slot: usize) {
        if let Some(ready) = self.ready_bytes.get_mut(slot) {
            *ready = 0;
        }
    }

    /// The first write of a slot; all others find its place made.
    #[cold]
    fn admit(&mut self, slot: usize, length: usize) {
        self.ready_bytes.resize(slot + 1, 0);
        self.ready_bytes[slot] = length;
    }
}

/// Short patterns are as quick as long ones: what is there is copied behind itself.
fn repeat(pattern: &[u8], buffer: &mut [u8]) {
    let mut done = pattern.len().min(buffer.len());
    buffer[..done].copy_from_slice(&pattern[..done]);
    while done < buffer.len() {
        let length = done.min(buffer.len() - done);
        buffer.copy_within(..length, done);
        done += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_pattern_repeats_from_the_first_byte_on(
            pattern in prop::collection::vec(any::<u8>(), 1..100), length in 0..2000_usize,
        ) {
            let mut buffer = vec![0xa5; length];
            LastingBuffers::new(Lasting::Pattern(pattern.clone())).fill(0, &mut buffer);
            let expected: Vec<u8> = pattern.iter().copied().cycle().take(length).collect();
            prop_assert_eq!(buffer, expected);
        }

        /// Reads, short writes and long ones in any order: each write carries what it should.
        #[test]
        fn writes_carry_their_data_whatever_reads_left(
            ios in prop::collection::vec((0..4_usize, 1..600_usize, any::<bool>()), 1..100),
            kind in 0..3_u8,
        ) {
            let data = match kind {
                0 => Lasting::Zero,
                1 => Lasting::Pattern(vec![1, 2, 3]),
                _ => Lasting::RandomOnce { key: 9 },
            };
            let mut buffers = LastingBuffers::new(data.clone());
            let mut memory = vec![vec![0xee; 600]; 4];
            for (slot, length, is_read) in ios {
                let buffer = &mut memory[slot][..length];
                if is_read {
                    buffer.fill(0xee);
                    buffers.spoil(slot);
                } else {
                    buffers.fill(slot, buffer);
                    let mut expected = vec![0; length];
                    LastingBuffers::new(data.clone()).fill(slot, &mut expected);
                    prop_assert_eq!(&*buffer, &expected[..]);
                }
            }
        }
    }

    #[test]
    fn a_prepared_buffer_is_left_alone() {
        let mut buffers = LastingBuffers::new(Lasting::Zero);
        let mut buffer = [1; 64];
        buffers.fill(3, &mut buffer);
        assert_eq!(buffer, [0; 64]);
        // A mark that was not announced shows whether the bytes are made again.
        buffer[5] = 1;
        buffers.fill(3, &mut buffer[..32]);
        buffers.fill(3, &mut buffer);
        assert_eq!(buffer[5], 1);
        buffers.spoil(3);
        buffers.fill(3, &mut buffer);
        assert_eq!(buffer, [0; 64]);
    }
}
