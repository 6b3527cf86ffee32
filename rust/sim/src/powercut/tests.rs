//! Drives with faults that are known, and drives without.

use openpts_core::powercut::{Class, DataLoss, Load};
use proptest::prelude::*;

use super::super::contents::PowerFault;
use super::*;

const SECTOR: u32 = 512;
const SECTORS: u64 = 4096;
const ATOMIC: u32 = 8;

fn load(seed: u64) -> Load {
    Load {
        sector_bytes: SECTOR,
        sectors: SECTORS,
        write_sectors: vec![1, 8, 16],
        writers: 16,
        writes_per_flush: 20,
        fua_pct: 10,
        seed,
    }
}

fn rules(is_volatile: bool) -> Rules {
    Rules { is_volatile, atomic_sectors: ATOMIC, each_sector: false }
}

fn drive(faults: PowerFaults, seed: u64, cache_on: bool) -> SimulatedVictim {
    let bytes = SECTORS as usize * SECTOR as usize;
    let (sector, atomic) = (SECTOR as usize, (ATOMIC * SECTOR) as usize);
    let mut drive = SimulatedVictim::new(bytes, sector, atomic, faults, seed);
    drive.set_cache(cache_on).unwrap();
    drive
}

/// Cuts until something is found, at most so many; what was found in all of them, by class.
fn accused(faults: PowerFaults, seed: u64, cache_on: bool, cuts: u32, answers: u64) -> Vec<DataLoss> {
    let drive = drive(faults, seed, cache_on);
    let mut bench = Bench::new(load(seed)).unwrap();
    for _ in 0..cuts {
        let finding = drive.cycle(&mut bench, answers, rules(cache_on)).unwrap();
        if !finding.accusations.is_empty() {
            return finding.accusations;
        }
    }
    Vec::new()
}

#[test]
fn honest_drives_are_never_accused() {
    let mut lost_unpromised = 0;
    let mut outstanding = 0;
    for cache_on in [true, false] {
        let drive = drive(Vec::new(), 1, cache_on);
        let mut bench = Bench::new(load(1)).unwrap();
        for cut in 0..600 {
            let finding = drive.cycle(&mut bench, 50 + cut % 400, rules(cache_on)).unwrap();
            assert_eq!(finding.counts, [0; Class::ALL.len()], "{:?}", finding.accusations);
            assert!(finding.promised > 0);
            lost_unpromised += finding.lost_unpromised_sectors;
            outstanding += finding.outstanding;
            assert!(cache_on || finding.lost_unpromised_sectors == 0);
        }
    }
    // The cuts did take what nothing promised to keep.
    assert!(lost_unpromised > 10_000 && outstanding > 10_000, "{lost_unpromised} {outstanding}");
}

