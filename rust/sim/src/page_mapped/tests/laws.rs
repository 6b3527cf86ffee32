//! Rates and write amplification of whole drives against formulas.

use super::*;

/// A drive of the enterprise preset in the steady state of random writing.
fn steady(change: impl FnOnce(&mut PageMapped)) -> Bench {
    let mut bench = Bench::new(&preset(ENTERPRISE, change), ONE_ROW_PAGES, 1);
    bench.drive.jump_start().expect("greedy collection has a steady state");
    bench
}

#[test]
fn random_writing_is_as_fast_as_its_programs_reads_and_erases_allow() {
    let mut bench = steady(|_| {});
    let mut next = random(Operation::Write, bench.pages(), 3);
    bench.run(256, 360_000, &mut next);
    let before = bench.drive.smart();
    let run = bench.run(256, 720_000, &mut next);
    let amplification = bench.amplification_since(&before);
    // Of a chunk of four pages that holds any valid one, this many are valid.
    let valid = 1.0 - 1.0 / amplification;
    let per_chunk = 4.0 * valid / (1.0 - (1.0 - valid).powi(4));
    let page_us = amplification * 2880.0 / 24.0
        + (amplification - 1.0) * 62.0 / per_chunk
        + amplification * 8000.0 / (544.0 * 24.0);
    let theory = 64e6 / page_us;
    let off = (run.per_s() / theory - 1.0) * 100.0;
    println!("WA {amplification:.3}: {:.0}/s, {off:+.2} % of {theory:.0}/s", run.per_s());
    assert!((2.45..2.55).contains(&amplification));
    assert!(off.abs() < 1.0);
    // Little's law: all slots are always taken, but for the drain at the end.
    assert!((run.per_s() * run.mean_us() / 1e6 / 256.0 - 1.0).abs() < 0.002);
}

#[test]
fn suspensions_shorten_reads_and_change_no_amount_of_work() {
    let measure = |suspensions: f64| {
        let mut bench = steady(|model| model.nand.suspends_per_program = suspensions);
        let (mut next, mut is_read) = (mixed(65, bench.pages(), 4), Vec::new());
        let run = bench.run(16, 200_000, || {
            let io = next();
            is_read.push(io.operation == Operation::Read);
            io
        });
        let pick = run.latencies_ps.iter().zip(&is_read).filter(|(_, is_read)| **is_read);
        let latencies_ps = pick.map(|(latency_ps, _)| *latency_ps).collect();
        let mut of_reads = Run { latencies_ps, ..run };
        let (mean_us, tail_us) = (of_reads.mean_us(), of_reads.percentile_us(0.999));
        let programmed = bench.drive.smart().nand_pages;
        bench.idle(PS_PER_S / 10);
        let reads = bench.run(256, 200_000, random(Operation::Read, ONE_ROW_PAGES, 5));
        (mean_us, tail_us, (programmed, reads.elapsed_s()))
    };
    let (without, with, always) = (measure(0.0), measure(1.0), measure(1000.0));
    for (name, (mean_us, tail_us, _)) in [("none", &without), ("one", &with), ("many", &always)] {
        println!("{name}: reads take {mean_us:.1} us, p99.9 {tail_us:.0} us");
    }
    // One suspension saves some reads from waiting, but not the unluckiest; many save all.
    assert!(without.0 > 1.02 * with.0 && with.0 > 1.5 * always.0);
    assert!(without.1 > 2.0 * always.1);
    assert_eq!(without.2, with.2);
    assert_eq!(without.2, always.2);
}

#[test]
fn the_same_offsets_again_are_not_random_writing() {
    // 60 rounds of a twentieth of the drive each: a generator that starts anew with every round writes to the
    // same few pages, and the drive has next to nothing to collect.
    let amplification = |continues: bool| {
        let mut bench = Bench::new(&preset(ENTERPRISE, |_| {}), ONE_ROW_PAGES, 1);
        bench.fill();
        let mut next = random(Operation::Write, ONE_ROW_PAGES, 7);
        let (mut before, mut rate) = (bench.drive.smart(), 0.0);
        for round in 0..60 {
            if round == 50 {
                before = bench.drive.smart();
            }
            if !continues {
                next = random(Operation::Write, ONE_ROW_PAGES, 7);
            }
            rate = bench.run(256, ONE_ROW_PAGES / 20, &mut next).per_s();
        }
        (bench.amplification_since(&before), rate)
    };
    let ((replayed, fast), (continued, slow)) = (amplification(false), amplification(true));
    println!("WA {replayed:.3} at {fast:.0}/s replayed, {continued:.3} at {slow:.0}/s continued");
    assert!(replayed < 1.02 && (2.4..2.6).contains(&continued));
    assert!(fast > 2.0 * slow);
}

