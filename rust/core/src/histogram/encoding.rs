//! HdrHistogram V2 compressed encoding: a format that other tools read too.

use std::io::Read;

use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

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

/// Write a histogram's counts in HdrHistogram V2 compressed (deflate) encoding.
///
/// # Panics
/// Never in practice: every bucket lies within the bounds of the target and memory is the only sink.
#[must_use]
pub fn encode(histogram: &LatencyHistogram) -> Vec<u8> {
    let mut hdr = Histogram::<u64>::new_with_bounds(1, HIGHEST_VALUE_NS, SIGNIFICANT_DIGITS)
        .expect("the bounds are constants");
    for bucket in histogram.buckets() {
        hdr.record_n(bucket.lowest_ns, bucket.count).expect("the bounds cover every bucket");
    }
    let mut encoded = Vec::new();
    V2DeflateSerializer::new().serialize(&hdr, &mut encoded).expect("a vector takes every byte");
    encoded
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
    histogram.restore_estimates();
    Ok(histogram)
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
fn inflated(encoded: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut plain = Vec::new();
    if word_at(encoded, 0) == Some(COMPRESSED_COOKIE) {
        ZlibDecoder::new(&encoded[COMPRESSED_HEADER_BYTES.min(encoded.len())..])
            .take(MOST_BYTES as u64 + 1)
            .read_to_end(&mut plain)
            .map_err(|error| DecodeError(error.to_string()))?;
    } else {
        plain.extend_from_slice(&encoded[..encoded.len().min(MOST_BYTES + 1)]);
    }
    let counts_bytes = word_at(&plain, 4).and_then(|length| usize::try_from(length).ok());
    match counts_bytes {
        Some(length) if plain.len() <= MOST_BYTES && plain.len() == HEADER_BYTES + length => Ok(plain),
        _ => Err(DecodeError("its length is not the one that it names".to_owned())),
    }
}

/// A big-endian number of 32 bits, if there are so many bytes.
fn word_at(bytes: &[u8], place: usize) -> Option<u32> {
    bytes.get(place..)?.first_chunk().map(|word| u32::from_be_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::{Deserializer, V2Serializer};
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
            let mut bytes = inflated(&encode(&histogram)).unwrap();
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
