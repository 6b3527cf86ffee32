//! How fast data are made and verified: GB/s of one thread, for buffers that stay in the cache.
//!
//!     cargo bench --bench data_speed

use std::hint::black_box;
use std::time::Instant;

use openpts_core::data::DataSource;
use openpts_core::workload::Data;

const SECTORS: [u32; 2] = [512, 4096];
const BUFFERS: [usize; 2] = [4096, 128 * 1024];
const BYTES_PER_TRIAL: usize = 1 << 30;
/// The best of them is printed: whatever else runs on the machine only ever takes away.
const TRIALS: usize = 5;

fn main() {
    println!("{:<44} {:>8} {:>8}", "GB/s, buffer of", "4 KiB", "128 KiB");
    let reducible =
        |entropy_pct, duplicate_pct| Data::Reducible { entropy_pct, duplicate_pct, granule_bytes: 4096 };
    line("random", |bytes| fill_speed(&Data::Random, 512, bytes, false));
    line("random once, buffer read in between", |bytes| fill_speed(&Data::RandomOnce, 512, bytes, true));
    line("zero, buffer read in between", |bytes| fill_speed(&Data::Zero, 512, bytes, true));
    let pattern = Data::Pattern(b"\xde\xad\xbe\xef".to_vec());
    line("pattern, buffer read in between", |bytes| fill_speed(&pattern, 512, bytes, true));
    for (entropy_pct, duplicate_pct) in [(100.0, 0.0), (46.0, 0.0), (46.0, 50.0), (100.0, 100.0)] {
        let name = format!("entropy {entropy_pct} %, duplicates {duplicate_pct} %");
        line(&name, |bytes| fill_speed(&reducible(entropy_pct, duplicate_pct), 512, bytes, false));
    }
    let verified = Data::Verified { generation: 1 };
    for sector_bytes in SECTORS {
        line(&format!("verified, write, sectors of {sector_bytes} B"), |bytes| {
            fill_speed(&verified, sector_bytes, bytes, false)
        });
        line(&format!("verified, read, sectors of {sector_bytes} B"), |bytes| {
            verify_speed(&verified, sector_bytes, bytes)
        });
    }
    println!("{:<44} {:>8.1} ns", "a prepared buffer, per write", prepared_ns());
}

fn line(name: &str, mut speed_gb_per_s: impl FnMut(usize) -> f64) {
    let [small, large] = BUFFERS.map(&mut speed_gb_per_s);
    println!("{name:<44} {small:>8.1} {large:>8.1}");
}

fn fill_speed(data: &Data, sector_bytes: u32, buffer_bytes: usize, read_in_between: bool) -> f64 {
    let mut source = DataSource::new(1, 0);
    source.begin(data, sector_bytes);
    let mut offset_bytes = 0;
    let mut buffer = vec![0; buffer_bytes];
    gb_per_s(buffer_bytes, || {
        if read_in_between {
            source.buffer_was_read_into(0);
        }
        source.fill(0, black_box(&mut buffer), offset_bytes);
        offset_bytes += buffer_bytes as u64;
    })
}

fn verify_speed(data: &Data, sector_bytes: u32, buffer_bytes: usize) -> f64 {
    let mut source = DataSource::new(1, 0);
    source.begin(data, sector_bytes);
    let mut buffer = vec![0; buffer_bytes];
    source.fill(0, &mut buffer, 0);
    gb_per_s(buffer_bytes, || assert_eq!(source.verify(black_box(&buffer), 0), None))
}

fn gb_per_s(bytes: usize, mut work: impl FnMut()) -> f64 {
    let rounds = BYTES_PER_TRIAL / bytes;
    let trial = |_| {
        let start = Instant::now();
        (0..rounds).for_each(|_| work());
        (rounds * bytes) as f64 / start.elapsed().as_secs_f64() / 1e9
    };
    (0..TRIALS).map(trial).fold(0.0, f64::max)
}

fn prepared_ns() -> f64 {
    let mut source = DataSource::new(1, 0);
    source.begin(&Data::Zero, 512);
    let mut buffer = vec![0; 4096];
    4096.0 / gb_per_s(4096, || source.fill(0, black_box(&mut buffer), 0))
}
