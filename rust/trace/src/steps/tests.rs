use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::traced_io::{Status, TracedIo, TracedOperation};

const SECOND: u64 = 1_000_000_000;

fn io(
    issued_ns: i64,
    done_ns: Option<i64>,
    operation: TracedOperation,
    offset: u64,
    length: u64,
) -> TracedIo {
    TracedIo { completed_ns: done_ns, ..TracedIo::new(issued_ns, operation, offset, length, 0) }
}

fn table(ios: &[TracedIo], length_ns: u64, devices: u16) -> Vec<StepRow> {
    let length = StepLength::Fixed(length_ns);
    let options = StepOptions { start_ns: 0, length, has_completions: true, devices, detail: Detail::Full };
    let mut table = StepTable::new(options);
    ios.iter().for_each(|io| table.push(io).unwrap());
    table.finish(None).unwrap()
}

#[test]
fn a_table_by_hand() {
    use TracedOperation::{Flush, Read, Trim, Write};
    let ios = [
        io(0, Some(400), Write, 0, 4096),
        io(100, Some(200), Write, 4096, 4096),
        io(300, Some(1200), Read, 4096, 8192),
        io(500, Some(500), Flush, 0, 0),
        io(1500, Some(1700), Trim, 0, 65536),
        io(1600, Some(1800), Write, 8192, 4096),
    ];
    let rows = table(&ios, 1000, 1);
    let label = |row: &StepRow| row.subject.stream().map_or("device".to_owned(), |stream| stream.to_string());
    let lines: Vec<_> =
        rows.iter().map(|row| (row.step, label(row), row.counts.ios, row.counts.bytes)).collect();
    let expected = [
        (0, "device", 4, 16384),
        (0, "RND 8K R", 1, 8192),
        (0, "RND 4K W", 1, 4096),
        (0, "SEQ 4K W", 1, 4096),
        (0, "FLUSH", 1, 0),
        (1, "device", 2, 69632),
        (1, "SEQ 4K W", 1, 4096),
        (1, "TRIM 64K", 1, 65536),
    ];
    assert_eq!(lines, expected.map(|(step, name, ios, bytes)| (step, name.to_owned(), ios, bytes)));
    let first = rows[0].depth_times.as_ref().unwrap();
    // alone 0-100, two 100-200, alone 200-300, two 300-400, alone 400-1000; the flush takes no time
    assert_eq!(first.bins_ns, [0, 800, 200]);
    assert_eq!((first.area_ns, first.max), (1200, 2));
    let second = rows[5].depth_times.as_ref().unwrap();
    assert_eq!((rows[5].length_ns, second.bins_ns.clone()), (800, vec![300, 400, 100]));
    assert_eq!((second.busy_ns(), second.idle_ns()), (500, 300));
    assert_eq!((rows[0].counts.latencies.sum_ns, rows[0].counts.latencies.max_ns), (400 + 100 + 900, 900));
}

#[test]
fn interleaved_sequential_streams_are_random_by_the_strict_rule_only() {
    let ios: Vec<_> = (0..20)
        .map(|n: u64| io(n as i64, None, TracedOperation::Read, (n % 2) * (1 << 30) + n / 2 * 4096, 4096))
        .collect();
    let rows = table(&ios, SECOND, 1);
    assert_eq!(rows[1].subject.stream().unwrap().to_string(), "RND 4K R");
    assert_eq!((rows[1].counts.ios, rows[1].counts.windowed_sequential_ios), (20, 18));
}

