mod faults;
mod latencies;
mod rates;

use super::*;
use crate::time::PS_PER_S;

const MS: Ps = PS_PER_S / 1000;

/// A drive of 1 MiB, nominal, with a script.
fn scaled(script: &str, factor: u32) -> OracleDrive {
    let text = format!("name = 'oracle'\nsummary = 'test'\ncapacity_bytes = 1048576\n{script}");
    let preset = Preset::parse(&text).unwrap();
    let scale = Scale::new(factor).unwrap();
    let oracle = preset.oracle.as_ref().unwrap();
    let sectors = preset.capacity_bytes / u64::from(factor) / 512;
    OracleDrive::new(&preset, oracle, sectors * 512, scale).unwrap()
}

fn drive(script: &str) -> OracleDrive {
    scaled(script, 1)
}

/// A script of no more than a rate.
fn rate(by: &str, every: u64, rates: &str) -> String {
    format!("[oracle.rate]\nby = '{by}'\nevery = {every}\n{rates}\n")
}

const fn write(length_bytes: u32) -> Io {
    Io::new(Operation::Write, 0, length_bytes)
}

const fn read(length_bytes: u32) -> Io {
    Io::new(Operation::Read, 0, length_bytes)
}

fn submitted(drive: &mut OracleDrive, io: &Io, now_ps: Ps) -> Completion {
    match drive.submit(io, 0, now_ps) {
        Answer::Known(completion) => completion,
        Answer::Deferred => panic!("{io:?} was deferred"),
    }
}

fn answered(drive: &mut OracleDrive, io: &Io, now_ps: Ps) -> Ps {
    let completion = submitted(drive, io, now_ps);
    assert_eq!(completion.error, None);
    completion.at_ps
}

/// A step of so many outstanding I/Os, closed loop, that ends by time and then drains. Gives the number of
/// I/Os that were answered in time, and the end of the drain.
fn step(drive: &mut OracleDrive, io: &Io, outstanding: usize, from_ps: Ps, length_ps: Ps) -> (u64, Ps) {
    drive.begin_step(1.0, from_ps);
    let end_ps = from_ps + length_ps;
    let mut slots: std::collections::BinaryHeap<_> =
        (0..outstanding).map(|_| std::cmp::Reverse(from_ps)).collect();
    let (mut answered_in_time, mut drained_ps) = (0, from_ps);
    while let Some(std::cmp::Reverse(now_ps)) = slots.pop() {
        if now_ps >= end_ps {
            continue;
        }
        let at_ps = answered(drive, io, now_ps);
        answered_in_time += u64::from(at_ps <= end_ps);
        drained_ps = drained_ps.max(at_ps);
        slots.push(std::cmp::Reverse(at_ps));
    }
    (answered_in_time, drained_ps)
}

#[test]
fn equal_calls_have_equal_answers() {
    let script = format!(
        "{}[oracle.latency]\nperiod = 101\nfactor = 7\nlaw = [{{below = 90, ns = 5000}}, \
         {{below = 101, ns = 90000}}]\n",
        rate("bytes-written", 100_000, "iops = [12345.678, 999.9]\nrepeat = true")
    );
    let answers = || {
        let mut drive = drive(&script);
        (0..5000_u64).map(|k| answered(&mut drive, &write(4096), k * 17_000_000)).collect::<Vec<_>>()
    };
    assert_eq!(answers(), answers());
}

#[test]
fn trims_and_flushes_wait_and_take_no_time() {
    let mut drive = drive(&rate("steps", 1, "iops = [1000.0]"));
    answered(&mut drive, &write(4096), 0);
    for operation in [Operation::Trim, Operation::Flush, Operation::Fsync] {
        assert_eq!(answered(&mut drive, &Io { operation, ..write(0) }, 0), MS);
    }
    assert_eq!(answered(&mut drive, &write(4096), 0), 2 * MS);
}

/// A command takes 100 us and each MiB 50 us: 2 GiB take 0.1 + 2048 * 0.05 ms, one after the other.
#[test]
fn trims_take_the_time_of_command_and_length() {
    let trim = |length_bytes| Io { operation: Operation::Trim, ..write(length_bytes) };
    for blocks in [true, false] {
        let times = format!("[oracle.trims]\ncommand_us = 100.0\nmib_us = 50.0\nblocks = {blocks}\n");
        let mut drive = drive(&format!("{}{times}", rate("steps", 1, "iops = [1000.0]")));
        assert_eq!(answered(&mut drive, &trim(4096), 0), MS / 10 + 50 * MS / 1000 / 256);
        assert_eq!(answered(&mut drive, &trim(2 << 30), MS), MS + MS / 10 + 2048 * MS / 20);
        // The read waits for the trim that began before it where they have one server.
        let read_at_ps = answered(&mut drive, &read(4096), MS);
        assert_eq!(read_at_ps, if blocks { MS + MS / 10 + 2048 * MS / 20 + MS } else { 2 * MS });
        // In turn the trim waits for the read, or for the trim before it.
        let next_at_ps = answered(&mut drive, &trim(1 << 20), MS);
        let before_ps = if blocks { read_at_ps } else { MS + MS / 10 + 2048 * MS / 20 };
        assert_eq!(next_at_ps, before_ps + 150 * MS / 1000);
    }
}

#[test]
fn no_trim_is_carried_out_in_a_stall() {
    let script = "[oracle.trims]\ncommand_us = 2000.0\n[[oracle.stalls]]\nfrom_ms = 1.0\nto_ms = 11.0\n";
    let mut drive = drive(&format!("{}{script}", rate("steps", 1, "iops = [1000.0]")));
    let trim = Io { operation: Operation::Trim, ..write(4096) };
    assert_eq!(answered(&mut drive, &trim, 0), 12 * MS);
    assert_eq!(answered(&mut drive, &read(4096), 0), MS);
    assert_eq!(answered(&mut drive, &read(4096), 0), 12 * MS);
}

#[test]
fn what_ships_can_be_made() {
    let text = include_str!("../../../../../packages/openpts_sim/presets/oracle.toml");
    let all = text.lines().map(|line| match line.strip_prefix("# ") {
        // Instructions are lines of TOML; what explains them is none.
        Some(inner) if toml::from_str::<toml::Table>(inner).is_ok() => inner,
        _ => line,
    });
    let everything: Vec<_> = all
        .filter(|line| !["iops = [3", "repeat", "ramp"].iter().any(|word| line.starts_with(word)))
        .collect();
    let preset = Preset::parse(&everything.join("\n")).unwrap();
    let oracle = preset.oracle.as_ref().unwrap();
    assert!(oracle.latency.is_some() && oracle.recovery.is_some() && oracle.write_cache.is_some());
    assert!(!oracle.errors.unreadable_lbas.is_empty() && oracle.outliers.len() == 1);
    let mut drive = OracleDrive::new(&preset, oracle, preset.capacity_bytes, Scale::ONE).unwrap();
    assert_eq!(answered(&mut drive, &read(4096), 0), 100_000_000);
}
