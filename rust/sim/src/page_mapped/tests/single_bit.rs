//! The cache of single-bit cells: how long a burst may be, and how long it takes to fold it.

use super::*;

/// 1 TB of the client preset in a small part: 8 dies.
const SCALE: u32 = 500;
const DIES: f64 = 8.0;

fn client(dynamic_share: f64) -> Bench {
    let preset = preset(CLIENT, |model| {
        model.slc.as_mut().expect("it has one").dynamic_share = dynamic_share;
        model.idle = None;
        model.thermal = None;
    });
    Bench::new(&preset, preset.capacity_bytes / PAGE / u64::from(SCALE), SCALE)
}

/// Pages of the write buffer, which are fast in any case.
const BUFFER_PAGES: u64 = 4 * 8 * 64;

/// Pages that are written in sequence until it gets slow.
fn burst_pages(bench: &mut Bench, from: u64) -> u64 {
    let mut next = sequential(Operation::Write, 16, bench.pages() - from);
    let mut shifted = || {
        let io = next();
        Io { offset_bytes: io.offset_bytes + from * PAGE, ..io }
    };
    let fast = bench.run(32, 1000, &mut shifted).per_s();
    let mut ios = 1000;
    while bench.run(32, 20, &mut shifted).per_s() > fast / 2.0 {
        ios += 20;
    }
    ios * 16 - BUFFER_PAGES
}

#[test]
fn a_burst_lasts_as_long_as_space_for_single_bits() {
    for dynamic_share in [0.25, 0.5, 1.0] {
        for full in [0.0, 0.3, 0.6] {
            let mut bench = client(dynamic_share);
            let pages = bench.pages();
            let mapped = (pages as f64 * full) as u64 / 16 * 16;
            bench.run(32, mapped / 16, sequential(Operation::Write, 16, pages));
            bench.now_ps = bench.drive.flush_caches(bench.now_ps).expect("it folds");
            let geometry = bench.drive.geometry();
            let fact = |wanted| geometry.iter().find(|(name, _)| *name == wanted).expect("one of them").1;
            let static_pages = (fact("superblocks") * 0.047).floor() * fact("superblock_pages");
            let theory = (static_pages + dynamic_share * (pages - mapped) as f64) / (4.0 + dynamic_share);
            let burst = burst_pages(&mut bench, mapped);
            let off = (burst as f64 / theory - 1.0) * 100.0;
            println!(
                "kappa {dynamic_share}, {full} full: {:.2} % of the drive, {off:+.2} %",
                burst as f64 / pages as f64 * 100.0
            );
            assert!(off.abs() < 2.0);
        }
    }
}

#[test]
fn folding_takes_the_programs_of_what_is_folded() {
    let mut bench = client(0.5);
    bench.run(32, 2000, sequential(Operation::Write, 16, 32_000));
    bench.idle(PS_PER_S);
    let before = bench.drive.smart();
    assert_eq!(before.nand_pages.folded, 0);
    let done_ps = bench.drive.flush_caches(bench.now_ps).expect("it folds");
    let folded = (bench.drive.smart().nand_pages.folded - before.nand_pages.folded) as f64;
    let took_us = (done_ps - bench.now_ps) as f64 / 1e6;
    // Programs, and array reads of chunks of 16 pages; an erase of a real superblock now and then.
    let erases = (bench.drive.smart().erases - before.erases) as f64 / 544.0;
    let theory_us = folded / DIES * (6800.0 / 64.0 + 34.7 / 16.0) + erases.floor() * 10_000.0;
    let off = (took_us / theory_us - 1.0) * 100.0;
    println!("{folded} pages in {took_us:.0} us, {off:+.2} %");
    assert!(folded >= 31_700.0 && off.abs() < 2.0);
    assert_eq!(bench.drive.smart().mapped_pages, 32_000);
    assert!(Bench::new(&preset(ENTERPRISE, |_| {}), 100_000, 1).drive.flush_caches(0).is_err());
}
