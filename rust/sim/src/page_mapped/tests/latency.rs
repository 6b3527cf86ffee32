//! Without load, latencies are sums of parts; under load, nothing is answered before it can be.

use super::*;
use crate::preset::{MediaErrors, Throttle};

const US: f64 = 1e6;

fn enterprise() -> Bench {
    Bench::new(&preset(ENTERPRISE, |_| {}), ONE_ROW_PAGES, 1)
}

/// Within a nanosecond, but for what the constants are rounded to.
fn assert_takes(latency_ps: Ps, parts_us: &[f64]) {
    let expected_us: f64 = parts_us.iter().sum();
    println!("{latency_ps} ps, {expected_us} us expected");
    assert!((latency_ps as f64 - expected_us * US).abs() <= 1000.0);
}

/// A page, and a sector, at 3.37 GB/s.
const LINK_US: f64 = 4096.0 / 3.37e3;

#[test]
fn a_lone_io_takes_the_sum_of_its_parts() {
    let mut bench = enterprise();
    let quiet_ps = PS_PER_S / 10;
    // Front end, command, wire, and what is fixed: nothing is written there.
    assert_takes(bench.one(io(Operation::Read, 9, 1)), &[1.5, 0.25, LINK_US, 13.8]);
    assert_takes(bench.one(io(Operation::Write, 9, 1)), &[1.5, 0.25, LINK_US, 11.0]);
    // It is still in the buffer: no array time, no channel.
    assert_takes(bench.one(io(Operation::Read, 9, 1)), &[1.5, 0.25, LINK_US, 13.8]);
    bench.fill();
    bench.idle(quiet_ps);
    assert_takes(bench.one(io(Operation::Read, 9, 1)), &[1.5, 0.25, LINK_US, 62.0, 4.0, 13.8]);
    // A chunk: one array read. The page that was written before the others has shifted all by one.
    assert_takes(bench.one(io(Operation::Read, 63, 4)), &[1.5, 0.25, LINK_US, 62.0, 16.0, 13.8]);
    // 64 chunks on 16 dies: the wire takes a little longer.
    assert_takes(bench.one(io(Operation::Read, 63, 256)), &[1.5, 0.25, LINK_US * 256.0, 13.8]);
    // A trim is a command without data.
    assert_takes(bench.one(io(Operation::Trim, 64, 1000)), &[5.0, 10.0, 0.25, 11.0]);
    assert_takes(bench.one(io(Operation::Read, 64, 4)), &[1.5, 0.25, LINK_US * 4.0, 13.8]);
}

#[test]
fn a_lone_write_without_a_cache_takes_its_program() {
    let preset = preset(CLIENT, |model| model.write_buffer.collect_us = 30.0);
    let mut bench = Bench::new(&preset, 400_000, 640);
    bench.drive.set_write_cache(false, 0).expect("it has one");
    let link_us = 4096.0 / 3.33e3;
    // Single-bit cells at first.
    assert_takes(bench.one(io(Operation::Write, 9, 1)), &[1.85, link_us, 30.0, 170.0, 8.0]);
    bench.drive.set_write_cache(true, bench.now_ps).expect("it has one");
    assert_takes(bench.one(io(Operation::Write, 9, 1)), &[1.85, link_us, 8.0]);
}

#[test]
fn a_part_of_a_page_costs_a_read_of_the_rest_unless_it_follows() {
    let mut bench = enterprise();
    bench.fill();
    bench.idle(PS_PER_S / 10);
    let sector = |n: u64| Io::new(Operation::Write, n * 512, 512);
    let mut next = 0;
    let sequential = bench.run(1, 80_000, || {
        next += 1;
        sector(next - 1)
    });
    // Eight sectors make a page, which is programmed once.
    let missing = bench.pages() + 10_000 - bench.drive.smart().nand_pages.host;
    assert!(missing < 384, "{missing}");
    let mut random = Uniform::for_thread(3, 0);
    let scattered = bench.run(8, 80_000, || sector(random.below(8 * ONE_ROW_PAGES)));
    // One write with nothing else to do: 1.5 us at the front end. Scattered: 3.6 us more.
    println!("sequential {:.2} us, scattered {:.0}/s", sequential.mean_us(), scattered.per_s());
    assert!((sequential.mean_us() / (1.5 + 0.25 + 512.0 / 3.37e3 + 11.0) - 1.0).abs() < 0.01);
    assert!(scattered.per_s() < 1e6 / 5.1);
}

