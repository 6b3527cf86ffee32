//! How many lines of texts are read in a second of one processor, in millions. Processor time is taken, and the best
//! of several repeats counts: other programs on the machine only make it slower.
//!
//!     cargo bench -p openpts-trace --bench text_speed

use std::fmt::Write as _;
use std::io::Cursor;
use std::path::PathBuf;

use openpts_trace::{FORMATS, ReadOptions, Source, Tally};

const IOS: u64 = 500_000;
const REPEATS: usize = 5;

/// Lines for one I/O: its number, time in ns, first sector, and whether it reads.
type Lines = fn(&mut String, u64, u64, u64, bool) -> std::fmt::Result;

/// Formats by their names, with as many I/Os as I/Os have lines.
const TEXTS: &[(&str, &str, Lines)] = &[
    ("msr", "", |text, number, ns, sector, reads| {
        let (ticks, kind) = (128_166_372_003_061_629 + ns / 100, if reads { "Read" } else { "Write" });
        writeln!(text, "{ticks},hm,{},{kind},{},4096,58000", number % 2, sector * 512)
    }),
    ("alibaba", "", |text, number, ns, sector, reads| {
        let (device, letter, us) =
            (number % 700, if reads { 'R' } else { 'W' }, 1_577_808_144_360_767 + ns / 1000);
        writeln!(text, "{device},{letter},{},16384,{us}", sector * 512)
    }),
    ("fio_iolog", "fio version 3 iolog\n0 /dev/nvme0n1 add\n", |text, _, ns, sector, reads| {
        let action = if reads { "read" } else { "write" };
        writeln!(text, "{} /dev/nvme0n1 {action} {} 4096", ns / 1000, sector * 512)
    }),
    ("blkparse", "", |text, number, ns, sector, reads| {
        let letters = if reads { "RA" } else { "WS" };
        let (s, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
        writeln!(text, "259,0    3 {number:8} {s:5}.{rest:09}  1234  D {letters:>3} {sector} + 8 [fio]")?;
        let (s, rest) = ((ns + 900) / 1_000_000_000, (ns + 900) % 1_000_000_000);
        writeln!(text, "259,0    3 {number:8} {s:5}.{rest:09}     0  C {letters:>3} {sector} + 8 [0]")
    }),
    ("tracepoints", "", |text, _, ns, sector, reads| {
        let letters = if reads { "RA" } else { "WS" };
        let (s, us) = (ns / 1_000_000_000, ns / 1000 % 1_000_000);
        writeln!(
            text,
            "  fio-1234  [003] d..1. {s}.{us:06}: block_rq_issue: 259,0 {letters} 4096 () {sector} + 8 be,0,4 [fio]\n\
             <idle>-0     [003] d.h1. {s}.{us:06}: block_rq_complete: 259,0 {letters} () {sector} + 8 be,0,4 [0]"
        )
    }),
];

/// Time that this thread has run.
fn processor_ns() -> u64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux has it");
    times.split(' ').next().and_then(|ns| ns.parse().ok()).expect("it begins with a number")
}

fn main() {
    println!("{:12} {:>10} {:>10} {:>10}", "text", "M lines/s", "ns a line", "MB/s");
    for (name, head, lines) in TEXTS {
        let mut text = String::from(*head);
        for number in 0..IOS {
            let sector = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 34 & !7;
            lines(&mut text, number, number * 1000, sector, number % 3 > 0)
                .expect("strings can be written to");
        }
        let line_count = text.bytes().filter(|byte| *byte == b'\n').count() as f64;
        let format =
            FORMATS.iter().copied().flatten().find(|format| format.name == *name).expect("it has a name");
        let mut best_s = f64::INFINITY;
        for _ in 0..REPEATS {
            let source = Source { path: PathBuf::from(name), bytes: Box::new(Cursor::new(text.clone())) };
            let mut reader = (format.open)(vec![source], &ReadOptions::default()).expect("it can be opened");
            let (mut batch, mut tally, mut count) = (Vec::new(), Tally::default(), 0);
            let started_ns = processor_ns();
            while reader.read(&mut batch, &mut tally).expect("it can be read") {
                count += batch.len() as u64;
                batch.clear();
            }
            best_s = best_s.min((processor_ns() - started_ns) as f64 / 1e9);
            assert_eq!((count, tally.damaged_total()), (IOS, 0), "{name}");
        }
        println!(
            "{name:12} {:10.2} {:10.0} {:10.0}",
            line_count / best_s / 1e6,
            best_s * 1e9 / line_count,
            text.len() as f64 / best_s / 1e6
        );
    }
}
