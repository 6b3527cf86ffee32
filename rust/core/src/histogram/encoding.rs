//! HdrHistogram V2 compressed encoding: a format that other tools read too.

use std::borrow::Cow;
use std::cell::RefCell;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::log_linear::{BUCKET_COUNT, HIGHEST_VALUE_NS, LatencyHistogram};

const SIGNIFICANT_DIGITS: u8 = 3;

const COOKIE: u32 = 0x1c84_9313;
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;
/// Cookie and length, before what is compressed.
const COMPRESSED_HEADER_BYTES: usize = 8;
/// Cookie, length of the counts, and what the buckets are, before the counts.
const HEADER_BYTES: usize = 40;
/// No count takes more, and no histogram has more buckets.
const MOST_BYTES: usize = HEADER_BYTES + 9 * BUCKET_COUNT;

/// The bytes are no histogram that this module can hold.
#[derive(Debug, thiserror::Error)]
#[error("not an HdrHistogram of {SIGNIFICANT_DIGITS} significant digits in V2 encoding: {0}")]
pub struct DecodeError(String);

thread_local! {
    /// Its tables of 300 KiB are made once: new ones for each histogram took more time than what they compress.
    static COMPRESSOR: RefCell<Compress> = RefCell::new(Compress::new(Compression::default(), true));
    /// As for the compressor.
    static INFLATER: RefCell<Decompress> = RefCell::new(Decompress::new(true));
}

/// Write a histogram's counts in HdrHistogram V2 compressed (deflate) encoding.
///
/// Only octaves that were counted in are walked through, where the library looks at all 34,000 buckets.
///
/// # Panics
/// Never in practice: memory is the only sink.
#[must_use]
pub fn encode(histogram: &LatencyHistogram) -> Vec<u8> {
    let plain = serialized(histogram);
    let mut encoded = Vec::new();
    encoded.extend_from_slice(&COMPRESSED_COOKIE.to_be_bytes());
    encoded.extend_from_slice(&[0; 4]);
    COMPRESSOR.with_borrow_mut(|compressor| {
        compressor.reset();
        while {
            encoded.reserve(64 + plain.len());
            let rest = rest_of(&plain, compressor.total_in());
            let status = compressor.compress_vec(rest, &mut encoded, FlushCompress::Finish);
            status.expect("memory takes every byte") != Status::StreamEnd
        } {}
    });
    let length = u32::try_from(encoded.len() - COMPRESSED_HEADER_BYTES).expect("less than MOST_BYTES");
    encoded[4..COMPRESSED_HEADER_BYTES].copy_from_slice(&length.to_be_bytes());
    encoded
}

/// The encoding before its compression: a count for each bucket up to the last that has one, and one negative
/// number for several without in a row.
fn serialized(histogram: &LatencyHistogram) -> Vec<u8> {
    let mut plain = Vec::with_capacity(1024);
    for word in [COOKIE, 0, 0, u32::from(SIGNIFICANT_DIGITS)] {
        plain.extend_from_slice(&word.to_be_bytes());
    }
    for number in [1, HIGHEST_VALUE_NS, 1_f64.to_bits()] {
        plain.extend_from_slice(&number.to_be_bytes());
    }
    let mut next = 0;
    for (index, count) in histogram.counts() {
        match index - next {
            0 => {}
            1 => plain.push(0),
            empty => put_signed(&mut plain, -i64::try_from(empty).expect("no more than BUCKET_COUNT")),
        }
        put_signed(&mut plain, i64::try_from(count).unwrap_or(i64::MAX));
        next = index + 1;
    }
    if next == 0 {
        plain.push(0);
    }
    let counts_bytes = u32::try_from(plain.len() - HEADER_BYTES).expect("less than MOST_BYTES");
    plain[4..8].copy_from_slice(&counts_bytes.to_be_bytes());
    plain
}

