use super::*;

const MS: Ps = 1_000_000_000;

/// Link time of a page at 90 MB/s.
const PAGE_LINK_PS: f64 = 4096.0 / 0.09e9 * 1e12;

#[test]
fn a_single_io_takes_the_sum_of_its_parts() {
    let mut drive = drive(&PARTS, 8);
    // 150 us of controller, 45.5 us of link, 100 us besides.
    let written_ps = end_of_submitted(&mut drive, &write(0, 1), 0);
    assert_within(written_ps as f64, 250e6 + PAGE_LINK_PS, 1e-6);
    let read = |drive: &mut LogBlockDrive, page, from_ps| {
        (end_of_submitted(drive, &io(Operation::Read, page, 1), from_ps) - from_ps) as f64
    };
    // 150 us of controller, 60 us of array, 45.5 us of link, 200 us besides; without data no array.
    assert_within(read(&mut drive, 0, MS), 410e6 + PAGE_LINK_PS, 1e-6);
    assert_within(read(&mut drive, 9, 2 * MS), 350e6 + PAGE_LINK_PS, 1e-6);
}

#[test]
fn a_merge_is_reads_programs_and_an_erase() {
    let card = LogBlock { unit_pages: 16_384, log_pages_per_unit: 256, ..PARTS };
    let drive = LogBlockDrive::new(&preset("works"), &card, 16_384 * PAGE_BYTES, 0).unwrap();
    // 64 MiB: 8192 reads of 60 us, 2048 programs of 1.6 ms, 3 ms.
    assert_eq!(drive.flash.merge_ps(16_384), 8192 * 60_000_000 + 2048 * 1_600_000_000 + 3_000_000_000);
    let four = LogBlockDrive::new(&preset("works"), &LogBlock { dies: 4, ..card }, 16_384 * PAGE_BYTES, 0);
    assert_eq!(four.unwrap().flash.merge_ps(16_384), 2048 * 60_000_000 + 512 * 1_600_000_000 + 3_000_000_000);
}

#[test]
fn the_longest_response_is_that_of_a_merge() {
    // Queue depth 1: a write waits for the merge of the page that it displaces, and for what the buffer
    // still had to program before.
    let card = LogBlock { unit_pages: 2048, log_pages_per_unit: 64, ..PARTS };
    let mut drive = drive(&card, 64);
    drive.jump_start().unwrap();
    let mut random = Uniform::for_thread(2, 0);
    let (_, longest_ps) = run(&mut drive, 0, (0..20_000).map(|_| write(random.below(64 * 2048), 1)));
    let merge_ps = drive.flash.merge_ps(2048);
    let programs_ps = 4 * drive.flash.log_program_ps();
    assert!(longest_ps > merge_ps && longest_ps < merge_ps + programs_ps + 4 * MS, "{longest_ps}");
}

#[test]
fn a_fresh_drive_writes_at_the_log_s_speed_and_small_writes_at_the_controller_s() {
    let parts = LogBlock { log_pages_per_unit: 64, ..PARTS };
    let pages = 64 * 64 * 4 / 5;
    let bytes_per_s = |step: u32| {
        let mut drive = drive(&parts, 64);
        let writes = (0..pages / u64::from(step)).map(|k| write(k * u64::from(step), step));
        (pages * PAGE_BYTES) as f64 / (run(&mut drive, 0, writes).0 as f64 * 1e-12)
    };
    // 8 pages in 1600 us / 1.5: 30.7 MB/s. With one write at a time, a page takes 150 + 45.5 + 100 us.
    assert_within(bytes_per_s(64), 8.0 * 4096.0 * 1.5 / 1600e-6, 0.02);
    assert_within(bytes_per_s(1), 4096.0 / (250e-6 + PAGE_LINK_PS * 1e-12), 0.001);
}

