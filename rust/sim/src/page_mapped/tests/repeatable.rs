//! Equal calls have equal answers, and looking changes nothing.

use super::*;

/// All latencies of a battery of I/Os on a full drive; the drive is asked about itself now and then.
fn latencies(text: &str, looks: bool) -> (Vec<Ps>, Smart) {
    let mut bench = Bench::new(&preset(text, |_| {}), 400_000, 64);
    bench.fill();
    let mut all = Vec::new();
    for (round, read_pct) in [0, 65, 100, 35].into_iter().enumerate() {
        let mut next = mixed(read_pct, bench.pages(), round as u64);
        for _ in 0..20 {
            if looks {
                let (smart, geometry) = (bench.drive.smart(), bench.drive.geometry());
                assert!(smart.mapped_pages > 0 && !geometry.is_empty());
                bench.drive.sensed(bench.now_ps + PS_PER_S / 3);
                bench.drive.prefetch(&io(Operation::Read, 77, 1));
                bench.drive.next_answer_ps();
            }
            all.extend(bench.run(32, 2000, &mut next).latencies_ps);
        }
        bench.idle(PS_PER_S / 8);
    }
    (all, bench.drive.smart())
}

#[test]
fn equal_calls_have_equal_answers_and_looking_changes_nothing() {
    for text in [ENTERPRISE, CLIENT, REDUCTION] {
        let once = latencies(text, false);
        assert_eq!(once, latencies(text, false));
        assert_eq!(once, latencies(text, true));
    }
}

#[test]
fn a_look_ahead_sees_what_the_sensor_will_say() {
    let mut bench = Bench::new(&preset(CLIENT, |model| model.idle = None), 400_000, 64);
    for _ in 0..3 {
        bench.fill();
        for length_ps in [1, PS_PER_S / 1000, PS_PER_S / 10, PS_PER_S] {
            let ahead = bench.drive.sensed(bench.now_ps + length_ps).expect("it has a sensor");
            bench.idle(length_ps);
            assert_eq!(bench.drive.sensed(bench.now_ps), Some(ahead));
            assert_eq!(bench.drive.smart().temperature_c, Some(ahead.temperature_c));
        }
    }
    assert!(bench.drive.smart().temperature_c.unwrap() > 26, "it warmed up at all");
    assert!(Bench::new(&preset(REDUCTION, |_| {}), 400_000, 64).drive.sensed(0).is_none());
}

#[test]
fn the_log_counts_what_the_host_did() {
    let mut bench = Bench::new(&preset(ENTERPRISE, |_| {}), 400_000, 1);
    bench.drive.jump_start().expect("greedy collection has a steady state");
    let before = bench.drive.smart();
    let mut next = mixed(65, bench.pages(), 9);
    let (mut read, mut written) = (0, 0);
    bench.run(16, 300_000, || {
        let io = next();
        *(if io.operation == Operation::Read { &mut read } else { &mut written }) += 1;
        io
    });
    let smart = bench.drive.smart();
    assert_eq!((smart.host_reads, smart.host_writes), (read, written));
    assert_eq!(smart.host_read_bytes, read * PAGE);
    assert_eq!(smart.data_units_written(), (written * PAGE).div_ceil(512_000));
    // What was programmed of the host's pages, but for an open group.
    let programmed = smart.nand_pages.host - before.nand_pages.host;
    assert!(programmed <= written && written - programmed < 384, "{programmed} of {written}");
    let collected = smart.nand_pages.collected - before.nand_pages.collected;
    println!("WA {:.3}", bench.amplification_since(&before));
    assert!((bench.amplification_since(&before) - 1.0 - collected as f64 / programmed as f64).abs() < 1e-9);
    assert_eq!(smart.mapped_pages, bench.pages());
}