#[test]
fn losses_mark_their_step_and_completions_that_were_not_seen_last_to_the_end() {
    let options = StepOptions {
        start_ns: 50,
        length: StepLength::Fixed(100),
        has_completions: true,
        devices: 2,
        detail: Detail::Full,
    };
    let mut steps = StepTable::new(options);
    let unseen = TracedIo { status: Status::NoCompletionSeen, ..io(60, None, TracedOperation::Read, 0, 512) };
    steps.push(&unseen).unwrap();
    steps.lose(160, 1, 3);
    steps.lose(170, ALL_DEVICES, 2);
    steps.host_was_busy(160, 0.5);
    steps.advance(250).unwrap();
    let rows = steps.take_rows();
    let devices: Vec<_> = rows.iter().filter(|row| row.subject == Subject::Device).collect();
    let losses: Vec<_> = devices.iter().map(|row| (row.step, row.device, row.lost)).collect();
    let all = ALL_DEVICES;
    assert_eq!(losses, [(0, 0, 0), (0, 1, 0), (0, all, 0), (1, 0, 0), (1, 1, 3), (1, all, 5)]);
    assert_eq!(devices[0].depth_times.as_ref().unwrap().bins_ns, [10, 90]);
    assert_eq!(devices[3].depth_times.as_ref().unwrap().bins_ns, [0, 100]);
    assert_eq!((devices[0].cpu_busy, devices[3].cpu_busy), (None, Some(0.5)));
    assert!(rows.iter().all(|row| row.counts.latencies.is_empty()));
    assert_eq!(steps.finish(Some(250)).unwrap(), []);
}

#[test]
fn without_completions_depth_and_busy_time_are_unknown() {
    let options = StepOptions {
        start_ns: 0,
        length: StepLength::ByDuration,
        has_completions: false,
        devices: 1,
        detail: Detail::Full,
    };
    let mut steps = StepTable::new(options);
    steps.push(&io(0, None, TracedOperation::Read, 0, 512)).unwrap();
    assert!(steps.finish(None).unwrap().iter().all(|row| row.depth_times.is_none()));
}

#[test]
fn i_os_out_of_order_are_refused() {
    let options = StepOptions {
        start_ns: 0,
        length: StepLength::ByDuration,
        has_completions: false,
        devices: 1,
        detail: Detail::Full,
    };
    let mut steps = StepTable::new(options);
    steps.push(&io(10, None, TracedOperation::Read, 0, 512)).unwrap();
    assert!(steps.push(&io(9, None, TracedOperation::Read, 0, 512)).is_err());
}

#[test]
fn steps_get_longer_with_the_capture() {
    for (seconds, length_s, count) in
        [(3599, 1, 3600), (3600, 10, 361), (86_399, 10, 8640), (86_400, 300, 289)]
    {
        let options = StepOptions {
            start_ns: 0,
            length: StepLength::ByDuration,
            has_completions: true,
            devices: 1,
            detail: Detail::Full,
        };
        let mut steps = StepTable::new(options);
        for second in (0..=seconds).step_by(7).chain([seconds]).collect::<std::collections::BTreeSet<_>>() {
            let at_ns = second * SECOND as i64;
            steps.push(&io(at_ns, Some(at_ns + 1000), TracedOperation::Write, 0, 4096)).unwrap();
        }
        let length_ns = steps.length_ns();
        let rows = steps.finish(None).unwrap();
        assert_eq!((length_ns, rows.last().unwrap().step + 1), (length_s * SECOND, count));
        let devices: Vec<_> = rows.iter().filter(|row| row.subject == Subject::Device).collect();
        assert_eq!(devices.iter().map(|row| row.length_ns).sum::<u64>(), seconds as u64 * SECOND + 1000);
        assert!(devices.iter().all(|row| {
            let times = row.depth_times.as_ref().unwrap();
            row.start_ns as u64 == u64::from(row.step) * length_ns
                && times.busy_ns() + times.idle_ns() == row.length_ns
        }));
    }
}

#[test]
fn rare_lengths_share_streams_once_there_are_too_many() {
    let ios: Vec<_> =
        (1..=3000).map(|n: u64| io(n as i64, None, TracedOperation::Write, n << 30, n * 512)).collect();
    let rows = table(&ios, SECOND, 1);
    let binned: Vec<_> =
        rows.iter().filter_map(|row| row.subject.stream()).filter(|stream| stream.is_binned).collect();
    assert_eq!(binned.iter().map(ToString::to_string).collect::<Vec<_>>(), ["RND <=1M W", "RND <=2M W"]);
    assert_eq!(rows.iter().skip(1).map(|row| row.counts.ios).sum::<u64>(), 3000);
}

