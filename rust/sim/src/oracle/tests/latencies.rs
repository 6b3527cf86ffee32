use super::*;

const LAW: &str = "[oracle.latency]\nperiod = 1000\nfactor = 617\noffset = 7\n\
                   law = [{below = 900, ns = 80000}, {below = 990, ns = 200000}, \
                   {below = 999, ns = 1000000}, {below = 1000, ns = 5000000}]\n";

/// What any 1000 I/Os in a row hold, in nanoseconds, sorted.
fn law() -> Vec<u64> {
    [(900, 80_000), (90, 200_000), (9, 1_000_000), (1, 5_000_000)]
        .into_iter()
        .flat_map(|(count, ns)| vec![ns; count])
        .collect()
}

#[test]
fn any_period_in_a_row_holds_exactly_the_law_at_any_demand() {
    for outstanding in [1, 64] {
        let mut drive = drive(&format!("{}{LAW}", rate("steps", 1, "iops = [inf]")));
        let mut slots = vec![0; outstanding];
        let latencies: Vec<_> = (0..3500)
            .map(|_| {
                let slot = slots.iter_mut().min().unwrap();
                let latency_ps = answered(&mut drive, &write(4096), *slot) - *slot;
                *slot += latency_ps;
                latency_ps / 1000
            })
            .collect();
        for window in latencies.windows(1000).step_by(83) {
            let mut window = window.to_vec();
            window.sort_unstable();
            assert_eq!(window, law());
        }
        // Not sorted by number: the classes are spread over the period.
        assert!(latencies.windows(20).all(|some| some.contains(&80_000)));
    }
}

#[test]
fn the_place_of_an_io_is_that_of_the_formula() {
    let mut drive = drive(&format!("{}{LAW}", rate("steps", 1, "iops = [inf]")));
    for k in 0..2500_u64 {
        let ns = law()[((617 * k + 7) % 1000) as usize];
        assert_eq!(answered(&mut drive, &read(512), k * PS_PER_S) - k * PS_PER_S, ns * 1000, "I/O {k}");
    }
    // A purge begins anew.
    let now_ps = drive.purge(2500 * PS_PER_S).unwrap();
    assert_eq!(answered(&mut drive, &read(512), now_ps) - now_ps, law()[7] * 1000);
}

#[test]
fn a_finite_rate_is_a_cap_beside_the_law() {
    // Below the cap of 1000 I/Os per second nothing waits; above, the wait for service comes before.
    let mut drive = drive(&format!("{}{LAW}", rate("steps", 1, "iops = [1000.0]")));
    for k in 0..1000 {
        let ns = law()[((617 * k + 7) % 1000) as usize];
        assert_eq!(answered(&mut drive, &read(512), k * MS) - k * MS, ns * 1000);
    }
    let begin_ps = 1000 * MS;
    for k in 0..1000 {
        let ns = law()[((617 * k + 7) % 1000) as usize];
        assert_eq!(answered(&mut drive, &read(512), begin_ps) - begin_ps, k * MS + ns * 1000);
    }
}

#[test]
fn outliers_are_planted_by_number_and_by_step() {
    let outliers = "[[oracle.outliers]]\nio = 5\nns = 10_000_000_000\n\
                    [[oracle.outliers]]\nstep = 2\nio = 3\nns = 7_000_000_000\n\
                    [[oracle.outliers]]\nstep = 2\nio = 0\nns = 1\n";
    let mut drive = drive(&format!("{}{outliers}", rate("steps", 1, "iops = [1000.0]")));
    let mut found = vec![];
    for purged in [false, true] {
        for step in 0..4 {
            drive.begin_step(1.0, drive.free_ps);
            for k in 0..4 {
                let now_ps = drive.free_ps;
                let latency_ps = answered(&mut drive, &write(4096), now_ps) - now_ps;
                if latency_ps != MS {
                    found.push((purged, step, k, latency_ps));
                }
            }
        }
        drive.purge(drive.free_ps).unwrap();
    }
    let each = |purged| {
        [(purged, 1, 1, 10 * PS_PER_S), (purged, 2, 0, 1000), (purged, 2, 3, 7 * PS_PER_S)].into_iter()
    };
    assert_eq!(found, each(false).chain(each(true)).collect::<Vec<_>>());
}

#[test]
fn nine_nines_are_exact_in_number() {
    // All places of a period of 10^6 visited once, at a rate of one class in a million.
    let script = "[oracle.latency]\nperiod = 1000000\nfactor = 618033\n\
                  law = [{below = 999999, ns = 1000}, {below = 1000000, ns = 1000000}]\n";
    let mut drive = drive(&format!("{}{script}", rate("steps", 1, "iops = [inf]")));
    let rare: Vec<_> =
        (0..4_000_000_u64).filter(|k| answered(&mut drive, &read(512), k * MS) - k * MS == MS).collect();
    assert_eq!(rare.len(), 4);
    assert!(rare.windows(2).all(|pair| pair[1] - pair[0] == 1_000_000));
}