/// Read a histogram back. Counts are exact; extremes and sum are those of the buckets.
///
/// Counts go straight into the buckets that they are of: a report reads thousands of histograms, and a reader that
/// makes room for all 34,000 buckets of each, and walks through them, takes most of its time.
///
/// # Errors
/// If the bytes are damaged, in another encoding or of another precision.
pub fn decode(encoded: &[u8]) -> Result<LatencyHistogram, DecodeError> {
    let plain = inflated(encoded)?;
    let refused = |reason: &str| DecodeError(reason.to_owned());
    let word = |place| word_at(&plain, place).unwrap_or_default();
    if word(0) != COOKIE {
        return Err(refused("it begins otherwise"));
    }
    if word(8) != 0 {
        return Err(refused("its buckets are shifted"));
    }
    let (digits, low) = (word(12), u64::from(word(16)) << 32 | u64::from(word(20)));
    if digits != u32::from(SIGNIFICANT_DIGITS) || low != 1 {
        return Err(DecodeError(format!("{digits} digits from {low} ns")));
    }
    let mut histogram = LatencyHistogram::default();
    let mut counts = &plain[HEADER_BYTES..];
    let (mut index, mut total) = (0_u64, 0_u64);
    while !counts.is_empty() {
        let count = signed(&mut counts).ok_or_else(|| refused("it ends within a count"))?;
        if let Ok(count) = u64::try_from(count) {
            total = total.checked_add(count).ok_or_else(|| refused("more values than can be counted"))?;
            histogram.count_in_bucket(usize::try_from(index).unwrap_or(usize::MAX), count);
            index += 1;
        } else {
            // so many buckets without a count
            index = index.saturating_add(count.unsigned_abs());
        }
    }
    Ok(histogram)
}

/// Write what [`signed`] reads.
fn put_signed(bytes: &mut Vec<u8>, number: i64) {
    let mut zigzag = ((number << 1) ^ (number >> 63)).cast_unsigned();
    for _ in 0..8 {
        if zigzag < 0x80 {
            break;
        }
        bytes.push(0x80 | (zigzag & 0x7f) as u8);
        zigzag >>= 7;
    }
    // whatever is left, which of a ninth byte may be all its bits
    bytes.push(zigzag as u8);
}

/// An integer in the form of Protocol Buffers (zigzag, seven bits a byte), but of nine bytes at most, the last one whole.
fn signed(bytes: &mut &[u8]) -> Option<i64> {
    let mut zigzag = 0_u64;
    for place in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if place == 8 {
            zigzag |= u64::from(*byte) << 56;
            break;
        }
        zigzag |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
}

/// The encoding without its compression, if its lengths are true and not beyond reason.
fn inflated(encoded: &[u8]) -> Result<Cow<'_, [u8]>, DecodeError> {
    let plain = if word_at(encoded, 0) == Some(COMPRESSED_COOKIE) {
        Cow::Owned(inflate(&encoded[COMPRESSED_HEADER_BYTES.min(encoded.len())..])?)
    } else {
        Cow::Borrowed(encoded)
    };
    let counts_bytes = word_at(&plain, 4).and_then(|length| usize::try_from(length).ok());
    match counts_bytes {
        Some(length) if plain.len() <= MOST_BYTES && plain.len() == HEADER_BYTES + length => Ok(plain),
        _ => Err(DecodeError("its length is not the one that it names".to_owned())),
    }
}

/// What was compressed, or so much of it that it is more than [`MOST_BYTES`].
fn inflate(compressed: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut plain = Vec::with_capacity(4 * compressed.len());
    INFLATER.with_borrow_mut(|inflater| {
        inflater.reset(true);
        loop {
            plain.reserve(1024);
            let rest = rest_of(compressed, inflater.total_in());
            let before = (plain.len(), rest.len());
            match inflater.decompress_vec(rest, &mut plain, FlushDecompress::None) {
                Ok(Status::StreamEnd) => return Ok(plain),
                Ok(_) if plain.len() > MOST_BYTES => return Ok(plain),
                Ok(_) if before == (plain.len(), rest_of(compressed, inflater.total_in()).len()) => {
                    return Err(DecodeError("it ends within its compression".to_owned()));
                }
                Ok(_) => {}
                Err(error) => return Err(DecodeError(error.to_string())),
            }
        }
    })
}

/// What is left of bytes of which so many were taken.
fn rest_of(bytes: &[u8], taken: u64) -> &[u8] {
    &bytes[usize::try_from(taken).expect("no more than there are")..]
}