fn traces() -> impl Strategy<Value = Vec<TracedIo>> {
    let one = (0..400i64, 0..2000i64, 0..6usize, 0..16u64, 1..4u64, 0..3u16, -1..3i32);
    prop::collection::vec(one, 1..120).prop_map(|parts| {
        let mut at_ns = 0;
        parts
            .into_iter()
            .map(|(gap, latency, operation, block, blocks, device, pid)| {
                at_ns += gap;
                let operation = TracedOperation::ALL[operation];
                let io = io(at_ns, Some(at_ns + latency), operation, block * 4096, blocks * 4096);
                TracedIo { device, domain: device, pid, command: (pid + 1) as u16, ..io }
            })
            .collect()
    })
}

/// Time at each depth of some I/Os between two moments, ns by ns.
fn depth_by_ns(ios: &[&TracedIo], from_ns: i64, to_ns: i64) -> BTreeMap<u64, u64> {
    let mut times = BTreeMap::new();
    for ns in from_ns..to_ns {
        let is_in_flight = |io: &&&TracedIo| io.issued_ns <= ns && io.completed_ns.unwrap() > ns;
        *times.entry(ios.iter().filter(is_in_flight).count() as u64).or_default() += 1;
    }
    times
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn parts_and_whole_agree_and_depths_are_those_of_brute_force(ios in traces(), length_ns in 100..3000u64) {
        let rows = table(&ios, length_ns, 3);
        let mut sums: BTreeMap<_, (u64, u64)> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.device != ALL_DEVICES) {
            let sum = sums.entry((row.step, row.subject.name())).or_default();
            *sum = (sum.0 + row.counts.ios, sum.1 + row.counts.bytes);
            if row.subject == Subject::Device {
                let sum = sums.entry((row.step, "area")).or_default();
                sum.0 += row.depth_times.as_ref().unwrap().area_ns;
            }
        }
        for row in rows.iter().filter(|row| row.subject == Subject::Device) {
            let times = row.depth_times.as_ref().unwrap();
            prop_assert_eq!(times.busy_ns() + times.idle_ns(), row.length_ns);
            let mine: Vec<_> = ios.iter().filter(|io| [io.device, ALL_DEVICES].contains(&row.device) || row.device == ALL_DEVICES).collect();
            let end_ns = row.start_ns + row.length_ns as i64;
            let mut bins = vec![0; times.bins_ns.len()];
            for (depth, ns) in depth_by_ns(&mine, row.start_ns, end_ns) {
                bins[super::depth_times::bin_of(depth)] += ns;
            }
            prop_assert_eq!(&bins, &times.bins_ns);
            if row.device == ALL_DEVICES {
                prop_assert_eq!((row.counts.ios, row.counts.bytes), sums[&(row.step, "device")]);
                prop_assert_eq!(times.area_ns, sums[&(row.step, "area")].0);
                let streams = sums.get(&(row.step, "stream")).copied().unwrap_or_default();
                prop_assert_eq!((row.counts.ios, row.counts.bytes), streams);
            }
        }
        let total: u64 = rows.iter().filter(|row| row.device == ALL_DEVICES).map(|row| row.counts.ios).sum();
        prop_assert_eq!(total, ios.len() as u64);
    }

    #[test]
    fn tables_survive_the_round_trip(ios in traces(), length_ns in 100..3000u64, lost in 0..3u64) {
        let mut rows = table(&ios, length_ns, 3);
        rows[0].lost = lost;
        rows[0].cpu_busy = Some(0.25);
        let header = StepHeader {
            step_length_ns: length_ns,
            devices: ["sda", "sdb", "nvme0n1"].map(str::to_owned).to_vec(),
            commands: ["", "dd", "fio", "x"].map(str::to_owned).to_vec(),
            ..StepHeader::default()
        };
        let bytes = write_steps(Vec::new(), &header, &rows).unwrap();
        let (read, mut back) = read_steps(Bytes::from(bytes)).unwrap();
        prop_assert_eq!(read.sequential_rule, SEQUENTIAL_RULE);
        rows.sort_by_key(|row| (row.device, row.step, row.subject));
        back.sort_by_key(|row| (row.device, row.step, row.subject));
        prop_assert_eq!(back, rows);
    }
}

