//! HdrHistogram V2 compressed encoding: a format that other tools read too.

use std::io::Cursor;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

use super::log_linear::{HIGHEST_VALUE_NS, LatencyHistogram};

const SIGNIFICANT_DIGITS: u8 = 3;

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
    let hdr: Histogram<u64> = Deserializer::new()
        .deserialize(&mut Cursor::new(encoded))
        .map_err(|error| DecodeError(error.to_string()))?;
    if hdr.sigfig() != SIGNIFICANT_DIGITS || hdr.low() != 1 {
        return Err(DecodeError(format!("{} digits from {} ns", hdr.sigfig(), hdr.low())));
    }
    let mut histogram = LatencyHistogram::default();
    for bucket in hdr.iter_recorded() {
        histogram.record_n(bucket.value_iterated_to(), bucket.count_since_last_iteration());
    }
    histogram.restore_estimates();
    Ok(histogram)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
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
