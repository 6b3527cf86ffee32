use super::*;

const MINUTE: Ps = 60 * PS_PER_S;

/// A round of one step, then the answers per minute of each, with `outstanding` I/Os.
fn rounds(script: &str, outstanding: usize, count: usize) -> Vec<u64> {
    let mut drive = drive(script);
    let mut now_ps = 0;
    let mut round = || {
        let (answers, end_ps) = step(&mut drive, &write(4096), outstanding, now_ps, MINUTE);
        now_ps = end_ps;
        answers
    };
    (0..count).map(|_| round()).collect()
}

#[test]
fn decays_have_exactly_their_rate_in_each_round_at_any_demand() {
    for (excess, factor) in [(200.0, 0.5), (200.0, 0.7), (200.0, 0.8), (400.0, 0.8), (900.0, 0.9)] {
        let decay = format!("decay = {{ base = 100.0, excess = {excess:?}, factor = {factor} }}");
        let expected: Vec<_> =
            (0..25).map(|k| (60.0 * (100.0 + excess * f64::powi(factor, k)) + 1e-6) as u64).collect();
        for outstanding in [1, 8] {
            assert_eq!(rounds(&rate("steps", 1, &decay), outstanding, 25), expected, "{decay}");
        }
    }
}

#[test]
fn ramps_and_alternations_have_exactly_their_rates() {
    let ramp = rate("steps", 1, "ramp = { first = 100.0, change = -0.015, parts = 25 }");
    let expected: Vec<_> = (0..30).map(|k| 6000 - 90 * k.min(24)).collect();
    assert_eq!(rounds(&ramp, 4, 30), expected);
    let alternation = rate("steps", 1, "iops = [109.9, 90.1]\nrepeat = true");
    assert_eq!(rounds(&alternation, 1, 6), [6594, 5406, 6594, 5406, 6594, 5406]);
}

#[test]
fn steps_without_io_and_steps_to_skip_do_not_move_the_script() {
    let mut drive = drive(&rate("steps", 2, "skip = 1\niops = [100.0, 200.0]"));
    let mut now_ps = 0;
    let mut answers = vec![];
    for _ in 0..6 {
        drive.begin_step(1.0, now_ps);
        drive.idle_until(now_ps + MINUTE);
        let (in_time, end_ps) = step(&mut drive, &read(512), 2, now_ps + MINUTE, MINUTE);
        answers.push(in_time);
        now_ps = end_ps;
    }
    assert_eq!(answers, [6000, 6000, 6000, 12_000, 12_000, 12_000]);
    now_ps = drive.purge(now_ps).unwrap();
    assert_eq!(step(&mut drive, &read(512), 2, now_ps, MINUTE).0, 6000);
}

#[test]
fn a_rate_by_bytes_changes_with_the_byte() {
    // Fresh rate for a drive write of 1 MiB, then the steady one: 256 writes at 1000/s, the rest at 250/s.
    for factor in [1, 4] {
        let mut drive = scaled(&rate("bytes-written", 1 << 20, "iops = [1000.0, 250.0]"), factor);
        let fast = 256 / u64::from(factor);
        for k in 1..=fast + 50 {
            let expected_ms = k.min(fast) + 4 * k.saturating_sub(fast);
            assert_eq!(answered(&mut drive, &write(4096), 0), expected_ms * MS);
        }
        let before_ps = answered(&mut drive, &read(4096), 0);
        assert_eq!(answered(&mut drive, &read(4096), 0) - before_ps, 4 * MS);
        let purged_ps = drive.purge(before_ps).unwrap();
        assert_eq!(answered(&mut drive, &read(4096), purged_ps) - purged_ps, MS);
    }
}

#[test]
fn a_rate_by_seconds_changes_with_the_start_of_service() {
    for factor in [1, 5] {
        let script = rate("seconds", 5, "iops = [1000.0, 500.0, 2000.0]\nskip = 5\nrepeat = true");
        let mut drive = scaled(&script, factor);
        let second = PS_PER_S / u64::from(factor);
        let mut in_second = vec![0; 40];
        loop {
            let at_ps = answered(&mut drive, &write(512), 0);
            let Some(count) = in_second.get_mut(((at_ps - 1) / second) as usize) else { break };
            *count += factor;
        }
        let expected: Vec<_> =
            [1000, 1000, 500, 2000, 1000, 500, 2000, 1000].into_iter().flat_map(|iops| [iops; 5]).collect();
        assert_eq!(in_second, expected);
    }
}