/// A day of 9 streams by 50 processes in steps of 5 minutes.
#[test]
fn a_day_takes_less_than_ten_megabytes() {
    let length = StepLength::Fixed(300 * SECOND);
    let options =
        StepOptions { start_ns: 0, length, has_completions: true, devices: 1, detail: Detail::Full };
    let mut steps = StepTable::new(options);
    let mut random = 1u64;
    for number in 0..288 * 9 * 50 * 4u64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let at_ns = (number * (86_400 * SECOND / (288 * 9 * 50 * 4))) as i64;
        let stream = (random >> 40) % 9;
        let operation = if stream < 5 { TracedOperation::Read } else { TracedOperation::Write };
        let latency_ns = 50_000 + ((random >> 20) % 1_000_000) as i64;
        let io = io(at_ns, Some(at_ns + latency_ns), operation, (random >> 30) << 12, 4096 << (stream % 5));
        steps.push(&TracedIo { pid: ((random >> 50) % 50) as i32, ..io }).unwrap();
    }
    let rows = steps.finish(None).unwrap();
    let bytes = write_steps(Vec::new(), &StepHeader::default(), &rows).unwrap();
    assert!(
        rows.len() > 288 * 9 * 49 && bytes.len() < 10_000_000,
        "{} rows, {} bytes",
        rows.len(),
        bytes.len()
    );
}

#[test]
fn a_capture_adds_its_devices_up_whether_it_is_a_table_or_a_trace() {
    use TracedOperation::{Read, Write};
    let on = |device: u16, io: TracedIo| TracedIo { device, ..io };
    let ios = [
        on(0, io(0, Some(400), Read, 0, 4096)),
        on(1, io(100, Some(200), Read, 8192, 4096)),
        on(1, io(2100, Some(2300), Write, 0, 8192)),
    ];
    let header = StepHeader {
        step_length_ns: 1000,
        devices: vec!["sda".to_owned(), "sdb".to_owned()],
        ..StepHeader::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("steps.parquet");
    let file = std::fs::File::create(&path).unwrap();
    write_steps(file, &header, &table(&ios, 1000, 2)).unwrap();
    let capture = read_capture(&path).unwrap();
    assert!(capture.is_step_table);
    assert_eq!(capture.header.devices, header.devices);
    let figures: Vec<_> = capture.steps.iter().map(|step| (step.ios, step.bytes, step.depth_ns)).collect();
    // alone 0-100, two 100-200, alone 200-400
    assert_eq!(figures, [(2, 8192, Some(500)), (0, 0, Some(0)), (1, 8192, Some(200))]);
    let first = &capture.steps[0];
    assert_eq!((first.max_depth, first.streams.len(), first.streams[0].ios), (Some(2), 1, 2));
    assert_eq!(first.latencies.unwrap().max_ns, 400);

    let trace = folder.path().join("trace.csv");
    std::fs::write(&trace, "128166372003061629,web,0,Write,0,4096,1331\n").unwrap();
    let capture = read_capture(&trace).unwrap();
    assert!(!capture.is_step_table);
    assert_eq!((capture.steps.len(), capture.steps[0].streams[0].kind), (1, "write"));
    std::fs::write(&trace, "no trace").unwrap();
    assert!(read_capture(&trace).is_err());
}
