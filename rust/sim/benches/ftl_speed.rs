//! What a page map does in a second: uniform random overwrites of 4 KiB in the steady state of collection, on
//! one core. Bare, with flash that takes no time; and timed, with dies that are busy, a closed loop of 32 and
//! a histogram of latencies. Time of the processor counts, and of several repeats the best: other programs
//! only make it slower. A map stores one entry for each program, somewhere: no drive is faster than the
//! random stores that memory takes, which are measured first.
//!
//!     cargo bench --bench ftl_speed [-- large]
//!
//! `large` measures 1 TiB instead of 16 GiB; it takes 2.5 GB of memory and some minutes.

use openpts_core::histogram::LatencyHistogram;
use openpts_core::machine::Table;
use openpts_core::workload::Uniform;
use openpts_sim::ftl::{Cells, Ftl, Nand, Program, Timeless};
use openpts_sim::{PS_PER_NS, PageMapped, Preset, Ps, ps_of_us};
use rustix::time::{ClockId, clock_gettime};

/// Addresses that are known before they are written, as those of a host are.
const AHEAD: usize = 32;
const QUEUE_DEPTH: usize = 32;
const REPEATS: usize = 5;
/// As many as the preset has.
const DIES: usize = 64;

/// Dies that are busy until a moment; each does one thing after the other.
struct Dies {
    busy_until_ps: [Ps; DIES],
    now_ps: Ps,
    /// When the group that was programmed last is done.
    programmed_ps: Ps,
    read_ps: Ps,
    program_ps: Ps,
    erase_ps: Ps,
}

impl Dies {
    fn new(model: &PageMapped) -> Self {
        assert_eq!(model.geometry.dies as usize, DIES);
        Self {
            busy_until_ps: [0; DIES],
            now_ps: 0,
            programmed_ps: 0,
            read_ps: ps_of_us(model.nand.read_us),
            program_ps: ps_of_us(model.nand.program_us),
            erase_ps: ps_of_us(model.nand.erase_us) / u64::from(model.nand.rows_per_erase),
        }
    }
}

/// Give work of a length to those dies whose bits are set; gives the moment at which the last of all is done.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2", "x86_64+sse4.2"))]
fn take(busy_until_ps: &mut [Ps], dies: u64, now_ps: Ps, length_ps: Ps) -> Ps {
    let mut last_ps = 0;
    for (die, busy_ps) in (0..64).zip(busy_until_ps) {
        *busy_ps = (*busy_ps).max(now_ps) + (dies >> die & 1) * length_ps;
        last_ps = last_ps.max(*busy_ps);
    }
    last_ps
}

impl Nand for Dies {
    fn program(&mut self, program: &Program) {
        let dies = program.dies.start as usize..program.dies.end as usize;
        let done_ps = take(&mut self.busy_until_ps[dies], u64::MAX, self.now_ps, self.program_ps);
        if program.host_pages > 0 {
            self.programmed_ps = done_ps;
        }
    }

    #[inline]
    fn read_row(&mut self, first_die: u32, dies: u64, _: Cells) {
        take(&mut self.busy_until_ps[first_die as usize..], dies, self.now_ps, self.read_ps);
    }

    fn erase(&mut self, _: u32) {
        take(&mut self.busy_until_ps, u64::MAX, self.now_ps, self.erase_ps);
    }
}

/// A closed loop: each slot of the host writes again when its write is answered, which is when the buffer has
/// room: when the group before last is programmed.
struct Host {
    /// Moments at which slots are ready, smallest first.
    ready: std::collections::BinaryHeap<std::cmp::Reverse<Ps>>,
    latencies: LatencyHistogram,
    room_ps: [Ps; 2],
}

impl Host {
    fn new() -> Self {
        let ready = (0..QUEUE_DEPTH).map(|_| std::cmp::Reverse(0)).collect();
        Self { ready, latencies: LatencyHistogram::default(), room_ps: [0; 2] }
    }

    #[inline]
    fn write(&mut self, ftl: &mut Ftl, page: u32, dies: &mut Dies) {
        let mut slot = self.ready.peek_mut().expect("a slot for each of the queue");
        let now = slot.0;
        dies.now_ps = now;
        ftl.write(page, 8, dies).expect("it does not wear");
        if dies.programmed_ps != self.room_ps[1] {
            self.room_ps = [self.room_ps[1], dies.programmed_ps];
        }
        let answered = (now + 10_000 * PS_PER_NS).max(self.room_ps[0]);
        self.latencies.record((answered - now) / PS_PER_NS);
        slot.0 = answered;
    }
}

