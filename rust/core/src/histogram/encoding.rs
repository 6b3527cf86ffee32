//! HdrHistogram V2 compressed encoding: a format that other tools read too.

use std::io::{Cursor, Read};

use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

use super::log_linear::{BUCKET_COUNT, HIGHEST_VALUE_NS, LatencyHistogram};

const SIGNIFICANT_DIGITS: u8 = 3;

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
/// # Errors
/// If the bytes are damaged, in another encoding or of another precision.
pub fn decode(encoded: &[u8]) -> Result<LatencyHistogram, DecodeError> {
    let plain = inflated(encoded)?;
    let hdr: Histogram<u64> = Deserializer::new()
        .deserialize(&mut Cursor::new(plain))
        .map_err(|error| DecodeError(error.to_string()))?;
    if hdr.sigfig() != SIGNIFICANT_DIGITS || hdr.low() != 1 {
        return Err(DecodeError(format!("{} digits from {} ns", hdr.sigfig(), hdr.low())));
    }
    if hdr.len() == u64::MAX {
        return Err(DecodeError("more values than can be counted".to_owned()));
    }
    let mut histogram = LatencyHistogram::default();
    for bucket in hdr.iter_recorded() {
        histogram.record_n(bucket.value_iterated_to(), bucket.count_since_last_iteration());
    }
    histogram.restore_estimates();
    Ok(histogram)
}

/// The encoding without its compression, if its lengths are true and not beyond reason: the deserializer
/// believes them, and makes room of up to 4 GiB before it reads on.
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
    use proptest::prelude::*;

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

        #[test]
        fn damaged_bytes_are_an_error_and_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }
    }
}
