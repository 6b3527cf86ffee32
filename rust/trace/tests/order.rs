//! I/Os come in the order of their times, or the trace is refused.

use super::support::{Read, read_bytes, reads_at};
use openpts_trace::{OpenOptions, Quality, Reorder, Segments, Spread, TraceError};
use proptest::prelude::*;

fn default(bytes: &[u8]) -> Result<Read, TraceError> {
    read_bytes(bytes, &OpenOptions::default())
}

fn anywhere() -> OpenOptions {
    OpenOptions { reorder: Reorder::Any, ..OpenOptions::default() }
}

fn times_us(read: &Read) -> Vec<i64> {
    read.ios.iter().map(|io| io.issued_ns / 1000).collect()
}

fn places(read: &Read) -> Vec<u64> {
    read.ios.iter().map(|io| io.offset_bytes / 4096).collect()
}

fn why<T>(result: Result<T, TraceError>) -> String {
    result.err().expect("an error").to_string()
}

#[test]
fn a_reversed_file_is_sorted_within_a_second_and_refused_beyond() {
    let read = default(&reads_at([900, 600, 300, 0])).unwrap();
    assert_eq!(times_us(&read), [0, 300, 600, 900]);
    assert_eq!(read.tally().notes["times that run backward"], 3);
    let reversed = reads_at((0..4).rev().map(|number| 10_000_000 + number * 900_000));
    let error = why(default(&reversed));
    assert!(error.contains("line 3 is 1.800000000 s earlier"), "{error}");
    let read = read_bytes(&reversed, &anywhere()).unwrap();
    assert_eq!(times_us(&read), [0, 900_000, 1_800_000, 2_700_000]);
}

#[test]
fn a_first_record_out_of_place_does_not_shift_the_origin() {
    let read = default(&reads_at([9_000_000, 1_000_000, 1_000_500, 1_001_000])).unwrap();
    assert_eq!(times_us(&read), [0, 500, 1000, 8_000_000]);
    let read = default(&reads_at([3_000_000, 1_000_000, 2_000_000, 4_000_000, 5_000_000])).unwrap();
    assert_eq!(times_us(&read), [0, 1_000_000, 2_000_000, 3_000_000, 4_000_000]);
    assert_eq!(places(&read), [2, 3, 1, 4, 5]);
}

#[test]
fn equal_times_keep_the_order_of_the_source() {
    let times = (0..20_000).map(|number| 1_000_000 + (number / 7) * 7 % 50_000);
    for options in [OpenOptions::default(), anywhere()] {
        let read = read_bytes(&reads_at(times.clone()), &options).unwrap();
        let keys: Vec<_> = times_us(&read).into_iter().zip(places(&read)).collect();
        assert!(keys.is_sorted());
    }
}

#[test]
fn what_is_interleaved_by_processors_is_sorted() {
    // Eight buffers of 5,000 I/Os, one after the other, over 0.8 s.
    let times = (0..40_000_u64).map(|number| 7_000_000 + (number % 5000) * 160 + number / 5000);
    let read = default(&reads_at(times.clone())).unwrap();
    let mut sorted: Vec<_> = times.map(|time| time as i64 - 7_000_000).collect();
    sorted.sort_unstable();
    assert_eq!(times_us(&read), sorted);
}

#[test]
fn more_than_fits_in_memory_is_sorted_on_disk() {
    let count = 700_000_u64;
    let times = (0..count).map(|number| 1 + number.wrapping_mul(7_919) % count * 10);
    let read = read_bytes(&reads_at(times), &anywhere()).unwrap();
    assert_eq!(read.ios.len() as u64, count);
    assert!(times_us(&read).iter().enumerate().all(|(number, time)| *time == 10 * number as i64));
}

#[test]
fn damage_is_counted_with_its_place_and_refused_above_a_thousandth() {
    let mut lines: Vec<_> = reads_at((0..2000).map(|number| 1_000_000 + number))
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    lines[1000] = b"1,R,nowhere,4096,1001000\n".to_vec();
    let read = default(&lines.concat()).unwrap();
    assert_eq!((read.ios.len(), read.tally().damaged_total()), (1999, 1));
    assert_eq!(read.tally().first_damages[0].place.to_string(), "line 1001");
    lines[1001] = lines[1000].clone();
    lines[1002] = lines[1000].clone();
    let error = why(default(&lines.concat()));
    assert!(error.contains("3 of 2000 records are damaged"), "{error}");
    let options = OpenOptions { damaged_limit: 0.01, ..OpenOptions::default() };
    assert_eq!(read_bytes(&lines.concat(), &options).unwrap().tally().damaged_total(), 3);
}

