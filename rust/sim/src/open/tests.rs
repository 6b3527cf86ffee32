//! Presets that their authors got wrong: whatever number stands anywhere, it is refused or does no harm.

use openpts_core::workload::{Io, Operation, Uniform};

use super::*;
use crate::drive::{Answer, Completion};
use crate::preset::SHIPPED;
use crate::time::{NEVER, Ps};

const ODD: [&str; 28] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "8",
    "64",
    "255",
    "4096",
    "65536",
    "1000000",
    "4294967295",
    "0.0",
    "1.0",
    "1e-9",
    "0.5",
    "0.9",
    "1.01",
    "1.5",
    "100.0",
    "1000.0",
    "1e9",
    "1e18",
    "1e300",
    "-1.0",
    "-1",
    "nan",
    "inf",
];

/// Where numbers stand in the parameters of a preset.
fn numbers(text: &str) -> Vec<(usize, usize)> {
    let (mut places, mut line_at) = (Vec::new(), 0);
    let parameters = text.split("[[figures]]").next().unwrap_or_default();
    for line in parameters.split_inclusive('\n') {
        if let Some((name, value)) = line.split_once(" = ").filter(|(_, value)| !value.contains('"')) {
            let value_at = line_at + name.len() + 3;
            let is_part = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
            let words =
                value.split(|c| !is_part(c)).filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
            places.extend(words.map(|word| {
                let at = value_at + (word.as_ptr() as usize - value.as_ptr() as usize);
                (at, at + word.len())
            }));
        }
        line_at += line.len();
    }
    places
}

/// A host that knows no mercy, and its clock.
struct Host {
    drive: Box<dyn Drive>,
    random: Uniform,
    now_ps: Ps,
}

impl Host {
    fn io(&mut self) -> Io {
        let sector = u64::from(self.drive.sector_bytes());
        let sectors = self.drive.capacity_bytes() / sector;
        let length = 1 + self.random.below(sectors.min(512));
        let operation = match self.random.below(10) {
            0..=5 => Operation::Write,
            6..=7 => Operation::Read,
            8 => Operation::Trim,
            _ => Operation::Flush,
        };
        let offset_bytes = self.random.below(sectors - length + 1) * sector;
        Io::new(operation, offset_bytes, (length * sector) as u32)
    }

    fn submit(&mut self, tag: u32) {
        let io = self.io();
        if let Answer::Known(Completion { at_ps, .. }) = self.drive.submit(&io, tag, self.now_ps) {
            assert!(at_ps >= self.now_ps, "{io:?} is answered before it is asked");
            if self.random.below(2) == 0 {
                self.now_ps = at_ps;
            }
        }
    }

    fn drain(&mut self) {
        let mut answered = Vec::new();
        while self.drive.next_answer_ps() != NEVER {
            self.now_ps = self.now_ps.max(self.drive.next_answer_ps());
            self.drive.answer_until(self.now_ps, &mut answered);
            let is_stuck = answered.is_empty() && self.drive.next_answer_ps() <= self.now_ps;
            assert!(!is_stuck, "an answer was announced");
            for (_, Completion { at_ps, .. }) in answered.drain(..) {
                self.now_ps = self.now_ps.max(at_ps);
            }
        }
    }

    fn orders(&mut self) {
        self.drain();
        if let Ok(done_ps) = self.drive.purge(self.now_ps) {
            self.now_ps = self.now_ps.max(done_ps);
        }
        let _ = self.drive.jump_start();
        if let Some(on) = self.drive.write_cache() {
            self.drive.set_write_cache(!on, self.now_ps).expect("it has one");
        }
        if let Ok(done_ps) = self.drive.flush_caches(self.now_ps) {
            self.now_ps = self.now_ps.max(done_ps);
        }
        self.now_ps += 1_000_000_000_000;
        self.drive.idle_until(self.now_ps);
        let _ = self.drive.smart();
    }
}

fn torture(preset: &Preset, capacity_bytes: u64, scale: u32, seed: u64) {
    let scale = Scale::new(scale).expect("not 0");
    let Ok(drive) = open(preset, capacity_bytes, scale, seed) else { return };
    let mut host = Host { drive, random: Uniform::for_thread(seed, 0), now_ps: 0 };
    for _ in 0..3 {
        let entropy = host.random.below(3) as f64 / 2.0;
        host.drive.begin_step(entropy, host.now_ps);
        for tag in 0..50 {
            host.submit(tag);
        }
        host.orders();
    }
}

#[test]
fn absurd_numbers_are_refused_or_do_no_harm() {
    let words = [("\"protected\"", "\"none\""), ("\"volatile\"", "\"none\""), ("\"separate\"", "\"mixed\"")];
    for seed in 0..1000 {
        let mut random = Uniform::for_thread(seed, 7);
        let mut text = SHIPPED[random.below(SHIPPED.len() as u64) as usize].1.to_owned();
        for _ in 0..=random.below(2) {
            let places = numbers(&text);
            let (from, to) = places[random.below(places.len() as u64) as usize];
            text.replace_range(from..to, ODD[random.below(ODD.len() as u64) as usize]);
        }
        if let Some((before, after)) = words.get(random.below(6) as usize) {
            text = text.replace(before, after);
        }
        let Ok(preset) = Preset::parse(&text) else { continue };
        let capacity_bytes = [1 << 20, 5 << 20, 256 << 20, 999_997_440][random.below(4) as usize];
        torture(&preset, capacity_bytes, [1, 67, 1000, 1_000_000][random.below(4) as usize], seed);
    }
}

#[test]
fn a_scale_that_leaves_no_time_is_refused() {
    let preset = Preset::parse(SHIPPED[0].1).expect("it ships");
    let refused = open(&preset, 1 << 30, Scale::new(u32::MAX).expect("not 0"), 1).err();
    assert!(refused.is_some_and(|error| error.0.contains("scale")));
}

#[test]
fn every_preset_that_ships_makes_a_drive_that_does_io() {
    for (name, text) in SHIPPED {
        let preset = Preset::parse(text).expect("it ships");
        let factor = (preset.capacity_bytes / 2_000_000_000).max(1);
        let scale = Scale::new(factor as u32).expect("at least 1");
        let capacity_bytes = preset.capacity_bytes / factor / 4096 * 4096;
        let mut drive = open(&preset, capacity_bytes, scale, 1).expect(name);
        // Drives of large units have whole ones only.
        assert!(drive.capacity_bytes().abs_diff(capacity_bytes) < 64 << 20, "{name}");
        let mut now_ps = 0;
        for operation in [Operation::Write, Operation::Read, Operation::Trim, Operation::Read] {
            let io = Io::new(operation, 8192, 8192);
            let Answer::Known(completion) = drive.submit(&io, 0, now_ps) else { panic!("deferred") };
            assert!(completion.at_ps >= now_ps && completion.error.is_none(), "{name}");
            now_ps = completion.at_ps;
        }
        assert_eq!((drive.next_answer_ps(), drive.smart().host_reads), (NEVER, 2), "{name}");
    }
}