/// Each fault, in one of 100,000 writes, within some 2 million of them.
#[test]
#[ignore = "seconds: make test-full has it"]
fn each_fault_is_found_at_one_in_100_000_writes() {
    for fault in PowerFault::ALL {
        for cache_on in [true, false] {
            if !cache_on && matches!(fault, PowerFault::LostFlush | PowerFault::ReorderedPair) {
                continue;
            }
            let found = accused(vec![(fault, 1e-5)], 7, cache_on, 4000, 500);
            assert!(!found.is_empty(), "{fault:?}, cache {cache_on}");
            let expected: &[Class] = match fault {
                // A durable write that is lost as a whole is one that nothing is left of.
                PowerFault::LostWrite => &[Class::LostWrite, Class::LostFlush, Class::Reordered],
                // Flushes that are outstanding together are the host's to tell apart, and not always right.
                PowerFault::LostFlush => &[Class::LostFlush, Class::Reordered],
                PowerFault::TornSector => &[Class::TornSector],
                PowerFault::TornUnit => {
                    &[Class::TornUnit, Class::LostWrite, Class::LostFlush, Class::Reordered]
                }
                PowerFault::StaleBlock => {
                    &[Class::Stale, Class::LostWrite, Class::LostFlush, Class::Reordered]
                }
                PowerFault::ReorderedPair => &[Class::Reordered],
            };
            for accusation in &found {
                assert!(expected.contains(&accusation.class), "{fault:?}: {accusation:?}");
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_accusations() {
    let faults = || vec![(PowerFault::TornUnit, 1e-3)];
    let text = |seed| format!("{:?}", accused(faults(), seed, true, 100, 200));
    assert_eq!(text(3), text(3));
    assert_ne!(text(3), text(4));
}

/// A test may leave out the flush, the rule does not: without a cache nothing that was acknowledged may go.
#[test]
fn a_cache_that_is_said_to_be_off_and_is_not_is_found() {
    let drive = drive(Vec::new(), 1, true);
    let mut bench = Bench::new(load(1)).unwrap();
    let finding = drive.cycle(&mut bench, 300, rules(false)).unwrap();
    assert!(finding.counts[Class::LostWrite as usize] > 0);
}

#[test]
fn an_atomic_unit_that_is_smaller_than_promised_is_found() {
    let bytes = SECTORS as usize * SECTOR as usize;
    let drive = SimulatedVictim::new(bytes, SECTOR as usize, SECTOR as usize, Vec::new(), 1);
    let mut bench = Bench::new(load(1)).unwrap();
    let torn: u64 = (0..20)
        .map(|_| drive.cycle(&mut bench, 100, rules(true)).unwrap().counts[Class::TornUnit as usize])
        .sum();
    assert!(torn > 0);
}

#[test]
fn what_was_never_written_and_changed_is_found() {
    let drive = drive(Vec::new(), 1, false);
    let mut bench = Bench::new(load(1)).unwrap();
    drive.cycle(&mut bench, 1, rules(false)).unwrap();
    let mut journal = bench.journal();
    journal.close();
    drive.write(100 * 512, &[7; 512], true).unwrap();
    drive.write(200 * 512, &[0; 512], true).unwrap();
    let mut other = vec![0; 512];
    drive.read(300 * 512, &mut other).unwrap();
    drive.write(301 * 512, &other, true).unwrap();
    let finding = bench.verify(&drive, &journal, rules(false)).unwrap();
    assert_eq!(finding.counts[Class::Changed as usize], 3, "{:?}", finding.accusations);
    let found: Vec<_> = finding.accusations.iter().map(|each| (each.lba, each.found.as_str())).collect();
    let (none, zeros, moved) = ("data without a stamp", "zeros", "a sector that belongs to another LBA");
    assert_eq!(found, [(100, none), (200, zeros), (301, moved)]);
    assert_eq!(finding.damaged, [100, 200, 301]);
    // What was found is known, and written again.
    let finding = drive.cycle(&mut bench, 50, rules(false)).unwrap();
    assert_eq!(finding.counts, [0; Class::ALL.len()]);
}

#[test]
fn a_flipped_bit_is_neither_old_nor_new() {
    let drive = drive(Vec::new(), 1, false);
    let mut bench = Bench::new(load(1)).unwrap();
    bench.prepare(&drive).unwrap();
    let mut journal = bench.journal();
    let write = loop {
        let (action, data) = submitted(&bench, &mut journal).unwrap();
        if let Action::Write { first, .. } = action {
            drive.write(first * 512, &data, false).unwrap();
            journal.acknowledge(&action);
            break (first, data);
        }
    };
    let (first, mut data) = write;
    data[99] ^= 1;
    drive.write(first * 512, &data, true).unwrap();
    let finding = bench.verify(&drive, &journal, rules(false)).unwrap();
    assert_eq!((finding.counts[Class::Corrupt as usize], finding.accusations[0].lba), (1, first));
    assert_eq!(finding.accusations[0].found, "a stamp with a wrong checksum");
}

#[test]
fn sectors_that_cannot_be_read_are_found() {
    struct Unreadable(SimulatedVictim, u64);
    impl Victim for Unreadable {
        fn write(&self, offset_bytes: u64, data: &[u8], through: bool) -> io::Result<()> {
            self.0.write(offset_bytes, data, through)
        }
        fn flush(&self) -> io::Result<()> {
            self.0.flush()
        }
        fn read(&self, offset_bytes: u64, buffer: &mut [u8]) -> io::Result<()> {
            let asked = offset_bytes..offset_bytes + buffer.len() as u64;
            if asked.contains(&self.1) {
                Err(io::ErrorKind::Other.into())
            } else {
                self.0.read(offset_bytes, buffer)
            }
        }
    }
    let drive = Unreadable(drive(Vec::new(), 1, false), 77 * 512);
    let mut bench = Bench::new(load(1)).unwrap();
    bench.prepare(&drive).unwrap();
    let journal = bench.journal();
    let finding = bench.verify(&drive, &journal, rules(false)).unwrap();
    assert_eq!(finding.counts[Class::Unreadable as usize], 1);
    assert_eq!((finding.accusations[0].lba, finding.damaged), (77, vec![77]));
}

#[test]
fn too_few_places_for_the_writers_are_refused() {
    assert!(Bench::new(Load { sectors: 16 * 16 * 4 - 1, ..load(1) }).is_err());
    assert!(Bench::new(Load { sectors: 16 * 16 * 4, ..load(1) }).is_ok());
}

proptest! {
    /// As long as the power stays, a drive answers as if it had neither a cache nor faults.
    #[test]
    fn faults_are_hidden_until_the_power_goes(
        writes in prop::collection::vec((0..64_u64, 1..9_usize, 0..4_u8), 1..600), seed: u64,
    ) {
        let faults = PowerFault::ALL.map(|fault| (fault, 0.05)).to_vec();
        let mut contents = Contents::new(vec![0; 72 * 512], 512, 4096, faults, seed);
        let mut expected = vec![0; 72 * 512];
        for (number, (at, sectors, kind)) in writes.into_iter().enumerate() {
            let data = vec![(number % 251) as u8 + 1; sectors * 512];
            let span = at as usize * 512..at as usize * 512 + data.len();
            contents.write(at * 512, &data, kind == 0).unwrap();
            expected[span].copy_from_slice(&data);
            if kind == 1 {
                contents.flush().unwrap();
            }
            let mut found = vec![0; expected.len()];
            contents.read(0, &mut found).unwrap();
            prop_assert!(found == expected);
        }
    }
}
