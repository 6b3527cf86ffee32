//! Ten sound lines of each format.

use super::{FORMATS, ReadOptions, Tally, format, in_words, read, source};

/// Format of a sample.
pub(super) fn format_of(name: &str) -> &str {
    name.split('.').next().unwrap()
}

/// Samples by the format's name, with a point and more behind it if there are several, and what their lines mean.
macro_rules! samples {
    ($($name:literal),* $(,)?) => {
        pub(super) const SAMPLES: &[(&str, &str, &str)] = &[$((
            $name,
            include_str!(concat!("samples/", $name, ".txt")),
            include_str!(concat!("samples/", $name, ".expected")),
        )),*];
    };
}

samples![
    "alibaba",
    "biosnoop",
    "biosnoop_timestamp",
    "blkparse",
    "blkreplay",
    "diskmon",
    "disksim",
    "fio_iolog",
    "fio_log",
    "fio_log_issue",
    "fio_log_old",
    "fiu",
    "hfplayer",
    "k5cloud",
    "midas",
    "mqsim",
    "msr",
    "spc",
    "systor17",
    "tencent",
    "tracepoints",
    "tracepoints.perf",
    "tracepoints.trace_cmd",
    "uchicago",
    "xperf",
];

#[test]
fn samples_mean_what_was_reckoned_by_hand() {
    for (name, text, expected) in SAMPLES {
        let outcome = read(format_of(name), text);
        let words: Vec<_> = outcome.ios.iter().map(|io| in_words(io, &outcome.facts)).collect();
        assert_eq!(words, expected.lines().collect::<Vec<_>>(), "{name}");
        assert_eq!(outcome.tally.damaged_total(), 0, "{name}: {:?}", outcome.tally);
        assert_eq!(outcome.tally.read, text.lines().count() as u64, "{name}");
        assert_eq!(outcome.facts.format, format_of(name));
    }
}

#[test]
fn samples_mean_the_same_with_line_ends_of_windows_and_without_the_last_one() {
    for (name, text, _) in SAMPLES {
        let outcome = read(format_of(name), text);
        let other_ends = text.trim_end().replace('\n', "\r\n");
        let marked = ["\u{feff}", &other_ends].concat();
        for other in [other_ends, marked] {
            let again = read(format_of(name), other);
            assert_eq!(again.ios, outcome.ios, "{name}");
            assert_eq!(again.tally, outcome.tally, "{name}");
        }
    }
}

#[test]
fn one_format_claims_each_sample() {
    for (name, text, _) in SAMPLES {
        for head in [(*text).to_owned(), text.replace('\n', "\r\n"), text.trim_end().to_owned()] {
            let claiming: Vec<_> = FORMATS
                .iter()
                .copied()
                .flatten()
                .filter(|format| (format.is_at_head)(head.as_bytes()))
                .map(|format| format.name)
                .collect();
            assert_eq!(claiming, [format_of(name)], "{name}");
        }
    }
}

#[test]
fn facts_say_what_a_format_can_support() {
    let facts = |name: &str| {
        let text = SAMPLES.iter().find(|sample| sample.0 == name).unwrap().1;
        let facts = read(format_of(name), text).facts;
        (facts.resolution_ns, facts.has_issue_times, facts.has_completions, facts.epoch_ns)
    };
    assert_eq!(facts("msr"), (100, true, true, Some(0)));
    assert_eq!(facts("systor17"), (1_000, true, true, Some(0)));
    assert_eq!(facts("tencent"), (1_000_000_000, true, false, Some(0)));
    assert_eq!(facts("alibaba"), (1_000, true, false, Some(0)));
    assert_eq!(facts("biosnoop"), (1_000, false, true, None));
    assert_eq!(facts("fio_log"), (1_000_000, false, true, None));
    assert_eq!(facts("fio_log_issue"), (1, true, true, None));
    assert_eq!(facts("fio_iolog"), (1_000, true, false, None));
    assert_eq!(facts("blkreplay"), (1, true, false, None));
    assert_eq!(facts("blkparse"), (1, true, true, None));
    assert_eq!(facts("tracepoints"), (1_000, true, true, None));
    assert_eq!(facts("tracepoints.perf"), (1, true, true, None));
    assert_eq!(facts("xperf"), (1_000, true, true, None));
}

#[test]
fn lines_do_not_allocate() {
    for (name, head, line) in [
        ("msr", "", "128166372003061629,hm,1,Read,383496192,32768,58000\n"),
        ("fiu", "", "89967195792462 20782 gzip 283193184 8 R 6 0 56f11b711d91a065\n"),
        ("fio_iolog", "fio version 3 iolog\n0 /a add\n", "9 /a read 0 512\n"),
    ] {
        let allocations = |lines| {
            let text = [head, &line.repeat(lines)].concat();
            let mut reader = (format(name).open)(vec![source(text)], &ReadOptions::default()).unwrap();
            let (mut batch, mut tally) = (Vec::with_capacity(1 << 17), Tally::default());
            let read = || while reader.read(&mut batch, &mut tally).unwrap() {};
            allocation_counter::measure(read).count_total
        };
        assert_eq!(allocations(100_000), allocations(100), "{name}");
    }
}
