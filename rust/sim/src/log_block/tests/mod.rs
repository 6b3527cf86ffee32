mod amplification;
mod map_against_reference;
mod timing;
mod wear;

use super::*;

const PARTS: LogBlock = LogBlock {
    unit_pages: 64,
    log_pages_per_unit: 4,
    dies: 1,
    program_unit_pages: 8,
    read_unit_pages: 2,
    buffer_program_units: 4,
    read_us: 60.0,
    program_us: 1600.0,
    erase_us: 3000.0,
    log_speed: 1.5,
    command_read_us: 150.0,
    command_write_us: 150.0,
    fixed_read_us: 200.0,
    fixed_write_us: 100.0,
    link_bytes_per_s: 0.09e9,
    wear: None,
    spare_share: 0.0,
};

fn preset(purge: &str) -> Preset {
    Preset::parse(&format!(
        "name = 'card'\nsummary = 'test'\ncapacity_bytes = 1048576\npurge = '{purge}'\n[oracle.rate]\n\
         by = 'seconds'\nevery = 1\niops = [1.0]"
    ))
    .unwrap()
}

fn drive(parts: &LogBlock, units: u64) -> LogBlockDrive {
    let capacity_bytes = units * u64::from(parts.unit_pages) * PAGE_BYTES;
    LogBlockDrive::new(&preset("works"), parts, capacity_bytes, 11).unwrap()
}

fn io(operation: Operation, page: u64, pages: u32) -> Io {
    Io::new(operation, page * PAGE_BYTES, pages * PAGE_BYTES as u32)
}

fn write(page: u64, pages: u32) -> Io {
    io(Operation::Write, page, pages)
}

/// One I/O after the other; each begins when the one before is answered. Gives the end and the longest.
fn run(drive: &mut LogBlockDrive, from_ps: Ps, ios: impl Iterator<Item = Io>) -> (Ps, Ps) {
    ios.fold((from_ps, 0), |(now_ps, longest_ps), io| {
        let end_ps = end_of_submitted(drive, &io, now_ps);
        (end_ps, longest_ps.max(end_ps - now_ps))
    })
}

fn end_of_submitted(drive: &mut LogBlockDrive, io: &Io, now_ps: Ps) -> Ps {
    match drive.submit(io, 0, now_ps) {
        Answer::Known(Completion { at_ps, error: None }) => at_ps,
        other => panic!("{io:?}: {other:?}"),
    }
}

fn assert_within(value: f64, expected: f64, share: f64) {
    assert!((value / expected - 1.0).abs() < share, "{value} and not {expected}");
}

#[test]
fn a_purge_does_what_the_preset_says() {
    let capacity_bytes = 8 * 64 * PAGE_BYTES;
    for (purge, works, left) in
        [("works", true, 0), ("lies", true, 9), ("absent", false, 9), ("fails", false, 9)]
    {
        let mut drive = LogBlockDrive::new(&preset(purge), &PARTS, capacity_bytes, 0).unwrap();
        let (now_ps, _) = run(&mut drive, 0, std::iter::once(write(60, 9)));
        assert_eq!(drive.smart().mapped_pages, 9);
        assert_eq!(drive.purge(now_ps).is_ok(), works, "{purge}");
        assert_eq!(drive.smart().mapped_pages, left, "{purge}");
    }
}

#[test]
fn a_purged_drive_writes_like_a_fresh_one() {
    let mut used = drive(&PARTS, 32);
    used.jump_start().unwrap();
    let (now_ps, _) = run(&mut used, 0, (0..500).map(|k| write(k * 997 % 2048, 1)));
    let free_ps = used.purge(now_ps).unwrap();
    let mut fresh = drive(&PARTS, 32);
    for drive in [&mut used, &mut fresh] {
        let (from_ps, before) = (free_ps.max(1), drive.smart().nand_pages.collected);
        let (end_ps, _) = run(drive, from_ps, (0..100).map(|k| write(k * 997 % 2048, 1)));
        assert_eq!(drive.smart().nand_pages.collected, before);
        assert!(end_ps > from_ps);
    }
    let ends = [&mut used, &mut fresh].map(|drive| run(drive, 1 << 60, std::iter::once(write(0, 8))).0);
    assert_eq!(ends[0], ends[1]);
}

#[test]
fn equal_calls_have_equal_answers() {
    let answers = |seed| {
        let capacity_bytes = 32 * 64 * PAGE_BYTES;
        let mut drive = LogBlockDrive::new(&preset("works"), &PARTS, capacity_bytes, seed).unwrap();
        drive.jump_start().unwrap();
        (0..5000_u64)
            .map(|k| end_of_submitted(&mut drive, &write(k * 7919 % 2048, 1), k * 1_000_000))
            .collect::<Vec<_>>()
    };
    assert_eq!(answers(3), answers(3));
    assert_ne!(answers(3), answers(4));
}

#[test]
fn counters_are_those_of_the_host_and_of_the_flash() {
    let mut drive = drive(&PARTS, 8);
    let (now_ps, _) = run(&mut drive, 0, (0..1000).map(|k| write(k * 37 % 500, 3)));
    let (now_ps, _) = run(&mut drive, now_ps, (0..10).map(|k| io(Operation::Read, k, 2)));
    let (now_ps, _) = run(&mut drive, now_ps, std::iter::once(io(Operation::Flush, 0, 0)));
    let smart = drive.smart();
    assert_eq!((smart.host_writes, smart.host_write_bytes), (1000, 3000 * PAGE_BYTES));
    assert_eq!((smart.host_reads, smart.host_read_bytes), (10, 20 * PAGE_BYTES));
    assert_eq!(smart.nand_pages.host, 3000);
    // 3000 pages are 375 program units: nothing to fill up.
    assert_eq!(smart.nand_pages.padded, 0);
    assert_within(smart.busy_s, now_ps as f64 * 1e-12, 1e-12);
    let (now_ps, _) = run(&mut drive, now_ps, [write(0, 3), io(Operation::Flush, 0, 0)].into_iter());
    assert_eq!(drive.smart().nand_pages.padded, 5);
    run(&mut drive, now_ps, std::iter::once(io(Operation::Trim, 0, 64)));
    assert_eq!(drive.smart().mapped_pages, smart.mapped_pages - 64);
}

#[test]
fn what_has_no_unit_is_refused() {
    for capacity_bytes in [0, 63 * PAGE_BYTES, 64 * PAGE_BYTES + 512] {
        assert!(LogBlockDrive::new(&preset("works"), &PARTS, capacity_bytes, 0).is_err());
    }
    assert!(LogBlockDrive::new(&preset("works"), &PARTS, 64 * PAGE_BYTES, 0).is_ok());
}

#[test]
fn a_log_that_memory_could_not_hold_is_refused() {
    let parts = LogBlock { unit_pages: 8, log_pages_per_unit: 1 << 20, ..PARTS };
    let refused = LogBlockDrive::new(&preset("works"), &parts, 4000 * 8 * PAGE_BYTES, 1).err();
    assert!(refused.is_some_and(|error| error.0.contains("too large")));
}