/// A big-endian number of 32 bits, if there are so many bytes.
fn word_at(bytes: &[u8], place: usize) -> Option<u32> {
    bytes.get(place..)?.first_chunk().map(|word| u32::from_be_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer, V2Serializer};
    use proptest::prelude::*;
    use std::io::Cursor;

    /// An encoding without compression: three digits from 1 ns, with these varints as counts.
    fn plain(counts_bytes: u32, counts: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [0x1c84_9313, counts_bytes, 0, 3] {
            bytes.extend_from_slice(&u32::to_be_bytes(word));
        }
        bytes.extend_from_slice(&u64::to_be_bytes(1));
        bytes.extend_from_slice(&u64::to_be_bytes(HIGHEST_VALUE_NS));
        bytes.extend_from_slice(&f64::to_be_bytes(1.0));
        bytes.extend_from_slice(counts);
        bytes
    }

    #[test]
    fn a_length_that_is_not_the_true_one_is_refused_before_room_is_made_for_it() {
        assert_eq!(decode(&plain(2, &[1, 2])).unwrap().count(), 1);
        for length in [0, 1, 3, u32::MAX] {
            assert!(decode(&plain(length, &[1, 2])).is_err(), "{length}");
        }
    }

    #[test]
    fn counts_beyond_64_bits_are_an_error() {
        let largest = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(decode(&plain(9, &largest)).unwrap().count(), i64::MAX as u64);
        assert!(decode(&plain(27, &largest.repeat(3))).is_err());
    }

    proptest! {
        #[test]
        fn damage_of_an_encoding_is_an_error_and_never_a_panic(
            values in prop::collection::vec(0..HIGHEST_VALUE_NS, 1..50),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let mut histogram = LatencyHistogram::default();
            values.iter().for_each(|value| histogram.record(*value));
            let mut bytes = inflated(&encode(&histogram)).unwrap().into_owned();
            for (place, byte) in damage {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            let _ = decode(&bytes);
        }

        #[test]
        fn counts_survive_the_round_trip(values in prop::collection::vec(0..HIGHEST_VALUE_NS, 0..300)) {
            let mut histogram = LatencyHistogram::default();
            values.iter().for_each(|value| histogram.record(*value));
            let decoded = decode(&encode(&histogram)).unwrap();
            prop_assert_eq!(
                decoded.buckets().collect::<Vec<_>>(),
                histogram.buckets().collect::<Vec<_>>()
            );
        }

        /// The library's own writer as the oracle, which counts to 2^63.
        #[test]
        fn another_writer_writes_the_same_bytes(
            values in prop::collection::vec((0_u64..43, any::<u64>(), 1..u64::MAX >> 9), 0..300),
        ) {
            let mut hdr = Histogram::<u64>::new_with_bounds(1, HIGHEST_VALUE_NS, SIGNIFICANT_DIGITS).unwrap();
            let mut histogram = LatencyHistogram::default();
            for (octave, value, count) in values {
                // small ones as often as large ones
                let value = value % (2 << octave);
                hdr.record_n(value, count).unwrap();
                histogram.record_n(value, count);
            }
            let mut theirs = Vec::new();
            V2DeflateSerializer::new().serialize(&hdr, &mut theirs).unwrap();
            prop_assert_eq!(encode(&histogram), theirs);
        }

        /// The library's own reader as the oracle, which takes its own words with and without compression.
        #[test]
        fn another_reader_finds_the_same(
            values in prop::collection::vec((0..HIGHEST_VALUE_NS, 1..u64::MAX >> 8), 0..300),
            compressed in any::<bool>(),
        ) {
            let mut hdr = Histogram::<u64>::new_with_bounds(1, HIGHEST_VALUE_NS, SIGNIFICANT_DIGITS).unwrap();
            values.iter().for_each(|(value, count)| hdr.record_n(*value, *count).unwrap());
            let mut bytes = Vec::new();
            if compressed {
                V2DeflateSerializer::new().serialize(&hdr, &mut bytes).unwrap();
            } else {
                V2Serializer::new().serialize(&hdr, &mut bytes).unwrap();
            }
            let theirs: Histogram<u64> = Deserializer::new().deserialize(&mut Cursor::new(&bytes)).unwrap();
            let theirs: Vec<_> =
                theirs.iter_recorded().map(|at| (at.value_iterated_to(), at.count_since_last_iteration())).collect();
            let ours: Vec<_> =
                decode(&bytes).unwrap().buckets().map(|bucket| (bucket.highest_ns, bucket.count)).collect();
            prop_assert_eq!(ours, theirs);
        }

        #[test]
        fn damaged_bytes_are_an_error_and_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }
    }
}
