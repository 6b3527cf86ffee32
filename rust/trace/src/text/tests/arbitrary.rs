//! Whatever the bytes, no reader panics and every record is accounted for.

use proptest::prelude::*;

use super::samples::{SAMPLES, format_of};
use super::{ReadOptions, format, source};
use crate::formats::{Segments, UnknownDirection};
use crate::tally::Tally;

fn conserves(sample: &str, texts: &[Vec<u8>], options: &ReadOptions) {
    let name = format_of(sample);
    let _ = (format(name).is_at_head)(&texts[0]);
    let Ok(mut reader) = (format(name).open)(texts.iter().map(source).collect(), options) else { return };
    let (mut ios, mut tally) = (Vec::new(), Tally::default());
    while let Ok(true) = reader.read(&mut ios, &mut tally) {}
    assert!(tally.is_conserved(), "{name}: {tally:?}");
    assert!(ios.len() as u64 <= tally.accepted, "{name}");
    let devices = reader.facts().devices.len();
    assert!(ios.iter().all(|io| usize::from(io.device) < devices), "{name}");
}

fn options() -> impl Strategy<Value = ReadOptions> {
    (any::<bool>(), any::<bool>()).prop_map(|(first, second)| ReadOptions {
        unknown_direction: if first { UnknownDirection::Read } else { UnknownDirection::Skip },
        segments: if second { Segments::Concatenate } else { Segments::Merge },
        iolog2_wait_as_manual: first,
        ..ReadOptions::default()
    })
}

proptest! {
    #[test]
    fn of_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400), options in options()) {
        for (name, _, _) in SAMPLES {
            conserves(name, std::slice::from_ref(&bytes), &options);
        }
    }

    /// Bytes of a sample are changed, lost, doubled.
    #[test]
    fn of_a_damaged_sample(
        sample in 0..SAMPLES.len(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..8),
        options in options(),
    ) {
        let mut bytes = SAMPLES[sample].1.as_bytes().to_vec();
        for (index, byte, kind) in changes {
            if bytes.is_empty() { break }
            let at = index.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => { bytes.remove(at); }
                2 => bytes.truncate(at),
                _ => { let end = (at + usize::from(byte)).min(bytes.len()); bytes.extend_from_within(at..end); }
            }
        }
        for (name, _, _) in SAMPLES {
            conserves(name, &[bytes.clone(), SAMPLES[sample].1.as_bytes().to_vec()], &options);
        }
    }
}