/// Time that this thread has had of a processor.
fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

struct Measured {
    writes_per_s: f64,
    programs_per_s: f64,
    amplification: f64,
}

fn measure(ftl: &mut Ftl, writes: u32, seed: u64, mut write: impl FnMut(&mut Ftl, u32)) -> Measured {
    let mut random = Uniform::for_thread(seed, 0);
    let user_pages = u64::from(ftl.layout().user_pages);
    let before = ftl.counters();
    let started_s = thread_seconds();
    let mut soon = [(); AHEAD].map(|()| random.below(user_pages) as u32);
    for _ in 0..writes as usize / AHEAD {
        let now = soon;
        now.iter().for_each(|page| ftl.prefetch_place(*page));
        soon = [(); AHEAD].map(|()| random.below(user_pages) as u32);
        soon.iter().for_each(|page| ftl.prefetch(*page));
        now.iter().for_each(|page| write(ftl, *page));
    }
    let took = thread_seconds() - started_s;
    let after = ftl.counters();
    let host = (after.host - before.host) as f64;
    let nand = (after.total() - before.total()) as f64;
    Measured { writes_per_s: host / took, programs_per_s: nand / took, amplification: nand / host }
}

/// Stores a second to places of a table that are drawn independently: what memory allows a map, which stores
/// one entry for each program.
fn random_stores_per_s(entries: u32, stores: u32) -> f64 {
    let mut table = Table::<u32>::zeros(entries as usize).expect("as much memory as the map");
    table.fill(1);
    let took_s = (1..=REPEATS as u64).map(|seed| {
        let mut random = Uniform::for_thread(seed, 1);
        let started_s = thread_seconds();
        (0..stores).for_each(|store| table[random.below(entries.into()) as usize] = store);
        thread_seconds() - started_s
    });
    f64::from(stores) / took_s.fold(f64::INFINITY, f64::min)
}

fn best(repeats: impl Iterator<Item = Measured>) -> Measured {
    repeats.max_by(|a, b| a.writes_per_s.total_cmp(&b.writes_per_s)).expect("at least one")
}

fn model(over_provisioning: f64) -> PageMapped {
    let text = include_str!("../../../packages/openpts_sim/presets/theory.toml");
    let mut model = Preset::parse(text).expect("ships").page_mapped.expect("is page-mapped");
    model.mapping.physical_per_user = 1.0 + over_provisioning;
    model
}

fn main() {
    let large = std::env::args().any(|argument| argument == "large");
    let (name, user_pages) = if large { ("1 TiB", 1 << 28) } else { ("16 GiB", 1 << 22) };
    let writes = 20_000_000;
    println!(
        "{:24} {:>14} {:>16} {:>8} {:>12}",
        "drive", "M host writes/s", "M programs/s", "WA", "bytes/page"
    );
    let stores = random_stores_per_s(user_pages, writes) / 1e6;
    println!("{:24} {stores:31.1}", format!("{name}, random stores"));
    for over_provisioning in [0.07, 0.28] {
        let model = model(over_provisioning);
        let mut ftl = Ftl::new(&model, user_pages, 1).expect("fits");
        ftl.jump_start(8).expect("a new drive");
        let bytes = ftl.table_bytes() as f64 / f64::from(user_pages);
        measure(&mut ftl, writes, 0, |ftl, page| ftl.write(page, 8, &mut Timeless).expect("wears not"));
        let bare = best((1..=REPEATS as u64).map(|seed| {
            measure(&mut ftl, writes, seed, |ftl, page| ftl.write(page, 8, &mut Timeless).expect("wears not"))
        }));
        let (mut host, mut dies) = (Host::new(), Dies::new(&model));
        let timed = best(
            // Pages in the same order as before would find themselves side by side in large drives.
            (1..=REPEATS as u64)
                .map(|seed| seed + REPEATS as u64)
                .map(|seed| measure(&mut ftl, writes, seed, |ftl, page| host.write(ftl, page, &mut dies))),
        );
        for (kind, measured) in [("bare", bare), ("timed", timed)] {
            let Measured { writes_per_s, programs_per_s, amplification } = measured;
            let drive = format!("{name}, {:.0} %, {kind}", over_provisioning * 100.0);
            println!(
                "{drive:24} {:14.1} {:16.1} {amplification:8.3} {bytes:12.2}",
                writes_per_s / 1e6,
                programs_per_s / 1e6
            );
        }
        assert_eq!(host.latencies.count(), u64::from(writes) / 32 * 32 * REPEATS as u64);
    }
}
