//! What holds for every queue.

use openpts_core::workload::{Pacing, Stop, Uniform};

use super::super::testing::*;

fn exponential(servers: usize) -> Servers {
    Servers { random: Some(Uniform::for_thread(7, 0)), ..Servers::new(servers) }
}

/// The time integral of what is outstanding, from the events as the drive saw them, must be the sum of
/// the latencies: Little's law without an average.
#[test]
fn the_sum_of_latencies_is_the_time_integral_of_what_is_outstanding() {
    for (tc, qd, servers) in [(1, 1, 1), (1, 32, 4), (4, 64, 16), (16, 64, 3)] {
        let setup = open(exponential(servers));
        let stop = Stop { ios: Some(100_000), ..Stop::default() };
        let cell = setup.run_one(step(reads(tc, qd), stop));
        let sums = total(&cell);
        let outstanding = u64::from(tc * qd);
        let law = sums.latency_sum_ns as f64 / cell.elapsed_ns as f64;
        // While the last ones drain, fewer are outstanding.
        let drain = outstanding as f64 * f64::from(tc * qd) / sums.ios as f64;
        assert!(law <= outstanding as f64 * 1.000_001, "TOIO {outstanding}: {law}");
        assert!(law >= outstanding as f64 - drain, "TOIO {outstanding}: {law}");
        if outstanding <= 64 {
            let off = (law / outstanding as f64 - 1.0).abs();
            assert!(off < 1e-3, "TOIO {outstanding}: {law}");
        }
    }
}

#[test]
fn a_drained_cell_of_equal_service_times_keeps_littles_law_exactly() {
    // One server: each I/O waits for all before it; the sum is arithmetic.
    let setup = open(Servers::new(1));
    let stop = Stop { ios: Some(1000), ..Stop::default() };
    let cell = setup.run_one(step(reads(2, 4), stop));
    let sums = total(&cell);
    assert_eq!(cell.elapsed_ns, 1000 * SERVICE_NS);
    // The first eight wait 1 to 8 service times, all others 8.
    assert_eq!(sums.latency_sum_ns, u128::from((36 + 992 * 8) * SERVICE_NS));
    assert_eq!((sums.latency_min_ns, sums.latency_max_ns), (Some(SERVICE_NS), Some(8 * SERVICE_NS)));
}

#[test]
fn exponential_servers_have_the_throughput_of_the_closed_network() {
    // One queue before D servers, never empty with Q >= D: D / S. The mean of n exponential services is
    // 1 / sqrt(n) off.
    for (servers, qd) in [(1, 1), (4, 4), (8, 64)] {
        let setup = open(exponential(servers));
        let stop = Stop { ios: Some(200_000), ..Stop::default() };
        let cell = setup.run_one(step(reads(1, qd), stop));
        let iops = 200_000.0 / cell.elapsed_ns as f64 * 1e9;
        let law = servers as f64 * 1e9 / SERVICE_NS as f64;
        assert!((iops / law - 1.0).abs() < 0.01, "{servers} servers, QD {qd}: {iops} instead of {law}");
    }
}

#[test]
fn poisson_arrivals_at_one_server_wait_as_pollaczek_and_khinchine_say() {
    // M/D/1 at a load of one half: the wait is half of a service time.
    let setup = open(Servers::new(1));
    let pacing = Pacing::Poisson { ios_per_s: 5_000.0 };
    let cell = setup.run_one(step(paced(4, 64, pacing), Stop { ios: Some(400_000), ..Stop::default() }));
    let mean_ns = total(&cell).latency_sum_ns as f64 / 400_000.0;
    let law_ns = 1.5 * SERVICE_NS as f64;
    assert!((mean_ns / law_ns - 1.0).abs() < 0.01, "{mean_ns}");
    assert_eq!(cell.unissued, 0);
}

#[test]
fn every_interval_has_its_own_completions_and_all_together_the_step_s() {
    let setup = open(exponential(3));
    let (cell, intervals) = setup.run(vec![step(reads(2, 8), lasting(100 * MS))]).remove(0);
    assert_eq!(intervals.len(), 11, "the drain needs one more");
    let ios: u64 = intervals.iter().flat_map(|interval| interval.operations.iter()).map(|of| of.1.ios).sum();
    assert_eq!(ios, total(&cell).ios);
    assert!(
        intervals[..10].iter().all(|interval| interval.in_flight == 16 && interval.elapsed_ns == 10 * MS)
    );
    let last = &intervals[10];
    assert_eq!((last.in_flight, last.elapsed_ns), (0, cell.elapsed_ns - 100 * MS));
}