#[test]
fn large_transfers_are_limited_by_bytes() {
    let mut drive = drive(&rate("steps", 1, "iops = [1000.0]\nbytes_per_s = 8192000.0"));
    let mut time_ps = |length_bytes| {
        let before_ps = drive.free_ps;
        answered(&mut drive, &write(length_bytes), 0) - before_ps
    };
    assert_eq!([512, 4096, 8192, 16_384, 131_072].map(&mut time_ps), [MS, MS, MS, 2 * MS, 16 * MS]);
}

#[test]
fn a_recovery_takes_its_bytes_over_its_speed() {
    let recovery = "[oracle.recovery]\nmarker_below_bytes = 65536\nfast_bytes_per_s = 131072e3\n\
                    slow_bytes_per_s = 32768e3\nbytes = 131072000\n";
    for factor in [1, 10] {
        let mut drive = scaled(&format!("{}{recovery}", rate("steps", 1, "iops = [500.0]")), factor);
        let large = write(131_072);
        let now_ps = (0..100).fold(0, |now_ps, _| answered(&mut drive, &large, now_ps));
        assert_eq!(now_ps, 100 * MS);
        let marked_ps = answered(&mut drive, &write(8192), now_ps);
        assert_eq!(marked_ps, now_ps + 2 * MS);
        // 131 072 000 bytes at 32 768 000 a second: 4 s, then full speed at once.
        let mut end_ps = marked_ps;
        for _ in 0..1000 / factor {
            end_ps = answered(&mut drive, &large, end_ps);
        }
        assert_eq!(end_ps - marked_ps, 4 * PS_PER_S / u64::from(factor));
        assert_eq!(answered(&mut drive, &large, end_ps) - end_ps, MS);
        assert_eq!(answered(&mut drive, &read(131_072), end_ps) - end_ps, 3 * MS);
    }
}

#[test]
fn stalls_leave_seconds_without_answers() {
    let stall = "[[oracle.stalls]]\nfrom_ms = 2000.0\nto_ms = 5000.0\nevery_ms = 10000.0\n";
    let mut drive = drive(&format!("{}{stall}", rate("steps", 1, "iops = [1000.0]")));
    let mut in_second = [0; 20];
    for _ in 0..14_000 {
        let at_ps = answered(&mut drive, &write(4096), 0);
        in_second[((at_ps - 1) / PS_PER_S) as usize] += 1;
    }
    let expected: Vec<_> = (0..20).map(|s| if (2..5).contains(&(s % 10)) { 0 } else { 1000 }).collect();
    assert_eq!(in_second.to_vec(), expected);
}

#[test]
fn idle_time_gives_its_stair_and_the_baseline_returns() {
    let stairs: String = [(5000.0, 200.0, 50), (10_000.0, 400.0, 100), (50_000.0, 800.0, 200)]
        .iter()
        .map(|(ms, iops, ios)| format!("[[oracle.idle]]\nidle_ms = {ms:?}\niops = {iops:?}\nios = {ios}\n"))
        .collect();
    for factor in [1, 10] {
        let mut drive = scaled(&format!("{}{stairs}", rate("steps", 1, "iops = [100.0]")), factor);
        // Before the first I/O there is nothing that idle time could have mended.
        let mut now_ps = answered(&mut drive, &write(4096), 100 * PS_PER_S);
        assert_eq!(now_ps, 100 * PS_PER_S + 10 * MS);
        let second = PS_PER_S / u64::from(factor);
        let cases =
            [(4.999, 10, 0), (5.0, 5000, 50), (9.999, 5000, 50), (10.0, 2500, 100), (60.0, 1250, 200)];
        for (idle_s, time_us, ios) in cases {
            now_ps += (idle_s * second as f64) as Ps;
            for k in 0..300 / u64::from(factor) {
                let at_ps = answered(&mut drive, &write(4096), now_ps);
                let quick = k < ios / u64::from(factor);
                let expected_ps = if quick { time_us * MS / 1000 } else { 10 * MS };
                assert_eq!(at_ps - now_ps, expected_ps, "idle {idle_s} s, I/O {k}");
                now_ps = at_ps;
            }
        }
    }
}