/// Random writes as from a deep queue: the next one is there when the controller is free. Gives the time of
/// one, and the longest pause between two answers.
fn deep_queue(drive: &mut LogBlockDrive, random: &mut Uniform, writes: u64) -> (f64, f64) {
    let pages = drive.capacity_bytes / PAGE_BYTES;
    let (mut last_ps, mut longest_ps) = (0, 0);
    for _ in 0..writes {
        let io = write(random.below(pages), 1);
        let now_ps = drive.controller_free_ps;
        let end_ps = last_ps.max(end_of_submitted(drive, &io, now_ps));
        longest_ps = longest_ps.max(end_ps - last_ps);
        last_ps = end_ps;
    }
    (last_ps as f64 * 1e-12 / writes as f64, longest_ps as f64 * 1e-12)
}

#[test]
fn steady_random_writing_takes_the_time_of_the_flash() {
    for dies in [1, 4] {
        let parts = LogBlock { unit_pages: 1024, log_pages_per_unit: 16, dies, ..PARTS };
        let mut drive = drive(&parts, 100);
        drive.jump_start().unwrap();
        let (seconds, _) = deep_queue(&mut drive, &mut Uniform::for_thread(3, 0), 300_000);
        let log_us = 1600.0 / 8.0 / f64::from(dies) / 1.5;
        let merge_us = drive.flash.merge_ps(1024) as f64 * 1e-6;
        let log_erase_us = 3000.0 / 1024.0;
        let expected_us = log_us + log_erase_us + merge_us / 17.0;
        assert_within(seconds * 1e6, expected_us, 0.01);
    }
}

#[test]
fn both_directions_share_the_link() {
    let quick = LogBlock { command_read_us: 0.0, command_write_us: 0.0, dies: 32, ..PARTS };
    let mut drive = drive(&LogBlock { program_us: 1.0, log_pages_per_unit: 64, ..quick }, 64);
    let mut last_ps = 0;
    for k in 0..50 {
        last_ps = end_of_submitted(&mut drive, &write(k * 32, 32), 0);
        last_ps = last_ps.max(end_of_submitted(&mut drive, &io(Operation::Read, k * 32, 32), 0));
    }
    assert_within(last_ps as f64, 100.0 * 32.0 * PAGE_LINK_PS, 0.002);
}

#[test]
fn a_partial_page_is_read_before_it_is_written() {
    let mut drive = drive(&PARTS, 8);
    let sector = Io::new(Operation::Write, 512, 512);
    let unmapped_ps = end_of_submitted(&mut drive, &sector, 0);
    let mapped_ps = end_of_submitted(&mut drive, &sector, MS) - MS;
    // The read overlaps with the transfer of the sector.
    assert_within((mapped_ps - unmapped_ps) as f64, 60e6 - PAGE_LINK_PS / 8.0, 1e-6);
}

#[test]
fn sustained_speed_and_longest_response_are_those_of_the_published_card() {
    // Seed figures of a card: 1.0 % of the fresh speed is left, and the longest response takes 4.0 s.
    let text = include_str!("../../../../../packages/openpts_sim/presets/log-block.toml");
    let preset = Preset::parse(text).unwrap();
    let parts = preset.log_block.unwrap();
    let capacity_bytes = 120 * 16_384 * PAGE_BYTES;
    let mut fresh = LogBlockDrive::new(&preset, &parts, capacity_bytes, 0).unwrap();
    let mut random = Uniform::for_thread(4, 0);
    let (fresh_s, _) = deep_queue(&mut fresh, &mut random, 20_000);
    let mut worn = LogBlockDrive::new(&preset, &parts, capacity_bytes, 0).unwrap();
    worn.jump_start().unwrap();
    let (worn_s, longest_s) = deep_queue(&mut worn, &mut random, 100_000);
    let left = fresh_s / worn_s;
    assert!(left > 0.01 / 1.5 && left < 0.01 * 1.5, "{left}");
    assert_within(longest_s, 4.0, 0.06);
}