#[test]
fn reduced_data_take_their_share_of_the_flash() {
    for (entropy, share) in [(0.0, 0.14), (0.5, 0.57), (1.0, 1.0)] {
        let mut bench = Bench::new(&preset(REDUCTION, |_| {}), 100_000, 1);
        bench.drive.begin_step(entropy, 0);
        let run = bench.fill();
        let written = run.latencies_ps.len() as f64 * 32.0;
        let taken = bench.drive.smart().nand_pages.host as f64 / written;
        println!("entropy {entropy}: {taken:.4} programmed");
        assert!((taken / share - 1.0).abs() < 0.01);
    }
}

#[test]
fn the_maps_own_pages_take_their_share_of_the_programs() {
    let seconds = |journal_per_1000: f64| {
        let change = |model: &mut PageMapped| model.mapping.journal_per_1000 = journal_per_1000;
        let mut bench = Bench::new(&preset(ENTERPRISE, change), ONE_ROW_PAGES, 1);
        (bench.fill().elapsed_s(), bench.drive.smart().nand_pages)
    };
    let ((without_s, _), (with_s, pages)) = (seconds(0.0), seconds(250.0));
    println!("{:.4} times as long", with_s / without_s);
    assert!((with_s / without_s / 1.25 - 1.0).abs() < 0.01);
    assert!(pages.journal == pages.host / 4 && pages.journal > 0);
}

/// The share of all pages that the fullest die holds, against an even one.
fn fullest_die(bench: &Bench) -> f64 {
    let mut pages = [0_u32; 64];
    let places = (0..bench.pages()).filter_map(|page| bench.drive.ftl.lookup(page as u32));
    places.for_each(|place| pages[place.die as usize] += 1);
    let most = pages.into_iter().max().expect("64 of them");
    f64::from(most) * 64.0 / bench.pages() as f64
}

#[test]
fn random_reads_find_the_dies_evenly_loaded() {
    // The front end takes 1.5 us for a command, and stalls for 1.8 of 700 ms.
    let limit = 1e6 / 1.5 * (1.0 - 1.8 / 700.0);
    for (state, jumps, writes) in [("filled", false, 0), ("jumped", true, 0), ("steady", true, 2_000_000)] {
        let mut bench = Bench::new(&preset(ENTERPRISE, |_| {}), ONE_ROW_PAGES, 1);
        if jumps {
            bench.drive.jump_start().expect("greedy collection has a steady state");
        } else {
            bench.fill();
        }
        bench.run(256, writes, random(Operation::Write, ONE_ROW_PAGES, 3));
        bench.idle(PS_PER_S / 2);
        let rate = bench.run(256, 400_000, random(Operation::Read, ONE_ROW_PAGES, 5)).per_s();
        let fullest = fullest_die(&bench);
        println!(
            "{state}: {rate:.0}/s, {:+.2} % of the limit; fullest die {fullest:.3}",
            (rate / limit - 1.0) * 100.0
        );
        assert!((rate / limit - 1.0).abs() < 0.01 && fullest < 1.05);
    }
}

#[test]
fn what_is_smaller_than_a_unit_or_not_aligned_to_it_is_written_with_its_rest() {
    // Pages programmed for each page of the host, before anything is collected.
    let amplification = |pages: u64, first: u64, is_random: bool| {
        let change = |model: &mut PageMapped| model.mapping.unit_pages = 4;
        let mut bench = Bench::new(&preset(ENTERPRISE, change), ONE_ROW_PAGES, 1);
        bench.fill();
        let before = bench.drive.smart().nand_pages.total();
        let (ios, places) = (40_000 / pages, ONE_ROW_PAGES / pages - 1);
        let (mut uniform, mut sequence) = (Uniform::for_thread(3, 0), 0..ios);
        bench.run(32, ios, || {
            let place = sequence.next().filter(|_| !is_random).unwrap_or_else(|| uniform.below(places));
            io(Operation::Write, place * pages + first, pages)
        });
        (bench.drive.smart().nand_pages.total() - before) as f64 / (ios * pages) as f64
    };
    for (pages, first, is_random, expected) in [
        (1, 0, true, 4.0),
        (4, 0, true, 1.0),
        (4, 1, true, 2.0),
        (16, 2, true, 5.0 / 4.0),
        (1, 0, false, 1.0),
    ] {
        let found = amplification(pages, first, is_random);
        // Less what the buffer holds, and the units that are still open.
        assert!((found / expected - 1.0).abs() < 0.02, "{pages} pages at {first}: {found} for {expected}");
    }
}
