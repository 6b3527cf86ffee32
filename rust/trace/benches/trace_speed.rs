//! Records a second that one processor opens, puts in order and hands on, by format; and the canonical form.
//! Processor time is taken, and the best of several repeats counts: other programs on the machine only make it slower.
//!
//! `cargo bench -p openpts-trace --bench trace_speed -- [RECORDS] [FILE...]`; 4 million unless given, and files of your
//! own instead.

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};

use openpts_trace::{OpenOptions, OutputFormat, open_trace, write_trace};

fn alibaba(records: u64) -> Vec<u8> {
    let mut text = String::new();
    for number in 0..records {
        let operation = if number % 3 == 0 { 'W' } else { 'R' };
        let offset = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 36 << 13;
        writeln!(text, "419,{operation},{offset},8192,{}", 1_577_808_000_000_000 + number * 10).unwrap();
    }
    text.into_bytes()
}

/// Time that this thread has run.
fn processor_s() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux has it");
    times.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).expect("it begins with a number") / 1e9
}

fn seconds_to_read(path: &Path) -> (u64, f64) {
    let began_s = processor_s();
    let mut trace = open_trace(&[path.into()], &OpenOptions::default()).unwrap();
    let (mut batch, mut records) = (Vec::new(), 0);
    while trace.read(&mut batch).unwrap() {
        records += batch.len() as u64;
    }
    assert!(trace.tally().is_conserved());
    (trace.tally().read.max(records), processor_s() - began_s)
}

fn report(what: &str, records: u64, seconds: f64) {
    println!("{what:<22} {:>6.2} million a second", records as f64 / seconds / 1e6);
}

fn convert(from: &Path, to: PathBuf, format: OutputFormat) -> PathBuf {
    let mut trace = open_trace(&[from.into()], &OpenOptions::default()).unwrap();
    let began_s = processor_s();
    let written = write_trace(&mut trace, format, &mut File::create(&to).unwrap(), &mut |_| Ok(())).unwrap();
    report(&format!("alibaba to {}", format.name()), written.ios, processor_s() - began_s);
    to
}

fn main() {
    let records = std::env::args().filter_map(|word| word.parse().ok()).next().unwrap_or(4_000_000);
    let files: Vec<_> = std::env::args().skip(1).map(PathBuf::from).filter(|path| path.is_file()).collect();
    if files.is_empty() { made_up(records) } else { read(&files) }
}

fn made_up(records: u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("alibaba"), alibaba(records)).unwrap();
    let canonical = convert(&path("alibaba"), path("canonical"), OutputFormat::Canonical);
    let bytes = std::fs::metadata(&canonical).unwrap().len();
    println!("{:<22} {:>6.2} bytes for an I/O", "canonical form", bytes as f64 / records as f64);
    let blktrace = convert(&path("alibaba"), path("blktrace"), OutputFormat::Blktrace);
    read(&[path("alibaba"), blktrace, canonical]);
}

fn read(inputs: &[PathBuf]) {
    for input in inputs {
        let best = (0..3).map(|_| seconds_to_read(input)).min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        report(&format!("read {}", input.file_name().unwrap().display()), best.0, best.1);
    }
}
