use openpts_core::workload::Uniform;

use super::*;
use crate::time::PS_PER_S;

const US: Ps = PS_PER_S / 1_000_000;
const AT_ONCE: Manners = Manners { suspend_ps: 0, patience_ps: Ps::MAX };
/// Suspensions without end, and none.
const PREEMPTIVE: f64 = 1e6;
const PATIENT: f64 = 0.0;

fn exponential(random: &mut Uniform, mean_ps: f64) -> Ps {
    (-(1.0 - random.unit()).ln() * mean_ps) as Ps
}

/// Means of a die under Poisson reads and programs, in microseconds.
struct Waits {
    read_us: f64,
    program_us: f64,
}

/// Offer both at these shares of the die's time. Programs are followed to their true end, which later reads
/// put off: the backlog at a program's arrival has to be worked off while no read is in the way.
fn offered(read_us: f64, program_us: f64, read_load: f64, program_load: f64, suspensions: f64) -> Waits {
    let mut random = Uniform::for_thread(11, 0);
    let (read_ps, work) = (ps_of_us(read_us), CellWork::new(program_us, suspensions));
    let (read_gap, program_gap) = (read_us / read_load * 1e6, program_us / program_load * 1e6);
    let mut die = Die::new();
    let mut next_read = exponential(&mut random, read_gap);
    let mut next_program = exponential(&mut random, program_gap);
    let (mut reads, mut programs, mut read_sum, mut program_sum) = (0_u64, 0_u64, 0.0, 0.0);
    // Arrivals and total work of programs that are not done yet, in order.
    let mut open = std::collections::VecDeque::new();
    let (mut brought, mut worked) = (0_u64, 0_u64);
    while reads + programs < 2_000_000 {
        let now = next_read.min(next_program);
        // Which programs came to their end before now? Work is done from the moment reads are over.
        let (from, before) = (die.seen_ps.max(die.reads_until_ps), die.backlog_ps);
        die.run_until(now);
        let done = before - die.backlog_ps;
        while let Some((arrival, until)) = open.front().copied().filter(|(_, until)| *until <= worked + done)
        {
            program_sum += (from + (until - worked) - arrival) as f64;
            programs += 1;
            open.pop_front();
        }
        worked += done;
        if next_read == now {
            let before = die.backlog_ps;
            read_sum += (die.read(now, read_ps, AT_ONCE) - now) as f64;
            reads += 1;
            // What the read let finish first.
            let finished = before - die.backlog_ps;
            while let Some((arrival, until)) =
                open.front().copied().filter(|(_, until)| *until <= worked + finished)
            {
                program_sum += (now + (until - worked) - arrival) as f64;
                programs += 1;
                open.pop_front();
            }
            worked += finished;
            next_read = now + exponential(&mut random, read_gap);
        } else {
            brought += work.length_ps;
            die.work(now, work);
            open.push_back((now, brought));
            next_program = now + exponential(&mut random, program_gap);
        }
    }
    Waits { read_us: read_sum / reads as f64 / 1e6, program_us: program_sum / programs as f64 / 1e6 }
}

/// Cobham's means of two classes of constant service, with service included.
fn cobham(read_us: f64, program_us: f64, read_load: f64, program_load: f64, preemptive: bool) -> Waits {
    let (read_residue, program_residue) = (read_load * read_us / 2.0, program_load * program_us / 2.0);
    let both = read_residue + program_residue;
    let (free, rest) = (1.0 - read_load, 1.0 - read_load - program_load);
    if preemptive {
        Waits { read_us: read_us + read_residue / free, program_us: program_us / free + both / (free * rest) }
    } else {
        Waits { read_us: read_us + both / free, program_us: program_us + both / (free * rest) }
    }
}

#[test]
fn reads_and_programs_wait_as_cobham_says() {
    for (read_us, program_us) in [(60.0, 600.0), (60.0, 60.0), (60.0, 2880.0)] {
        for (read_load, program_load) in [(0.3, 0.3), (0.1, 0.7), (0.6, 0.2)] {
            for suspensions in [PREEMPTIVE, PATIENT] {
                let waits = offered(read_us, program_us, read_load, program_load, suspensions);
                let theory = cobham(read_us, program_us, read_load, program_load, suspensions > 0.0);
                let off = |value: f64, expected: f64| (value / expected - 1.0) * 100.0;
                let (reads, programs) =
                    (off(waits.read_us, theory.read_us), off(waits.program_us, theory.program_us));
                println!(
                    "{read_us}/{program_us} us at {read_load}/{program_load}, {suspensions} suspensions: \
                     reads {:.2} us ({reads:+.2} %), programs {:.1} us ({programs:+.2} %)",
                    waits.read_us, waits.program_us
                );
                assert!(reads.abs() < 1.0 && programs.abs() < 2.0);
            }
        }
    }
}

#[test]
fn suspensions_are_earned_by_work_and_then_reads_wait() {
    let manners = Manners { suspend_ps: 8 * US, patience_ps: Ps::MAX };
    let work = CellWork::new(1000.0, 1.0);
    let mut die = Die::new();
    assert_eq!(die.work(0, work), 1000 * US);
    assert_eq!(die.work(0, work), 2000 * US);
    // Nothing earned yet: the first program is let finish.
    assert_eq!(die.read(400 * US, 60 * US, manners), 1060 * US);
    // Its work has earned the suspension of the second one, of which 400 us are left.
    assert_eq!(die.read(1660 * US, 60 * US, manners), 1728 * US);
    // That is spent.
    assert_eq!(die.read(1800 * US, 60 * US, manners), 2188 * US);
    assert_eq!(die.done_ps(2200 * US), 2200 * US);
}

#[test]
fn reads_do_not_starve_what_waits_for_ever() {
    let manners = Manners { suspend_ps: 0, patience_ps: 20_000 * US };
    let mut die = Die::new();
    die.work(0, CellWork::new(1000.0, PREEMPTIVE));
    die.work(0, CellWork::new(1000.0, PREEMPTIVE));
    die.run_until(10 * US);
    // Reads without a pause, from 10 us on.
    let ends: Vec<_> = (0..1000).map(|n| die.read((10 + 60 * n) * US, 60 * US, manners)).collect();
    let pauses: Vec<_> =
        ends.windows(2).map(|pair| (pair[1] - pair[0]) / US).filter(|gap| *gap != 60).collect();
    assert_eq!(pauses, [1050, 1060]);
    assert_eq!(die.done_ps(0), *ends.last().expect("some"));
}

#[test]
fn a_read_in_the_past_takes_its_time_from_the_backlog() {
    let mut die = Die::new();
    let work = CellWork::new(1000.0, PREEMPTIVE);
    die.work(0, work);
    // Booked ahead of time, as by a write that waits for its place in the buffer.
    assert_eq!(die.work(900 * US, work), 2000 * US);
    assert_eq!(die.read(500 * US, 60 * US, AT_ONCE), 560 * US);
    assert_eq!(die.done_ps(0), 2060 * US);
}
