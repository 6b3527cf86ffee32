//! How much of what is written is random.

use openpts_core::workload::{Data, Stream};

/// What drives reduce at a time.
const PAGE_BYTES: usize = 4096;

/// That of several streams together: the drive is given one figure for a step, the mean over those that write, each
/// with the weight of its outstanding writes.
pub(super) fn entropy_of_streams(streams: &[Stream]) -> f64 {
    if let [only] = streams {
        return entropy_of(&only.stimulus.data);
    }
    let (mut sum, mut weights) = (0.0, 0.0);
    for stimulus in streams.iter().map(|stream| &stream.stimulus).filter(|one| one.operations.write > 0) {
        let operations = &stimulus.operations;
        let all = operations.read + operations.write + operations.trim;
        let weight = f64::from(stimulus.tc * stimulus.qd) * f64::from(operations.write) / f64::from(all);
        sum += weight * entropy_of(&stimulus.data);
        weights += weight;
    }
    if weights > 0.0 { sum / weights } else { 1.0 }
}

/// The share of random bytes in written data, 0 to 1; none if what was written would have to be kept.
pub(super) fn entropy_of(data: &Data) -> f64 {
    match data {
        // Nothing is kept to compare with: checked before.
        Data::Random | Data::RandomOnce | Data::Verified { .. } => 1.0,
        Data::Zero => 0.0,
        Data::Pattern(bytes) => pattern_entropy(bytes),
        // A copy of what is there already takes no space of its own.
        Data::Reducible { entropy_pct, duplicate_pct, .. } => {
            entropy_pct / 100.0 * (1.0 - duplicate_pct / 100.0)
        }
    }
}

/// A page holds the pattern's information once, however often it holds the pattern.
#[expect(clippy::cast_precision_loss, reason = "lengths of patterns")]
fn pattern_entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let length = bytes.len() as f64;
    let bits: f64 = counts
        .into_iter()
        .filter(|count| *count > 0)
        .map(|count| f64::from(count) / length)
        .map(|share| -share * share.log2())
        .sum();
    bits / 8.0 * (bytes.len().min(PAGE_BYTES) as f64 / PAGE_BYTES as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_are_as_random_as_their_stimulus_says() {
        assert_eq!(entropy_of(&Data::Random), 1.0);
        assert_eq!(entropy_of(&Data::Zero), 0.0);
        let reducible = Data::Reducible { entropy_pct: 46.0, duplicate_pct: 25.0, granule_bytes: 4096 };
        assert!((entropy_of(&reducible) - 0.345).abs() < 1e-12);
    }

    #[test]
    fn a_pattern_has_its_information_once_in_each_page() {
        assert_eq!(entropy_of(&Data::Pattern(vec![7; 64])), 0.0);
        // Two equally frequent bytes: one bit in each of two bytes, once in 4096.
        assert_eq!(entropy_of(&Data::Pattern(vec![0, 255])), 2.0 / 8.0 / 4096.0);
        let all: Vec<u8> = (0..=u8::MAX).cycle().take(8192).collect();
        assert_eq!(entropy_of(&Data::Pattern(all)), 1.0);
    }
}