#[test]
fn what_no_io_can_be_is_counted() {
    let mut bytes = reads_at(0..5000);
    bytes.extend(format!("1,R,{},4096,5000\n1,W,0,0,5001\n", i64::MAX).into_bytes());
    let read = default(&bytes).unwrap();
    assert_eq!(read.ios.len(), 5000);
    assert_eq!(read.tally().damaged["ends past 2^63 bytes"], 1);
    assert_eq!(read.tally().skipped["no bytes long"], 1);
}

#[test]
fn equal_coarse_times_are_spread_as_asked() {
    let lines = [
        1_538_323_200,
        1_538_323_200,
        1_538_323_200,
        1_538_323_200,
        1_538_323_240,
        1_538_323_242,
        1_538_323_242,
    ];
    let bytes: String = lines.map(|second| format!("{second},8,8,1,77\n")).concat();
    let bytes = bytes.as_bytes();
    let times = |spread| {
        let mut options = OpenOptions::default();
        options.read.spread = spread;
        let read = read_bytes(bytes, &options).unwrap();
        read.ios.iter().map(|io| io.issued_ns).collect::<Vec<_>>()
    };
    let even = [0, 250, 500, 750, 40_000, 42_000, 42_500].map(|ms| ms * 1_000_000);
    assert_eq!(times(Spread::Even), even);
    assert_eq!(times(Spread::Burst), [0, 0, 0, 0, 40, 42, 42].map(|s| s * 1_000_000_000));
    let random = times(Spread::Poisson { seed: 1 });
    assert_eq!(random, times(Spread::Poisson { seed: 1 }));
    assert_ne!(random, times(Spread::Poisson { seed: 2 }));
    assert!(random.is_sorted() && random[3] - random[0] < 1_000_000_000);
    let read = default(bytes).unwrap();
    let made = read.ios.iter().map(|io| io.quality.has(Quality::TIME_SYNTHETIC)).collect::<Vec<_>>();
    assert_eq!(made, [true, true, true, true, false, true, true]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// Sorting in blocks, and on disk, gives what a stable sort of all gives.
    #[test]
    fn blocks_are_sorted_as_all(times in prop::collection::vec(0..900_000_u64, 1..3000)) {
        let mut sorted: Vec<_> = times.iter().map(|time| *time as i64).zip(1..).collect();
        sorted.sort_by_key(|(time, _)| *time);
        let first = sorted[0].0;
        let sorted: Vec<_> = sorted.into_iter().map(|(time, place)| (time - first, place)).collect();
        for options in [OpenOptions::default(), anywhere()] {
            let read = read_bytes(&reads_at(times.clone()), &options).unwrap();
            let ours: Vec<_> = times_us(&read).into_iter().zip(places(&read)).collect();
            prop_assert_eq!(&ours, &sorted);
        }
    }

    /// Any bytes behind a good beginning are an error or are counted, and nothing else.
    #[test]
    fn damaged_bytes_are_counted(at in 0..4000_usize, with in prop::collection::vec(any::<u8>(), 1..60), cut in 40..4000_usize) {
        let mut bytes = reads_at((0..100).map(|number| 1_000_000 + number));
        let at = at.min(bytes.len());
        let end = (at + with.len()).min(bytes.len());
        bytes[at..end].copy_from_slice(&with[..end - at]);
        bytes.truncate(cut.max(end));
        let _ = read_bytes(&bytes, &OpenOptions { damaged_limit: 1.0, ..anywhere() });
    }
}

/// Two runs of fio in one log, each of three seconds, and the line that is late.
#[test]
fn segments_and_late_lines_of_a_log() {
    let run = "fio version 3 iolog\n0 /dev/sdx add\n0 /dev/sdx open\n0 /dev/sdx read 0 4096\n3000000 /dev/sdx write 4096 4096\n";
    let twice = run.repeat(2);
    assert!(why(default(twice.as_bytes())).contains("clock begins again"));
    let mut options = OpenOptions::default();
    options.read.segments = Segments::Merge;
    assert_eq!(times_us(&read_bytes(twice.as_bytes(), &options).unwrap()), [0, 0, 3_000_000, 3_000_000]);
    options.read.segments = Segments::Concatenate;
    assert_eq!(
        times_us(&read_bytes(twice.as_bytes(), &options).unwrap()),
        [0, 3_000_000, 3_000_000, 6_000_000]
    );
    let late = format!("{run}1000000 /dev/sdx read 0 4096\n");
    let error = why(default(late.as_bytes()));
    assert!(error.contains("line 6 is 2.000000000 s earlier"), "{error}");
}
