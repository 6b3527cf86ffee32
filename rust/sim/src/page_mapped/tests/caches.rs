//! When writes and flushes are answered, by kind of cache.

use super::*;
use crate::preset::WriteCache;

const THEORY: &str = include_str!("../../../../../packages/openpts_sim/presets/theory.toml");

const FLUSH: Io = Io::new(Operation::Flush, 0, 0);

#[test]
fn without_a_cache_writes_of_a_group_are_answered_together() {
    // 64 dies that program a page each, 200 us, and 30 us to wait for others.
    let preset = preset(THEORY, |model| {
        model.write_buffer.cache = WriteCache::None;
        model.write_buffer.collect_us = 30.0;
    });
    for (outstanding, cycle_us) in [(1, 230.0), (8, 230.0), (32, 230.0), (63, 230.0), (64, 200.0)] {
        let mut bench = Bench::new(&preset, 400_000, 1);
        let ios = u64::from(outstanding) * 500;
        let run = bench.run(outstanding, ios, random(Operation::Write, 400_000, 1));
        let theory = f64::from(outstanding) / cycle_us * 1e6;
        println!("{outstanding}: {:.0}/s of {theory:.0}/s, mean {:.1} us", run.per_s(), run.mean_us());
        assert!((run.per_s() / theory - 1.0).abs() < 1e-3 && (run.mean_us() - cycle_us).abs() < 0.01);
        // Somebody always waits.
        let busy_s = bench.drive.smart().busy_s;
        assert!((busy_s / run.elapsed_s() - 1.0).abs() < 1e-9, "{busy_s} s");
        let padded = bench.drive.smart().nand_pages.padded;
        assert_eq!(padded, u64::from(64 - outstanding) * 500);
    }
}

#[test]
fn large_writes_without_a_cache_wait_for_their_last_group() {
    let preset = preset(THEORY, |model| model.write_buffer.cache = WriteCache::None);
    let mut bench = Bench::new(&preset, 400_000, 1);
    // Four groups on the same dies, and a fifth that is closed for its one page.
    assert_eq!(bench.one(io(Operation::Write, 0, 256)), 4 * 200_000_000);
    bench.idle(PS_PER_S);
    assert_eq!(bench.one(io(Operation::Write, 0, 257)), 5 * 200_000_000);
}

#[test]
fn a_flush_waits_for_programs_only_where_a_loss_of_power_would_hurt() {
    let mut bench = Bench::new(&preset(CLIENT, |_| {}), 400_000, 640);
    bench.one(io(Operation::Write, 9, 1));
    let lone_us = bench.one(FLUSH) as f64 / 1e6;
    assert!((lone_us - (1.85 + 170.0 + 8.0)).abs() < 0.001, "{lone_us}");
    // Nothing is left to be programmed.
    assert_eq!(bench.one(FLUSH), 9_850_000);
    let mut bench = Bench::new(&preset(ENTERPRISE, |_| {}), 400_000, 1);
    bench.one(io(Operation::Write, 9, 1));
    assert_eq!(bench.one(FLUSH), 12_750_000);
}

#[test]
fn only_a_volatile_cache_can_be_switched() {
    let mut bench = Bench::new(&preset(CLIENT, |_| {}), 400_000, 640);
    assert_eq!(bench.drive.write_cache(), Some(true));
    let fast = bench.run(8, 2000, random(Operation::Write, 400_000, 1)).mean_us();
    bench.drive.set_write_cache(false, bench.now_ps).expect("it has one");
    assert_eq!(bench.drive.write_cache(), Some(false));
    let slow = bench.run(8, 2000, random(Operation::Write, 400_000, 1)).mean_us();
    println!("{fast:.1} us with the cache, {slow:.1} us without");
    assert!(fast < 20.0 && slow > 170.0);
    for cache in [WriteCache::Protected, WriteCache::None] {
        let mut bench = Bench::new(&preset(CLIENT, |model| model.write_buffer.cache = cache), 400_000, 640);
        assert_eq!(bench.drive.write_cache(), None);
        assert!(bench.drive.set_write_cache(true, 0).is_err());
    }
}

#[test]
fn the_time_in_which_writes_wait_for_their_group_is_busy_time() {
    let preset = preset(THEORY, |model| {
        model.write_buffer.cache = WriteCache::None;
        model.write_buffer.collect_us = 30.0;
    });
    let mut bench = Bench::new(&preset, 400_000, 1);
    for outstanding in [1, 8] {
        let before_s = bench.drive.smart().busy_s;
        let run = bench.run(outstanding, 800, random(Operation::Write, 400_000, 1));
        let busy_s = bench.drive.smart().busy_s - before_s;
        assert!((busy_s / run.elapsed_s() - 1.0).abs() < 1e-9, "{busy_s} s of {} s", run.elapsed_s());
        bench.idle(PS_PER_S);
    }
}

#[test]
fn a_write_over_several_groups_waits_for_the_slowest_of_their_dies() {
    let preset = preset(THEORY, |model| {
        model.write_buffer.cache = WriteCache::None;
        model.nand.read_us = 50.0;
        model.geometry.dies_per_group = 1;
        model.geometry.program_unit_pages = 2;
        model.geometry.chunk_pages = 1;
    });
    let mut bench = Bench::new(&preset, 400_000, 1);
    // Two pages on each die; the next group is that of the first die again.
    bench.one(io(Operation::Write, 0, 128));
    bench.idle(PS_PER_S);
    for _ in 0..100 {
        bench.drive.submit(&io(Operation::Read, 0, 1), 0, bench.now_ps);
    }
    // The first group goes to the die that reads for 5 ms, the rest to the next.
    let us = bench.one(io(Operation::Write, 1000, 3)) as f64 / 1e6;
    assert!((us - 5200.0).abs() < 0.01, "{us}");
}

#[test]
fn small_pages_in_a_group_of_moved_ones_are_answered() {
    let preset = preset(REDUCTION, |model| {
        model.write_buffer.cache = WriteCache::None;
        model.collection.frontiers = crate::preset::Frontiers::Mixed;
    });
    let mut bench = Bench::new(&preset, 240_000, 1);
    bench.drive.jump_start().expect("a new drive");
    bench.drive.begin_step(0.0, 0);
    let mut next = random(Operation::Write, 240_000, 3);
    let mut answered = Vec::new();
    for _ in 0..20_000 {
        if let Answer::Known(completion) = bench.drive.submit(&next(), 0, bench.now_ps) {
            bench.now_ps = completion.at_ps;
            continue;
        }
        bench.now_ps = bench.now_ps.max(bench.drive.next_answer_ps());
        bench.drive.answer_until(bench.now_ps, &mut answered);
        let (_, completion) = answered.pop().expect("its group was closed");
        bench.now_ps = completion.at_ps;
    }
}

#[test]
fn what_is_trimmed_need_not_be_completed() {
    let mut bench = Bench::new(&preset(CLIENT, |_| {}), 400_000, 640);
    bench.one(io(Operation::Write, 9, 1));
    bench.one(FLUSH);
    let part = Io::new(Operation::Write, 9 * PAGE, 512);
    for (is_trimmed, reads) in [(true, 0), (false, 1)] {
        let before = bench.drive.back_end.flash.work().reads;
        bench.one(io(Operation::Write, 9, 1));
        bench.one(FLUSH);
        bench.one(part);
        if is_trimmed {
            bench.one(io(Operation::Trim, 9, 1));
        }
        bench.one(FLUSH);
        assert_eq!(bench.drive.back_end.flash.work().reads - before, reads);
    }
}