#[test]
fn nothing_is_answered_before_it_can_be() {
    for (text, fixed_read_us, fixed_write_us) in [(ENTERPRISE, 15.3, 12.5), (CLIENT, 10.86, 9.85)] {
        let mut bench = Bench::new(&preset(text, |_| {}), 400_000, 64);
        let mut next = mixed(50, bench.pages(), 5);
        let (mut heap, mut last_ps) = (BinaryHeap::new(), 0);
        (0..64_u32).for_each(|slot| heap.push(Reverse((0, slot))));
        for _ in 0..200_000 {
            let Reverse((now_ps, slot)) = heap.pop().expect("never empty");
            assert!(now_ps >= last_ps);
            last_ps = now_ps;
            let io = next();
            let Answer::Known(Completion { at_ps, error }) = bench.drive.submit(&io, slot, now_ps) else {
                panic!("deferred with a cache")
            };
            let least_us = if io.operation == Operation::Read { fixed_read_us } else { fixed_write_us };
            assert!(at_ps >= now_ps + (least_us * US) as Ps && error.is_none());
            heap.push(Reverse((at_ps, slot)));
        }
    }
}

#[test]
fn worn_cells_take_retries_and_fail_at_last() {
    let errors = |tiers: &[f64]| MediaErrors {
        base: 3e-4,
        per_erase: 0.0,
        power: 1.0,
        per_age: 0.0,
        age_hours: 1.0,
        per_read: 0.0,
        tiers: tiers.to_vec(),
        retry_us: 40.0,
        uncorrectable_chance: 1.0,
    };
    for (tiers, retries, failing) in [(&[4e-4][..], 0.0, 0), (&[1e-4, 2e-4, 4e-4], 2.0, 0), (&[1e-4], 1.0, 1)]
    {
        let preset = preset(ENTERPRISE, |model| model.media_errors = Some(errors(tiers)));
        let mut bench = Bench::new(&preset, 100_000, 1);
        bench.fill();
        bench.idle(PS_PER_S / 10);
        let run = bench.run(1, 1, || io(Operation::Read, 9, 1));
        assert_takes(run.latencies_ps[0], &[1.5, 0.25, LINK_US, 62.0, retries * 40.0, 4.0, 13.8]);
        assert_eq!((run.errors, bench.drive.smart().media_errors), (failing, failing as u64));
    }
}

#[test]
fn heat_slows_the_front_end() {
    let preset = preset(ENTERPRISE, |model| {
        let thermal = model.thermal.as_mut().expect("it has one");
        thermal.throttle = vec![Throttle { from_c: thermal.ambient_c + 5.0, hysteresis_k: 1.0, factor: 4.0 }];
    });
    let mut bench = Bench::new(&preset, 100_000, 20);
    let cool = bench.run(256, 20_000, random(Operation::Read, 100_000, 1));
    // 5 W at rest warm the controller by 17.5 K, with a time constant of 70 s, nominal.
    bench.idle(5 * PS_PER_S);
    let warm = bench.run(256, 20_000, random(Operation::Read, 100_000, 1));
    let smart = bench.drive.smart();
    println!("{:.0}/s, then {:.0}/s at {:?} C", cool.per_s(), warm.per_s(), smart.temperature_c);
    // A stall of 1.8 ms may fall into it.
    assert!((cool.per_s() * 1.5e-6 - 1.0).abs() < 0.02 && (warm.per_s() * 6e-6 - 1.0).abs() < 0.02);
    assert_eq!(smart.throttle_events, 1);
    // 5 s at 5 W, and 40 000 commands.
    assert!(smart.energy_j.is_some_and(|joules| (25.0..27.0).contains(&joules)), "{:?}", smart.energy_j);
}
