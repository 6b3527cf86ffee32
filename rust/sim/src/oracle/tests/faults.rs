use super::*;

fn at(operation: Operation, sector: u64, sectors: u32) -> Io {
    Io::new(operation, sector * 512, sectors * 512)
}

#[test]
fn exactly_the_named_sectors_fail() {
    let errors = "[oracle.errors]\nunreadable_lbas = [900, 100, 101]\nunwritable_lbas = [500]\n";
    let mut drive = drive(&format!("{}{errors}", rate("steps", 1, "iops = [1000.0]")));
    let mut failing = |operation, sectors: u32| {
        let fails = |sector: &u64| submitted(&mut drive, &at(operation, *sector, sectors), 0).error.is_some();
        (0..=2048 - u64::from(sectors)).filter(fails).collect::<Vec<_>>()
    };
    assert_eq!(failing(Operation::Read, 1), [100, 101, 900]);
    assert_eq!(failing(Operation::Write, 1), [500]);
    let reads: Vec<_> = (93..=101).chain(893..=900).collect();
    assert_eq!(failing(Operation::Read, 8), reads);
    assert_eq!(failing(Operation::Write, 8), (493..=500).collect::<Vec<_>>());
    let smart = drive.smart();
    assert_eq!(smart.media_errors, 3 + 1 + reads.len() as u64 + 8);
    assert_eq!(smart.host_reads, 2048 - 3 + 2041 - reads.len() as u64);
    assert_eq!(smart.host_writes, 2048 - 1 + 2041 - 8);
    assert!(!smart.read_only);
}

#[test]
fn a_scaled_drive_has_its_bad_sectors_where_they_belong() {
    let errors = "[oracle.errors]\nunreadable_lbas = [1000]\nread_only_after_bytes = 40960\n";
    let mut drive = scaled(&format!("{}{errors}", rate("steps", 1, "iops = [1000.0]")), 4);
    assert!(submitted(&mut drive, &at(Operation::Read, 250, 1), 0).error.is_some());
    assert!(submitted(&mut drive, &at(Operation::Read, 251, 1), 0).error.is_none());
    let written = (0..20).filter(|_| submitted(&mut drive, &write(1024), 0).error.is_none()).count();
    assert_eq!(written, 10);
}

#[test]
fn writes_fail_for_good_after_their_byte() {
    let errors = "[oracle.errors]\nread_only_after_bytes = 1048576\n";
    let mut drive = drive(&format!("{}{errors}", rate("steps", 1, "iops = [1000.0]")));
    for _ in 0..256 {
        assert!(!drive.smart().read_only);
        answered(&mut drive, &write(4096), 0);
    }
    assert!(drive.smart().read_only);
    drive.purge(0).unwrap();
    assert_eq!(submitted(&mut drive, &write(512), 0).error, Some("the drive is read-only"));
    assert_eq!(submitted(&mut drive, &read(512), 0).error, None);
    assert_eq!(drive.smart().host_write_bytes, 1_048_576);
    assert_eq!(drive.smart().media_errors, 0);
}

#[test]
fn a_purge_does_what_the_preset_says() {
    for (purge, end, left) in [
        ("works", Ok(31 * MS), 0),
        ("lies", Ok(31 * MS), 256),
        ("absent", Err(()), 256),
        ("fails", Err(()), 256),
    ] {
        let script = rate("steps", 1, "iops = [1000.0]");
        let mut drive = drive(&format!("purge = '{purge}'\n[oracle]\npurge_s = 0.03\n{script}"));
        // The host counts more than fits: no more than the capacity can hold data.
        answered(&mut drive, &write(3 << 20), 0);
        assert_eq!(drive.smart().mapped_pages, 256);
        assert_eq!(drive.purge(0).map_err(|_| ()), end, "{purge}");
        assert_eq!(drive.smart().mapped_pages, left, "{purge}");
    }
}

#[test]
fn the_write_cache_is_there_only_if_the_script_says() {
    let with = |line: &str| drive(&format!("[oracle]\n{line}\n{}", rate("steps", 1, "iops = [1.0]")));
    let mut drive = with("write_cache = true");
    assert_eq!(drive.write_cache(), Some(true));
    drive.set_write_cache(false, 0).unwrap();
    assert_eq!(drive.write_cache(), Some(false));
    let mut none = with("");
    assert_eq!(none.write_cache(), None);
    assert!(none.set_write_cache(true, 0).is_err());
    assert_eq!(none.write_cache(), None);
}

#[test]
fn counters_wrap_and_sensors_may_lack() {
    let lines = "[oracle]\nhost_write_bytes_wrap = 10000\ntemperature_c = 41\n";
    let mut drive = drive(&format!("{lines}{}", rate("steps", 1, "iops = [1.0]")));
    for k in 1..=20 {
        answered(&mut drive, &write(4096), 0);
        assert_eq!(drive.smart().host_write_bytes, k * 4096 % 10_000);
        assert_eq!(drive.smart().host_writes, k);
    }
    assert_eq!(drive.smart().temperature_c, Some(41));
    assert_eq!(super::drive(&rate("steps", 1, "iops = [1.0]")).smart().temperature_c, None);
}

#[test]
fn a_failing_io_takes_its_time_and_is_no_write() {
    let errors = "[oracle.errors]\nunwritable_lbas = [0]\n";
    let script = rate("bytes-written", 4096, "iops = [1000.0, 500.0]");
    let mut drive = drive(&format!("{script}{errors}"));
    let failed = submitted(&mut drive, &write(4096), 0);
    assert_eq!((failed.at_ps, failed.error), (MS, Some("write fault")));
    assert_eq!(answered(&mut drive, &at(Operation::Write, 8, 8), 0), 2 * MS);
    assert_eq!(answered(&mut drive, &at(Operation::Write, 8, 8), 0), 4 * MS);
}
